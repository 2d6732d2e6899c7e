"""A small network with the shapes of real ones, quantised by onnxruntime in each of its ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(23)
SHAPE = (1, 3, 16, 16)


def noise(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 0.4).astype(np.float32)


def network() -> onnx.ModelProto:
    """Conv, BatchNorm, depthwise, residual Add, squeeze-excite, Concat, pooling, Gemm, Softmax."""
    weights = {
        "w0": noise(8, 3, 3, 3), "g": np.abs(noise(8)) + 1, "b": noise(8), "m": noise(8), "v": np.abs(noise(8)) + 1,
        "w1": noise(8, 1, 3, 3), "w2": noise(8, 8, 1, 1), "b2": noise(8), "w3": noise(4, 8, 1, 1), "b3": noise(4),
        "w4": noise(8, 4, 1, 1), "w5": noise(10, 16), "b5": noise(10), "lo": np.array(0, np.float32),
        "hi": np.array(6, np.float32),
    }
    nodes = [
        node("Conv", "x w0", "c0", strides=[2, 2], pads=[1, 1, 1, 1]), node("BatchNormalization", "c0 g b m v", "n0"),
        node("Clip", "n0 lo hi", "a0"), node("Conv", "a0 w1", "c1", group=8, pads=[1, 1, 1, 1]),
        node("Relu", "c1", "a1"),
        node("Conv", "a1 w2 b2", "c2"), node("Add", "c2 a0", "s"), node("GlobalAveragePool", "s", "p"),
        node("Conv", "p w3 b3", "e1"), node("Relu", "e1", "e2"), node("Conv", "e2 w4", "e3"),
        node("Sigmoid", "e3", "e4"),
        node("Mul", "s e4", "t"), node("HardSwish", "t", "h"),
        node("MaxPool", "h", "mp", kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", "h", "ap", kernel_shape=[2, 2], strides=[2, 2]), node("Concat", "mp ap", "cc", axis=1),
        node("ReduceMean", "cc", "q", axes=[2, 3], keepdims=0), node("Gemm", "q w5 b5", "l", transB=0),
        node("Softmax", "l", "y", axis=1),
    ]
    weights["w5"] = noise(16, 10)
    return make(nodes, {"x": SHAPE}, ["y"], weights, opset=17)


class Samples(CalibrationDataReader):  # type: ignore[misc]
    """A few random images."""

    def __init__(self) -> None:
        self.items = iter([{"x": noise(*SHAPE) * 3} for _ in range(8)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.items, None)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quantize")
    onnx.save(network(), folder / "float.onnx")
    quant_pre_process(folder / "float.onnx", folder / "prepared.onnx", skip_symbolic_shape=True)
    return folder / "prepared.onnx"


def agree(model: onnx.ModelProto) -> None:
    with Session(compile_model(model)) as session:
        for _ in range(4):
            inputs = {"x": noise(*SHAPE) * 3}
            got, expected = session.run(inputs)["y"], ort(model, inputs)["y"]
            assert np.abs(got - expected).max() < 0.04
            assert got.argmax() == expected.argmax() or np.sort(expected[0])[-2] > expected.max() - 0.04


@pytest.mark.parametrize(("activations", "weights", "per_channel"), [
    ("QInt8", "QInt8", True), ("QUInt8", "QInt8", False), ("QUInt8", "QUInt8", True)])
def test_quantised_networks_agree(prepared: Path, tmp_path: Path, activations: str, weights: str,
                                  per_channel: bool) -> None:
    path = tmp_path / "q.onnx"
    quantize_static(prepared, path, Samples(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType[activations], weight_type=QuantType[weights])
    model = onnx.load(path)
    lowered = program(model)
    assert all(op.dtype == DType.INT8 for op in lowered.ops), [op.name for op in lowered.ops]
    assert OpKind.TRANSPOSE not in {op.kind for op in lowered.ops}
    agree(model)


@pytest.mark.parametrize(("activations", "per_channel"), [("QInt8", False), ("QUInt8", True)])
def test_operator_oriented_networks_agree(prepared: Path, tmp_path: Path, activations: str,
                                          per_channel: bool) -> None:
    """QLinearConv and its relatives; HardSwish has no such form and stays float.

    On x86 without VNNI onnxruntime adds uint8 times int8 products in pairs that saturate at 16 bits; weights of 7 bits
    (reduce_range, as its documentation advises) make it exact everywhere.
    """
    path = tmp_path / "q.onnx"
    quantize_static(prepared, path, Samples(), quant_format=QuantFormat.QOperator, per_channel=per_channel,
                    activation_type=QuantType[activations], weight_type=QuantType.QInt8,
                    reduce_range=activations == "QUInt8")
    model = onnx.load(path)
    kinds = {item.op_type for item in model.graph.node}
    assert {"QLinearConv", "QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid"} <= kinds
    assert kinds & {"QGemm", "QLinearMatMul"} and kinds & {"QLinearGlobalAveragePool", "QLinearReduceMean"}
    lowered = program(model)
    convolutions = [op for op in lowered.ops if op.kind in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D)]
    assert len(convolutions) >= 5 and all(op.dtype == DType.INT8 for op in convolutions)
    agree(model)


def test_the_float_network_agrees() -> None:
    model = network()
    inputs = {"x": noise(*SHAPE) * 3}
    np.testing.assert_allclose(run(program(model), inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-6)
