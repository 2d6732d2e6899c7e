"""Puts the branch of an If in its place where the condition is known: from constants, from inputs that are set, or from
shapes, which are all static."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.onnx.nodes import read_nodes
from tigris_pio.compiler.load.onnx.shapes import known_values
from tigris_pio.compiler.load.onnx.subgraphs import inlined, tensor_names
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

#: Rewrites a model: functions, Scans.
Expand = Callable[[onnx.ModelProto], onnx.ModelProto]


def inline_branches(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], expand: Expand, label: str,
                    limits: Limits) -> onnx.ModelProto:
    """The model without those Ifs whose condition is known; others stay and are refused by name later.

    `shapes` are the inputs'. A branch may hold Ifs, and what it computes may decide others: each round settles those
    whose conditions are known by then.
    """
    while any(_is_if(node) for node in model.graph.node):
        names = {node.input[0] for node in model.graph.node if _is_if(node) and node.input}
        found = _conditions(model, shapes, names, label, limits)
        if not found:
            return model
        model = expand(_settled(model, found, label, limits))
    return model


def _is_if(node: onnx.NodeProto) -> bool:
    return node.op_type == "If" and node.domain in ("", "ai.onnx")


def _conditions(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], names: set[str], label: str,
                limits: Limits) -> dict[str, bool]:
    """The conditions that are known."""
    bound = onnx.GraphProto()
    bound.input.extend(
        helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shapes[value.name])
        for value in model.graph.input if value.name in shapes
    )
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes = read_nodes(model.graph, label)
    protos = dict(zip((node.name for node in nodes), model.graph.node, strict=True))
    order = execution_order(nodes, label)
    types = {value.name: value.type for value in bound.input}
    values = known_values(order, [protos[node.name] for node in order], types, weights, model, names, label, limits)
    return {name: bool(value.reshape(-1)[0]) for name, value in values.items() if value.size == 1}


def _settled(model: onnx.ModelProto, conditions: Mapping[str, bool], label: str, limits: Limits) -> onnx.ModelProto:
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.node[:]
    names = tensor_names(model.graph)
    for index, node in enumerate(model.graph.node):
        if not _is_if(node) or node.input[0] not in conditions:
            changed.graph.node.append(node)
            continue
        changed.graph.node.extend(_branch(node, index, conditions[node.input[0]], names, label))
        limits.check("nodes", len(changed.graph.node), f"{label}: the graph, with the branches of its Ifs inlined")
    return changed


def _branch(node: onnx.NodeProto, index: int, condition: bool, names: Names, label: str) -> list[onnx.NodeProto]:
    """The nodes in place of an If; `names` are in use."""
    name = node.name or f"If_{index}"
    where = f"{label}: node {visible_name(name)} (If)"
    wanted = "then_branch" if condition else "else_branch"
    body = next((item.g for item in node.attribute if item.name == wanted and item.HasField("g")), None)
    if body is None:
        raise ModelError(f"{where} has no graph as its {wanted}")
    if body.input or len(body.output) != len(node.output):
        raise ModelError(
            f"{where}: outputs: {len(node.output)}, of its {wanted} {len(body.output)}, and inputs: {len(body.input)}; "
            "a branch has as many outputs as the If, and no inputs"
        )
    if body.sparse_initializer:
        raise ModelError(f"{where}: sparse initializers are not read; store them dense")
    prefix = f"{name}/{wanted[:4]}"
    values: dict[str, str] = {}
    nodes = inlined(body, prefix, values, names)
    return [*nodes, *(helper.make_node("Identity", [values.get(item.name, item.name)], [output], f"{prefix}/{output}")
                      for item, output in zip(body.output, node.output, strict=True) if output)]
