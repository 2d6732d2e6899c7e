"""Paces of rolling stages: rows that would wait for another branch are made later, and no window gets larger."""

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder
from tests.harness.tiers import counted, examples
from tests.networks.plans import compiled
from tigris_pio import Session
from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan, View
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.plan.band.geometry import BandRows, stage_rows
from tigris_pio.compiler.plan.band.paces import Rolling, bands_until_complete, rolling_paces, tallest_height, unhurried
from tigris_pio.compiler.plan.band.spatial import draft_stage
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.request import EVERY_BAND
from tigris_pio.compiler.plan.placement import Arrangement, fast_requests, state_bytes
from tigris_pio.compiler.plan.residency import crossing_tensors
from tigris_pio.compiler.plan.search import find_arrangement, plan_program
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.format.enums import Home


def hurried(index: ProgramIndex, segment: Segment, band_rows: int) -> dict[str, Pace] | None:
    """The earliest paces: every row is made as soon as its input exists."""
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
    """Asserts that no window gets larger or keeps more rows; returns the number of segments with later rows."""
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
    """Three branches of any kernels."""
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


# Parked windows: plans that need them hold, byte by byte, and run to the bytes of whole execution.

#: Less than ResNet-8 takes with all windows kept where they are.
TIGHT = 12_800


def parked_views(plan: ExecutionPlan) -> list[View]:
    return [view for stage in plan.stages for view in stage.views if view.parked is not None]


def test_a_tight_plan_parks_windows_and_holds():
    plan = compiled("resnet", fast=TIGHT).plan
    assert parked_views(plan)
    assert all(view.keep and view.window and not view.load for view in parked_views(plan))
    assert sum(stage.recomputed_macs for stage in plan.stages) == 0
    Simulator(plan).run()


def test_a_tight_plan_gives_the_bytes_of_whole_execution():
    rng = np.random.default_rng(3)
    with Session(compiled("resnet", fast=TIGHT)) as small, Session(compiled("resnet")) as ample:
        x = {io.name: rng.integers(-128, 128, io.stored_shape, np.int8) for io in ample.inputs}
        expected, got = ample.run_raw(x), small.run_raw(x)
        assert all((got[name] == expected[name]).all() for name in expected)
        assert small.memory.fast_peak <= TIGHT


def test_rows_that_are_parked_do_not_overwrite_rows_that_are_about_to_come_back():
    """A window that a band's last operator read is parked before the next band's first operator restores its own."""
    plan = compiled("person_detect", fast=14_200).plan
    assert len(parked_views(plan)) > 1
    Simulator(plan).run()


def test_outputs_grow_over_inputs_in_stages_that_park_nothing():
    """Other stages of the plan do park; the image is streamed, so that it is not the largest tensor."""
    plan = compiled("vww", fast=12_288, stream="input").plan
    banded = [stage for stage in plan.stages if stage.bands > 1]
    parking = [any(view.parked is not None for view in stage.views) for stage in banded]
    assert any(parking) and not all(parking)
    Simulator(plan).run()


# Windows that begin late lie over an input whose first rows are read by then.


def test_late_windows_lie_over_an_input_that_was_read():
    """The budget is the smallest memory that works."""
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


# Outputs that grow over inputs: no byte is written too early, and not one more could be saved.

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


def one_stage(program, keep, share):
    """The plan of a single banded stage, in bands of so many hundredths of the rows, and the overlays it relies on."""
    index, segment = ProgramIndex.of(program), Segment(0, len(program.ops), True, keep)
    homes = dict.fromkeys(crossing_tensors(index, [segment]), Home.FAST)
    draft = draft_stage(index, segment, 1 + tallest_height(index, segment) * share // 100, homes)
    requests = fast_requests(index, [draft], homes, 1)
    nothing, state = allocate((), 1), state_bytes(index, [segment], 1)
    layout = Arrangement((draft,), homes, requests, allocate(requests, 1), nothing, state)
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
    plan, overlays = one_stage(program, keep, extra)
    Simulator(plan).run()
    tensors = plan.program.tensors
    for overlay in overlays:
        eaten, grown = plan.homes[overlay.eaten].offset, plan.homes[overlay.grown].offset
        assert eaten - grown == overlay.lead
        seen["overlays"] += 1
        room = tensors[overlay.grown].bytes - tensors[overlay.eaten].bytes  # a lead up to it takes no memory
        if max(0, room) < overlay.lead < tensors[overlay.grown].bytes:
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
