"""The cheapest plan of a program: over orders of its operators, with folded products, in tiles of columns, by how a
backend shares the memory, and for sizes of memory below the budget.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

from tigris_pio.compiler.backends.balance import Balances, Find, judged_cost
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.instructions.predict import nearest_for
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.fold_products import fold_products
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.plan.attempts import Attempt, Attempts
from tigris_pio.compiler.plan.columns import tiled
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.rungs import below
from tigris_pio.compiler.plan.search import EXHAUSTIVE, STEPS, TIGHT, Effort, does_not_fit, find_plan, worth
from tigris_pio.compiler.plan.work import Work

#: So many sizes of memory less than there is are planned for too, of those that are the same whatever there is: what
#: little more memory leads to may cost more.
SMALLER = 2


class Indices:
    """Of programs, and of the same with folded products: each is made once, and what was found by it is known the next
    time. Costs count the instructions of the processor that `program` is planned for."""

    def __init__(self, program: Program, options: CompileOptions) -> None:
        self.work = Work()
        self._processor = _processor(program, options)
        self._known: dict[int, ProgramIndex] = {}  # indices keep their programs, so that no other has the id
        self._folded: dict[int, ProgramIndex | None] = {}

    def of(self, program: Program) -> ProgramIndex:
        """That of `program`."""
        if id(program) not in self._known:
            self._known[id(program)] = ProgramIndex.of(program, self._processor, self.work)
        return self._known[id(program)]

    def folded(self, program: Program) -> ProgramIndex | None:
        """That of `program` with folded products; None when it has none to fold."""
        known = self.of(program)
        if id(program) not in self._folded:
            folded = fold_products(program)
            self._folded[id(program)] = None if folded is None else ProgramIndex.of(folded, known.processor, known.work)
        return self._folded[id(program)]


def plan_of(
    program: Program, options: CompileOptions, indices: Indices | None = None, most: float = math.inf,
    tried: list[Attempt] | None = None, effort: Effort = Effort.FULL,
) -> ExecutionPlan | None:
    """The best plan of `program` within the options' budget, a backend's scratch included, that costs less than `most`;
    None when none was found.

    `indices`: whoever makes several plans saves time by keeping them. What is tried is added to `tried`.
    """
    backend = options.kernels()
    if backend is None:
        known = indices or Indices(program, options)
        return _finder(options, known, tried, effort)(program, options.budget, most)
    found = balances(program, options, tried, effort).cheapest(most)
    return None if found is None else found.plan


def balances(
    program: Program, options: CompileOptions, tried: list[Attempt] | None = None, effort: Effort = Effort.FULL
) -> Balances:
    """Plans of `program` by how a backend shares the memory with them."""
    backend = options.kernels()
    assert backend is not None
    find = _finder(options, Indices(program, options), tried, effort)
    return Balances(find, program, options.budget, backend, options.chip, _processor(program, options))


def _processor(program: Program, options: CompileOptions) -> str:
    """By whose instructions plans are judged."""
    backend = options.kernels()
    return nearest_for(program, options.chip, "" if backend is None else backend.name)


def _finder(options: CompileOptions, indices: Indices, tried: list[Attempt] | None, effort: Effort) -> Find:
    """Finds plans of a program, or of the same with other kernels."""
    noted = [] if tried is None else tried

    def find(wanted: Program, budget: Budget, most: float) -> ExecutionPlan | None:
        def plan_by(index: ProgramIndex, most: float) -> tuple[ExecutionPlan | None, list[Attempt]]:
            before = len(index.cache(Attempts))
            plan = find_plan(index, budget, options.alignment, options.weights(), most, effort)
            return plan, index.cache(Attempts)[before:]

        plan, attempts = plan_by(indices.of(wanted), most)
        noted.extend(attempts)
        resident = plan is not None and plan.slow_bytes == 0
        folded = None if effort is Effort.FIRST or resident else indices.folded(wanted)
        if folded is None:
            return plan
        better, attempts = plan_by(folded, most if plan is None else worth(wanted, cost_of(plan)))
        noted.extend(dataclasses.replace(attempt, folded=True) for attempt in attempts)
        return better or plan

    return find


def cheapest_plan(program: Program, options: CompileOptions) -> tuple[ExecutionPlan, tuple[Attempt, ...]]:
    """The cheapest plan of any order, of a large program of one, and what was tried; BudgetError, with the least memory
    that any order works in, when there is none."""
    choice = _Choice(program, options)
    choice.take_first()
    fast = options.budget.fast
    if choice.best is None:
        indices, programs = choice.indices, choice.programs
        folded = [other for order in programs if (other := indices.folded(order)) is not None]
        raise does_not_fit([*map(indices.of, programs), *folded], options.budget, options.alignment, options.weights())
    if fast is not None and len(program.ops) <= EXHAUSTIVE:
        for room in itertools.islice(below(fast, STEPS), SMALLER):
            if not _is_whole(choice.best):
                choice.take_smaller(room)
    return dataclasses.replace(choice.best, budget=options.budget), tuple(choice.tried)


class _Choice:
    """Of the orders of `program` the cheapest plan so far, and what was tried."""

    def __init__(self, program: Program, options: CompileOptions) -> None:
        self.programs, self.indices, self.options = orders(program), Indices(program, options), options
        self.best: ExecutionPlan | None = None
        self.order = 0  #: of the best without tiles, from 1 on
        self.tried: list[Attempt] = []
        self._untiled: ExecutionPlan | None = None  # the best without tiles

    def take_first(self) -> None:
        """The cheapest plan within the options' budget: in any order, and in tiles."""
        for order, program in enumerate(self.programs, 1):
            now: list[Attempt] = []
            plan = plan_of(program, self.options, self.indices, worth(program, _less(self.best)), now)
            self.tried += (dataclasses.replace(attempt, order=order) for attempt in now)
            if plan is not None and self._betters(plan):
                self.best, self.order = plan, order
                if _is_whole(plan) or len(program.ops) > EXHAUSTIVE:
                    break
        self._untiled = self.best
        if self.best is not None and self.options.budget.slow:
            self._take_tiles(self.best, self.options, self.tried)

    def take_smaller(self, room: int) -> None:
        """A cheaper plan in `room` bytes of fast memory, in the order that was best. It is taken whatever it saves, so
        that more memory costs no more. Tiles are made where the best has none, and in little memory of the plan that
        there is in `room`."""
        assert self.best is not None
        options = dataclasses.replace(self.options, budget=dataclasses.replace(self.options.budget, fast=room))
        tried: list[Attempt] = []
        plan = self._in_best_order(options, _less(self.best), tried)
        if plan is not None and self._betters(plan):
            self.best = self._untiled = plan
        if options.budget.slow:
            untiled = self._untiled if self.best is self._untiled else None
            if untiled is None and _is_tight(options):
                untiled = self._in_best_order(options, math.inf, tried)
            if untiled is not None:
                self._take_tiles(untiled, options, tried)
        self.tried += (dataclasses.replace(attempt, smaller=room) for attempt in tried)

    def _in_best_order(self, options: CompileOptions, most: float, tried: list[Attempt]) -> ExecutionPlan | None:
        now: list[Attempt] = []
        plan = plan_of(self.programs[self.order - 1], options, self.indices, most, now, Effort.SEARCH)
        tried += (dataclasses.replace(attempt, order=self.order) for attempt in now)
        return plan

    def _betters(self, plan: ExecutionPlan) -> bool:
        """Whether a plan is to be taken instead of the best, or of none."""
        if self.best is None:
            return True
        if judged_cost(plan) >= judged_cost(self.best) or _leaves_more(plan, self.best):
            return False
        return _fits_flash(plan, self.options)

    def _take_tiles(self, untiled: ExecutionPlan, options: CompileOptions, tried: list[Attempt]) -> None:
        """A cheaper plan with operators in tiles of columns, as `untiled` lets expect of the options' fast memory. What
        is tried is added to `tried`.

        Tiles for one size of memory less than the first that has a plan are tried too: a plan in more memory would else
        be dearer than one in less where tiles that just fit are worse than smaller ones. Of little memory the plans in
        less bring theirs."""
        assert self.best is not None
        indices = [*map(self.indices.of, self.programs)]
        tight, found = _is_tight(options), False
        for programs_in_tiles in tiled(indices, dataclasses.replace(untiled, budget=options.budget), options.alignment):
            last = found or (tight and untiled is not self._untiled)
            for narrow in programs_in_tiles:
                now: list[Attempt] = []
                most = worth(narrow, judged_cost(self.best))
                plan = plan_of(narrow, options, most=most, tried=now, effort=Effort.FIRST)
                tried += (dataclasses.replace(attempt, columns=True) for attempt in now)
                if plan is None or judged_cost(plan) >= judged_cost(self.best):
                    continue
                if _fits_flash(plan, self.options):  # its operators are others, so who runs them is not compared
                    self.best, found = plan, True
            if last or (tight and found):
                break


def _is_tight(options: CompileOptions) -> bool:
    """Whether there is so little memory that tiles are made of the plans in less, too. Not with a backend: there each
    plan means several."""
    return options.budget.fast is not None and options.budget.fast <= TIGHT and options.kernels() is None


def _less(than: ExecutionPlan | None) -> float:
    """What a plan must cost less than to be cheaper: each stage's count was rounded."""
    return math.inf if than is None else judged_cost(than) - len(than.stages) / 2


def _leaves_more(plan: ExecutionPlan, than: ExecutionPlan | None) -> bool:
    """Whether a plan leaves operators to portable kernels that another gives to a backend's. Not every backend's
    instructions were counted, so costs alone do not tell which is the better one."""
    if plan.backend is None or than is None or than.backend is None:
        return False
    return not plan.backend.portable.keys() <= than.backend.portable.keys()


def _fits_flash(plan: ExecutionPlan, options: CompileOptions) -> bool:
    """Whether a plan is small enough, which one with operators in tiles, or in more stages, may not be: tiles take more
    records and sometimes weights twice."""
    flash = options.budget.flash
    return flash is None or len(write_plan(plan, options.xip)) <= flash


def _is_whole(plan: ExecutionPlan) -> bool:
    """Whether no other order betters it."""
    return all(stage.bands == 1 and not stage.slow_read + stage.slow_written for stage in plan.stages)
