"""The front end alone reproduces the recorded outputs of the project's networks.

Programs are executed by the numpy interpreter: what is shown here is that reading, the passes and
lowering keep every bit of the arithmetic, before any C code is involved.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from bench.float_twin import float_twin
from tests.compiler.lower.program_interpreter import run, run_tensors, to_stored
from tests.compiler.lower.test_numerics import softmax_real
from tests.networks.folders import INT8
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.lower import lower
from tigris_pio.compiler.normalise import normalise
from tigris_pio.format.enums import OpKind

FLOAT = ("ad", "kws", "resnet", "vww")


def compiled(path: Path | onnx.ModelProto) -> Program:
    return lower(normalise(load_model(path)).graph)


@pytest.mark.parametrize("name", INT8)
def test_int8_networks_equal_tflite_micro(models_dir: Path, name: str) -> None:
    program = compiled(models_dir / f"{name}_int8.onnx")
    source, result = program.inputs[0], program.outputs[0]
    data = dict(np.load(models_dir / f"{name}_vectors.npz"))
    for index in range(0, len(data["input_f32"]), 4):
        image = data["input_f32"][index][np.newaxis]
        stored = to_stored(source, program.tensors[source.tensor], image)
        np.testing.assert_array_equal(stored.reshape(-1), data["input_q"][index].reshape(-1))
        values = run_tensors(program, {source.name: image})
        np.testing.assert_array_equal(values[result.tensor].reshape(-1), data["output_tflm_q"][index].reshape(-1))
        if "logits_tflm_q" in data:
            assert program.ops[-1].kind == OpKind.SOFTMAX
            logits = program.ops[-1].operands[0].tensor
            np.testing.assert_array_equal(values[logits].reshape(-1), data["logits_tflm_q"][index].reshape(-1))
            real = softmax_real(values[logits].reshape(1, -1), program.tensors[logits].scale)
            np.testing.assert_array_equal(real.reshape(-1), data["output_tflm_q"][index].reshape(-1))


@pytest.mark.parametrize("name", FLOAT)
def test_float_networks_equal_onnxruntime(models_dir: Path, name: str) -> None:
    twin = float_twin(models_dir / f"{name}_int8.onnx")
    program = compiled(twin)
    reference = onnxruntime.InferenceSession(twin.SerializeToString(), providers=["CPUExecutionProvider"])
    for image in np.load(models_dir / f"{name}_vectors.npz")["input_f32"][::6]:
        output = run(program, {"input": image[np.newaxis]})["output"][0]
        expected = reference.run(None, {"input": image[np.newaxis]})[0][0]
        np.testing.assert_allclose(output, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "macs"), [("ad", 264_192), ("kws", 2_656_768), ("resnet", 12_501_632),
                                            ("vww", 7_489_664), ("sww", 826_368), ("micro_speech", 336_000),
                                            ("person_detect", 7_157_888)])
def test_macs_and_operator_count(models_dir: Path, name: str, macs: int) -> None:
    """Multiply-accumulates as published with the models; nothing but the networks' own operators runs."""
    program = compiled(models_dir / f"{name}_int8.onnx")
    assert sum(op.macs for op in program.ops) == macs
    moving = {OpKind.COPY, OpKind.TRANSPOSE, OpKind.QUANTIZE, OpKind.DEQUANTIZE, OpKind.LOOKUP}
    assert not [op.name for op in program.ops if op.kind in moving]
