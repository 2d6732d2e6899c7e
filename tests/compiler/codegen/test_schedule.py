"""Loops are exactly the bands that they stand for, and short."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.compiler.codegen.schedule import (
    Action,
    Loop,
    Move,
    Moving,
    Place,
    loops_of,
    stage_bands,
    values_of,
    with_values,
)


def run(loops: Sequence[Loop]) -> list[Action]:
    """The actions one after the other."""
    actions = []
    for loop in loops:
        for turn in range(loop.turns):
            for step in loop.steps:
                values = [value + turn * growth
                          for value, growth in zip(values_of(step.action), step.growth, strict=True)]  # fmt: skip
                actions.append(with_values(step.action, values))
    return actions


PLACE = Place("t", True)


@settings(max_examples=examples(200, 200, 2000), deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from([4, 8]), st.integers(0, 4)), max_size=2), max_size=12))
def test_any_bands(numbers: list[list[tuple[int, int]]]) -> None:
    """Bytes and rows at random: those that repeat, those that grow, and those that nearly do."""
    bands = [tuple(Move(Moving.KEEP, PLACE, PLACE, size, at, 0) for size, at in band) for band in numbers]
    assert run(loops_of(bands)) == [action for band in bands for action in band]


def test_steps_that_differ_are_no_loop() -> None:
    rows = (0, 1, 2, 3, 5, 7, 9, 12)
    bands = [(Move(Moving.KEEP, PLACE, PLACE, 4, at, 0),) for at in rows]
    loops = loops_of(bands)
    assert run(loops) == [action for band in bands for action in band]
    assert [(loop.turns, loop.steps[0].growth[0]) for loop in loops if loop.turns > 1] == [(4, 1), (3, 2)]


def test_keyword_spotting_rolls_in_one_loop() -> None:
    """Rows of the last map in each turn; before and behind it only bands in which some layers have nothing to do."""
    plan = compile_model(OWN / "kws_int8.onnx", fast="6K").plan
    loops = loops_of(stage_bands(plan, plan.stages[0]))
    assert len([loop for loop in loops if loop.turns > 4]) == 1
    assert sum(len(loop.steps) for loop in loops) < 0.8 * len(run(loops))
