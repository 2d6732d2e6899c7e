"""Writes every generated file that the repository keeps: `make generated`.

The C headers and tables of the format and of the harness, SPEC.md's tables, docs/api.md, docs/operators.md, manifests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: The commands that write them. A later one may read what an earlier one wrote.
MODULES = (
    "tigris_pio.format.c_header", "tigris_pio.format.spec", "tigris_pio.hil.c_header", "tools.manifests", "tools.api",
    "tests.docs.operator_types",
)  # fmt: skip


def main() -> None:
    """Runs the commands."""
    root = Path(__file__).resolve().parents[1]
    for module in MODULES:
        subprocess.run([sys.executable, "-m", module], cwd=root, check=True)


if __name__ == "__main__":
    main()
