"""Kernels in the ESP32-S3's vector instructions: accepted operators, the plan's records, and refusals."""

import ctypes
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.kernel_harness import SAME
from tigris_pio import Session, compile_model
from tigris_pio.compiler.backends import find_backend, pie
from tigris_pio.compiler.backends.pie_scales import Scale, vector_scale
from tigris_pio.compiler.backends.pie_sums import sum_params
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.emit.model_header import kernel_symbols
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.params import ConvInt16Params, LookupParams, PieSumInt8Params, PoolInt8Params
from tigris_pio.format.pie import Ending, stream_bytes
from tigris_pio.format.reader import read_plan
from tigris_pio.format.record import Record

SHAPE = PlainShape(16, 16, 8, 8, 8, 8, (3, 3), depthwise=True)


@pytest.mark.parametrize(("shape", "reason"), [
    (SHAPE, None), (dataclasses.replace(SHAPE, dilation=(2, 1), stride=(1, 3)), None),
    (dataclasses.replace(SHAPE, kernel=(5, 3)), None),
    (dataclasses.replace(SHAPE, outputs=48), "pie has no depthwise kernel of 3 outputs per channel"),
    (dataclasses.replace(SHAPE, depthwise=False, groups=4), "pie has no kernel for convolutions of 4 groups"),
    (dataclasses.replace(SHAPE, depthwise=False, kernel=(10, 4), dilation=(2, 2)), None),
    (PlainShape(640, 10, 1, 1, 1, 1, dense=True), None),
])  # fmt: skip
def test_what_is_refused(shape: PlainShape, reason: str | None) -> None:
    assert pie.refuses(shape) == reason


def test_a_plan_holds_streams_and_scratch(models_dir: Path) -> None:
    compiled = compile_model(models_dir / "kws_int8.onnx", fast="64K", backend="pie", chip="ESP32-S3")
    plan = read_plan(compiled.data)
    assert plan.header.alignment % 16 == 0
    program, own = compiled.plan.program, 0
    for record, op in zip(plan.ops, program.ops, strict=True):
        taken = op.dtype is DType.INT8 and op.kind in pie.KINDS
        assert record.packing == (Packing.PIE if taken else Packing.PORTABLE)
        if taken:
            params = plan.params(record)
            stage = next(stage for stage in plan.stages if record in plan.ops[stage.first_op :][: stage.op_count])
            start = plan.header.weights + stage.block + params.weights
            shape = op.blobs["weights"].shape
            size = stream_bytes(OpKind(record.kind), shape, Ending(plan.data[start]))
            assert plan.data[start : start + size] == pie.stream(op).tobytes()
            assert params.bias - params.weights == size
            assert record.scratch_bytes > 0 and record.scratch % 16 == 0
            own += 1
    assert own == compiled.report["backend"]["ops"] == 10
    assert compiled.report["memory"]["backend_scratch"] == 0
    kernels = {entry["kernel"] for entry in compiled.report["kernels"]["ops"]}
    assert {f"tigris_pie_{kind}_int8" for kind in ("conv_2d", "depthwise_conv_2d", "fully_connected")} < kernels
    assert {f"&{kernel}" for kernel in kernels} == set(kernel_symbols(compiled.plan))


def test_scales_without_words_stay_portable(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = pie.layer_of
    monkeypatch.setattr(pie, "layer_of", lambda op: None if op.kind is OpKind.CONV_2D else original(op))
    compiled = compile_model(models_dir / "kws_int8.onnx", fast="64K", backend="pie")
    reasons = [entry["reason"] for entry in compiled.report["backend"]["portable"]]
    assert reasons.count("pie has no constants that give the same bytes for its scales") == 5
    assert compiled.report["backend"]["ops"] == 5
    plain = compile_model(models_dir / "kws_int8.onnx", fast="64K")
    with Session(plain) as expected, Session(compiled) as found:
        (io,) = expected.inputs
        values = np.random.default_rng(5).integers(-128, 128, io.stored_shape).astype(np.int8)
        for wanted, got in zip(expected.run_raw({io.name: values}).values(), found.run_raw({io.name: values}).values(),
                               strict=True):  # fmt: skip
            np.testing.assert_array_equal(got, wanted)


def test_sums_have_words_and_the_portable_bytes(models_dir: Path) -> None:
    compiled = compile_model(models_dir / "resnet_int8.onnx", fast="64K", backend="pie", chip="esp32s3")
    plan = read_plan(compiled.data)
    sums = [op for op in plan.ops if op.kind == OpKind.ADD]
    assert len(sums) == 3 and all(isinstance(plan.params(op), PieSumInt8Params) for op in sums)
    assert {op.packing for op in sums} == {Packing.PIE}
    with Session(compile_model(models_dir / "resnet_int8.onnx")) as expected, Session(compiled) as found:
        values = np.random.default_rng(5).integers(-128, 128, expected.inputs[0].stored_shape).astype(np.int8)
        wanted, got = (session.run_raw({session.inputs[0].name: values}) for session in (expected, found))
        assert wanted.keys() == got.keys()
        for name, output in wanted.items():
            np.testing.assert_array_equal(got[name], output)


def test_sums_that_stay_portable(models_dir: Path) -> None:
    program = front(models_dir / "resnet_int8.onnx", CompileOptions()).program
    op = next(op for op in program.ops if op.kind is OpKind.ADD)
    own = op.params
    assert isinstance(sum_params(program, op), PieSumInt8Params)
    limited = dataclasses.replace(op, params=dataclasses.replace(own, activation_min=-100))
    assert sum_params(program, limited) == "pie has no kernel for sums with limits other than int8's"
    other = dataclasses.replace(op.operands[1], tensor=program.ops[-1].output)
    broadcast = dataclasses.replace(op, operands=(op.operands[0], other))
    assert sum_params(program, broadcast) == "pie has no kernel that broadcasts"
    halves = dataclasses.replace(own, multiplier=(1 << 30, 1 << 30), shift=(0, 0), zero_point=(0, 0),
                                 output_zero_point=0, output_multiplier=1 << 30, output_shift=-19)  # fmt: skip
    half = dataclasses.replace(op, params=halves)
    assert sum_params(program, half) == "pie has no constants that give the same bytes for its scales"


def pool(**fields: int) -> PoolInt8Params:
    shape = dict.fromkeys([field.name for field in PoolInt8Params.layout()], 0)
    return PoolInt8Params(**{**shape, "kernel_height": 3, "kernel_width": 3, **fields})


def conv_int16(**fields: int) -> ConvInt16Params:
    shape = dict.fromkeys([field.name for field in ConvInt16Params.layout()], 1)
    return ConvInt16Params(**{**shape, "kernel_height": 3, "kernel_width": 3, **fields})


@pytest.mark.parametrize("kind, dtype, channels, params, helps", [
    (OpKind.MAX_POOL, DType.INT8, 24, pool(), True), (OpKind.MAX_POOL, DType.INT8, 12, pool(), False),
    (OpKind.AVERAGE_POOL, DType.INT8, 8, pool(rescale=2), True),
    (OpKind.AVERAGE_POOL, DType.INT8, 8, pool(rescale=1), False),
    (OpKind.AVERAGE_POOL, DType.INT8, 8, pool(kernel_height=22), False),
    (OpKind.CONV_2D, DType.INT16, 64, conv_int16(), True), (OpKind.CONV_2D, DType.INT16, 20, conv_int16(), True),
    (OpKind.CONV_2D, DType.INT16, 30, conv_int16(), False),
    (OpKind.CONV_2D, DType.INT16, 8, conv_int16(groups=2), False),
    (OpKind.CONV_2D, DType.INT16, 64, conv_int16(weight_bytes=2), False),
    (OpKind.DEPTHWISE_CONV_2D, DType.INT16, 12, conv_int16(), False), (OpKind.LOOKUP, DType.INT8, 16, None, False),
])  # fmt: skip
def test_portable_kernels_that_the_vectors_speed_up(kind: OpKind, dtype: DType, channels: int, params: Record | None,
                                                    helps: bool) -> None:  # fmt: skip
    op = ProgramOp("op", kind, dtype, (Operand("x", SAME),), "x", params or LookupParams(0))
    program = Program("", b"", {"x": ProgramTensor("x", 1, 9, 9, channels, dtype)}, (op,), (), ())
    assert pie.accelerates(program, op) is helps


def test_other_chips_and_alignments_are_refused(models_dir: Path) -> None:
    assert find_backend("pie", "esp32s3") is find_backend("pie") is not None
    with pytest.raises(UsageError, match="pie is for esp32s3, not for cortex-m4"):
        compile_model(models_dir / "kws_int8.onnx", backend="pie", chip="cortex-m4")
    with pytest.raises(UsageError, match=r"alignment.*8.*: pie needs tensors at multiples of 16; use alignment"):
        compile_model(models_dir / "kws_int8.onnx", backend="pie", alignment=8)


# Requantisation for the ESP32-S3's vectors: exact for every sum of small layers, if words are found.


def random_scale(choose: np.random.Generator, channels: int, right: int, spread: int = 2) -> Scale:
    zero_point = int(choose.integers(-128, 128))
    low, high = ((-128, 127), (zero_point, 127), (-100, 90))[int(choose.integers(3))]
    return Scale(choose.integers(1 << 30, (1 << 31) - 1, channels), -choose.integers(right - spread, right + spread,
    channels),
                 choose.integers(-20000, 20000, channels), zero_point, low, high)  # fmt: skip


def test_exact_is_requantise_h() -> None:
    """One channel at a time in Python's whole numbers, after gemmlowp."""
    choose = np.random.default_rng(1)
    scale = random_scale(choose, 40, 9, 8)
    sums = choose.integers(-(1 << 20), 1 << 20, (50, 40))
    for (row, channel), got in np.ndenumerate(scale.outputs(sums)):
        shift = int(scale.shift[channel])
        value = ctypes.c_int32(int(sums[row, channel] + scale.offset[channel]) << max(shift, 0)).value
        high = (value * int(scale.multiplier[channel]) + (1 << 30)) >> 31
        right = max(-shift, 0)
        rounded = (abs(high) + (1 << right >> 1)) >> right
        wanted = (rounded if high >= 0 else -rounded) + scale.zero_point
        assert got == min(max(wanted, scale.low), scale.high)


@pytest.mark.parametrize("whole", [False, True])
def test_every_sum_of_a_small_layer(whole: bool) -> None:
    found = 0
    for seed in range(12):
        choose = np.random.default_rng(seed)
        scale, bound = random_scale(choose, 4, 6, 1), choose.integers(20000, 60000, 4)
        words = vector_scale(scale, bound, whole=whole)
        if words is not None:
            sums = np.arange(-bound.min(), bound.min() + 1)[:, None]
            np.testing.assert_array_equal(words.outputs(sums), scale.outputs(sums))
            found += 1
    assert found >= (12 if whole else 6)


def test_sums_that_saturate() -> None:
    """The last bits of the shift do, where outputs are at their limits long before."""
    scale = Scale(np.full(2, 1500000000), np.array([-9, -9]), np.array([5, -5]), 3)
    bound = np.full(2, 5_000_000)
    words = vector_scale(scale, bound, whole=True, doublings=2)
    assert words is not None and words.left > 8
    sums = np.random.default_rng(1).integers(-5_000_000, 5_000_001, (100000, 2))
    np.testing.assert_array_equal(words.outputs(sums), scale.outputs(sums))


@pytest.mark.parametrize("scale, bound", [
    (Scale(np.array([1 << 30]), np.array([4]), np.array([0]), 0), 1000),  # outputs faster than sums
    (Scale(np.array([0]), np.array([-4]), np.array([0]), 0), 1000),
    (Scale(np.array([1 << 30, 1 << 30]), np.array([-3, -26]), np.zeros(2, np.int64), 0), 1000),  # too far apart
    (Scale(np.array([1 << 30]), np.array([-30]), np.array([0]), 100), 1000),  # an offset beyond a word
])  # fmt: skip
def test_what_has_no_words_is_none(scale: Scale, bound: int) -> None:
    assert vector_scale(scale, np.full(len(scale.shift), bound)) is None
