"""The same int8 operator twice: as a TensorFlow Lite file and as ONNX with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from tests.compiler.models import make, node
from tests.tflite import writer
from tests.tflite.compare import random_input


@dataclasses.dataclass(frozen=True)
class Value:
    """An int8 tensor: shape, scale, zero point; `data` makes it a constant."""

    shape: tuple[int, ...]
    scale: float
    zero_point: int = 0
    data: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Twin:
    """One operator under both names, with inputs x0, x1, … and the output y."""

    op: str
    tflite: str
    inputs: Sequence[Value]
    output: Value
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)  #: ONNX
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)  #: TensorFlow Lite
    constants: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)  #: ONNX inputs after the others
    tflite_constants: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    output_type: str = "int8"  #: anything else is not quantised
    opset: int = 17

    def arrays(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Random values of the inputs that are no constants."""
        return {f"x{index}": random_input(item.shape, seed=seed + index) for index, item in enumerate(self.inputs)
                if item.data is None}

    def reference(self) -> bytes:
        """The .tflite file."""
        tensors = [writer.Tensor(f"x{index}", item.shape, "int8", item.scale, item.zero_point, data=item.data)
                   for index, item in enumerate(self.inputs)]
        tensors += [writer.constant(name, data) for name, data in self.tflite_constants.items()]
        quantised = self.output_type == "int8"
        tensors.append(writer.Tensor("y", self.output.shape, self.output_type,
                                     self.output.scale if quantised else None, self.output.zero_point))
        names = [item.name for item in tensors[:-1]]
        return writer.write(tensors, [writer.Operator(self.tflite, names, ["y"], self.options)],
                            list(self.arrays()), ["y"])

    def onnx(self) -> onnx.ModelProto:
        """The ONNX model, whose inputs and outputs are the integers."""
        nodes, weights = [], dict(self.constants)
        for index, item in enumerate(self.inputs):
            weights |= {f"s{index}": np.float32(item.scale), f"z{index}": np.int8(item.zero_point)}
            if item.data is not None:
                weights[f"x{index}"] = item.data
            nodes.append(node("DequantizeLinear", f"x{index} s{index} z{index}", f"d{index}"))
        read = " ".join((*(f"d{index}" for index in range(len(self.inputs))), *self.constants))
        if self.output_type == "int8":
            weights |= {"sy": np.float32(self.output.scale), "zy": np.int8(self.output.zero_point)}
            nodes += [node(self.op, read, "r", **self.attributes), node("QuantizeLinear", "r sy zy", "y")]
        else:
            nodes.append(node(self.op, read, "y", **self.attributes))
        types = dict.fromkeys(self.arrays(), TensorProto.INT8)
        types["y"] = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(self.output_type))
        shapes = {name: list(array.shape) for name, array in self.arrays().items()}
        return make(nodes, shapes, ["y"], weights, self.opset, types)
