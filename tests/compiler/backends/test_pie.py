"""The kernels in the ESP32-S3's vector instructions: what they take, what a plan for them holds, and who refuses it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tigris_pio import Session, compile_model
from tigris_pio.compiler.backends import find_backend, pie
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.emit.model_header import kernel_symbols
from tigris_pio.compiler.weights.pie import Ending, stream_bytes
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.reader import read_plan

SHAPE = PlainShape(16, 16, 8, 8, 8, 8, (3, 3), depthwise=True)


@pytest.mark.parametrize(("shape", "reason"), [
    (SHAPE, None), (dataclasses.replace(SHAPE, dilation=(2, 1), stride=(1, 3)), None),
    (dataclasses.replace(SHAPE, kernel=(5, 3)), "pie has no depthwise kernel of 5x3"),
    (dataclasses.replace(SHAPE, outputs=48), "pie has no depthwise kernel of 3 outputs a channel"),
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
    assert reasons.count("pie finds no words that give the same bytes for its scales") == 5
    assert compiled.report["backend"]["ops"] == 5
    plain = compile_model(models_dir / "kws_int8.onnx", fast="64K")
    with Session(plain) as expected, Session(compiled) as found:
        (io,) = expected.inputs
        values = np.random.default_rng(5).integers(-128, 128, io.stored_shape).astype(np.int8)
        for wanted, got in zip(expected.run_raw({io.name: values}).values(), found.run_raw({io.name: values}).values(),
                               strict=True):  # fmt: skip
            np.testing.assert_array_equal(got, wanted)


def test_other_chips_and_alignments_are_refused(models_dir: Path) -> None:
    assert find_backend("pie", "esp32s3") is find_backend("pie") is not None
    with pytest.raises(UsageError, match="pie is for esp32s3, not for cortex-m4"):
        compile_model(models_dir / "kws_int8.onnx", backend="pie", chip="cortex-m4")
    with pytest.raises(UsageError, match=r"alignment.*8.*: pie needs tensors at multiples of 16; use alignment"):
        compile_model(models_dir / "kws_int8.onnx", backend="pie", alignment=8)
