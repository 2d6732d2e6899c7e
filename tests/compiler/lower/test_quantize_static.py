"""A network that onnxruntime's quantize_static writes with QLinearConv and its relatives; QDQ is in tests/families."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from tests.compiler.models import make, node, ort
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(23)
SHAPE = (1, 3, 16, 16)


def noise(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 0.4).astype(np.float32)


def network() -> onnx.ModelProto:
    """Conv, depthwise, residual Add, squeeze-excite, Concat, pooling, Gemm, Softmax."""
    shapes = {"w0": (8, 3, 3, 3), "w1": (8, 1, 3, 3), "w2": (8, 8, 1, 1), "b2": (8,), "w3": (4, 8, 1, 1), "b3": (4,),
              "w4": (8, 4, 1, 1), "w5": (16, 10), "b5": (10,)}
    half = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", "x w0", "c0", strides=[2, 2], pads=[1] * 4), node("Relu", "c0", "a0"),
        node("Conv", "a0 w1", "c1", group=8, pads=[1] * 4), node("Relu", "c1", "a1"), node("Conv", "a1 w2 b2", "c2"),
        node("Add", "c2 a0", "s"), node("GlobalAveragePool", "s", "p"), node("Conv", "p w3 b3", "e1"),
        node("Relu", "e1", "e2"), node("Conv", "e2 w4", "e3"), node("Sigmoid", "e3", "e4"), node("Mul", "s e4", "t"),
        node("HardSwish", "t", "h"), node("MaxPool", "h", "mp", **half), node("AveragePool", "h", "ap", **half),
        node("Concat", "mp ap", "cc", axis=1), node("ReduceMean", "cc", "q", axes=[2, 3], keepdims=0),
        node("Gemm", "q w5 b5", "l"), node("Softmax", "l", "y", axis=1),
    ]
    return make(nodes, {"x": SHAPE}, ["y"], {name: noise(*shape) for name, shape in shapes.items()})


class Samples(CalibrationDataReader):  # type: ignore[misc]
    """A few random images."""

    def __init__(self) -> None:
        self.items = iter([{"x": noise(*SHAPE) * 3} for _ in range(8)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.items, None)


@pytest.mark.parametrize(("activations", "per_channel"), [("QInt8", False), ("QUInt8", True)])
def test_operator_oriented_networks_agree(tmp_path: Path, activations: str, per_channel: bool) -> None:
    """HardSwish has no such form and stays float.

    On x86 without VNNI onnxruntime adds uint8 times int8 products in pairs that saturate at 16 bits; weights of 7 bits
    (reduce_range, as its documentation advises) make it exact everywhere.
    """
    names = [tmp_path / f"{name}.onnx" for name in ("float", "prepared", "q")]
    onnx.save(network(), names[0])
    quant_pre_process(*names[:2], skip_symbolic_shape=True)
    quantize_static(*names[1:], Samples(), quant_format=QuantFormat.QOperator, per_channel=per_channel,
                    activation_type=QuantType[activations], weight_type=QuantType.QInt8,
                    reduce_range=activations == "QUInt8")
    model = onnx.load(names[2])
    kinds = {item.op_type for item in model.graph.node}
    assert {"QLinearConv", "QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid"} <= kinds
    assert kinds & {"QGemm", "QLinearMatMul"} and kinds & {"QLinearGlobalAveragePool", "QLinearReduceMean"}
    compiled = compile_model(model)
    convolutions = [op for op in compiled.plan.program.ops if op.kind in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D)]
    assert len(convolutions) >= 5 and all(op.dtype == DType.INT8 for op in convolutions)
    with Session(compiled) as session:
        for _ in range(4):
            inputs = {"x": noise(*SHAPE) * 3}
            got, expected = session.run(inputs)["y"], ort(model, inputs)["y"]
            assert np.abs(got - expected).max() < 0.04
            assert got.argmax() == expected.argmax() or np.sort(expected[0])[-2] > expected.max() - 0.04
