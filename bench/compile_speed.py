"""Processor time of planning: python bench/compile_speed.py [--zoo [NAME…]] [--nodes 100,1000,10000] [--json FILE]

`--zoo` plans networks instead (all of `networks/` and `bench/zoo.py`, or those named), each at 20 budgets from its
smallest to unlimited, half of them beside slow memory: the slowest plan, the most placements of one, and the refusal
that names the smallest memory.

Plans synthetic programs at several budgets, loose and tight, with and without slow memory. Prints a table; the exponent
is the growth of the time from one size to the next (1: linear, 2: quadratic).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.emulator import NETWORKS
from bench.graphs import GRAPHS, HEIGHT, ROW_BYTES
from bench.instructions import int8_networks
from bench.zoo import ZOO
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.errors import BudgetError

MAP = HEIGHT * ROW_BYTES
#: Name, fast and slow memory: whole maps fit; bands without slow memory; bands of ever fewer rows with it.
BUDGETS = {
    "unlimited": (None, 0),
    "12 maps": (12 * MAP, 0),
    "2.2 maps": (MAP * 22 // 10, 0),
    "2.2 maps + slow": (MAP * 22 // 10, 1 << 30),
    "1/2 map + slow": (MAP // 2, 1 << 30),
    "1/8 map + slow": (MAP // 8, 1 << 30),
}


def measure(graph: str, nodes: int, budget: str) -> dict[str, object]:
    """One row of the table."""
    fast, slow = BUDGETS[budget]
    program = GRAPHS[graph](nodes)
    started = time.process_time()
    layout = find_arrangement(ProgramIndex.of(program), Budget(fast, slow), 16, WeightOptions())
    seconds = time.process_time() - started
    return {
        "graph": graph, "nodes": nodes, "budget": budget, "seconds": round(seconds, 3), "fits": layout is not None,
        "stages": len(layout.drafts) if layout else 0, "fast": layout.fast_bytes if layout else 0,
    }  # fmt: skip


def exponent(before: dict[str, object] | None, now: dict[str, object]) -> str:
    """Growth of the time between two sizes of the same graph."""
    if before is None or float(before["seconds"]) < 0.01:
        return ""
    growth = math.log(float(now["seconds"]) / float(before["seconds"])) / math.log(now["nodes"] / before["nodes"])
    return f"{growth:.2f}"


def zoo(names: Sequence[str]) -> None:
    """Prints the table of networks."""
    paths = {name: NETWORKS / f"{name}_int8.onnx" for name in int8_networks(NETWORKS)}
    print(f"{'network':22}{'operators':>10}{'smallest':>10}{'refusal s':>10}{'slowest s':>10}{'mean':>7}{'placed':>7}")
    for name in names or [*paths, *ZOO]:
        start = front(paths[name] if name in paths else ZOO[name](), CompileOptions())
        began = time.process_time()
        try:
            back(start, CompileOptions(Budget(1)))
        except BudgetError as error:
            smallest = int(str(error).split("that works is ")[1].split()[0])
        refused = time.process_time() - began
        ample = max(smallest + 16, back(start, CompileOptions()).plan.fast_bytes)
        taken, placed = [], 0
        for step, slow in itertools.product(range(10), (0, 1 << 28)):
            fast = smallest * (ample / smallest) ** (step / 9) * (0.25 if slow and step < 5 else 1)
            began = time.process_time()
            made = back(start, CompileOptions(Budget(int(fast) // 16 * 16 + 16, slow)))
            taken.append(time.process_time() - began)
            placed = max(placed, len(made.attempts))
        print(f"{name:22}{len(start.program.ops):10}{smallest:10,}{refused:10.2f}{max(taken):10.2f}"
              f"{sum(taken) / len(taken):7.2f}{placed:7}", flush=True)


def main() -> None:
    """Prints the table as it grows and writes the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100,300,1000,3000,10000", help="numbers of nodes, ascending")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--zoo", nargs="*", metavar="NAME", help="plan networks")
    arguments = parser.parse_args()
    if arguments.zoo is not None:
        return zoo(arguments.zoo)
    rows = []
    print(f"{'graph':10}{'budget':18}{'nodes':>7}{'seconds':>9}{'exponent':>9}{'stages':>8}{'fast bytes':>12}")
    for graph in GRAPHS:
        for budget in BUDGETS:
            before = None
            for nodes in (int(text) for text in arguments.nodes.split(",")):
                row = measure(graph, nodes, budget)
                rows.append(row)
                fast = row["fast"] if row["fits"] else "no fit"
                print(f"{graph:10}{budget:18}{nodes:7}{row['seconds']:9.3f}{exponent(before, row):>9}"
                      f"{row['stages']:8}{fast:>12}", flush=True)
                before = row
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
