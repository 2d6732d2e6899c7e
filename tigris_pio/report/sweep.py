"""What a model would take at other budgets: the smallest that work, and a few up to everything at once."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from tigris_pio.compiler.choose import Indices, plan_of
from tigris_pio.compiler.instructions.predict import DEFAULT, FPU
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.prediction import predicted_instructions
from tigris_pio.compiler.plan.refusal import AMPLE_SLOW
from tigris_pio.format.enums import DType, Home

#: Parts that what the model takes whole is divided into, and seconds that all of it may take.
STEPS, SECONDS = 10, 6.0
#: The smallest budgets are found to this share of themselves.
_NEAR = 0.01


@dataclasses.dataclass(frozen=True)
class SweepPoint:
    """The plan made for `budget` bytes of fast memory and as much slow memory as it likes.

    fast, slow: bytes it takes. traffic: bytes read from and written to slow memory by an inference. calls: of kernels.
    recomputed: MACs computed again. instructions: predicted for int8 kernels of RV32IMC, or float32 with an FPU; with a
    library for the processor that the plan was made for.
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
    """`points`: by rising budget. `alone`: the smallest fast memory tried that works without slow memory, `least` that
    in which every operator still works in fast memory, with as much slow memory as it likes beside it. `complete`: all
    was tried, and both are within 1 % of what they would be."""

    points: tuple[SweepPoint, ...]
    least: int
    alone: int
    whole: int  #: what the model takes when nothing is cut
    macs: int
    complete: bool


class _TimeError(Exception):
    """The time allowed has passed, or the next plan would take longer."""


class _Trials:
    """Plans by budget, each made once, with slow memory as they like it or without any."""

    def __init__(self, start: Front, options: CompileOptions, plan: ExecutionPlan | None, clock: Callable[[], float],
                 seconds: float) -> None:
        self._program, self._options = orders(start.program)[0], options
        self._indices = Indices(self._program, options)
        self._clock, self._end, self._last = clock, clock() + seconds, 0.0
        self.made: dict[int, ExecutionPlan | None] = {}  #: with slow memory
        self.alone: dict[int, ExecutionPlan | None] = {}  #: without
        if plan is not None and plan.slow_bytes == 0:
            self.alone[_taken(plan)] = plan

    def ample(self) -> ExecutionPlan:
        plan = plan_of(self._program, dataclasses.replace(self._options, budget=Budget(None)), self._indices)
        assert plan is not None, "without a limit a plan is always found"
        return plan

    def plan(self, fast: int, slow: int = AMPLE_SLOW) -> ExecutionPlan | None:
        made = self.made if slow else self.alone
        if fast not in made:
            began = self._clock()
            if began + self._last > self._end:
                raise _TimeError
            options = dataclasses.replace(self._options, budget=Budget(fast, slow))
            made[fast] = plan_of(self._program, options, self._indices)
            self._last = self._clock() - began
        return made[fast]

    def smallest(self, top: int, works: Callable[[ExecutionPlan], bool]) -> int:
        """The smallest budget tried whose plan `works`; `top` is one."""
        made = (*self.made.items(), *self.alone.items())
        return min((fast for fast, plan in made if plan is not None and works(plan)), default=top)

    def narrow(self, top: int, works: Callable[[ExecutionPlan], bool], slow: int = AMPLE_SLOW) -> None:
        """Tries budgets below `smallest` until it is known to 1 %."""
        high = self.smallest(top, works)
        low = max((fast for fast in (self.made if slow else self.alone) if fast < high), default=0)
        while high - low > max(16, high * _NEAR):
            middle = (low + high) // 2
            plan = self.plan(middle, slow)
            low, high = (low, middle) if plan is not None and works(plan) else (middle, high)


def _taken(plan: ExecutionPlan) -> int:
    """Bytes of fast memory that it needs, a library's scratch included."""
    return plan.fast_bytes + (plan.backend.scratch_bytes if plan.backend else 0)


def _alone(plan: ExecutionPlan) -> bool:
    """Whether it needs no slow memory."""
    return plan.slow_bytes == 0


def _in_fast_memory(plan: ExecutionPlan) -> bool:
    """Whether no operator reads or writes slow memory itself, instead of rows that were brought to fast memory."""
    slow = {name for name, place in plan.homes.items() if place.home is Home.SLOW}
    return not any(not view.window and view.tensor in slow for stage in plan.stages for view in stage.views)


def sweep(start: Front, options: CompileOptions, plan: ExecutionPlan | None = None, seconds: float = SECONDS,
          steps: int = STEPS, clock: Callable[[], float] = time.process_time) -> Sweep:
    """Plans of `start` at budgets of its own choice and at that of `options`, for which `plan` was made; none of their
    bytes are written.

    No plan is begun after `seconds` of processor time, nor one that would take longer than is left if it took as long
    as the last.
    """
    trials = _Trials(start, options, plan, clock, seconds)
    ample = trials.ample()
    top = _taken(ample)
    chosen = options.budget.fast
    complete = True
    try:
        trials.narrow(top, _alone, slow=0)  # with slow memory a plan that moves bytes may be the cheaper one
        for fast in sorted({*_grid(top, steps), *([chosen] if chosen is not None and chosen < top else [])}):
            trials.plan(fast)
        trials.narrow(top, _in_fast_memory)
        trials.plan(trials.smallest(top, _alone))
    except _TimeError:
        complete = False
    least, alone = trials.smallest(top, _in_fast_memory), trials.smallest(top, _alone)
    shown = {least, alone, *_grid(top, steps), *([chosen] if chosen is not None else [])}
    points = [_point(fast, plan) for fast, plan in sorted(trials.made.items())
              if plan is not None and fast in shown and least <= fast < top]  # fmt: skip
    macs = sum(op.macs for op in start.program.ops)
    return Sweep((*points, _point(top, ample)), least, alone, top, macs, complete)


def _grid(top: int, steps: int) -> list[int]:
    """Round budgets below `top`."""
    unit = 1024 if top > 16 * 1024 else 64
    budgets = (round(top * place / steps / unit) * unit for place in range(1, steps))
    return [budget for budget in dict.fromkeys(budgets) if 0 < budget < top]


def _point(budget: int, plan: ExecutionPlan) -> SweepPoint:
    program = plan.program
    calls = sum(s.bands * sum(op.images for op in program.ops[s.first_op : s.end_op]) for s in plan.stages)
    # Without a floating-point unit nobody would run float32 where speed counts.
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
