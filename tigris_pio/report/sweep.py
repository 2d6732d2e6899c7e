"""Plans a model at other budgets: the smallest that work, and a grid up to the budget where all operators run whole."""

import dataclasses
import time
from collections.abc import Callable

from tigris_pio.compiler.choose import Indices, plan_of
from tigris_pio.compiler.cost.model import DEFAULT, FPU
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.prediction import predicted_instructions
from tigris_pio.compiler.plan.refusal import AMPLE_SLOW
from tigris_pio.format.enums import DType, Home

#: Number of budgets in the grid plus one, and processor seconds of the whole sweep.
STEPS, SECONDS = 10, 6.0
#: Relative accuracy of the smallest budgets.
_NEAR = 0.01


@dataclasses.dataclass(frozen=True)
class SweepPoint:
    """The plan for `budget` bytes of fast memory and unlimited slow memory.

    fast, slow: bytes of both arenas. traffic: bytes moved from and to slow memory per inference. banded: stages with
    more than one band. calls: kernel calls. recomputed: MACs. instructions: predicted for int8 on RV32IMC, or float32
    with an FPU; with a kernel library, for the plan's processor.
    """

    budget: int
    fast: int
    slow: int
    traffic: int
    stages: int
    banded: int
    calls: int
    recomputed: int
    instructions: int


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Plans by rising budget. Sizes are bytes of fast memory.

    least: smallest budget at which, with unlimited slow memory, no operator accesses slow memory directly.
    without_slow: smallest budget that needs no slow memory. whole: budget at which all operators run whole.
    complete: all budgets were tried, so that `least` and `without_slow` are exact to 1 %.
    """

    points: tuple[SweepPoint, ...]
    least: int
    without_slow: int
    whole: int
    macs: int
    complete: bool


class _TimeError(Exception):
    """The time limit has passed, or the next plan would probably pass it."""


class _Trials:
    """Plans by budget, each made once: with unlimited slow memory, and without slow memory."""

    def __init__(self, start: Front, options: CompileOptions, plan: ExecutionPlan | None, clock: Callable[[], float],
                 seconds: float) -> None:
        self._program, self._options = orders(start.program)[0], options
        self._indices = Indices(self._program, options)
        self._clock, self._end, self._last = clock, clock() + seconds, 0.0
        self.with_slow: dict[int, ExecutionPlan | None] = {}
        self.without_slow: dict[int, ExecutionPlan | None] = {}
        if plan is not None and plan.slow_bytes == 0:
            self.without_slow[_fast_bytes(plan)] = plan

    def ample(self) -> ExecutionPlan:
        plan = plan_of(self._program, dataclasses.replace(self._options, budget=Budget(None)), self._indices)
        assert plan is not None, "without a limit a plan is always found"
        return plan

    def plan(self, fast: int, slow: int = AMPLE_SLOW) -> ExecutionPlan | None:
        made = self.with_slow if slow else self.without_slow
        if fast not in made:
            start = self._clock()
            if start + self._last > self._end:
                raise _TimeError
            options = dataclasses.replace(self._options, budget=Budget(fast, slow))
            made[fast] = plan_of(self._program, options, self._indices)
            self._last = self._clock() - start
        return made[fast]

    def smallest(self, top: int, works: Callable[[ExecutionPlan], bool]) -> int:
        """The smallest tried budget whose plan `works`; `top` if there is none."""
        made = (*self.with_slow.items(), *self.without_slow.items())
        return min((fast for fast, plan in made if plan is not None and works(plan)), default=top)

    def narrow(self, top: int, works: Callable[[ExecutionPlan], bool], slow: int = AMPLE_SLOW) -> None:
        """Tries budgets below `smallest` until it is exact to 1 %."""
        high = self.smallest(top, works)
        low = max((fast for fast in (self.with_slow if slow else self.without_slow) if fast < high), default=0)
        while high - low > max(16, high * _NEAR):
            middle = (low + high) // 2
            plan = self.plan(middle, slow)
            low, high = (low, middle) if plan is not None and works(plan) else (middle, high)


def _fast_bytes(plan: ExecutionPlan) -> int:
    """Fast memory of a plan, including the kernel library's scratch."""
    return plan.fast_bytes + (plan.backend.scratch_bytes if plan.backend else 0)


def _needs_no_slow(plan: ExecutionPlan) -> bool:
    return plan.slow_bytes == 0


def _is_in_fast_memory(plan: ExecutionPlan) -> bool:
    """Whether all operators read and write fast memory; false if one accesses slow memory directly."""
    slow = {name for name, place in plan.homes.items() if place.home is Home.SLOW}
    return not any(not view.window and view.tensor in slow for stage in plan.stages for view in stage.views)


def sweep(start: Front, options: CompileOptions, plan: ExecutionPlan | None = None, seconds: float = SECONDS,
          steps: int = STEPS, clock: Callable[[], float] = time.process_time) -> Sweep:
    """Plans `start` at a grid of budgets, at the smallest ones, and at that of `options`, which `plan` was made for.

    No plan is begun after `seconds` of processor time, or if one as long as the last would exceed them.
    """
    trials = _Trials(start, options, plan, clock, seconds)
    ample = trials.ample()
    top = _fast_bytes(ample)
    chosen = options.budget.fast
    complete = True
    try:
        # Without slow memory first: with it, the planner may choose a plan that moves bytes because it is cheaper.
        trials.narrow(top, _needs_no_slow, slow=0)
        for fast in sorted({*_grid(top, steps), *([chosen] if chosen is not None and chosen < top else [])}):
            trials.plan(fast)
        trials.narrow(top, _is_in_fast_memory)
        trials.plan(trials.smallest(top, _needs_no_slow))
    except _TimeError:
        complete = False
    least, without_slow = trials.smallest(top, _is_in_fast_memory), trials.smallest(top, _needs_no_slow)
    shown = {least, without_slow, *_grid(top, steps), *([chosen] if chosen is not None else [])}
    points = [_point(fast, plan) for fast, plan in sorted(trials.with_slow.items())
              if plan is not None and fast in shown and least <= fast < top]  # fmt: skip
    macs = sum(op.macs for op in start.program.ops)
    return Sweep((*points, _point(top, ample)), least, without_slow, top, macs, complete)


def _grid(top: int, steps: int) -> list[int]:
    """Round budgets below `top`."""
    unit = 1024 if top > 16 * 1024 else 64
    budgets = (round(top * place / steps / unit) * unit for place in range(1, steps))
    return [budget for budget in dict.fromkeys(budgets) if 0 < budget < top]


def _point(budget: int, plan: ExecutionPlan) -> SweepPoint:
    program = plan.program
    calls = sum(s.bands * sum(op.images for op in program.ops[s.first_op : s.end_op]) for s in plan.stages)
    # The prediction for float32 models is that of a core with an FPU.
    fpu = any(op.dtype is DType.FLOAT32 and op.macs for op in program.ops)
    return SweepPoint(
        budget=budget,
        fast=plan.fast_bytes,
        slow=plan.slow_bytes,
        traffic=sum(stage.slow_read + stage.slow_written for stage in plan.stages),
        stages=len(plan.stages),
        banded=sum(stage.bands > 1 for stage in plan.stages),
        calls=calls,
        recomputed=sum(stage.recomputed_macs for stage in plan.stages),
        instructions=predicted_instructions(plan, plan.processor if plan.backend else FPU if fpu else DEFAULT),
    )
