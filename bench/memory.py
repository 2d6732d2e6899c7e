"""Memory of each network: python -m bench.memory [--folder …] [--models …] [--budgets …] [--upstream COMMAND]

For every network of a folder: its peak layer by layer, the smallest fast memory that needs no slow memory, and at each
budget the bytes that an inference moves to and from slow memory. `--upstream` names the `tigris` command of the package
tigris-ml, installed in an environment of its own; its figures for the same files stand beside ours. (It keeps a
network's input and output in slow memory, so it moves at least their bytes.)
"""

import json
import subprocess
from pathlib import Path

from bench.command import command, parser_of, print_cells
from bench.emulator import BenchError
from bench.networks import int8_networks, smallest
from tigris_pio import compile_model
from tigris_pio.errors import BudgetError
from tigris_pio.sizes import parse_size

SLOW = "8M"


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


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__, "folder", models=None, budgets="64K,32K,16K,8K,4K")
    parser.add_argument("--upstream", metavar="COMMAND", help="the tigris command of tigris-ml")
    options = parser.parse_args()
    budgets = sorted(options.budgets, key=parse_size, reverse=True)
    rows = []
    for name in options.models or [f"{name}_int8" for name in int8_networks(options.folder)]:
        model = options.folder / f"{name}.onnx"
        peak = compile_model(model).plan.unscheduled_peak
        rows.append([name, "tigris-pio", f"{peak:,}", f"{smallest(model):,}",
                     *(ours(model, budget) for budget in budgets)])  # fmt: skip
        if options.upstream:
            rows.append(["", "tigris-ml", "", "", *(theirs(options.upstream, model, budget) for budget in budgets)])
    headings = ["network", "compiler", "layer by layer", "smallest alone", *budgets]
    print_cells("slow bytes per inference (stages in bands)", headings, rows)
