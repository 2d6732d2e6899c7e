"""Single operators in int8 as ONNX models, whose cost per element `bench.operators` counts."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
MEASURED = "layer"  #: the name of the node that counts
IMAGE = (1, 32, 16, 16)
INPUT_SCALE = 0.05
Shape = tuple[int, ...]


class Model:
    """One input, quantised; what a case adds; one output, quantised."""

    def __init__(self, shape: Shape, zero_point: int = 3, int16: bool = False) -> None:
        self.shape = shape
        self._dtype = np.int16 if int16 else np.int8
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._count = 0
        self.input = self.pair("input", INPUT_SCALE, zero_point)

    def constant(self, value: np.ndarray) -> str:
        """A constant's name."""
        self._count += 1
        self.constants.append(numpy_helper.from_array(value, f"constant_{self._count}"))
        return f"constant_{self._count}"

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, name: str = "", **attributes: Any) -> str:
        """The first output of a node, or all, separated by spaces."""
        self._count += 1
        names = [f"{op}_{self._count}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name or f"other_{self._count}", **attributes))
        return " ".join(names)

    def pair(self, name: str, scale: float, zero_point: int) -> str:
        """`name` quantised and back."""
        by = [self.constant(np.array(scale, np.float32)), self.constant(np.array(zero_point, self._dtype))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [name, *by]), *by])

    def other(self, shape: Shape | None = None) -> str:
        """Another activation than the input, in its own scale."""
        name = self.pair(self.node("LeakyRelu", [self.input], alpha=-0.3), 0.03, -7)
        return name if shape is None else self.node("Reshape", [name, self.constant(np.array(shape, np.int64))])

    def finish(self, names: str, scale: float, zero_point: int) -> onnx.ModelProto:
        """The model with these outputs."""
        outputs = [self.pair(name, scale, zero_point) for name in names.split()]
        graph = helper.make_graph(
            self.nodes, MEASURED, [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], self.constants,
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        for output in model.graph.output:
            if not output.type.tensor_type.HasField("shape"):  # of a GroupNormalization, which onnx does not infer
                output.CopyFrom(helper.make_tensor_value_info(output.name, TensorProto.FLOAT, self.shape))
        return model


@dataclasses.dataclass(frozen=True)
class Case:
    """An operator over an input; its instructions are divided by `units`, of which one is `unit`.

    With `kind`, kernel calls of that kind count, whatever node they come from. The output has `scale` and
    `zero_point`.
    """

    name: str
    build: Callable[[Model], str]
    units: int
    unit: str = "element"
    shape: Shape = IMAGE
    kind: str = ""
    scale: float = 0.05
    zero_point: int = -5

    def model(self) -> onnx.ModelProto:
        """As ONNX."""
        model = Model(self.shape)
        return model.finish(self.build(model), self.scale, self.zero_point)


def _unary(op: str, *constants: np.ndarray | None, outputs: int = 1, **attributes: Any) -> Callable[[Model], str]:
    def build(model: Model) -> str:
        names = [model.input, *("" if value is None else model.constant(value) for value in constants)]
        return model.node(op, names, outputs, MEASURED, **attributes)

    return build


def _binary(op: str, shape: Shape | None = None) -> Callable[[Model], str]:
    return lambda model: model.node(op, [model.input, model.other(shape)], name=MEASURED)


def _gated(model: Model) -> str:
    gate = model.pair(model.node("GlobalAveragePool", [model.input]), 0.02, 0)
    return model.node("Mul", [model.input, gate], name=MEASURED)


def _divided(model: Model) -> str:
    below = model.pair(model.node("Sigmoid", [model.input]), 1 / 256, -128)
    return model.node("Div", [model.input, below], name=MEASURED)


def _integers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _transposed(*perm: int) -> Callable[[Model], str]:
    """Added to a tensor that lies in the other order, so that it moves data."""

    def build(model: Model) -> str:
        turned = model.node("Transpose", [model.input], perm=perm)
        return model.node("Add", [turned, model.other(tuple(model.shape[axis] for axis in perm))])

    return build


def _ramp(*shape: int) -> np.ndarray:
    return np.linspace(0.1, 1.5, math.prod(shape), dtype=np.float32).reshape(shape)


_TWICE = (None, np.array([1, 1, 2, 2], np.float32))
_SAME: dict[str, Any] = {"scale": INPUT_SCALE, "zero_point": 3}  # as the input
_ALL = math.prod(IMAGE)
_TOKENS = (1, 64, 32)
_HEADS = (1, 4, 32, 32)

CASES = (
    Case("Dequantise", _unary("CumSum", np.array(1, np.int64)), _ALL, kind="DEQUANTIZE"),
    Case("Quantise", _unary("CumSum", np.array(1, np.int64)), _ALL, kind="QUANTIZE"),
    Case("Softmax, 64 long", _unary("Softmax", axis=-1), 4 * 64 * 64, shape=(1, 4, 64, 64), scale=1 / 256,
         zero_point=-128),
    Case("Softmax, 10 long", _unary("Softmax", axis=-1), 10, shape=(1, 10), scale=1 / 256, zero_point=-128),
    Case("Softmax over channels", _unary("Softmax", axis=1), _ALL, scale=1 / 256, zero_point=-128),
    Case("Mul", _binary("Mul"), _ALL),
    Case("Mul by channel", _gated, _ALL),
    Case("Add", _binary("Add"), _ALL),
    Case("Sub", _binary("Sub"), _ALL),
    Case("PRelu", _unary("PRelu", _ramp(32, 1, 1)), _ALL),
    Case("Max", _binary("Max"), _ALL),
    Case("Min", _binary("Min"), _ALL),
    Case("ReduceMean over rows", _unary("ReduceMean", _integers(2)), _ALL),
    Case("ReduceMean over channels", _unary("ReduceMean", _integers(1)), _ALL),
    Case("ReduceMean over a map", _unary("ReduceMean", _integers(2, 3)), _ALL),
    Case("ReduceSum over channels", _unary("ReduceSum", _integers(1)), _ALL),
    Case("ReduceMax over a map", _unary("ReduceMax", _integers(2, 3)), _ALL),
    Case("LayerNormalization, 32 long", _unary("LayerNormalization", _ramp(32), _ramp(32)), 64 * 32, shape=_TOKENS),
    Case("InstanceNormalization", _unary("InstanceNormalization", _ramp(32), _ramp(32)), _ALL),
    Case("GroupNormalization, 4 groups", _unary("GroupNormalization", _ramp(32), _ramp(32), num_groups=4), _ALL),
    Case("MatMul, 32 x 32 x 32", _binary("MatMul"), 32**3, "MAC", (1, 32, 32), scale=0.5),
    Case("MatMul, 4 of 32 x 32 x 32", _binary("MatMul"), 4 * 32**3, "MAC", _HEADS, scale=0.5),
    Case("MatMul, 4 of 16 x 8 x 16", _binary("MatMul", (1, 4, 8, 16)), 4 * 16 * 8 * 16, "MAC", (1, 4, 16, 8),
         scale=0.5),
    Case("MatMul, 2 of 48 x 64 x 48", _binary("MatMul", (1, 2, 64, 48)), 2 * 48 * 64 * 48, "MAC", (1, 2, 48, 64),
         scale=0.5),
    Case("Resize nearest", _unary("Resize", *_TWICE, mode="nearest"), 4 * _ALL, "output", **_SAME),
    Case("Resize linear", _unary("Resize", *_TWICE, mode="linear"), 4 * _ALL, "output", **_SAME),
    Case("Resize cubic", _unary("Resize", *_TWICE, mode="cubic"), 4 * _ALL, "output", **_SAME),
    Case("Slice of channels", _unary("Slice", _integers(8), _integers(24), _integers(1)), _ALL // 2, "output", **_SAME),
    Case("Gather of channels", _unary("Gather", np.arange(31, -1, -1), axis=1), _ALL, "output", **_SAME),
    Case("Gather of runs of channels", _unary("Gather", np.r_[16:32, 0:16], axis=1), _ALL, "output", **_SAME),
    Case("Transpose of an image", _transposed(0, 2, 3, 1), _ALL, "output", kind="TRANSPOSE", **_SAME),
    Case("Transpose of a matrix", _transposed(0, 2, 1), 64 * 32, "output", _TOKENS, "TRANSPOSE", **_SAME),
    Case("Transpose of heads", _transposed(0, 2, 1, 3), 64 * 32, "output", (1, 64, 4, 8), "TRANSPOSE", **_SAME),
    Case("AveragePool 2x2", _unary("AveragePool", kernel_shape=[2, 2], strides=[2, 2]), _ALL // 4, "output"),
    Case("AveragePool 2x2, same scale", _unary("AveragePool", kernel_shape=[2, 2], strides=[2, 2]), _ALL // 4,
         "output", **_SAME),
    Case("AveragePool 3x3, stride 1", _unary("AveragePool", kernel_shape=[3, 3], pads=[1] * 4), _ALL, "output"),
    Case("MaxPool 2x2", _unary("MaxPool", kernel_shape=[2, 2], strides=[2, 2]), _ALL // 4, "output", **_SAME),
    Case("MaxPool 3x3, stride 1", _unary("MaxPool", kernel_shape=[3, 3], pads=[1] * 4), _ALL, "output", **_SAME),
    Case("Div by a tensor", _divided, _ALL),
    Case("HardSwish", _unary("HardSwish"), _ALL),
)
