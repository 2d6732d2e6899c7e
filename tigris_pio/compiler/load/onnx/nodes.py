"""Converts protobuf nodes, initializers and attributes to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.ir.captured import captured_names
from tigris_pio.compiler.ir.graph import Node
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

#: The lowest and highest value of element types that TensorProto stores in int32_data.
_STORED_WIDE: dict[int, tuple[int, int]] = {
    onnx.TensorProto.INT8: (-128, 127),
    onnx.TensorProto.UINT8: (0, 255),
    onnx.TensorProto.INT16: (-(1 << 15), (1 << 15) - 1),
    onnx.TensorProto.UINT16: (0, (1 << 16) - 1),
}


def domain_of(item: onnx.NodeProto | onnx.OperatorSetIdProto) -> str:
    """An operator's domain; empty for ONNX's own, which the file may also call ai.onnx."""
    return "" if item.domain == "ai.onnx" else str(item.domain)


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """The operator set versions that a model imports, by domain."""
    return {domain_of(entry): entry.version for entry in model.opset_import}


def is_onnx(node: onnx.NodeProto, op: str) -> bool:
    """Whether a node is an operator of ONNX's own domain."""
    return node.op_type == op and not domain_of(node)


def read_nodes(graph: onnx.GraphProto, origin: str) -> list[Node]:
    """All nodes in file order, each with a unique name. Raises ModelError."""
    used: set[str] = set()
    nodes = []
    for index, proto in enumerate(graph.node):
        name = visible_name(proto.name) or f"{proto.op_type}_{index}"  # a node's name is for people alone
        while name in used:
            name += f"_{index}"
        used.add(name)
        nodes.append(_read_node(proto, name, origin))
    return nodes


def _read_node(proto: onnx.NodeProto, name: str, origin: str) -> Node:
    outputs = tuple(proto.output)
    if not any(outputs):
        raise ModelError(f"{origin}: node {name} ({proto.op_type}) has no outputs")
    attributes = {}
    for attribute in proto.attribute:
        try:
            attributes[attribute.name] = _attribute(attribute)
        except (ValueError, TypeError, KeyError) as error:
            raise ModelError(f"{origin}: node {name}: attribute {attribute.name} cannot be read ({error})") from None
    return Node(name, proto.op_type, tuple(proto.input), outputs, attributes, domain_of(proto))


def _attribute(attribute: onnx.AttributeProto) -> Any:
    if attribute.ref_attr_name:
        raise ValueError("it refers to a function's attribute")
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)) or hasattr(value, "__len__"):
        return tuple(v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value)
    return value


def read_weights(graph: onnx.GraphProto, origin: str) -> dict[str, np.ndarray]:
    """Initializers by name. Raises ModelError for one that cannot be read."""
    if graph.sparse_initializer:
        names = ", ".join(sparse.values.name for sparse in graph.sparse_initializer)
        raise ModelError(f"{origin}: sparse initializers ({names}) are not read; store them dense")
    weights: dict[str, np.ndarray] = {}
    for tensor in graph.initializer:
        if tensor.name in weights:
            raise ModelError(f"{origin}: two initializers are named {tensor.name}; rename one")
        try:
            weights[tensor.name] = numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError, MemoryError, onnx.checker.ValidationError) as error:
            raise ModelError(
                f"{origin}: initializer {tensor.name} with shape {list(tensor.dims)} cannot be read ({error})"
            ) from None
        _check_range(tensor, graph, origin)
    return weights


def _check_range(tensor: onnx.TensorProto, graph: onnx.GraphProto, origin: str) -> None:
    """Raises ModelError for a value outside of its type: narrow integers may be stored as int32, and would wrap."""
    limits = _STORED_WIDE.get(tensor.data_type)
    if limits is None or not tensor.int32_data:
        return
    for value in (min(tensor.int32_data), max(tensor.int32_data)):
        if not limits[0] <= value <= limits[1]:
            kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
            readers = ", ".join(node.name or node.op_type for node in graph.node if tensor.name in node.input) or "none"
            raise ModelError(
                f"{origin}: initializer {tensor.name} holds {value}, which is outside {kind}; read by {readers}"
            )


def check_names(nodes: list[Node], inputs: Mapping[str, Any], weights: Mapping[str, Any], outputs: list[str],
                origin: str) -> None:
    """Raises ModelError for a name that is defined twice, or read but never defined."""
    defined: dict[str, str] = dict.fromkeys((*inputs, *weights), "an input or initializer")
    for node in nodes:
        for name in filter(None, node.outputs):
            if name in defined:
                raise ModelError(f"{origin}: node {node.name} defines {name}, which {defined[name]} defines already")
            defined[name] = f"node {node.name}"
    for node in nodes:
        for name in (*filter(None, node.inputs), *sorted(captured_names(node))):
            if name not in defined:
                raise ModelError(f"{origin}: node {node.name} ({node.op}) reads {name}, which nothing defines")
    for name in outputs:
        if name not in defined:
            raise ModelError(f"{origin}: graph output {name} is not computed by any node")
