"""The cheapest plan of a program: over orders of its operators, with folded products, in tiles of columns, and by how
a backend shares the memory.
"""

from __future__ import annotations

import dataclasses
import math

from tigris_pio.compiler.backends.balance import Balances, Find, judged_cost
from tigris_pio.compiler.cost.model import DEFAULT, nearest_for
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.pack_int4 import unpack_tables
from tigris_pio.compiler.lower.passes import with_folded_products
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.columns import tiled
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.prediction import predict_stage
from tigris_pio.compiler.plan.search import does_not_fit, find_plan
from tigris_pio.errors import BudgetError

#: So many times cheaper another order or other operators must be: each takes as long as the first.
WORTH = 1.005
#: So many times longer a plan with tables of weights may take than with weights in 8 bits.
MOST_SLOWED = 1.125


class Indices:
    """Indices of programs, and of the same programs with folded products. Each is made once and caches what the planner
    finds.

    Costs count the instructions of the processor that `program` is planned for.
    """

    def __init__(self, program: Program, options: CompileOptions) -> None:
        self._processor = _processor(program, options)
        self._known: dict[int, ProgramIndex] = {}  # indices keep their programs, so that no other has the id
        self._folded: dict[int, ProgramIndex | None] = {}

    def of(self, program: Program) -> ProgramIndex:
        """That of `program`."""
        if id(program) not in self._known:
            self._known[id(program)] = ProgramIndex.of(program, self._processor)
        return self._known[id(program)]

    def folded(self, program: Program) -> ProgramIndex | None:
        """That of `program` with folded products; None when it has none to fold."""
        known = self.of(program)
        if id(program) not in self._folded:
            folded = with_folded_products(program)
            self._folded[id(program)] = None if folded is None else ProgramIndex.of(folded, known.processor)
        return self._folded[id(program)]


def plan_of(
    program: Program, options: CompileOptions, indices: Indices | None = None, most: float = math.inf,
    tried: list[Attempt] | None = None, spills: bool = False,
) -> ExecutionPlan | None:
    """The best plan of `program` within the options' budget, a backend's scratch included, that costs less than `most`;
    None if none was found.

    indices: kept by a caller that makes several plans
    tried: receives each schedule that was placed
    spills: the plan is expected to need slow memory
    """
    backend = options.kernels()
    if backend is None:
        known = indices or Indices(program, options)
        return _finder(options, known, tried, spills)(program, options.budget, most)
    found = balances(program, options, tried).cheapest(most)
    return None if found is None else found.plan


def balances(program: Program, options: CompileOptions, tried: list[Attempt] | None = None) -> Balances:
    """Plans of `program` by how a backend shares the memory with them."""
    backend = options.kernels()
    assert backend is not None
    find = _finder(options, Indices(program, options), tried)
    return Balances(find, program, options.budget, backend, options.chip, _processor(program, options))


def _processor(program: Program, options: CompileOptions) -> str:
    """By whose instructions plans are judged."""
    backend = options.kernels()
    return nearest_for(program, options.chip, "" if backend is None else backend.name)


def _finder(
    options: CompileOptions, indices: Indices, tried: list[Attempt] | None, spills: bool = False
) -> Find:
    """Finds plans of a program, or of the same with other kernels."""
    noted = [] if tried is None else tried

    def find(wanted: Program, budget: Budget, most: float) -> ExecutionPlan | None:
        def plan_by(index: ProgramIndex, most: float, folded: bool) -> ExecutionPlan | None:
            now: list[Attempt] = []
            plan = find_plan(index, budget, options.alignment, options.weights(), most, now, spills)
            noted.extend(dataclasses.replace(attempt, folded=folded) for attempt in now)
            return plan

        plan = plan_by(indices.of(wanted), most, folded=False)
        other = None if plan is not None and _is_whole(plan) else indices.folded(wanted)
        if other is None:
            return plan
        return plan_by(other, most if plan is None else _worth(plan), folded=True) or plan

    return find


def _worth(plan: ExecutionPlan | None) -> float:
    """The cost below which another order or other operators replace a plan."""
    return math.inf if plan is None else judged_cost(plan) / WORTH


def cheapest_plan(program: Program, options: CompileOptions) -> tuple[ExecutionPlan, tuple[Attempt, ...]]:
    """The cheapest plan, and what was tried; BudgetError, with the least memory that works, when there is none.

    Tables of weights become weights in 8 bits if their scratch does not fit. They also do if they slow the plan down
    and the flash budget allows it.
    """
    wide = unpack_tables(program)
    try:
        found = _cheapest_plan(program, options)
    except BudgetError:
        if wide is program:
            raise
        return _cheapest_plan(wide, options)
    if wide is program or not _is_slowed(found[0]):
        return found
    faster = _cheapest_plan(wide, options)
    return faster if _fits_flash(faster[0], options) else found


def _is_slowed(plan: ExecutionPlan) -> bool:
    """Whether tables of weights cost more than an eighth of the time: of cycles where a cache is before the flash, else
    of instructions."""
    processor, times = plan.processor or DEFAULT, []
    for one in (plan, dataclasses.replace(plan, program=unpack_tables(plan.program))):
        stages = [predict_stage(one, stage, (processor,)) for stage in one.stages]
        times.append(sum(stage.cycles.get(processor, stage.instructions[processor]) for stage in stages))
    return times[0] > MOST_SLOWED * times[1]


def _cheapest_plan(program: Program, options: CompileOptions) -> tuple[ExecutionPlan, tuple[Attempt, ...]]:
    """The cheapest plan of any order, of a large program of one, and what was tried; BudgetError, with the least memory
    that any order works in, when there is none."""
    choice = _Choice(program, options)
    choice.take_orders()
    if choice.best is None:
        indices, programs = choice.indices, choice.programs
        folded = [other for order in programs if (other := indices.folded(order)) is not None]
        raise does_not_fit([*map(indices.of, programs), *folded], options.budget, options.alignment, options.weights())
    if options.budget.slow:
        choice.take_tiles()
    return dataclasses.replace(choice.best, budget=options.budget), tuple(choice.tried)


class _Choice:
    """The cheapest plan so far of all orders of `program`, and the schedules that were placed."""

    def __init__(self, program: Program, options: CompileOptions) -> None:
        self.programs, self.indices, self.options = orders(program), Indices(program, options), options
        self.best: ExecutionPlan | None = None
        self.tried: list[Attempt] = []

    def take_orders(self) -> None:
        """The cheapest plan in any order."""
        for order, program in enumerate(self.programs, 1):
            now: list[Attempt] = []
            plan = plan_of(program, self.options, self.indices, _worth(self.best), now)
            self.tried += (dataclasses.replace(attempt, order=order) for attempt in now)
            if plan is not None and self._betters(plan):
                self.best = plan
                if _is_whole(plan) or not self.indices.of(program).is_small:
                    break

    def take_tiles(self) -> None:
        """Replaces the best plan by a cheaper one with operators in tiles of columns."""
        assert self.best is not None
        untiled, most = dataclasses.replace(self.best, budget=self.options.budget), _worth(self.best)
        for narrow in tiled([*map(self.indices.of, self.programs)], untiled, self.options.alignment):
            now: list[Attempt] = []
            plan = plan_of(narrow, self.options, most=most, tried=now, spills=True)
            self.tried += (dataclasses.replace(attempt, columns=True) for attempt in now)
            # Its operators are others, so who runs them is not compared.
            if plan is not None and judged_cost(plan) < judged_cost(self.best) and _fits_flash(plan, self.options):
                self.best = plan

    def _betters(self, plan: ExecutionPlan) -> bool:
        """Whether a plan is to be taken instead of the best, or of none."""
        if self.best is None:
            return True
        if judged_cost(plan) >= judged_cost(self.best) or _leaves_more(plan, self.best):
            return False
        return _fits_flash(plan, self.options)


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
