"""Parked windows: plans that need them hold, byte by byte, and run to the bytes of whole execution."""

from __future__ import annotations

import numpy as np

from tests.compiler.simulator import Simulator
from tests.networks.plans import compiled
from tigris_pio import Session
from tigris_pio.compiler.ir.plan import ExecutionPlan, View

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
    """What the last operator of a band read last is parked before the next band's first operator takes its own back."""
    plan = compiled("person_detect", fast=14_200).plan
    assert len(parked_views(plan)) > 1
    Simulator(plan).run()


def test_outputs_grow_over_inputs_in_stages_that_park_nothing():
    """Beside stages that do; the image is streamed, so that it is not the largest."""
    plan = compiled("vww", fast=12_000, stream="input").plan
    banded = [stage for stage in plan.stages if stage.bands > 1]
    parking = [any(view.parked is not None for view in stage.views) for stage in banded]
    assert any(parking) and not all(parking)
    Simulator(plan).run()
