"""Evaluates single nodes on constants by onnx's reference evaluator, for shape inference and constant folding."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.errors import ModelError

_RANDOM = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")
)


def is_deterministic(node: Node) -> bool:
    """Whether the node's outputs depend on its inputs alone, and this module can compute them."""
    if node.op in _RANDOM or not onnx.defs.has(node.op, node.domain):
        return False
    return not any(isinstance(value, onnx.GraphProto) for value in node.attributes.values())


def node_proto(node: Node) -> onnx.NodeProto:
    """The node as an onnx.NodeProto."""
    attributes = {name: onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
                  for name, value in node.attributes.items()}
    return helper.make_node(node.op, node.inputs, node.outputs, node.name, domain=node.domain, **attributes)


def evaluate(node: Node, values: Mapping[str, np.ndarray], opsets: Mapping[str, int], origin: str) -> list[np.ndarray]:
    """The node's outputs, one array each. Raises ModelError if the node cannot take its inputs.

    values: the node's inputs by name
    opsets: operator set versions by domain
    origin: the model's file or name, for messages
    """
    if node.op == "Constant":
        return [constant_value(node, origin)]
    feeds = {name: values[name] for name in node.inputs if name}
    try:
        results = ReferenceEvaluator(_model(node, feeds, opsets)).run(None, feeds)
    except Exception as error:
        # The evaluator passes on any exception of numpy on inputs that contradict the node.
        raise ModelError(f"{origin}: node {node.name} ({node.op}) cannot be computed: {error}") from None
    return [np.asarray(result) for result in results]


def _model(node: Node, feeds: Mapping[str, np.ndarray], opsets: Mapping[str, int]) -> onnx.ModelProto:
    """The node as a model of one node: the evaluator takes operator versions from a model alone."""
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
              for name, value in feeds.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.outputs if name]
    graph = helper.make_graph([node_proto(node)], "node", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*item) for item in opsets.items()])


def constant_value(node: Node, origin: str) -> np.ndarray:
    """The value of a Constant node, from the attribute that holds it. Raises ModelError for text."""
    attributes = node.attributes
    if "value" in attributes:
        return np.asarray(attributes["value"])
    for name, dtype in (("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64),
                        ("value_ints", np.int64)):
        if name in attributes:
            return np.array(attributes[name], dtype)
    raise ModelError(f"{origin}: node {node.name} (Constant) holds no number; text and sparse constants are not read")
