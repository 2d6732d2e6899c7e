"""Sets up this machine for `make demo`, `test`, `fuzz`, `dist`, `release` or `docs`; quick if nothing is missing.

    python3 tools/prepare.py demo|test|fuzz|dist|release|docs

It installs system packages (as root, or by sudo without a password), `.venv`, and PlatformIO's core folder in
`.tigris`. It runs on the system's own Python with nothing installed.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 10):  # noqa: UP036  (whatever `python3` is on a fresh machine)
    sys.exit(
        f"error: this is Python {sys.version.split()[0]}, 3.10 or later is needed; try: make PYTHON=python3.12 ..."
    )

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compile_cache
import platformio_core
import python_environment
import system_packages

ROOT = Path(__file__).resolve().parent.parent
FAILURES = (system_packages.MissingPackages, python_environment.EnvironmentFailure, platformio_core.CoreFailure)


def set_up(purpose: str) -> None:
    """Installs system packages while the virtual environment is made, or before it if that needs some of them."""
    lacking = system_packages.missing(purpose)
    system_packages.check(lacking)
    log = ROOT / ".tigris" / "apt.log"
    with ThreadPoolExecutor(1) as pool:
        packages = pool.submit(system_packages.install, lacking, log)
        if any(system_packages.is_first(need) for need in lacking):
            packages.result()
        if purpose in ("test", "fuzz"):
            compile_cache.ensure(ROOT)
        python = python_environment.ensure(ROOT, ROOT / ".venv", purpose)
        packages.result()
    if lacking and purpose in ("test", "fuzz"):
        compile_cache.ensure(ROOT)  # for the compilers that have just come
    if purpose not in ("dist", "docs"):
        platformio_core.ensure(python, ROOT / ".tigris" / "platformio")


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in system_packages.NEEDS:
        print(f"usage: prepare.py {'|'.join(system_packages.NEEDS)}", file=sys.stderr)
        return 2
    purpose = sys.argv[1]
    try:
        set_up(purpose)
    except FAILURES as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    (ROOT / ".tigris").mkdir(exist_ok=True)
    (ROOT / ".tigris" / "set-up-seconds").write_text(f"{sum(os.times()[:4]):.1f}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
