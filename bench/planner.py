"""Plans of networks that no board's SRAM holds layer by layer: python -m bench.planner [--networks …]

Prints a line for each network of `bench/zoo.py`: its peak layer by layer, the smallest fast memory that works without
slow memory, the share of multiply-accumulates that is repeated there, and the processor seconds of the search.
`--budgets` adds the bytes that an inference moves to and from slow memory at each budget, and the repeated share.
`--upstream` names the `tigris` command of the package tigris-ml, installed in an environment of its own. Its bytes for
the same files stand below ours, and the geometric mean of the ratios under the table. (It keeps a network's input and
output in slow memory, so it moves at least their bytes.)
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import onnx
from rich.console import Console
from rich.table import Table

from bench.memory import theirs
from bench.zoo import ZOO
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

SLOW = "16M"


def smallest(model: onnx.ModelProto) -> int:
    """Bytes of the smallest fast memory that works without slow memory, as the refusal of 64 bytes names it."""
    try:
        compile_model(model, fast=64)
    except BudgetError as error:
        named = re.search(r"smallest fast memory that works is (\d+)", str(error))
        assert named is not None, error
        return int(named[1])
    return 64


def again(compiled: Compiled) -> str:
    """The share of multiply-accumulates done more than once, in per cent; empty when there are none."""
    compute = compiled.report["compute"]
    share = 100 * compute["recomputed_macs"] / max(1, compute["macs"])
    return f"{share:.1f} %" if share else ""


def at_budget(model: onnx.ModelProto, budget: str) -> str:
    """Slow bytes moved at a budget, and the share done again."""
    try:
        compiled = compile_model(model, fast=budget, slow=SLOW)
    except BudgetError:
        return "refused"
    traffic = compiled.report["traffic"]
    return f"{traffic['slow_read'] + traffic['slow_written']:,} {again(compiled)}".strip()


def upstream_row(command: str, name: str, model: onnx.ModelProto, budgets: list[str]) -> list[str]:
    """Slow bytes that the upstream compiler moves at each budget."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(ZOO), help="names, separated by commas (default: all)")
    parser.add_argument("--budgets", default="", help="sizes such as 64K,16K, separated by commas")
    parser.add_argument("--upstream", metavar="COMMAND", help="the tigris command of tigris-ml")
    options = parser.parse_args()
    names, budgets = options.networks.split(","), [text for text in options.budgets.split(",") if text]
    unknown = [name for name in names if name not in ZOO]
    if unknown:
        parser.error(f"--networks: {', '.join(unknown)} unknown; there are {', '.join(ZOO)}")
    table = Table("network", "layer by layer", "smallest", "done again", *budgets, "seconds")
    found: list[float] = []
    for name in names:
        model, start = ZOO[name](), time.process_time()
        least = smallest(model)
        compiled = compile_model(model, fast=least)
        seconds = time.process_time() - start
        ours = [at_budget(model, budget) for budget in budgets]
        table.add_row(
            name, f"{compiled.plan.unscheduled_peak:,}", f"{least:,}", again(compiled),
            *ours, f"{seconds:.1f}",
        )  # fmt: skip
        if options.upstream:
            others = upstream_row(options.upstream, name, model, budgets)
            table.add_row("", "tigris-ml", "", "", *others, "")
            found += ratios(ours, others)
    console = Console()
    console.width = max(console.width, 120)
    console.print(table)
    if found:
        mean = math.exp(sum(map(math.log, found)) / len(found))
        console.print(f"ours by theirs: geometric mean {mean:.3f} of {len(found)}, the worst {max(found):.3f}")


if __name__ == "__main__":
    main()
