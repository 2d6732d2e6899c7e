"""Plans of networks that no board's SRAM holds layer by layer: python -m bench.planner [--networks …]

Prints a line for each network of `bench/zoo.py`: its peak layer by layer, the smallest fast memory that works without
slow memory, the share of multiply-accumulates that is repeated there, and the processor seconds of the search.
`--budgets` adds the bytes that an inference moves to and from slow memory at each budget, and the repeated share.
`--upstream` names the `tigris` command of the package tigris-ml, installed in an environment of its own. Its bytes for
the same files stand below ours, and the geometric mean of the ratios under the table. (It keeps a network's input and
output in slow memory, so it moves at least their bytes.)

`--times` prints processor seconds of plans at 20 budgets instead: of the refusal that names the smallest memory, of the
slowest plan and on average, and the most placements of one.
"""

import itertools
import math
import time
from pathlib import Path

import onnx

from bench.command import command, known, parser_of, print_cells
from bench.emulator import work_folder
from bench.memory import theirs
from bench.networks import Model, named_smallest, planned_models, smallest
from bench.zoo import ZOO
from tigris_pio import compile_model
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, back, front
from tigris_pio.errors import BudgetError

SLOW = "16M"
TIMES = ("network", "operators", "smallest", "refusal s", "slowest s", "mean", "placed")


def again(compiled: Compiled) -> str:
    """The share of multiply-accumulates done more than once, in per cent; empty when there are none."""
    compute = compiled.report["compute"]
    share = 100 * compute["recomputed_macs"] / max(1, compute["macs"])
    return f"{share:.1f} %" if share else ""


def at_budget(model: Model, budget: str) -> str:
    """Slow bytes moved at a budget, and the share done again."""
    try:
        compiled = compile_model(model, fast=budget, slow=SLOW)
    except BudgetError:
        return "refused"
    traffic = compiled.report["traffic"]
    return f"{traffic['slow_read'] + traffic['slow_written']:,} {again(compiled)}".strip()


def upstream_row(command: str, model: Model, budgets: list[str]) -> list[str]:
    """Slow bytes that the upstream compiler moves at each budget."""
    with work_folder() as folder:
        path = model if isinstance(model, Path) else folder / f"{model.graph.name}.onnx"
        if not isinstance(model, Path):
            onnx.save(model, path)
        return [theirs(command, path, budget) for budget in budgets]


def ratios(ours: list[str], others: list[str]) -> list[float]:
    """Our bytes by theirs, of the budgets at which both have a plan and ours moves any."""
    pairs = ((_bytes(one), _bytes(other)) for one, other in zip(ours, others, strict=True))
    return [one / other for one, other in pairs if one and other]


def _bytes(cell: str) -> int:
    """The bytes that a cell begins with; 0 when there is no plan."""
    text = cell.split(" ", maxsplit=1)[0].replace(",", "")
    return int(text) if text.isdigit() else 0


def times(name: str, model: Model) -> list[str]:
    """Processor seconds of plans at 20 budgets from the smallest to unlimited, half of them beside slow memory."""
    start = front(model, CompileOptions())
    began = time.process_time()
    try:
        back(start, CompileOptions(Budget(1)))
    except BudgetError as error:
        least = named_smallest(error)
    refused = time.process_time() - began
    ample = max(least + 16, back(start, CompileOptions()).plan.fast_bytes)
    taken, placed = [], 0
    for step, slow in itertools.product(range(10), (0, 1 << 28)):
        fast = least * (ample / least) ** (step / 9) * (0.25 if slow and step < 5 else 1)
        began = time.process_time()
        made = back(start, CompileOptions(Budget(int(fast) // 16 * 16 + 16, slow)))
        taken.append(time.process_time() - began)
        placed = max(placed, len(made.attempts))
    seconds = (f"{value:.2f}" for value in (refused, max(taken), sum(taken) / len(taken)))
    return [name, str(len(start.program.ops)), f"{least:,}", *seconds, str(placed)]


@command
def main() -> None:
    """The command."""
    parser, models = parser_of(__doc__, networks=",".join(ZOO), budgets="-"), planned_models()
    parser.add_argument("--times", action="store_true", help="processor seconds at 20 budgets instead")
    parser.add_argument("--upstream", metavar="COMMAND", help="the tigris command of tigris-ml")
    options = parser.parse_args()
    names = known(parser, options.networks, list(models))
    if options.times:
        return print_cells("processor seconds", TIMES, [times(name, models[name]()) for name in names])
    rows: list[list[str]] = []
    found: list[float] = []
    for name in names:
        model, start = models[name](), time.process_time()
        least = smallest(model)
        compiled = compile_model(model, fast=least)
        seconds = time.process_time() - start
        ours = [at_budget(model, budget) for budget in options.budgets]
        peak = compiled.plan.unscheduled_peak
        rows.append([name, f"{peak:,}", f"{least:,}", again(compiled), *ours, f"{seconds:.1f}"])
        if options.upstream:
            others = upstream_row(options.upstream, model, options.budgets)
            rows.append(["", "tigris-ml", "", "", *others, ""])
            found += ratios(ours, others)
    headings = ["network", "layer by layer", "smallest", "done again", *options.budgets, "seconds"]
    print_cells("plans without slow memory, and bytes moved with it", headings, rows)
    if found:
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"ours by theirs: geometric mean {mean:.3f} of {len(found)}, the worst {max(found):.3f}")
    return None
