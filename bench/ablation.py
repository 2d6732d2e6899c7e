"""Worth of the planner's mechanisms and constants: python -m bench.ablation [SWITCH…] [--networks NAME…]

Plans networks with the planner as it is, and again with one switch at another value. A line for each switch says, at
budgets with and without slow memory from the smallest that works, by how much plans become dearer on average and at
most, how many are refused, and how much longer or shorter planning takes.
"""

import importlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench.command import command, known, parser_of
from bench.emulator import NETWORKS
from bench.networks import int8_networks, named_smallest, planned_models
from tigris_pio.compiler.choose import cheapest_plan
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.errors import BudgetError

#: Budgets as shares of the smallest fast memory; True: beside slow memory.
SHARES = ((1.0, False), (1.12, False), (1.5, False), (2.5, False), (0.25, True), (0.5, True), (0.75, True), (1.0, True))
SLOW = 1 << 28


class Switch(NamedTuple):
    """`attribute` of `module` in tigris_pio.compiler becomes `value`. where: what holds it instead of the module"""

    module: str
    attribute: str
    value: Any
    where: str = ""


def _nothing(*_: object, **__: object) -> None:
    return None


#: Mechanisms that are left out, and constants at half and at twice their value.
SWITCHES = {
    "parked rows": Switch("plan.arrange", "find_parking", _nothing),
    "stairs": Switch("plan.arrange", "find_stairs", _nothing),
    "outputs over inputs": Switch("plan.frontier.segments", "grown", _nothing, "Segments"),
    "rows made again": Switch("plan.frontier.frontier", "_make_again", _nothing, "_Search"),
    "corrected estimates": Switch("plan.points", "ROUNDS", 1),
    "lowered stages": Switch("plan.arrange", "MENDED", 0),
    "exact placement": Switch("plan.memory.allocate", "FIRST_NODES", 1 << 40),
    "other orders": Switch("choose", "orders", lambda program: (program,)),
    "folded products": Switch("choose", "with_folded_products", _nothing),
    "tiles": Switch("choose", "tiled", lambda *_: []),
    "small as 20": Switch("plan.index", "SMALL", 20),
    "small as 80": Switch("plan.index", "SMALL", 80),
    "2 labels": Switch("plan.frontier.frontier", "WIDTH", 2),
    "8 labels": Switch("plan.frontier.frontier", "WIDTH", 8),
    "32 levels": Switch("plan.frontier.levels", "STEPS", 32),
    "128 levels": Switch("plan.frontier.levels", "STEPS", 128),
    "20 placings": Switch("plan.arrange", "PLACINGS", 20),
    "80 placings": Switch("plan.arrange", "PLACINGS", 80),
    "8 placings in vain": Switch("plan.arrange", "FUTILE", 8),
    "32 placings in vain": Switch("plan.arrange", "FUTILE", 32),
    "2 placings beyond": Switch("plan.arrange", "BEYOND", 2),
    "8 placings beyond": Switch("plan.arrange", "BEYOND", 8),
    "1000 nodes": Switch("plan.arrange", "NODES", 1000),
    "5000 nodes": Switch("plan.arrange", "NODES", 5000),
    "6 placings for less": Switch("plan.smallest", "FUTILE", 6),
    "24 placings for less": Switch("plan.smallest", "FUTILE", 24),
    "levels of .7 to 1.1": Switch("plan.points", "LOWEST", 0.7),
    "orders worth 0": Switch("choose", "WORTH", 1.0),
    "plans worth 0": Switch("plan.arrange", "WORTH", 0.0),
}


@contextmanager
def switched(switch: Switch) -> Iterator[None]:
    """Within it the planner has the other value."""
    owner: Any = importlib.import_module(f"tigris_pio.compiler.{switch.module}")
    owner = getattr(owner, switch.where) if switch.where else owner
    before = getattr(owner, switch.attribute)
    setattr(owner, switch.attribute, switch.value)
    try:
        yield
    finally:
        setattr(owner, switch.attribute, before)


class Run(NamedTuple):
    """costs: of each network's budgets; None: refused. seconds: of the processor"""

    costs: list[float | None]
    seconds: float


def planned(cases: list[tuple[Program, Budget]]) -> Run:
    """Each program at its budget."""

    def cost(program: Program, budget: Budget) -> float | None:
        try:
            return cost_of(cheapest_plan(program, CompileOptions(budget))[0])
        except BudgetError:
            return None

    began = time.process_time()
    return Run([cost(*case) for case in cases], time.process_time() - began)


def cases_of(program: Program) -> list[tuple[Program, Budget]]:
    """Its budgets."""
    try:
        cheapest_plan(program, CompileOptions(Budget(1)))
    except BudgetError as error:
        smallest = named_smallest(error)
    budgets = ((math.ceil(share * smallest / 16) * 16, SLOW * slow) for share, slow in SHARES)
    return [(program, Budget(fast, slow)) for fast, slow in budgets]


def line(name: str, base: Run, other: Run) -> str:
    """A switch's line of the table."""
    ratios = [b / a for a, b in zip(base.costs, other.costs, strict=True) if a and b]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lost = sum(one is not None and two is None for one, two in zip(base.costs, other.costs, strict=True))
    return (f"{name:22}{100 * (mean - 1):+8.2f} %{100 * (max(ratios) - 1):+8.2f} %{100 * (min(ratios) - 1):+8.2f} %"
            f"{lost:9}{other.seconds / base.seconds:8.2f}")  # fmt: skip


@command
def main() -> None:
    """Prints the table."""
    parser, models = parser_of(__doc__, networks=",".join(int8_networks(NETWORKS))), planned_models()
    parser.add_argument("switches", nargs="*", choices=[[], *SWITCHES], metavar="SWITCH", help=", ".join(SWITCHES))
    options = parser.parse_args()
    names = known(parser, options.networks, list(models))
    cases = [case for name in names for case in cases_of(front(models[name](), CompileOptions()).program)]
    base = planned(cases)
    print(f"{'without, or with':22}{'mean':>10}{'worst':>10}{'best':>10}{'refused':>9}{'seconds':>8}")
    for name in options.switches or SWITCHES:
        with switched(SWITCHES[name]):
            print(line(name, base, planned(cases)), flush=True)
