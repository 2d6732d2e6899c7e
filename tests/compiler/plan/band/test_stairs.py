"""Windows that begin late lie over an input whose first rows are read by then."""

from __future__ import annotations

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.memory.request import EVERY_BAND
from tigris_pio.compiler.plan.search import find_arrangement


def test_late_windows_lie_over_an_input_that_was_read():
    """In the smallest memory that works."""
    b = Builder()
    t = b.input(64, 64)
    for width in (64, 64, 96, 96, 128):
        t = b.window(t, 3, 2 if width == 96 else 1, 1, width)
    program = b.program(t)
    budget = Budget(4336)
    index = ProgramIndex.of(program)
    found = find_arrangement(index, budget, 4, WeightOptions())
    assert any(piece.bands is not EVERY_BAND for request in found.requests for piece in request.taken)
    Simulator(finish(index, budget, 4, WeightOptions(), found)).run()
    offsets, home = found.fast.offsets, found.fast.offsets["home in0"]
    over = [request.name for request in found.requests
            if home - request.bytes < offsets[request.name] < home + 64 * 64]  # fmt: skip
    assert any(name.startswith("window") for name in over)
