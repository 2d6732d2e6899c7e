"""Where the networks lie: the project's own in the clone, and in addition those of the folder TIGRIS_MODELS names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

OWN = Path(__file__).resolve().parents[2] / "networks"
INT8 = ("ad", "kws", "micro_speech", "person_detect", "resnet", "sww", "vww")


@dataclass(frozen=True)
class Network:
    """An int8 network with its recorded vectors."""

    folder: Path
    name: str

    def __str__(self) -> str:
        return self.name if self.folder == OWN else f"given-{self.name}"

    @property
    def path(self) -> Path:
        """The ONNX file."""
        return self.folder / f"{self.name}_int8.onnx"

    def recorded(self) -> list[dict[str, np.ndarray]]:
        """The arrays of its files of vectors."""
        paths = [self.folder / f"{self.name}_{kind}.npz" for kind in ("vectors", "real")]
        return [dict(np.load(path)) for path in paths if path.exists()]


def networks() -> list[Network]:
    """All, the project's own first."""
    found = [Network(OWN, name) for name in INT8]
    if given := os.environ.get("TIGRIS_MODELS"):
        names = sorted(path.name.removesuffix("_int8.onnx") for path in Path(given).glob("*_int8.onnx"))
        if not names:
            raise pytest.UsageError(f"TIGRIS_MODELS: {given} holds no *_int8.onnx; unset it or name another folder")
        found += [Network(Path(given), name) for name in names]
    return found


def float_twin(path: Path) -> onnx.ModelProto:
    """The network without its pairs of QuantizeLinear and DequantizeLinear, its weights and biases as float32."""
    model = onnx.load(path)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    stands_for: dict[str, str] = {}
    nodes, used = [], []
    for node in model.graph.node:
        inputs = [stands_for.get(name, name) for name in node.input]
        if node.op_type == "QuantizeLinear":
            stands_for[node.output[0]] = inputs[0]
        elif node.op_type == "DequantizeLinear" and node.input[0] in constants:
            values, scale, zero_point = (constants[name] for name in node.input)
            shape = (-1, *[1] * (values.ndim - 1)) if scale.ndim else ()
            real = (values.astype(np.float32) - zero_point.reshape(shape)) * scale.reshape(shape)
            used.append(numpy_helper.from_array(real.astype(np.float32), node.output[0]))
        elif node.op_type == "DequantizeLinear":
            stands_for[node.output[0]] = inputs[0]
        else:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = inputs
            nodes.append(copy)
            used += [numpy_helper.from_array(constants[name], name) for name in inputs if name in constants]
    nodes[-1].output[0] = model.graph.output[0].name
    graph = helper.make_graph(nodes, model.graph.name, model.graph.input, model.graph.output, used)
    twin = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(twin, full_check=True)
    return twin


def pruned(path: Path) -> onnx.ModelProto:
    """The network with the smaller half of each layer's weights made zero: what compression is for."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name.endswith(".weight_q"):
            values = numpy_helper.to_array(tensor)
            kept = np.where(np.abs(values) >= np.median(np.abs(values)), values, 0).astype(np.int8)
            tensor.CopyFrom(numpy_helper.from_array(kept, tensor.name))
    return model
