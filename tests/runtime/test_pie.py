"""What calls the assembly for the ESP32-S3's vectors, with C in the assembly's place: the host's bytes, under
AddressSanitizer and UndefinedBehaviorSanitizer. What the assembly does, tests/emulation/xtensa sees."""

from __future__ import annotations

import dataclasses
import random
import struct
from pathlib import Path

import pytest

from tests.runtime.build import SANITIZERS
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.pie_cases import compile_pie, layers, packed
from tests.runtime.plan_builder import with_crc
from tests.runtime.test_conv import int8_case
from tests.runtime.test_damaged_plans import FUZZ, WORDS, outcomes, values_for, words
from tests.runtime.test_dsp import CONV, window
from tests.runtime.test_dsp_in_c import assert_same
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.records import Header

POINTWISE = window((3, 2), (1, 1), (1, 1), (0, 0, 0, 0))


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sanitised program that runs plans from its standard input."""
    program = tmp_path_factory.mktemp("pie") / "replay"
    sources = [FUZZ / "replay.c", FUZZ / "run_plan.c", Path(__file__).with_name("pie_in_c.c")]
    return compile_pie(program, sources, f"-I{FUZZ}", *SANITIZERS)


def test_layers_of_all_sizes(replay: Path) -> None:
    plans = [plan_for(op, way) for op, way in layers(250)]
    assert len(plans) > 200
    assert_same(replay, plans)


def test_weights_in_ram(replay: Path) -> None:
    for mode in (WeightMode.COPY, WeightMode.LZ4):
        assert_same(replay, [plan_for(op, dataclasses.replace(way, weights=mode)) for op, way in layers(12, 3)])


def test_damaged_plans(replay: Path) -> None:
    """Refused or run, never an access outside."""
    choose = random.Random(9)
    plans = []
    for op, way in layers(30, 5):
        plan = plan_for(op, dataclasses.replace(way, weights=choose.choice(list(WeightMode))))
        candidates = list(words(plan))
        for _ in range(60):
            copy = bytearray(plan)
            offset, size = choose.choice(candidates)
            (old,) = struct.unpack_from(WORDS[size], plan, offset)
            struct.pack_into(WORDS[size], copy, offset, choose.choice(sorted(values_for(old, size))))
            plans.append(with_crc(bytes(copy)))
    statuses = {result.status for result in outcomes(replay, plans)}
    assert {0, -29} <= statuses


def pointwise_plan(weights: WeightMode = WeightMode.IN_PLACE) -> bytes:
    op = packed(int8_case(CONV, POINTWISE, 1, 1, 32, 16, 1)[0])
    assert op is not None
    return plan_for(op, Way(3, weights=weights))


def with_head(plan: bytes, place: int, value: int) -> bytes:
    copy = bytearray(plan)
    copy[Header.unpack(plan).weights + place] = value
    return with_crc(bytes(copy))


@pytest.mark.parametrize(("place", "value"), [(0, 7), (0, 255), (1, 32), (2, 32)])
def test_a_head_that_no_stream_has_is_refused(replay: Path, place: int, value: int) -> None:
    assert [result.status for result in outcomes(replay, [with_head(pointwise_plan(), place, value)])] == [-29]


def test_an_ending_whose_stream_would_be_longer_is_refused(replay: Path) -> None:
    plan = pointwise_plan()
    ending = plan[Header.unpack(plan).weights]
    assert ending in (0, 1, 2)
    assert outcomes(replay, [with_head(plan, 0, 3)])[0].status == -29
    assert outcomes(replay, [with_head(pointwise_plan(WeightMode.COPY), 0, 3)])[0].status == -29


def test_an_alignment_of_less_than_a_vector_is_refused(replay: Path) -> None:
    """Nothing lies anywhere else: what is refused is what the plan says of its arenas."""
    plan = pointwise_plan()
    header = dataclasses.replace(Header.unpack(plan), alignment=8)
    damaged = with_crc(header.pack() + plan[len(header.pack()) :])
    assert [result.status for result in outcomes(replay, [plan, damaged])] == [0, -14]


def test_less_scratch_than_a_window_and_a_pixel_is_refused(replay: Path) -> None:
    op = packed(fully_connected_case(1, 90, 10, 0, False, 3)[0])
    assert op is not None
    less = dataclasses.replace(op, scratch_bytes=op.scratch_bytes - 1)
    results = outcomes(replay, [plan_for(op, Way(op.output_shape[1])), plan_for(less, Way(op.output_shape[1]))])
    assert [result.status for result in results] == [0, -29]


def test_most_layers_have_words() -> None:
    found = [packed(int8_case(CONV, POINTWISE, 1, 1, 32, 32, seed)[0]) for seed in range(20)]
    assert sum(op is not None for op in found) >= 15
