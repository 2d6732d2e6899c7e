"""The adapters under AddressSanitizer, with libraries that read and write blindly: every geometry that a plan may have,
and damaged plans. Bytes are those of the portable kernels; what libraries cannot run is refused or run by those."""

from __future__ import annotations

import dataclasses
import itertools
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.backends.libraries import CASES, case_name, sources
from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.fuzz.geometries import Axis, conv, geometries
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.loader import TIGRIS_ERR_PARAMS, bind_status
from tests.runtime.operators import Operator, operators
from tests.runtime.plan_builder import with_crc
from tests.runtime.test_damaged_plans import FUZZ, WORDS, outcomes, values_for, words
from tests.runtime.test_dsp_in_c import portable_outputs
from tests.runtime.test_refusals import changed
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType, OpKind, WeightMode
from tigris_pio.format.params import FullyConnectedInt8Params
from tigris_pio.format.records import Header, StageRecord, TensorRecord, ViewRecord

CONV, DEPTHWISE = OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D


@pytest.fixture(scope="module", params=CASES, ids=case_name)
def replay(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of test_damaged_plans with a backend."""
    name, real = request.param
    given = sources(name, real)
    # What a library computes from values is its own affair, where it reads and writes is not.
    flags = [*given.flags, *SANITIZERS, *(["-w", "-fno-sanitize=undefined"] if real else [])]
    program = tmp_path_factory.mktemp("adapters") / "replay"
    return compile_program(program, [FUZZ / "replay.c", FUZZ / "run_plan.c", *given.files], f"-I{FUZZ}", *flags)


def test_every_geometry_gives_the_portable_bytes(replay: Path, request: pytest.FixtureRequest) -> None:
    plans = list(geometries(700, dilated="cmsis" in request.node.name))
    results = outcomes(replay, plans)
    wrong = [i for i, (plan, result) in enumerate(zip(plans, results, strict=True))
             if (result.status, result.differs, result.outputs) != (0, False, portable_outputs(plan))]  # fmt: skip
    assert not wrong


def test_damaged_plans(replay: Path) -> None:
    """One to four words of plain operators, the same in every run."""
    choose = random.Random(21)
    plain = [plan for name, plan in seeds() if "plain" in name] + list(geometries(60, dilated=False))
    plans = []
    for plan in plain:
        candidates = list(words(plan))
        for _ in range(60):
            copy = bytearray(plan)
            for _ in range(choose.randint(1, 4)):
                offset, size = choose.choice(candidates)
                (old,) = struct.unpack_from(WORDS[size], copy, offset)
                struct.pack_into(WORDS[size], copy, offset, choose.choice(sorted(values_for(old, size))))
            plans.append(with_crc(bytes(copy)))
    results = outcomes(replay, plans)
    assert sum(result.ran for result in results) > len(plans) // 50


def test_weights_that_a_run_overwrites(replay: Path) -> None:
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
    results = outcomes(replay, plans)
    assert {result.ran for result in results} == {True}


UNUSUAL = [
    {"before": 3}, {"after": 5}, {"size": 20, "output": 3}, {"size": 4, "output": 9}, {"before": -1}, {"before": 100},
]  # fmt: skip


@pytest.mark.parametrize("kind", [CONV, DEPTHWISE], ids=lambda kind: kind.name)
@pytest.mark.parametrize("rows", [True, False], ids=("rows", "columns"))
@pytest.mark.parametrize("change", UNUSUAL, ids=str)
def test_geometry_that_libraries_do_not_expect_is_refused(kind: OpKind, rows: bool, change: dict[str, int]) -> None:
    """Padding beyond a window's reach, windows that begin behind the input, input that no window reads."""
    usual = Axis(8, 3, 1, 1, 1)
    unusual = usual._replace(**{name: value for name, value in change.items() if name != "output"})
    output = change.get("output", unusual.output)
    if not rows and unusual.before < 0:
        pytest.skip("columns have no negative padding")
    op = conv(kind, *((unusual, usual) if rows else (usual, unusual)), 4, 4, random.Random(1))
    shape = (1, output, 8, 4) if rows else (1, 8, output, 4)
    assert bind_status(plan_for(conv(kind, usual, usual, 4, 4, random.Random(1)), Way(8))) == 0
    assert bind_status(plan_for(dataclasses.replace(op, output_shape=shape), Way(shape[1]))) == TIGRIS_ERR_PARAMS


def test_dilation_is_refused_by_a_library_that_ignores_it(replay: Path, request: pytest.FixtureRequest) -> None:
    dilated, usual = Axis(8, 3, 1, 2, 2, 2), Axis(8, 3, 1, 1, 1)
    plans = [plan_for(conv(kind, *axes, 4, 4, random.Random(1)), Way(8))
             for kind in (CONV, DEPTHWISE) for axes in ((dilated, usual), (usual, dilated))]  # fmt: skip
    refused = "esp-nn" in request.node.name
    assert {result.status for result in outcomes(replay, plans)} == {TIGRIS_ERR_PARAMS if refused else 0}


def _layer(vectors: int, features: int) -> Operator:
    """A plain fully connected layer of that many input vectors."""
    numbers = np.random.default_rng(features)
    blobs = {"weights": numbers.integers(-128, 128, (5, features)).astype(np.int8),
             "bias": np.arange(5, dtype=np.int32), "multiplier": np.full(5, (1 << 30) + 5, np.int32),
             "shift": np.full(5, -7, np.int32)}  # fmt: skip
    params = FullyConnectedInt8Params(vectors, features, 5, 1, 3, -128, 127, 0, 0, 0, 0)
    x = numbers.integers(-128, 128, (1, vectors, 1, features)).astype(np.int8)
    return Operator(OpKind.PLAIN_FULLY_CONNECTED, DType.INT8, params, (x,), (RowMap.same(),), (1, vectors, 1, 5),
                    DType.INT8, blobs)  # fmt: skip


def test_operands_that_vector_accesses_would_round(replay: Path) -> None:
    """Tensors on multiples of 4 alone: libraries whose loads and stores round addresses down are not handed those."""
    axis, odd, choose = Axis(8, 3, 1, 1, 1), Axis(8, 1, 1, 0, 0), random.Random(3)
    cases = [conv(DEPTHWISE, axis, axis, channels, channels, choose) for channels in (8, 16, 32)]
    cases += [conv(CONV, odd, odd, channels, 5, choose) for channels in (8, 16)]
    cases += [_layer(vectors, features) for vectors in (1, 4) for features in (7, 13, 20, 40)]
    for op in cases:
        plan = plan_for(op, Way(op.output_shape[1]))
        expected = portable_outputs(plan)
        header = Header.unpack(plan)
        for shifts in ((0, 0), (4, 0), (0, 4), (8, 4)):
            moved = changed(plan, Header, 0, alignment=4, fast_bytes=header.fast_bytes + 64)
            for index, by in enumerate(shifts):
                offset = TensorRecord.unpack(moved, header.tensors + index * TensorRecord.size()).home_offset
                moved = changed(moved, TensorRecord, index, home_offset=offset + (16 if index else 0) + by)
            (result,) = outcomes(replay, [moved])
            assert (result.status, result.outputs) == (0, expected), (op.kind, op.output_shape, shifts)


def test_too_tall_for_a_batch(replay: Path) -> None:
    """Five images given as rows of one."""
    plans = []
    for op in operators():
        if op.kind in (CONV, DEPTHWISE):
            plan = plan_for(dataclasses.replace(op, inputs=(np.repeat(op.inputs[0], 5, axis=0),)), Way(6))
            assert TensorRecord.unpack(plan, Header.unpack(plan).tensors).batch == 5
            plans.append(plan)
    assert {result.status for result in outcomes(replay, plans)} == {TIGRIS_ERR_PARAMS}
