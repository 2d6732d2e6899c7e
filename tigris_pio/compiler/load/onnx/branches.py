"""Replaces an If by its branch and a Loop by its trips, if constants, inputs that are set, or shapes decide on them.

All shapes are static, so they count as constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.onnx.loops import read_names, unrolled
from tigris_pio.compiler.load.onnx.nodes import is_onnx, opsets_of, read_nodes
from tigris_pio.compiler.load.onnx.shapes import known_values
from tigris_pio.compiler.load.onnx.subgraphs import hoisted, inlined, tensor_names
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

#: Rewrites a model: functions, Scans.
Expand = Callable[[onnx.ModelProto], onnx.ModelProto]


def inline_branches(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], expand: Expand, origin: str,
                    limits: Limits) -> onnx.ModelProto:
    """The model without the Ifs and Loops that are decided when compiling; others stay and are refused by name later.

    `shapes`: the inputs'. A branch may contain further Ifs, and its results may decide others, so each round replaces
    the nodes whose conditions are known.
    """
    replaced = True
    while replaced:
        names = {node.input[0] for node in model.graph.node if is_onnx(node, "If") and node.input}
        names = names.union(*(read_names(node) for node in model.graph.node if is_onnx(node, "Loop")))
        changed = _replaced(model, _known(model, shapes, names, origin, limits) if names else {}, origin, limits)
        replaced = changed is not model
        model = expand(changed) if replaced else model
    return model


def _known(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], names: set[str], origin: str,
           limits: Limits) -> dict[str, np.ndarray]:
    """The values of those tensors in `names` that are known when compiling."""
    bound = onnx.GraphProto()
    bound.input.extend(
        helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shapes[value.name])
        for value in model.graph.input if value.name in shapes
    )
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes = read_nodes(model.graph, origin)
    protos = dict(zip((node.name for node in nodes), model.graph.node, strict=True))
    order = execution_order(nodes, origin)
    types = {value.name: value.type for value in bound.input}
    return known_values(order, [protos[node.name] for node in order], types, weights, model, names, origin, limits)


def _replaced(model: onnx.ModelProto, known: Mapping[str, np.ndarray], origin: str, limits: Limits) -> onnx.ModelProto:
    """The model with the branches and trips that `known` decides; `model` itself if it decides none."""
    nodes: list[onnx.NodeProto] = []
    replaced, names = False, tensor_names(model.graph)
    opsets = opsets_of(model)
    for index, node in enumerate(model.graph.node):
        parts, name = None, node.name or f"{node.op_type}_{index}"
        if is_onnx(node, "If") and node.input[0] in known and known[node.input[0]].size == 1:
            parts = _branch(node, index, bool(known[node.input[0]].any()), names, origin)
        elif is_onnx(node, "Loop"):
            where = f"{origin}: node {visible_name(name)} (Loop)"
            parts = unrolled(node, name, known, names, opsets, where, limits)
        replaced = replaced or parts is not None
        nodes += [node] if parts is None else parts
        limits.check("nodes", len(nodes), f"{origin}: the graph, with its branches inlined and its loops unrolled")
    if not replaced:
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.node[:]
    changed.graph.node.extend(nodes)
    return changed


def _branch(node: onnx.NodeProto, index: int, condition: bool, names: Names, origin: str) -> list[onnx.NodeProto]:
    """The nodes that replace an If; `names`: those in use."""
    name = node.name or f"If_{index}"
    where = f"{origin}: node {visible_name(name)} (If)"
    branch = "then_branch" if condition else "else_branch"
    body = next((item.g for item in node.attribute if item.name == branch and item.HasField("g")), None)
    if body is None:
        raise ModelError(f"{where} has no graph as its {branch}")
    if body.input or len(body.output) != len(node.output):
        raise ModelError(
            f"{where}: outputs: {len(node.output)}, of its {branch} {len(body.output)}, and inputs: {len(body.input)}; "
            "a branch has as many outputs as the If, and no inputs"
        )
    if body.sparse_initializer:
        raise ModelError(f"{where}: sparse initializers are not read; store them dense")
    prefix = f"{name}/{branch[:4]}"
    nodes, values = hoisted(body, prefix, names)
    nodes += inlined(body, prefix, values, names)
    return [*nodes, *(helper.make_node("Identity", [values.get(item.name, item.name)], [output], f"{prefix}/{output}")
                      for item, output in zip(body.output, node.output, strict=True) if output)]
