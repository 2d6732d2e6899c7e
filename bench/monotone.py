"""Does more memory ever make a plan worse? python -m bench.monotone [--networks …] [--ladders] [--json FILE]

Plans every network of `bench/zoo.py` and of a folder on a budget grid. Fast memory grows in steps of 6 %, from the
smallest step that works to the size that holds all tensors whole, without slow memory and with ample. If a plan uses
slow memory, it is planned again with a quarter, half and all of that. A budget counts as worse if its plan costs more
than that of a smaller budget, or is refused although a smaller one works. The table has a line for each network: the
number of budgets, the share that is worse, and the worst ratio to the least cost of a smaller budget. "instructions"
counts the predictions for plans without slow memory in the same way; "planned" is the share of the grid that was
planned in time.

`--ladders` prints each plan: its cost (`plan/cost.py`), predicted instructions, the bytes that it moves to and from
slow memory, and the multiply-accumulates that it repeats. A network gets `--seconds` of processor time, spent on
budgets far from each other first.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from bench.command import command, known, parser_of, print_cells, write_json
from bench.emulator import NETWORKS
from bench.networks import planned_models
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back, front
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.prediction import predicted_instructions
from tigris_pio.errors import BudgetError

STEP = 1.06
#: More slow memory than any plan takes.
AMPLE = 1 << 28
#: Of the slow memory that a plan takes when it has ample: what it is given instead.
SHARES = (0.25, 0.5, 1.0)
#: The ladder's lower end, in bytes and as a share of what everything whole takes, whichever is less: with slow memory
#: networks work in any amount of fast memory.
LEAST, LEAST_SHARE = 1024, 0.25
#: The share of a network's processor time after which no more budgets without slow memory or with ample are planned.
FIRST = 0.7


@dataclasses.dataclass(frozen=True)
class Point:
    """The plan at a budget. Refused: `cost` and `instructions` are infinite, and nothing is moved."""

    fast: int  #: bytes granted
    slow: int  #: bytes granted
    cost: float
    instructions: float
    moved: int = 0  #: bytes moved to and from slow memory
    again: int = 0  #: multiply-accumulates done again
    slow_taken: int = 0

    @staticmethod
    def of(plan: ExecutionPlan, fast: int, slow: int) -> Point:
        """That of a plan for so much fast and slow memory."""
        moved = sum(stage.slow_read + stage.slow_written for stage in plan.stages)
        again = sum(stage.recomputed_macs for stage in plan.stages)
        return Point(fast, slow, cost_of(plan), predicted_instructions(plan), moved, again, plan.slow_bytes)


@dataclasses.dataclass(frozen=True)
class Count:
    """`worse` of `budgets` budgets are worse than a smaller one, by a factor of at most `worst`."""

    budgets: int = 0
    worse: int = 0
    worst: float = 1.0

    def __add__(self, other: Count) -> Count:
        return Count(self.budgets + other.budgets, self.worse + other.worse, max(self.worst, other.worst))

    def __str__(self) -> str:
        if not self.budgets:
            return "-"
        share = f"{100 * self.worse / self.budgets:.1f} % of {self.budgets}"
        if not self.worse:
            return share
        return f"{share}, " + ("refused" if math.isinf(self.worst) else f"x{self.worst:,.3f}")


#: The keys by which plans are compared; the second one for plans without slow memory.
by_cost, by_instructions = attrgetter("cost"), attrgetter("instructions")


def least_of_smaller(point: Point, points: Iterable[Point], key: Callable[[Point], float]) -> float:
    """The least of all that have no more fast and no more slow memory."""
    smaller = (other for other in points if other.fast <= point.fast and other.slow <= point.slow)
    return min(key(other) for other in smaller)


def count(points: Sequence[Point], key: Callable[[Point], float] = by_cost) -> Count:
    """Counts the `points` that are worse than one with no more memory. Points without such a plan are left out."""
    total = Count()
    for point in points:
        least = least_of_smaller(point, points, key)
        worse = key(point) > least * (1 + 1e-9)
        if math.isfinite(least):
            total += Count(1, int(worse), key(point) / least if worse else 1.0)
    return total


class Ladder:
    """The budgets of one network and what has been planned so far, in `seconds` of processor time."""

    def __init__(self, start: Front, seconds: float) -> None:
        self._start, self._from, self._seconds = start, time.process_time(), seconds
        self.points: dict[tuple[int, int], Point] = {}
        self.missed = 0  #: budgets that there was no time for
        whole = back(start, CompileOptions()).plan.fast_bytes
        steps = int(math.log(whole / min(LEAST, LEAST_SHARE * whole), STEP)) + 1
        self._rungs = [int(whole / STEP**step) for step in range(steps)]

    @property
    def spent(self) -> float:
        """Seconds of processor time since the beginning."""
        return time.process_time() - self._from

    def left(self, share: float = 1.0) -> bool:
        """Whether less than this share of the time is spent."""
        return self.spent < share * self._seconds

    def plan(self, fast: int, slow: int) -> Point:
        """At one budget, once."""
        if (fast, slow) not in self.points:
            try:
                point = Point.of(back(self._start, CompileOptions(Budget(fast, slow))).plan, fast, slow)
            except BudgetError:
                point = Point(fast, slow, math.inf, math.inf)
            self.points[fast, slow] = point
        return self.points[fast, slow]

    def climb(self) -> None:
        """Plans without slow memory and with ample at every step from the smallest that works; then along slow memory
        where that is taken."""
        reach = {slow: self._smallest(slow) for slow in (0, AMPLE)}
        for place in spread(max(reach.values())):
            for slow in (slow for slow, steps in reach.items() if place < steps):
                if self.left(FIRST):
                    self.plan(self._rungs[place], slow)
                else:
                    self.missed += (self._rungs[place], slow) not in self.points
        for fast, slow in list(self.points):
            taken = self.points[fast, slow].slow_taken
            for share in SHARES if taken and slow == AMPLE else ():
                if self.left():
                    self.plan(fast, math.ceil(share * taken))
                else:
                    self.missed += (fast, math.ceil(share * taken)) not in self.points

    def _smallest(self, slow: int) -> int:
        """The number of steps that work, by bisection."""
        works, fails = 0, len(self._rungs)
        while fails - works > 1:
            middle = (works + fails) // 2
            refused = math.isinf(self.plan(self._rungs[middle], slow).cost)
            works, fails = (works, middle) if refused else (middle, fails)
        return works + 1

    def along_fast(self, slow: int) -> list[Point]:
        """All with the same slow memory."""
        return sorted((p for p in self.points.values() if p.slow == slow), key=lambda point: point.fast)

    def along_slow(self) -> Iterator[list[Point]]:
        """Lists of those that differ in slow memory alone, with the least and the most of it."""
        for fast in sorted({fast for fast, slow in self.points if slow not in (0, AMPLE)}):
            taken = self.points[fast, AMPLE].slow_taken
            given = (0, *(math.ceil(share * taken) for share in SHARES), AMPLE)
            yield [self.points[fast, slow] for slow in given if (fast, slow) in self.points]


def spread(places: int) -> list[int]:
    """0 … places - 1, those far apart first."""
    bits = max(1, (places - 1).bit_length())
    turned = (int(f"{place:0{bits}b}"[::-1], 2) for place in range(1 << bits))
    return [place for place in turned if place < places]


def counts_of(ladder: Ladder) -> dict[str, Count]:
    """By heading of the table. Of the points along slow memory those with the least are not judged, having none to be
    compared with."""
    slow = Count()
    for points in ladder.along_slow():
        found = count(points)
        slow += dataclasses.replace(found, budgets=max(0, found.budgets - 1))
    return {
        "slow 0": count(ladder.along_fast(0)),
        "instructions": count(ladder.along_fast(0), by_instructions),
        "ample slow": count(ladder.along_fast(AMPLE)),
        "more slow": slow,
    }


def print_ladder(name: str, ladder: Ladder) -> None:
    """Every plan, a budget a line; those worse than a smaller budget's have a mark."""
    rows, points = [], sorted(ladder.points.values(), key=lambda point: (point.slow, point.fast))
    for point in points:
        refused, least = math.isinf(point.cost), least_of_smaller(point, points, by_cost)
        figures = (point.cost, point.instructions, point.moved, point.again)
        rows.append([
            f"{point.fast:,}", "ample" if point.slow == AMPLE else f"{point.slow:,}",
            *(["refused", "", "", ""] if refused else [f"{round(figure):,}" for figure in figures]),
            f"x{point.cost / least:.2f}" if point.cost > least * (1 + 1e-9) else "",
        ])  # fmt: skip
    print_cells(name, ("fast", "slow", "cost", "instructions", "slow bytes", "done again", "worse"), rows)


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", networks=None)
    parser.set_defaults(folder=Path(os.environ.get("TIGRIS_MODELS") or NETWORKS))
    parser.add_argument("--seconds", type=float, default=15.0, help="limit for each network; default: %(default)s")
    parser.add_argument("--ladders", action="store_true", help="print every plan")
    options = parser.parse_args()
    models = planned_models(options.folder)
    total: dict[str, Count] = {}
    rows, plans = [], {}
    for name in known(parser, options.networks, list(models)):
        ladder = Ladder(front(models[name](), CompileOptions()), options.seconds)
        ladder.climb()
        found = counts_of(ladder)
        total = {heading: total.get(heading, Count()) + counted for heading, counted in found.items()}
        planned = 100 * len(ladder.points) / (len(ladder.points) + ladder.missed)
        rows.append([name, *map(str, found.values()), f"{planned:.0f} %", f"{ladder.spent:.1f}"])
        plans[name] = [dataclasses.asdict(point) for point in ladder.points.values()]
        if options.ladders:
            print_ladder(name, ladder)
    rows.append(["all", *map(str, total.values()), "", ""])
    print_cells("worse than a smaller budget", ["network", *total, "planned", "seconds"], rows)
    write_json(options.json, plans)
