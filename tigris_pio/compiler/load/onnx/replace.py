"""Replaces operators of exporters and optimisers by ONNX's own, by tables of functions (qoperators.py, fused.py,
classical.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.load.onnx.nodes import domain_of
from tigris_pio.compiler.load.onnx.subgraphs import tensor_names
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name


class Replacement:
    """Collects the nodes that replace one. New operators may be of a later opset than the model's."""

    def __init__(self, node: onnx.NodeProto, name: str, tensors: Mapping[str, onnx.TensorProto], names: Names,
                 opset: int):
        self.node, self.name, self.opset = node, name, opset
        self.nodes: list[onnx.NodeProto] = []
        self.added: list[onnx.TensorProto] = []
        self.attributes: dict[str, Any] = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        self._tensors, self._names = tensors, names

    def input(self, index: int) -> str:
        """The name of an input, empty if absent."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def output(self, index: int) -> str:
        """The name of an output, empty if absent."""
        return self.node.output[index] if index < len(self.node.output) else ""

    def value(self, name: str) -> np.ndarray | None:
        """The value of a constant; None for a computed tensor, and for external data."""
        tensor = self._tensors.get(name)
        if tensor is None or tensor.data_location == onnx.TensorProto.EXTERNAL:
            return None
        return numpy_helper.to_array(tensor)

    def fresh(self, base: str) -> str:
        """A name that no tensor has."""
        return self._names.fresh(f"{self.name}/{base}")

    def constant(self, base: str, value: np.ndarray | float) -> str:
        """Adds a constant, a float as float32; returns its name."""
        array = np.asarray(value, np.float32) if isinstance(value, float) else np.asarray(value)
        self.added.append(numpy_helper.from_array(array, self.fresh(base)))
        return self.added[-1].name

    def part(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node; returns its result's name."""
        result = self.fresh(op.lower())
        self.nodes.append(helper.make_node(op, inputs, [result], f"{result}_node", **attributes))
        return result

    def last(self, op: str, *inputs: str, **attributes: Any) -> bool:
        """Adds the node that computes the original node's first output; True."""
        self.nodes.append(helper.make_node(op, inputs, [self.node.output[0]], self.name, **attributes))
        return True


#: Functions that replace an operator, by its domain and name. A function fills a Replacement; it returns False if the
#: node stays.
Table = Mapping[tuple[str, str], Callable[[Any], bool]]


def replace_nodes(model: onnx.ModelProto, table: Table, origin: str,
                  kind: type[Replacement] = Replacement) -> onnx.ModelProto:
    """The model with the operators of `table` replaced; `model` itself if it has none. Raises ModelError."""
    if not any(_key(node) in table for node in model.graph.node):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    tensors |= {node.output[0]: item.t for node in model.graph.node if node.op_type == "Constant"
                for item in node.attribute if item.name == "value"}
    names = tensor_names(model.graph)
    opset = max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")),
                default=onnx.defs.onnx_opset_version())
    del changed.graph.node[:]
    for index, node in enumerate(model.graph.node):
        replace = table.get(_key(node))
        part = kind(node, node.name or f"{node.op_type}_{index}", tensors, names, opset)
        try:
            stays = replace is None or not replace(part)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ModelError(
                f"{origin}: node {visible_name(part.name)} ({node.op_type}): its attributes and constants do not fit "
                f"each other ({type(error).__name__}: {error}); export the model again") from error
        changed.graph.node.extend([node] if stays else part.nodes)
        changed.graph.initializer.extend(() if stays else part.added)
    return changed


def _key(node: onnx.NodeProto) -> tuple[str, str]:
    return domain_of(node), node.op_type


def without(attributes: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The attributes that are not in `names`."""
    return {name: value for name, value in attributes.items() if name not in names}
