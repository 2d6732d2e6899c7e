"""Stairs: the placement that needs them holds, byte by byte, and without them the same cuts need more memory."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder, random_program
from tests.harness.tiers import counted
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.memory.request import EVERY_BAND
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.search import find_arrangement, plan_program
from tigris_pio.errors import BudgetError


def has_stairs(found: Arrangement) -> bool:
    return any(piece.bands is not EVERY_BAND for request in found.requests for piece in request.taken)


def smallest(program: object) -> int:
    """The smallest fast memory that a refusal names."""
    try:
        plan_program(program, Budget(64, 0), 4, WeightOptions())
    except BudgetError as error:
        return int(re.findall(r"works is (\d+) bytes", str(error))[0])
    return 64


@counted(stairs=5)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(3, 9))
def test_the_smallest_plan_holds(seen, seed, length):
    program = random_program(seed, length)
    budget = Budget(smallest(program), 0)
    found = find_arrangement(ProgramIndex.of(program), budget, 4, WeightOptions())
    Simulator(plan_program(program, budget, 4, WeightOptions())).run()
    seen["stairs"] += has_stairs(found)


def test_late_windows_lie_over_an_eaten_input():
    """The last windows begin when the first rows of the input are read: they lie where these were."""
    b = Builder()
    t = b.input(64, 64)
    for width in (64, 64, 96, 96, 128):
        t = b.window(t, 3, 2 if width == 96 else 1, 1, width)
    program = b.program(t)
    budget = Budget(smallest(program), 0)
    found = find_arrangement(ProgramIndex.of(program), budget, 4, WeightOptions())
    assert has_stairs(found)
    plan = plan_program(program, budget, 4, WeightOptions())
    Simulator(plan).run()
    (home,) = (request for request in found.requests if "home in0" in {part.name for part in request.parts})
    over = [request for request in found.requests if request is not home
            and found.fast.offsets[request.name] < found.fast.offsets["home in0"] + 64 * 64
            and found.fast.offsets[request.name] + request.bytes > found.fast.offsets["home in0"]]
    assert any(request.name.startswith("window") for request in over)
