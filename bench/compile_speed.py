"""Processor time of planning: python bench/compile_speed.py [--nodes 100,1000,10000] [--json FILE]

Plans synthetic programs at several budgets, loose and tight, with and without slow memory. Prints a table; the exponent
is the growth of the time from one size to the next (1: linear, 2: quadratic).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.graphs import GRAPHS, HEIGHT, ROW_BYTES
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement
from tigris_pio.compiler.plan.settings import WeightOptions

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


def main() -> None:
    """Prints the table as it grows and writes the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100,300,1000,3000,10000", help="numbers of nodes, ascending")
    parser.add_argument("--json", help="write the results to this file")
    arguments = parser.parse_args()
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
