"""Kernels of other processors on this machine, under AddressSanitizer and UndefinedBehaviorSanitizer: the DSP kernels,
with C in place of Arm's instructions (pixel tiles of three), and kernels for many registers (pixel tiles of four).
Outputs must equal those of the portable kernels, which other tests compare with numpy. test_machines.py runs the
instructions themselves on an emulated Cortex-M4."""

import functools
import itertools
import random

import pytest

from tests.harness.tiers import examples
from tests.runtime.build import replay
from tests.runtime.damage import damaged
from tests.runtime.fuzz.keep import kept
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.layer_tables import PIXELS3, PIXELS3_WIDTHS, PIXELS4, PIXELS4_WIDTHS, ROWS, WINDOWS
from tests.runtime.random_layers import DEPTHWISE, FULL_RANGE, PART_RANGE, plans_of, random_layers, tiled_layers
from tests.runtime.replays import assert_same, outcomes
from tests.runtime.test_arena_sizes import NETWORKS, plan_at
from tests.runtime.test_conv import int8_case


@functools.cache
def int8_seeds() -> list[bytes]:
    return [plan for name, plan in seeds() if "int8" in name or "chain" in name]


def channels_of_rare_scales() -> list[bytes]:
    plans = []
    for (kind, shape), seed, strays in itertools.product(WINDOWS, (FULL_RANGE, PART_RANGE), (False, True)):
        channels = (6, 1, 1) if kind == DEPTHWISE else (1, 5, 12 if strays else 9)
        plans.append(plan_for(int8_case(kind, shape, 1, *channels, seed, strays=strays)[0], Way(shape.output[0])))
    for shape, seed, strays in itertools.product(ROWS, (FULL_RANGE, PART_RANGE), (False, True)):
        op, _ = int8_case(DEPTHWISE, shape, 1, 8, 1, 1, seed, strays)
        plans += [plan_for(op, Way(1)), plan_for(op, Way(shape.output[0]))]
    return plans


def test_layers_with_dsp_instructions() -> None:
    assert_same(replay("dsp"), int8_seeds() + plans_of(tiled_layers(PIXELS4, PIXELS4_WIDTHS)))
    assert_same(replay("dsp"), channels_of_rare_scales())
    assert_same(replay("dsp"), [plan_for(op, way) for op, way in random_layers(examples(60, 300), 11)])


def test_three_pixels_at_a_time() -> None:
    widths = PIXELS3_WIDTHS[:: examples(2, 1)]
    assert_same(replay("dsp"), plans_of(tiled_layers(PIXELS3, widths), windows=True))


def test_four_pixels_at_a_time() -> None:
    assert_same(replay("pixels4"), plans_of(tiled_layers(PIXELS4, PIXELS4_WIDTHS)))


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["small", "small-dsp"])
def test_channels_of_rare_scales_where_size_counts(variant: str) -> None:
    """At -Os other functions compute these operators."""
    assert_same(replay(variant), channels_of_rare_scales())


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["dsp", "pixels4"])
def test_networks(variant: str) -> None:
    assert_same(replay(variant), [plan_at(name, "64K") for name in NETWORKS])


def test_damaged_plans_with_dsp_instructions() -> None:
    """Damaged plans of each kind of kernel, and the plans that fuzzing kept."""
    choose, count = random.Random(5), examples(4, 40)
    candidates = [candidate for plan in int8_seeds() for candidate in choose.sample(list(damaged(plan)), count)]
    results = outcomes(replay("dsp"), [*candidates, *kept().values()])
    assert sum(result.ran for result in results) > len(int8_seeds())
