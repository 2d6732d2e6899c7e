"""Small ONNX models for tests."""

import ast
import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tigris_pio.compiler.ir.graph import Graph, State
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.lower import lower
from tigris_pio.compiler.lower.passes import PASSES
from tigris_pio.compiler.normalise import normalise
from tigris_pio.compiler.passes import run_passes

Shape = Sequence[int | str]


def make(nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, Shape], outputs: Sequence[str],
         weights: Mapping[str, np.ndarray] | None = None, opset: int = 17,
         types: Mapping[str, int] | None = None) -> onnx.ModelProto:
    """A model; element types are float32, or those in `types`."""
    kinds = types or {}
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shape)
         for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(op: str, inputs: str, outputs: str, name: str = "", **attributes: object) -> onnx.NodeProto:
    """A node; names are separated by spaces, `-` is an absent input."""
    read = ["" if item == "-" else item for item in inputs.split()]
    results = outputs.split()
    return helper.make_node(op, read, results, name=name or f"{op.lower()}_{results[0]}", **attributes)


def nodes(text: str) -> list[onnx.NodeProto]:
    """Nodes `Op input … output attribute=value …`, separated by semicolons; several outputs stand behind `>`."""
    found = []
    for line in text.split(";"):
        op, *words = line.split()
        names = [word for word in words if "=" not in word]
        position = names.index(">") if ">" in names else len(names) - 1
        pairs = (word.partition("=") for word in words if "=" in word)
        attributes = {name: ast.literal_eval(value) for name, _, value in pairs}
        found.append(node(op, " ".join(names[:position]), " ".join(names[position:]).removeprefix("> "), **attributes))
    return found


def normal(model: onnx.ModelProto) -> Graph:
    """The model after all passes."""
    return normalise(load_model(model))[0]


def program(model: onnx.ModelProto) -> Program:
    """The lowered model."""
    return run_passes(lower(normal(model)), PASSES)[0]


def ort(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """onnxruntime's outputs, without graph optimisation."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


class Quantiser:
    """Wraps tensors and constants in QuantizeLinear/DequantizeLinear pairs."""

    def __init__(self, unsigned: bool = False) -> None:
        self.dtype = np.uint8 if unsigned else np.int8
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}

    def pair(self, name: str, scale: float, zero_point: int) -> str:
        """Quantises an activation; returns the dequantised name. `zero_point`: for signed integers."""
        shift = 128 if self.dtype == np.uint8 else 0
        self.weights[f"{name}_s"] = np.array(scale, np.float32)
        self.weights[f"{name}_z"] = np.array(zero_point + shift, self.dtype)
        self.nodes += [
            node("QuantizeLinear", f"{name} {name}_s {name}_z", f"{name}_q"),
            node("DequantizeLinear", f"{name}_q {name}_s {name}_z", f"{name}_dq"),
        ]
        return f"{name}_dq"

    def constant(self, name: str, values: np.ndarray, scale: np.ndarray | float, axis: int = 0) -> str:
        """An integer constant behind DequantizeLinear; returns the dequantised name."""
        scales = np.asarray(scale, np.float32)
        self.weights[f"{name}_q"] = values
        self.weights[f"{name}_s"] = scales
        self.weights[f"{name}_z"] = np.zeros(scales.shape, values.dtype)
        extra = {"axis": axis} if scales.ndim else {}
        self.nodes.append(node("DequantizeLinear", f"{name}_q {name}_s {name}_z", f"{name}_dq", **extra))
        return f"{name}_dq"

    def add(self, *nodes: onnx.NodeProto) -> None:
        """Appends nodes in order."""
        self.nodes += nodes


def tied(model: onnx.ModelProto, ties: Mapping[str, str], initial: Mapping[str, np.ndarray] | None = None) -> Graph:
    """The model with states; `ties`: outputs by the inputs that they become."""
    graph = load_model(model)
    return dataclasses.replace(
        graph,
        inputs=tuple(name for name in graph.inputs if name not in ties),
        outputs=tuple(name for name in graph.outputs if name not in ties.values()),
        states=tuple(State(new, held, (initial or {}).get(held)) for held, new in ties.items()),
    )
