"""Shares fast memory between a plan's arena and a library's scratch: tries caps on the scratch for the cheapest plan.

Less scratch leaves more memory for activations, so bands are taller, but operators with more scratch stay portable.
Costs are predicted with the library's own instructions (compiler/cost). The user requested the
library, or it is the fastest on the chip. An operator that is portable for lack of scratch therefore counts at least
the library's instructions.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator

from tigris_pio.compiler.backends.assign import Assignment
from tigris_pio.compiler.backends.backend import Backend
from tigris_pio.compiler.backends.scratch import plan_scratch, scratch_bytes, scratch_of
from tigris_pio.compiler.cost.model import CostModel, machines
from tigris_pio.compiler.ir.plan import BackendUse, Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.prediction import predicted_instructions
from tigris_pio.sizes import round_up

#: The best plan of a program within a budget that costs less than so much, or None.
Find = Callable[[Program, Budget, float], ExecutionPlan | None]
#: Caps on scratch that are tried at most, and heights of bands that they come from.
MOST_CAPS, HEIGHTS = 12, (1, 2, 4, 8, 16)
#: The least distance of caps is the budget divided by this.
LEAST_GAP = 64
#: How often a cap is tried again without the operators that took more than it.
_AGAIN = 3
#: How often the caps between the best cap and its neighbours are tried.
_ROUNDS = 2
#: Caps are multiples of this, in bytes, like the sizes of arenas.
_ROUND = 16
#: Smaller relative differences of costs are rounding: sums of the same numbers in another order.
_EQUAL = 1e-6


def judged_cost(plan: ExecutionPlan) -> float:
    """The cost of a plan, plus the penalty of operators that are portable for lack of scratch."""
    return cost_of(plan) + (0.0 if plan.backend is None else plan.backend.charged)


@dataclasses.dataclass(frozen=True)
class Balance:
    """A plan for a cap on the scratch."""

    cap: int
    plan: ExecutionPlan

    @functools.cached_property
    def cost(self) -> float:
        """The cost by which plans of several caps are compared."""
        return judged_cost(self.plan)

    @property
    def is_whole(self) -> bool:
        """Whether less scratch cannot improve the plan: no stage has bands or moves bytes to or from slow memory."""
        return all(stage.bands == 1 and not stage.slow_read + stage.slow_written for stage in self.plan.stages)


@dataclasses.dataclass(frozen=True)
class Point:
    """A point of the curve.

    scratch, arena: bytes
    ops: operators that the library runs
    instructions: predicted for the plan's processor
    cost: the measure by which the cheapest plan is chosen
    """

    scratch: int
    arena: int
    ops: int
    instructions: int
    cost: int
    chosen: bool


class Balances:
    """Plans of one program within a budget, by caps on the scratch of `backend`.

    processor: the processor whose instructions measure the plans
    """

    def __init__(
        self, find: Find, program: Program, budget: Budget, backend: Backend, chip: str, processor: str
    ) -> None:
        self._find, self._program, self._budget = find, program, budget
        self._backend, self._chip, self._processor = backend, chip, processor
        #: Whether scratch shares the budget with the arena, and the library's instructions were counted.
        self._counted = bool(machines(backend.name)) and not backend.has_planned_scratch
        self._assigned: dict[frozenset[str], Program] = {}
        self._all = self._given(Assignment(backend, chip))
        self._least = {op.name: scratch_of(self._all, op, backend, chip, 1) for op in self._all.ops if op.backend}
        self._whole = dict(self._whole_costs())

    def _whole_costs(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Instructions of each operator run whole, portable and by the library where that runs it."""
        for pair in zip(self._program.ops, self._all.ops, strict=True):
            portable, library = (
                op.images * CostModel.of(self._processor).call(op, self._program.tensors) for op in pair
            )
            yield pair[0].name, (portable, library)

    def caps(self) -> list[int]:
        """Caps on the scratch below the budget, the largest first: the scratch of operators that run whole and in
        bands of a few heights, and 0."""
        taken = {
            round_up(scratch_of(self._all, op, self._backend, self._chip, height), _ROUND)
            for height in (None, *HEIGHTS)
            for op in self._all.ops
            if op.backend
        }
        if self._budget.fast is None:
            return [max(taken, default=0)]
        limit = self._budget.fast
        return _thinned(sorted({cap for cap in taken if cap < limit} | {0}, reverse=True), limit // LEAST_GAP)

    def at(self, cap: int, most: float = math.inf) -> Balance | None:
        """The cheapest plan found with `cap` bytes of the budget for scratch, if it costs less than `most`.

        Operators that take more scratch in the plan's bands are portable.
        """
        left_portable = frozenset(name for name, least in self._least.items() if least > cap)
        remaining = self._budget
        if remaining.fast is not None and not self._backend.has_planned_scratch:
            remaining = dataclasses.replace(remaining, fast=remaining.fast - cap)
        for _ in range(_AGAIN):
            assignment = Assignment(self._backend, self._chip, left_portable)
            charged = self._charged(left_portable)
            plan = self._find(self._given(assignment), remaining, most - charged)
            if plan is None:
                return None
            scratch = scratch_bytes(plan, self._backend, self._chip)
            if self._fits(plan, scratch):
                return Balance(cap, self._finished(plan, assignment, scratch, charged))
            left_portable |= self._above(plan, cap)
        return None

    def _given(self, assignment: Assignment) -> Program:
        """The program of an assignment: the same object each time, because searches cache by it."""
        if assignment.left_portable not in self._assigned:
            self._assigned[assignment.left_portable] = assignment.apply(self._program)
        return self._assigned[assignment.left_portable]

    def portable(self, most: float = math.inf) -> Balance | None:
        """The plan of the portable kernels alone, which needs no scratch."""
        every = frozenset(self._least)
        charged = self._charged(every)
        plan = self._find(self._program, self._budget, most - charged)
        if plan is None:
            return None
        return Balance(0, self._finished(plan, Assignment(self._backend, self._chip, every), 0, charged))

    def cheapest(self, most: float = math.inf) -> Balance | None:
        """The cheapest plan of all caps, if it costs less than `most`; if no cap has a plan, that of portable kernels.

        If the planner places the scratch, or the backend's instructions were not counted, the first plan that fits.
        """
        first, *others = self.caps()
        best = self.at(first, most)
        if best is None and others and self._counted:  # if no plan fits without scratch, none fits with it
            best = self.at(others.pop(), most)
            others = [] if best is None else others
        for cap in others:
            if best is None:
                best = self.at(cap, most)
            elif not self._counted:
                break
            elif self._bound(cap) < best.cost and not (best.is_whole and best.cap > cap):
                best = _cheaper(self.at(cap, most), best)
        if best is not None and self._counted and not best.is_whole:
            best = self._nearer(best, most)
        return best or (self.portable() if self._least and most == math.inf else None)

    def _nearer(self, best: Balance, most: float) -> Balance:
        """The best of `best` and of caps between its cap and the neighbouring ones."""
        tried = self.caps()
        for _ in range(_ROUNDS):
            place = tried.index(best.cap)
            beside = [cap for cap in (*tried[:place][-1:], *tried[place + 1 :][:1]) if abs(cap - best.cap) > 2 * _ROUND]
            between = [(cap + best.cap) // 2 // _ROUND * _ROUND for cap in beside]
            for cap in between:
                if self._bound(cap) < best.cost:
                    best = _cheaper(self.at(cap, most), best)
            tried = sorted({*tried, *between}, reverse=True)
        return best

    def curve(self, chosen: ExecutionPlan) -> tuple[Point, ...]:
        """A point for each different plan of the caps and for `chosen`, by rising scratch; () if the backend's
        instructions were not counted."""
        if not self._counted:
            return ()
        found: dict[tuple[int, int, int], Point] = {}
        for balance in (Balance(0, chosen), *(self.at(cap) for cap in self.caps())):
            if balance is not None:
                point = _point(balance, chosen)
                found.setdefault((point.scratch, point.arena, point.ops), point)
        return tuple(found[key] for key in sorted(found))

    def _charged(self, names: frozenset[str]) -> float:
        return sum(max(0.0, library - portable) for library, portable in (self._whole[name][::-1] for name in names))

    def _bound(self, cap: int) -> float:
        """A lower bound on the cost of a cap's plans: all operators run whole, without the executor."""
        return sum(library if self._least.get(name, 0) <= cap else max(portable, library)
                   for name, (portable, library) in self._whole.items())  # fmt: skip

    def _fits(self, plan: ExecutionPlan, scratch: int) -> bool:
        limit = self._budget.fast
        return limit is None or round_up(plan.fast_bytes, plan.alignment) + scratch <= limit

    def _above(self, plan: ExecutionPlan, cap: int) -> frozenset[str]:
        """Operators that take more than `cap` in the plan's bands."""
        taken = plan_scratch(plan, self._backend, self._chip)
        return frozenset(name for name, size in taken.items() if round_up(size, plan.alignment) > cap)

    def _finished(
        self, plan: ExecutionPlan, assignment: Assignment, scratch: int, charged: float
    ) -> ExecutionPlan:
        name, symbol = self._backend.name, self._backend.symbol
        use = BackendUse(name, symbol, self._chip, scratch, assignment.portable_reasons(plan.program), charged)
        return dataclasses.replace(plan, budget=self._budget, backend=use)


def _cheaper(found: Balance | None, best: Balance) -> Balance:
    return best if found is None or found.cost >= best.cost * (1 - _EQUAL) else found


def _point(balance: Balance, chosen: ExecutionPlan) -> Point:
    plan = balance.plan
    assert plan.backend is not None
    return Point(plan.backend.scratch_bytes, plan.fast_bytes, len(plan.program.ops) - len(plan.backend.portable),
                 predicted_instructions(plan, plan.processor), round(balance.cost), plan is chosen)  # fmt: skip


def _thinned(caps: list[int], gap: int) -> list[int]:
    """At most MOST_CAPS of `caps` with distances of at least `gap`; the first and the last stay."""
    kept = list(caps)
    while len(kept) > 2:
        gaps = [above - below for above, below in itertools.pairwise(kept[:-1])]
        if len(kept) <= MOST_CAPS and min(gaps) >= gap:
            break
        del kept[gaps.index(min(gaps)) + 1]
    return kept
