"""Paces of rolling stages: rows that would wait for another branch are made later, and no window gets larger."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.synthetic import Builder
from tests.harness.tiers import counted, examples
from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.band.geometry import BandRows, stage_rows
from tigris_pio.compiler.plan.band.paces import Rolling, bands_until_complete, rolling_paces, unhurried
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment


def hurried(index: ProgramIndex, segment: Segment, band_rows: int) -> dict[str, Pace] | None:
    """As soon as can be."""
    rolling, made = Rolling(index, band_rows), {}
    for step in range(segment.first, segment.end):
        if rolling.add(step, made) is None:
            return None
        made[index.ops[step].output] = step
    return rolling.paces


def both(index: ProgramIndex, segment: Segment, band_rows: int) -> tuple[dict[str, BandRows], dict[str, BandRows]]:
    """Rows as soon as can be, and as they are planned, in as many bands."""
    soon, late = hurried(index, segment, band_rows), rolling_paces(index, segment, band_rows)
    assert soon is not None and late is not None
    bands = bands_until_complete(index, soon, index.outputs(segment.first, segment.end))
    assert bands == bands_until_complete(index, late, index.outputs(segment.first, segment.end))
    ops, home = index.ops[segment.first : segment.end], frozenset(index.outputs(segment.first, segment.end))
    return tuple(stage_rows(ops, index.program.tensors, paces, bands, True, home) for paces in (soon, late))


def branches() -> Program:
    """A block whose shortcut is made of every second row, as in a ResNet."""
    b = Builder()
    t = b.window(b.input(32, 64), 3, 1, 1, 64)
    long = b.window(b.window(t, 3, 2, 1, 64), 3, 1, 1, 64)
    return b.program(b.pointwise(long, b.window(t, 1, 2, 0, 64)))


def test_a_shortcut_waits_for_the_rows_that_it_is_made_of():
    index = ProgramIndex.of(branches())
    soon, late = both(index, Segment(0, len(index.ops), True, True), 1)
    short = index.ops[3].output
    assert (late[short].kept_rows, soon[short].kept_rows) == (1, 2)
    assert all(late[name].capacity == soon[name].capacity for name in soon if name != short)


@pytest.mark.parametrize("kind", ["folded", "streamed", "sequential"])
def test_rows_with_an_order_of_their_own_are_not_put_off(kind: str):
    program = branches()
    short = program.ops[3].output
    segment = Segment(0, len(program.ops), True, True)
    paces = hurried(ProgramIndex.of(program), segment, 1)
    assert unhurried(ProgramIndex.of(program), 3, segment, paces) != paces[short]
    tensors = {**program.tensors, short: dataclasses.replace(program.tensors[short], **{kind: True})}
    other = ProgramIndex.of(dataclasses.replace(program, tensors=tensors))
    assert unhurried(other, 3, segment, paces) == paces[short]


def check_windows(index: ProgramIndex, band_rows: int) -> int:
    """That no segment has a larger window, or one that keeps more; in how many something is made later."""
    later = 0
    for first in range(len(index.ops)):
        for end in range(first + 2, len(index.ops) + 1):
            segment = Segment(first, end, True, True)
            if all(index.bandable[first:end]) and hurried(index, segment, band_rows) is not None:
                soon, late = both(index, segment, band_rows)
                assert all(late[name].capacity <= soon[name].capacity for name in soon), (first, end)
                assert all(late[name].kept_rows <= soon[name].kept_rows for name in soon), (first, end)
                later += any((late[name].end < soon[name].end).any() for name in soon)
    return later


@counted(later=examples(6, 20))
@settings(max_examples=examples(20, 60), deadline=None)
@given(data=st.data(), stride=st.integers(1, 3), band_rows=st.integers(1, 3))
def test_no_window_of_branches_gets_larger(seen, data, stride, band_rows):
    """Three of them, of any kernels."""
    b = Builder()
    t = b.window(b.input(40, 8), 3, 1, 1, 8)
    ends = []
    for depth in (3, 1, data.draw(st.integers(1, 3))):
        end = t
        for step in (stride, *[1] * (depth - 1)):
            pad = data.draw(st.integers(0, 2))
            end = b.window(end, 2 * pad + 1, step, pad, 8)
        ends.append(end)
    program = b.program(b.pointwise(*ends))
    seen["later"] += check_windows(ProgramIndex.of(program), band_rows) > 0
