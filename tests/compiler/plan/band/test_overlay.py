"""Outputs that grow over inputs: no byte is written too early, and not one more could be saved."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder
from tests.harness.tiers import counted, examples
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Operand, RowMap
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import arrange
from tigris_pio.compiler.plan.search import plan_program
from tigris_pio.compiler.plan.segment import Segment

#: kernel, stride, dilation, padding above, padding below, bytes of an output row
WINDOWS = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 2), st.integers(0, 4), st.integers(0, 4),
                    st.integers(1, 40))


def windows(height, row_bytes, rows):
    """A chain of windows; None when one of them has no output."""
    b = Builder()
    t = b.input(height, row_bytes)
    for kernel, stride, dilation, above, below, size in rows:
        reach = (kernel - 1) * dilation
        top, bottom = min(above, reach), min(below, reach)
        height = (height + top + bottom - reach - 1) // stride + 1
        if height < 1:
            return None
        t = b.op([Operand(t, RowMap.window(kernel, stride, dilation, top))], height, size)
    return b.program(t)


def one_stage(program, keep, room):
    """The plan of a single banded stage in `room` bytes, and the overlays it relies on."""
    index, segment = ProgramIndex.of(program), Segment(0, len(program.ops), True, keep)
    layout = arrange(index, [segment], Aim(room, 0, 1, room=room))
    (draft,) = layout.drafts
    return finish(index, Budget(None), 1, WeightOptions(), layout), draft.overlays


def moved_up(plan, name):
    """`plan` with the home of one tensor a byte higher, in an arena with a byte more."""
    place = plan.homes[name]
    homes = {**plan.homes, name: dataclasses.replace(place, offset=place.offset + 1)}
    return dataclasses.replace(plan, homes=homes, fast_bytes=plan.fast_bytes + 1)


@counted(overlays=examples(8, 30), tight=examples(3, 15))
@settings(max_examples=examples(25, 120), deadline=None)
@given(height=st.integers(2, 40), row_bytes=st.integers(1, 40), rows=st.lists(WINDOWS, min_size=1, max_size=4),
       keep=st.booleans(), extra=st.integers(0, 60))
def test_rows_are_written_where_none_is_needed_and_not_a_byte_later(seen, height, row_bytes, rows, keep, extra):
    program = windows(height, row_bytes, rows)
    assume(program is not None)
    least, _ = one_stage(program, keep, 0)
    plan, overlays = one_stage(program, keep, least.fast_bytes * (100 + extra) // 100)
    Simulator(plan).run()
    for overlay in overlays:
        eaten, grown = plan.homes[overlay.eaten].offset, plan.homes[overlay.grown].offset
        assert eaten - grown == overlay.lead
        seen["overlays"] += 1
        if overlay.lead and plan.program.tensors[overlay.grown].bytes > overlay.lead:
            with pytest.raises(AssertionError):
                Simulator(moved_up(plan, overlay.grown)).run()
            seen["tight"] += 1


def test_a_window_of_three_rows_takes_two_rows_more_than_its_map():
    b = Builder()
    program = b.program(b.window(b.input(64, 16), 3, 1, 1, 16))
    plan = plan_program(program, Budget(64 * 16 + 2 * 16 + 32), 4, WeightOptions())
    assert plan.fast_bytes - plan.state_bytes == 64 * 16 + 2 * 16
    assert plan.homes["in0"].offset - plan.homes["t0"].offset == 2 * 16
    Simulator(plan).run()
