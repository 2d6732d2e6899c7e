"""Parked windows: plans that need them hold, byte by byte, and run to the bytes of whole execution."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from tests.compiler.simulator import Simulator
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.plan import ExecutionPlan, View
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, front
from tigris_pio.compiler.plan.aim import Windows
from tigris_pio.compiler.plan.band.parking import find_parking
from tigris_pio.compiler.plan.band.spatial import draft_stage
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.memory.request import lower_bound
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

RESNET = OWN / "resnet_int8.onnx"
#: Less than ResNet-8 takes with all windows kept where they are.
TIGHT = 12_800


@functools.cache
def tight() -> Compiled:
    return compile_model(RESNET, fast=TIGHT)


def parked_views(plan: ExecutionPlan) -> list[View]:
    return [view for stage in plan.stages for view in stage.views if view.parked is not None]


def test_a_tight_plan_parks_windows_and_holds():
    plan = tight().plan
    assert parked_views(plan)
    assert all(view.keep and view.window and not view.load for view in parked_views(plan))
    assert sum(stage.recomputed_macs for stage in plan.stages) == 0
    Simulator(plan).run()


def test_a_tight_plan_gives_the_bytes_of_whole_execution():
    rng = np.random.default_rng(3)
    with Session(tight()) as small, Session(compile_model(RESNET)) as ample:
        for _ in range(2):
            x = {io.name: rng.integers(-128, 128, io.stored_shape, np.int8) for io in ample.inputs}
            expected, got = ample.run_raw(x), small.run_raw(x)
            assert all((got[name] == expected[name]).all() for name in expected)
        assert small.memory.fast_peak <= TIGHT


def test_rows_that_are_parked_do_not_overwrite_rows_that_are_about_to_come_back():
    """What the last operator of a band read last is parked before the next band's first operator takes its own back."""
    plan = compile_model(OWN / "person_detect_int8.onnx", fast=14_200).plan
    assert len(parked_views(plan)) > 1
    Simulator(plan).run()


def test_outputs_grow_over_inputs_in_stages_that_park_nothing():
    """Beside stages that do; the image is streamed, so that it is not the largest."""
    plan = compile_model(OWN / "vww_int8.onnx", fast=12_000, stream="input").plan
    banded = [stage for stage in plan.stages if stage.bands > 1]
    parking = [any(view.parked is not None for view in stage.views) for stage in banded]
    assert any(parking) and not all(parking)
    Simulator(plan).run()


def test_a_little_more_memory_parks_what_less_does():
    for fast in range(4064, 4384, 64):
        plan = compile_model(OWN / "kws_int8.onnx", fast=fast, stream="input").plan
        assert parked_views(plan) and plan.fast_bytes <= fast


@pytest.mark.parametrize("more", [3200, 100_000])
def test_what_fits_without_is_not_parked(more):
    """Between, where windows over inputs that were read fit too, a plan that parks may cost less."""
    assert not parked_views(compile_model(RESNET, fast=TIGHT + more).plan)


def test_a_simulation_misses_a_window_that_is_parked_where_another_lies():
    plan = tight().plan
    stage = plan.stages[0]
    one = parked_views(plan)[0]
    home = next(iter(place.offset for place in plan.homes.values()))
    views = tuple(_parked_at(view, home) if view is one else view for view in stage.views)
    wrong = _with_views(plan, views)
    with pytest.raises(AssertionError):
        Simulator(wrong).run()


def _parked_at(view: View, offset: int) -> View:
    return dataclasses.replace(view, parked=offset)


def _with_views(plan: ExecutionPlan, views: tuple[View, ...]) -> ExecutionPlan:
    return dataclasses.replace(plan, stages=(dataclasses.replace(plan.stages[0], views=views), *plan.stages[1:]))


def test_parked_windows_need_less_than_windows_that_keep_their_rows_at_their_start():
    index = ProgramIndex.of(front(RESNET, CompileOptions()).program)
    end = next(step for step, op in enumerate(index.ops) if op.output.endswith("/sums")) + 1
    homes = dict.fromkeys(index.lives, Home.FAST)
    draft = draft_stage(index, Segment(0, end, True, True), 1, homes)
    parking = find_parking(index, draft, homes)
    assert parking is not None
    assert lower_bound(parking.windows, 16) < draft.need(index, 16, Windows.SHARED) + sum(
        overlay.saving(index, 16) for overlay in draft.overlays
    )
    kept = {view.tensor: draft.rows[view.tensor].kept_rows for view in parking.draft.views if view.parked is not None}
    assert kept
    for name, rows in kept.items():
        (request,) = (each for each in parking.windows if each.name == f"kept rows 0 {name}")
        assert max(piece.offset + piece.bytes for piece in request.taken) == index.tensor(name).bytes_of(rows)


def test_whole_stages_have_nothing_to_park():
    index = ProgramIndex.of(front(RESNET, CompileOptions()).program)
    homes = dict.fromkeys(index.lives, Home.FAST)
    assert find_parking(index, draft_stage(index, Segment(0, 2), 1, homes), homes) is None
