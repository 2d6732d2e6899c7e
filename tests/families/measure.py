"""Runs one model at one budget and measures what a board would."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from tigris_pio import Session
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, back
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement

SLOW = 8 << 20
#: Name, fast and slow memory of the budgets of the table.
BUDGETS = {
    "unlimited": Budget(None),
    "256K": Budget(256 << 10, SLOW),
    "64K": Budget(64 << 10, SLOW),
    "32K": Budget(32 << 10, SLOW),
}


@dataclasses.dataclass(frozen=True)
class Run:
    """One plan and what running it gave."""

    compiled: Compiled
    outputs: Mapping[str, np.ndarray]
    raw: Mapping[str, np.ndarray]
    fast_peak: int
    slow_traffic: int

    @property
    def recomputed_macs(self) -> int:
        """MACs done more than once."""
        return sum(stage.recomputed_macs for stage in self.compiled.plan.stages)


def fits(start: Front, options: CompileOptions) -> bool:
    """Whether the planner finds a layout, without the search for the smallest budget when it does not."""
    index = ProgramIndex.of(start.program)
    return find_arrangement(index, options.budget, options.alignment, options.weights()) is not None


def run(start: Front, options: CompileOptions, inputs: Mapping[str, np.ndarray]) -> Run:
    """Plans, runs and holds the runtime's measures against the plan's promises."""
    compiled = back(start, options)
    with Session(compiled) as session:
        stored = {io.name: io.to_stored(io.check_model_array(inputs[io.name])) for io in session.inputs}
        raw = session.run_raw(stored)
        outputs = {io.name: io.to_model(raw[io.name]) for io in session.outputs}
        memory = session.memory
    document = compiled.report
    if options.budget.fast is not None:
        assert compiled.plan.fast_bytes <= options.budget.fast
    assert memory.fast_peak <= document["memory"]["fast_peak"] <= compiled.plan.fast_bytes
    assert memory.slow_peak <= document["memory"]["slow_peak"] <= options.budget.slow
    assert memory.slow_read == document["traffic"]["slow_read"]
    assert memory.slow_written == document["traffic"]["slow_written"]
    return Run(compiled, outputs, raw, memory.fast_peak, memory.slow_read + memory.slow_written)
