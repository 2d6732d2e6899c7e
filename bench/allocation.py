"""Placements against their lower bounds: python -m bench.allocation FOLDER, or python -m bench.allocation --zoo

FOLDER holds instances in the format of MiniMalloc's benchmarks: one CSV file each, with a heading and the columns id,
lower, upper and size. A buffer takes `size` bytes from step `lower` up to, not including, step `upper`. A number in the
file's name is the capacity: A.1048576.csv. The command prints a line for each instance: the peak of its placement, the
lower bound, whether the placement is proved optimal, and the seconds:

    python -m bench.allocation minimalloc/benchmarks/challenging

The search expands at most --nodes nodes to reach the capacity, and --further nodes from there to the lower bound.

--zoo prints the table of the ONNC paper (W.-F. Lin et al., "ONNC: A Compilation Framework Connecting ONNX to
Proprietary Deep Learning Accelerators", AICAS 2019) for the light networks that come with the package onnx, all tensors
whole, and for plans of our own networks: the peak of each strategy over the lower bound.
"""

import csv
import importlib.util
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.command import command, parser_of
from bench.emulator import NETWORKS, BenchError
from bench.networks import int8_networks
from tigris_pio import compile_model
from tigris_pio.compiler.ir.plan import AllocationReport
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.allocate import allocate, highest_byte
from tigris_pio.compiler.plan.memory.request import Placement, Request, check
from tigris_pio.compiler.plan.memory.strategies import STRATEGIES
from tigris_pio.errors import BudgetError

COLUMNS = ("id", "lower", "upper", "size")
#: Columns of the paper's table, and which of our strategies stand for each.
PAPER = {
    "first fit": ("first-fit",),
    "best fit": ("best-fit",),
    "with heuristic": ("best-fit, low boundary",),
    "with reordering": tuple(STRATEGIES),
}
BUDGETS = ("256K", "32K", "16K", "8K")
SLOW = "8M"
ZOO_ALIGNMENT = 16
#: Of the exact search, a minute or less on a processor of 2020.
NODES_HERE = 5_000_000
FURTHER = 100_000


def read_instance(path: Path) -> list[Request]:
    """The buffers of a CSV file. Raises BenchError with the line that is wrong."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise BenchError(f"{path}: no column {missing[0]!r}; the heading must name {', '.join(COLUMNS)}")
            requests = [_request(path, rows.line_num, row) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BenchError(f"{path} cannot be read: {error}") from error
    names = [request.name for request in requests]
    if len(set(names)) < len(names):
        raise BenchError(f"{path}: two buffers have the id {max(names, key=names.count)!r}")
    return requests


def _request(path: Path, line: int, row: dict[str, str | None]) -> Request:
    try:
        lower, upper, size = (int(row[name] or "") for name in COLUMNS[1:])
    except ValueError as error:
        raise BenchError(f"{path}, line {line}: lower, upper and size must be whole numbers") from error
    if lower < 0 or size < 0:
        raise BenchError(f"{path}, line {line}: {'lower' if lower < 0 else 'size'} is negative")
    if upper <= lower:
        raise BenchError(f"{path}, line {line}: upper is {upper}, not above lower, {lower}")
    return Request(str(row["id"]), size, Lifetime(lower, upper - 1))


def capacity_of(path: Path) -> int:
    """The capacity in a file's name, such as A.1048576.csv; 0 if there is none."""
    numbers = [int(part) for part in path.stem.split(".") if part.isdigit()]
    return numbers[-1] if numbers else 0


def measure(path: Path, nodes: int, further: int) -> tuple[Placement, float]:
    """An instance's placement, checked, and the processor seconds it took."""
    requests, capacity = read_instance(path), capacity_of(path)
    started = time.process_time()
    placement = allocate(requests, 1, nodes, enough=capacity)
    if placement.lower_bound < placement.peak <= capacity:
        placement = min(placement, allocate(requests, 1, further), key=lambda one: (one.peak, not one.proved_optimal))
    seconds = time.process_time() - started
    check(requests, placement.offsets, 1)
    return placement, seconds


def print_instances(folder: Path, nodes: int, further: int) -> None:
    """The line of every instance in a folder."""
    paths = [folder] if folder.is_file() else sorted(folder.glob("*.csv"))
    if not paths:
        raise BenchError(f"{folder} holds no *.csv; name the folder with the instances, or --zoo")
    print(f"{'name':16}{'peak':>12}{'lower bound':>13}  {'optimal':12}{'seconds':>8}")
    for path in paths:
        placement, seconds = measure(path, nodes, further)
        proved = "proved" if placement.proved_optimal else "not proved"
        print(f"{path.stem:16}{placement.peak:12}{placement.lower_bound:13}  {proved:12}{seconds:8.2f}", flush=True)


def light_networks() -> list[Path]:
    """The networks without weights that come with onnx."""
    package = importlib.util.find_spec("onnx")
    assert package is not None and package.origin is not None
    folder = Path(package.origin).parent / "backend" / "test" / "data" / "light"
    paths = sorted(folder.glob("light_*.onnx"))
    if not paths:
        raise BenchError(f"this version of onnx ships no light_*.onnx in {folder}")
    return paths


def whole_tensors(model: Path) -> list[Request]:
    """The requests of running layer by layer, every tensor whole."""
    program = compile_model(model).plan.program
    index = ProgramIndex.of(program)
    return [Request(name, index.tensor(name).bytes, life) for name, life in index.lives.items()
            if index.tensor(name).constant is None]  # fmt: skip


def zoo_row(requests: Sequence[Request], nodes: int) -> list[str]:
    """Each of the paper's strategies and the exact search over the lower bound."""
    peaks = {}
    for name, strategy in STRATEGIES.items():
        offsets = strategy(requests, ZOO_ALIGNMENT)
        check(requests, offsets, ZOO_ALIGNMENT)
        peaks[name] = highest_byte(requests, offsets)
    best = allocate(requests, ZOO_ALIGNMENT, nodes)
    bound = best.lower_bound
    cells = [f"{min(peaks[name] for name in names) / bound:.3f}" for names in PAPER.values()]
    return [f"{bound:,}", *cells, f"{best.peak / bound:.3f}", "proved" if best.proved_optimal else "not proved"]


def print_zoo(nodes: int) -> None:
    """The paper's table, then our own networks' plans."""
    print(f"{'network':24}{'lower bound':>14}" + "".join(f"{name:>17}" for name in (*PAPER, "exact")) + "  optimal")
    for path in light_networks():
        bound, *cells, proved = zoo_row(whole_tensors(path), nodes)
        name = path.stem.removeprefix("light_")
        print(f"{name:24}{bound:>14}" + "".join(f"{cell:>17}" for cell in cells) + f"  {proved}", flush=True)
    print(f"\n{'plan':24}{'budget':>12}{'lower bound':>14}{'peak':>12}  {'strategy':32}optimal")
    for name, budget, allocation in own_plans():
        proved = "proved" if allocation.proved_optimal else "not proved"
        heights = f"{allocation.lower_bound:14,}{allocation.peak:12,}"
        print(f"{name:24}{budget:>12}{heights}  {allocation.strategy:32}{proved}", flush=True)


def own_plans() -> Iterator[tuple[str, str, AllocationReport]]:
    """Plans of the project's networks at several budgets."""
    for name in int8_networks(NETWORKS):
        for budget in BUDGETS:
            for slow in (None, SLOW):
                try:
                    plan = compile_model(NETWORKS / f"{name}_int8.onnx", fast=budget, slow=slow).plan
                except BudgetError:
                    continue
                yield name, budget if slow is None else f"{budget}+{slow}", plan.allocation
                break


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="folder of CSV files, or one file")
    what.add_argument("--zoo", action="store_true", help="the light networks of onnx, and our own networks' plans")
    parser.add_argument("--nodes", type=int, default=NODES_HERE, help="most nodes of the search; default: %(default)s")
    parser.add_argument("--further", type=int, default=FURTHER, help="most nodes behind that; default: %(default)s")
    options = parser.parse_args()
    for name in ("nodes", "further"):
        if getattr(options, name) < 0:
            parser.error(f"--{name} is {getattr(options, name)}; give 0 or more")
    if options.zoo:
        print_zoo(options.nodes)
    else:
        print_instances(options.folder, options.nodes, options.further)
