"""Room for a library's scratch: above the plan's own bytes of fast memory, within the budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tigris_pio.compiler.backends.assign import Assignment
from tigris_pio.compiler.backends.backend import Backend
from tigris_pio.compiler.backends.shape import SHAPED_KINDS, shape_of
from tigris_pio.compiler.ir.plan import BackendUse, Budget, ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import Program
from tigris_pio.sizes import round_up

#: Plans of ever smaller budgets are tried this often: smaller bands take less scratch, so few are needed.
ATTEMPTS = 6
#: Shares of the budget that the scratch of one operator may take, in turn; None: any. With 0 the library runs only what
#: takes none, so that a model that fits with portable kernels always fits.
SHARES = (None, 0.5, 0.25, 0.125, 0.0)

#: The best plan of a program within a budget, or None.
Find = Callable[[Program, Budget], ExecutionPlan | None]


def plan_within(find: Find, program: Program, budget: Budget, backend: Backend, chip: str) -> ExecutionPlan | None:
    """A plan that fits `budget` together with the scratch of `backend`: operators that take too much stay portable."""
    for share in SHARES:
        most = None if share is None or budget.fast is None else int(share * budget.fast)
        assignment = Assignment(backend, chip, most)
        plan = _fit(find, assignment.apply(program), budget, assignment)
        if plan is not None:
            return plan
    return None


def _fit(find: Find, program: Program, budget: Budget, assignment: Assignment) -> ExecutionPlan | None:
    """A plan for an assigned program, of a budget that is lowered by the scratch of the one before until both fit."""
    room = budget
    for _ in range(ATTEMPTS):
        plan = find(program, room)
        if plan is None:
            return None
        scratch = scratch_bytes(plan, assignment.backend, assignment.chip)
        library = assignment.backend
        use = BackendUse(library.name, library.symbol, assignment.chip, scratch, assignment.portable(program))
        if budget.fast is None or round_up(plan.fast_bytes, plan.alignment) + scratch <= budget.fast:
            return dataclasses.replace(plan, budget=budget, backend=use)
        if scratch >= budget.fast:
            return None
        room = dataclasses.replace(budget, fast=budget.fast - scratch)
    return None


def scratch_bytes(plan: ExecutionPlan, backend: Backend, chip: str) -> int:
    """The most that any operator of the plan takes, a multiple of the alignment."""
    most = max((_largest(plan, stage, backend, chip) for stage in plan.stages), default=0)
    return round_up(most, plan.alignment)


def _largest(plan: ExecutionPlan, stage: Stage, backend: Backend, chip: str) -> int:
    rows = {view.tensor: view.capacity_rows for view in stage.views}
    return max(
        (
            backend.scratch(shape_of(plan.program, op, rows[op.operands[0].tensor], rows[op.output]), chip)
            for op in plan.program.ops[stage.first_op : stage.end_op]
            if op.backend and op.kind in SHAPED_KINDS
        ),
        default=0,
    )
