"""The C around the ESP32-S3's assembly, with C in the assembly's place, must give the host's bytes under
AddressSanitizer and UndefinedBehaviorSanitizer. tests/emulation/xtensa tests the assembly itself."""

import dataclasses
import itertools
import random
from pathlib import Path

import pytest

from bench import zoo
from tests.harness.tiers import examples
from tests.runtime.damage import overwritten
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.loader import Status
from tests.runtime.pie_cases import int16_layers, layers, packed, pie_replay, pools, sums
from tests.runtime.plan_builder import changed, with_crc
from tests.runtime.random_layers import CONV, window
from tests.runtime.replays import assert_same, outcomes
from tests.runtime.test_conv import int8_case
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio import compile_model
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.records import Header

POINTWISE = window((3, 2), (1, 1), (1, 1), (0, 0, 0, 0))


def test_layers_of_all_sizes() -> None:
    plans = [plan_for(op, way) for op, way in layers(examples(40, 250))]
    assert len(plans) > examples(30, 200), "most layers have words"
    plans += [plan_for(op, dataclasses.replace(way, weights=mode)) for op, way in layers(examples(6, 12), 3)
              for mode in (WeightMode.COPY, WeightMode.LZ4)]  # fmt: skip
    assert_same(pie_replay(), plans)


@pytest.mark.parametrize("channels, outputs", [(64, 256), (32, 400), (640, 40), (2100, 16)])
def test_streams_beyond_the_cache(channels: int, outputs: int) -> None:
    """In passes over blocks, the last one smaller; and blocks that are larger than a pass."""
    ops = (packed(int8_case(CONV, POINTWISE, 1, 1, channels, outputs, seed)[0]) for seed in range(20))
    op = next(op for op in ops if op is not None)
    assert op.blobs["weights"].size > 1 << 14
    assert_same(pie_replay(), [plan_for(op, Way(3)), plan_for(op, Way(1))])


def test_sums_of_all_sizes() -> None:
    plans = [plan_for(op, way) for op, way in sums(examples(24, 120))]
    assert len(plans) > examples(18, 90), "most scales have words"
    assert_same(pie_replay(), plans)


def test_sums_over_maps(models_dir: Path) -> None:
    """Pixels of whole vectors, whole and in bands."""
    budgets = ("64K", "6K")
    assert_same(pie_replay(), [compile_model(models_dir / "kws_int8.onnx", fast=budget, backend="pie").data
                               for budget in budgets])  # fmt: skip


def test_pools_of_all_sizes() -> None:
    assert_same(pie_replay(), [plan_for(op, way) for op, way in pools(examples(40, 250))])


def test_int16_layers_of_all_sizes() -> None:
    assert_same(pie_replay(), [plan_for(op, way) for op, way in int16_layers(examples(60, 300))])


def test_equal_biases() -> None:
    """A network in which two convolutions of one stage have the same biases."""
    assert_same(pie_replay(), [compile_model(zoo.inception(), fast=budget, backend="pie").data
                               for budget in ("256K", "64K")])  # fmt: skip


def test_damaged_plans() -> None:
    """Refused or run, never an access outside."""
    choose, count = random.Random(9), examples(10, 60)
    plans: list[bytes] = []
    cases = (layers(examples(12, 30), 5), sums(examples(6, 12), 5), pools(examples(6, 12), 5),
             int16_layers(examples(6, 12), 5))  # fmt: skip
    for op, way in itertools.chain(*cases):
        plan = plan_for(op, dataclasses.replace(way, weights=choose.choice(list(WeightMode))))
        plans += map(with_crc, overwritten(choose, plan, count))
    statuses = {result.status for result in outcomes(pie_replay(), plans)}
    assert {0, Status.ERR_PARAMS} <= statuses


def pointwise_plan(weights: WeightMode = WeightMode.IN_PLACE) -> bytes:
    op = packed(int8_case(CONV, POINTWISE, 1, 1, 32, 16, 1)[0])
    assert op is not None
    return plan_for(op, Way(3, weights=weights))


def with_head(plan: bytes, place: int, value: int) -> bytes:
    copy = bytearray(plan)
    copy[Header.unpack(plan).weights + place] = value
    return with_crc(bytes(copy))


def test_streams_and_arenas_that_the_kernels_cannot_use_are_refused() -> None:
    """Heads that no stream has, endings whose stream would be longer, an alignment of less than a vector, and less
    scratch than a window and a pixel."""
    plan = pointwise_plan()
    ending = plan[Header.unpack(plan).weights]
    assert ending in (0, 1, 2)
    cases = {with_head(plan, place, value): Status.ERR_PARAMS
             for place, value in ((0, 7), (0, 255), (1, 32), (2, 32), (0, 3))}
    cases |= {with_head(pointwise_plan(WeightMode.COPY), 0, 3): Status.ERR_PARAMS}
    cases |= {plan: 0, changed(plan, Header, 0, alignment=8): Status.ERR_ALIGNMENT}
    op = packed(fully_connected_case(1, 90, 10, 0, False, 3)[0])
    assert op is not None
    for less, status in ((0, 0), (1, Status.ERR_PARAMS)):
        given = dataclasses.replace(op, scratch_bytes=op.scratch_bytes - less)
        cases[plan_for(given, Way(op.output_shape[1]))] = status
    assert [result.status for result in outcomes(pie_replay(), cases)] == list(cases.values())
