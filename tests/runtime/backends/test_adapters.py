"""The adapters under AddressSanitizer, with libraries that read and write blindly: every geometry that a plan may have,
and damaged plans. Bytes are those of the portable kernels; what libraries cannot run is refused or run by those."""

import dataclasses
import itertools
import random
from pathlib import Path

import pytest

from tests.harness.tiers import examples
from tests.runtime.backends.libraries import CASES, backend_replay, case_name
from tests.runtime.damage import overwritten
from tests.runtime.fuzz.geometries import Axis, conv, geometries
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.loader import TIGRIS_ERR_PARAMS, bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import changed
from tests.runtime.replays import assert_same, outcomes, portable_outputs
from tests.runtime.test_conv import plain
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.format.enums import OpKind, WeightMode
from tigris_pio.format.params import FullyConnectedInt8Params
from tigris_pio.format.records import Header, OpRecord, StageRecord, TensorRecord, ViewRecord

CONV, DEPTHWISE = OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D


@pytest.fixture(scope="module", params=CASES, ids=case_name)
def program(request: pytest.FixtureRequest) -> Path:
    """The sanitised program that runs plans, with a backend."""
    return backend_replay(*request.param)


@pytest.mark.thorough
def test_every_geometry_gives_the_portable_bytes(program: Path, request: pytest.FixtureRequest) -> None:
    assert_same(program, geometries(examples(250, 700), dilated="cmsis" in request.node.name))


def test_damaged_plans(program: Path) -> None:
    """One to four words of plain operators, the same in every run."""
    choose, count = random.Random(21), examples(6, 60)
    plain = [plan for name, plan in seeds() if "plain" in name] + list(geometries(60, dilated=False))
    plans = [damage for plan in plain for damage in overwritten(choose, plan, count, 4)]
    results = outcomes(program, plans)
    assert sum(result.ran for result in results) > len(plans) // 50


def test_weights_that_a_run_overwrites(program: Path) -> None:
    """Copied and unpacked constants with an input on top of them: what was checked is not what is read."""
    plain = [op for op in operators() if op.kind in (CONV, DEPTHWISE, OpKind.PLAIN_FULLY_CONNECTED)]
    plans = []
    for op, mode in itertools.product(plain, (WeightMode.COPY, WeightMode.LZ4)):
        plan = plan_for(op, Way(2, windows=True, weights=mode))
        header = Header.unpack(plan)
        stage = StageRecord.unpack(plan, header.stages)
        plan = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 1024)
        # The window of the input or of the output, over each part of the block.
        for view, at in itertools.product((0, 1), range(0, stage.block_raw_bytes, 16)):
            plans.append(changed(plan, ViewRecord, view, offset=stage.block_fast_offset + at))
    results = outcomes(program, plans)
    assert {result.ran for result in results} == {True}


def test_scales_that_a_run_overwrites(program: Path) -> None:
    """Those that a library cannot take, which an input lies over, are left to the portable kernel."""
    op = next(op for op in operators() if op.kind is OpKind.PLAIN_FULLY_CONNECTED)
    plan = plan_for(op, Way(2, windows=True, weights=WeightMode.COPY))
    header = Header.unpack(plan)
    stage = StageRecord.unpack(plan, header.stages)
    scales = FullyConnectedInt8Params.unpack(plan, header.params + OpRecord.unpack(plan, header.ops).params).multiplier
    plan = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 1024)
    plans = [changed(plan, ViewRecord, 0, offset=stage.block_fast_offset + at)
             for at in range(scales + 15 & ~15, stage.block_raw_bytes, 16)]  # fmt: skip
    assert [result.outputs for result in outcomes(program, plans)] == [portable_outputs(plan) for plan in plans] != []


UNUSUAL = [
    {"before": 3}, {"after": 5}, {"size": 20, "output": 3}, {"size": 4, "output": 9}, {"before": -1}, {"before": 100},
]  # fmt: skip


@pytest.mark.parametrize("kind", [CONV, DEPTHWISE], ids=lambda kind: kind.name)
@pytest.mark.parametrize("rows", [True, False], ids=("rows", "columns"))
def test_geometry_that_libraries_do_not_expect_is_refused(kind: OpKind, rows: bool) -> None:
    """Padding beyond a window's reach, windows that begin behind the input, input that no window reads."""
    usual = Axis(8, 3, 1, 1, 1)
    assert bind_status(plan_for(conv(kind, usual, usual, 4, 4, random.Random(1)), Way(8))) == 0
    for change in UNUSUAL if rows else [change for change in UNUSUAL if change.get("before", 0) >= 0]:
        unusual = usual._replace(**{name: value for name, value in change.items() if name != "output"})
        output = change.get("output", unusual.output)
        op = conv(kind, *((unusual, usual) if rows else (usual, unusual)), 4, 4, random.Random(1))
        shape = (1, output, 8, 4) if rows else (1, 8, output, 4)
        plan = plan_for(dataclasses.replace(op, output_shape=shape), Way(shape[1]))
        assert bind_status(plan) == TIGRIS_ERR_PARAMS, change


def test_dilation_is_refused_by_a_library_that_ignores_it(program: Path, request: pytest.FixtureRequest) -> None:
    dilated, usual = Axis(8, 3, 1, 2, 2, 2), Axis(8, 3, 1, 1, 1)
    plans = [plan_for(conv(kind, *axes, 4, 4, random.Random(1)), Way(8))
             for kind in (CONV, DEPTHWISE) for axes in ((dilated, usual), (usual, dilated))]  # fmt: skip
    refused = "esp-nn" in request.node.name
    assert {result.status for result in outcomes(program, plans)} == {TIGRIS_ERR_PARAMS if refused else 0}


def test_operands_that_vector_accesses_would_round(program: Path) -> None:
    """Tensors on multiples of 4 alone: libraries whose loads and stores round addresses down are not handed those."""
    axis, odd, choose = Axis(8, 3, 1, 1, 1), Axis(8, 1, 1, 0, 0), random.Random(3)
    cases = [conv(DEPTHWISE, axis, axis, channels, channels, choose) for channels in (8, 16, 32)]
    cases += [conv(CONV, odd, odd, channels, 5, choose) for channels in (8, 16)]
    cases += [plain(fully_connected_case(vectors, features, 5, 0, True, features)[0])
              for vectors, features in itertools.product((1, 4), (7, 13, 20, 40))]
    plans, expected = [], []
    for op in cases:
        plan = plan_for(op, Way(op.output_shape[1]))
        header = Header.unpack(plan)
        for shifts in ((0, 0), (4, 0), (0, 4), (8, 4)):
            moved = changed(plan, Header, 0, alignment=4, fast_bytes=header.fast_bytes + 64)
            for index, by in enumerate(shifts):
                offset = TensorRecord.unpack(moved, header.tensors + index * TensorRecord.size()).home_offset
                moved = changed(moved, TensorRecord, index, home_offset=offset + (16 if index else 0) + by)
            plans.append(moved)
            expected.append((0, portable_outputs(plan)))
    assert [(result.status, result.outputs) for result in outcomes(program, plans)] == expected
