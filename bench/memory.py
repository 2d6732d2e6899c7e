"""Memory of each network: python -m bench.memory [--folder …] [--models …] [--budgets …] [--upstream COMMAND]

For every network of a folder: its peak layer by layer, the smallest fast memory that needs no slow memory, and at each
budget the bytes that an inference moves to and from slow memory. `--upstream` names the `tigris` command of the package
tigris-ml, installed in an environment of its own; its figures for the same files stand beside ours. (It keeps a
network's input and output in slow memory, so it moves at least their bytes.)
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from bench.emulator import BenchError
from bench.instructions import add_folder, int8_networks
from tigris_pio import compile_model
from tigris_pio.errors import BudgetError
from tigris_pio.sizes import parse_size

BUDGETS = ("64K", "32K", "16K", "8K", "4K")
SLOW = "8M"


def smallest_alone(model: Path) -> int:
    """Bytes of the smallest fast memory that works without slow memory, found and tried by the planner."""
    try:
        compile_model(model, fast="64")
    except BudgetError as error:
        named = re.search(r"smallest fast memory that works is (\d+)", str(error))
        assert named is not None, error
        return int(named[1])
    return 64


def ours(model: Path, budget: str) -> str:
    """Slow bytes moved per inference, and how many stages run in bands."""
    try:
        compiled = compile_model(model, fast=budget)
    except BudgetError:
        try:
            compiled = compile_model(model, fast=budget, slow=SLOW)
        except BudgetError:
            return "refused"
    stages = compiled.plan.stages
    return f"{sum(s.slow_read + s.slow_written for s in stages):,} ({sum(s.bands > 1 for s in stages)})"


def theirs(command: str, model: Path, budget: str) -> str:
    """Slow bytes moved and stages in bands of the upstream compiler, by its own analysis."""
    call = [command, "analyze", str(model), "-m", f"{budget}+{SLOW}", "--json"]
    result = subprocess.run(call, capture_output=True, text=True, check=False)
    try:
        report = json.loads(result.stdout)
    except json.JSONDecodeError:
        raise BenchError(f"{' '.join(call)} gave no JSON: {result.stderr.strip()[-300:]}") from None
    if report["fast"]["infeasible"] or report["fast"]["untileable_operators"]:
        return "refused"
    traffic = report["slow"]["traffic"]
    if traffic is None:  # it cannot compile the model
        return "refused"
    return f"{traffic['read'] + traffic['written']:,} ({report['fast']['stages_needing_tiling']})"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_folder(parser)
    parser.add_argument("--models", help="names of networks, without .onnx; default: every int8 one")
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--upstream", metavar="COMMAND", help="the tigris command of tigris-ml")
    options = parser.parse_args()
    budgets = sorted(options.budgets.split(","), key=parse_size, reverse=True)
    table = Table(title="slow bytes per inference (stages in bands)")
    for heading in ("network", "compiler", "layer by layer", "smallest alone", *budgets):
        table.add_column(heading, justify="left" if heading in ("network", "compiler") else "right")
    try:
        every = [f"{name}_int8" for name in int8_networks(options.folder)]
        for name in options.models.split(",") if options.models else every:
            model = options.folder / f"{name}.onnx"
            peak = compile_model(model).plan.unscheduled_peak
            table.add_row(name, "tigris-pio", f"{peak:,}", f"{smallest_alone(model):,}",
                          *(ours(model, budget) for budget in budgets))
            if options.upstream:
                table.add_row("", "tigris-ml", "", "", *(theirs(options.upstream, model, budget) for budget in budgets))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
