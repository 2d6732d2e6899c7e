"""Costs of runs on overlapping windows: python -m bench.hop [--folder …] [--hops 1,2,4]

Each keyword-spotting network at each hop size, beside runs on whole windows: multiply-accumulates a run, bytes of state
between runs, and the smallest fast memory that works. `streaming_spotter` is the family of that name in tests/families,
quantised; the other networks are files of a folder.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from bench.instructions import add_folder
from tests.families.catalogue import int8_model
from tigris_pio import compile_model
from tigris_pio.errors import BudgetError, UsageError

NETWORKS = ("sww", "kws", "micro_speech")
HOPS = "1,2,4"


def smallest(model: Any, hop: int | None) -> int:
    """Bytes of the smallest fast memory that works without slow memory, found and tried by the planner."""
    try:
        compile_model(model, fast=64, hop=hop)
    except BudgetError as error:
        named = re.search(r"smallest fast memory that works is (\d+)", str(error))
        assert named is not None, error
        return int(named[1])
    return 64


def rows(name: str, model: Any, hops: list[int]) -> list[tuple[str, ...]]:
    """One row for whole windows and one for each hop."""
    whole = compile_model(model).report["compute"]["macs"]
    found: list[tuple[str, ...]] = [(name, "whole windows", f"{whole:,}", "", "0", f"{smallest(model, None):,}", "")]
    for hop in hops:
        try:
            said = compile_model(model, hop=hop).report["hop"]
        except UsageError as error:
            found.append(("", str(hop), str(error), "", "", "", ""))
            continue
        anew = sum(edges["rows"] - edges["new"] for edges in said["edges"])
        found.append(("", f"{hop} of {said['window']} rows", f"{said['macs']:,}", f"{100 * said['macs'] / whole:.1f} %",
                      f"{said['states']:,}", f"{smallest(model, hop):,}", str(anew or "")))  # fmt: skip
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_folder(parser)
    parser.add_argument("--hops", default=HOPS, help=f"hop sizes in rows; default: {HOPS}")
    options = parser.parse_args()
    table = Table(title="runs on overlapping windows, int8")
    for heading in ("network", "hop", "MACs a run", "of whole", "kept bytes", "smallest fast", "edge rows again"):
        table.add_column(heading, justify="left" if heading in ("network", "hop") else "right")
    hops = [int(text) for text in options.hops.split(",")]
    models = {name: str(options.folder / f"{name}_int8.onnx") for name in NETWORKS}
    for name, model in {**models, "streaming_spotter": int8_model("streaming_spotter")}.items():
        for row in rows(name, model, hops):
            table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
