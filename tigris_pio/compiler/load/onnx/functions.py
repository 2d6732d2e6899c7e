"""Replaces operators without kernels by the function of other operators by which ONNX defines them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import onnx
from onnx import helper, inliner, shape_inference

from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.onnx.nodes import domain_of, opsets_of
from tigris_pio.compiler.load.onnx.shapes import infer_remaining_types
from tigris_pio.errors import ModelError

#: Each round inlines one level of functions that use functions.
_MOST_ROUNDS = 8
_DOMAIN = "tigris.function"
#: Weights with more elements enter inference by their type alone.
_SMALL = 4096

#: Whether a node stays as it is.
Keep = Callable[[onnx.NodeProto], bool]


def expand_functions(model: onnx.ModelProto, keep: Keep, origin: str, limits: Limits) -> onnx.ModelProto:
    """The model with every node that `keep` rejects replaced by its function's body, if ONNX defines one.

    New nodes are named after the node that they replace. Returns `model` itself if nothing is replaced.
    """
    for _ in range(_MOST_ROUNDS):
        opsets = opsets_of(model)
        chosen = {index for index, node in enumerate(model.graph.node) if not keep(node) and _schema(node, opsets)}
        if not chosen:
            break
        changed = _with_local_functions(model, chosen, opsets)
        if changed is None:
            break
        parts = sum(len(function.node) for function in changed.functions)
        where = f"{origin}: the graph, with its operators' functions inlined"
        limits.check("nodes", len(changed.graph.node) + parts, where)
        try:
            model = inliner.inline_local_functions(changed)
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{origin}: the functions of its operators cannot be inlined: {error}") from None
    return model


def _schema(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Any:
    """The schema of an operator that has a function, or None. Any, because onnx's type stubs lack functions."""
    domain = domain_of(node)
    version = opsets.get(domain)
    if version is None or not onnx.defs.has(node.op_type, version, domain):
        return None
    schema: Any = onnx.defs.get_schema(node.op_type, version, domain)
    return schema if schema.has_function or schema.has_context_dependent_function else None


def _with_local_functions(model: onnx.ModelProto, chosen: set[int],
                          opsets: Mapping[str, int]) -> onnx.ModelProto | None:
    """The model with the chosen nodes as calls of local functions; None if none has a body in this opset."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    types = tensor_types(model)
    for index in sorted(chosen):
        node = changed.graph.node[index]
        body = _body(node, opsets, types)
        if body is None:
            continue
        base = node.name or f"{node.op_type}_{index}"
        body.name, body.domain = f"{node.op_type}_{index}", _DOMAIN
        for part, inner in enumerate(body.node):
            inner.name = f"{base}/{inner.op_type}_{part}"
        changed.functions.append(body)
        node.op_type, node.domain = body.name, _DOMAIN
    if not changed.functions:
        return None
    changed.opset_import.append(helper.make_opsetid(_DOMAIN, 1))
    return changed


def _body(node: onnx.NodeProto, opsets: Mapping[str, int],
          types: Mapping[str, onnx.TypeProto]) -> onnx.FunctionProto | None:
    schema = _schema(node, opsets)
    assert schema is not None  # the node was chosen for having one
    version = opsets[domain_of(node)]
    if schema.has_function:
        versions = [entry for entry in schema.function_opset_versions if entry <= version]
        serialised = schema.get_function_with_opset_version(versions[-1]) if versions else b""
    else:
        inputs = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        entries = [entry for entry in schema.context_dependent_function_opset_versions if entry <= version]
        if not entries or any(name and name not in types for name in node.input):
            return None
        serialised = schema.get_context_dependent_function_with_opset_version(
            entries[-1], node.SerializeToString(), inputs)
    if not serialised:
        return None
    body: onnx.FunctionProto = onnx.FunctionProto.FromString(serialised)
    for entry in body.opset_import:  # the inliner requires the model's own versions
        entry.version = opsets.get(entry.domain, entry.version)
    _set_defaults(body, schema, node)
    return body


def _set_defaults(body: onnx.FunctionProto, schema: Any, node: onnx.NodeProto) -> None:
    """Adds the operator's defaults for attributes that the node leaves out."""
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
    body.attribute.extend(name for name in schema.attributes if name not in body.attribute)
    del body.attribute_proto[:]


def tensor_types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """The types of all tensors, as far as inference finds them."""
    light = onnx.ModelProto()
    light.ir_version = model.ir_version
    light.opset_import.extend(model.opset_import)
    graph = light.graph
    graph.name = model.graph.name or "model"
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    weights = {tensor.name for tensor in model.graph.initializer}
    graph.input.extend(value for value in model.graph.input if value.name not in weights)
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) <= _SMALL:  # may be a shape
            graph.initializer.append(tensor)
        else:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    # The loader infers again, and reports errors.
    with contextlib.suppress(RuntimeError, ValueError, shape_inference.InferenceError):
        light = shape_inference.infer_shapes(light)
    types = {tensor.name: helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
             for tensor in graph.initializer}
    known = (*light.graph.value_info, *light.graph.output, *light.graph.input)
    types |= {value.name: value.type for value in known}
    return types | infer_remaining_types(light, types)
