"""Replaces an If by its branch and a Loop by its trips, if constants, inputs that are set, or shapes decide on them.

All shapes are static, so they count as constants. The body of a Loop is copied for each trip. ONNX's operator
specification defines trip count, condition, carried values, and outputs of each trip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.evaluate import evaluate, is_deterministic
from tigris_pio.compiler.ir.captured import captured_graph_names, captured_names, subgraphs_of
from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.onnx.nodes import is_onnx, opsets_of, read_nodes
from tigris_pio.compiler.load.onnx.scan import stacked
from tigris_pio.compiler.load.onnx.shapes import known_values
from tigris_pio.compiler.load.onnx.subgraphs import hoisted, inlined, tensor_names
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

_Values = Mapping[str, np.ndarray]


def read_names(node: onnx.NodeProto) -> set[str]:
    """A loop's inputs, and the names that its body reads from outside."""
    return {*filter(None, node.input)}.union(*map(captured_graph_names, subgraphs_of(node)))


def unrolled(node: onnx.NodeProto, name: str, known: _Values, names: Names, opsets: Mapping[str, int], where: str,
             limits: Limits) -> list[onnx.NodeProto] | None:
    """The nodes that replace a Loop; None if data decide how often it runs. `names`: those in use."""
    body = _body(node, where)
    count = len(node.input) - 2
    given = {item.name for item in (*body.input, *body.initializer)}
    given |= {result for part in body.node for result in part.output}
    if len(body.input) != count + 2 or len(body.output) != len(node.output) + 1 or len(node.output) < count:
        raise ModelError(f"{where}: inputs: {len(node.input)}, outputs: {len(node.output)}, its body's: "
                         f"{len(body.input)} and {len(body.output)}")
    trips = _trips(node, body, known, opsets, where, limits)
    if trips is None or not (trips or len(node.output) == count) or not given.issuperset(
            {item.name for item in body.output} - captured_graph_names(body)):
        return None
    limits.check("unrolled", trips * len(body.node), where)
    nodes, constants = hoisted(body, name, names)
    carried, gathered = list(node.input[2:]), [list[str]() for _ in node.output[count:]]
    for trip in range(trips):
        values = dict(constants)
        for inner, value in zip(body.input, (np.array(trip, np.int64), np.array(True)), strict=False):
            values[inner.name] = names.fresh(f"{name}/{trip}/{inner.name}")
            nodes.append(helper.make_node("Constant", [], [values[inner.name]], values[inner.name],
                                          value=numpy_helper.from_array(value)))
        values |= {item.name: state for item, state in zip(body.input[2:], carried, strict=True)}
        nodes += inlined(body, f"{name}/{trip}", values, names)
        results = [values.get(item.name, item.name) for item in body.output][1:]
        carried = results[:count]
        for parts, result in zip(gathered, results[count:], strict=True):
            parts.append(result)
    nodes += [helper.make_node("Identity", [state], [output], f"{name}/{output}")
              for state, output in zip(carried, node.output, strict=False) if output]
    for parts, output in zip(gathered, node.output[count:], strict=True):
        if output:
            nodes += stacked(parts, output, 0, name, opsets.get("", onnx.defs.onnx_opset_version()), names)
    return nodes


def _body(node: onnx.NodeProto, where: str) -> onnx.GraphProto:
    graphs = (item.g for item in node.attribute if item.name == "body" and item.HasField("g"))
    body: onnx.GraphProto | None = next(graphs, None)
    if body is None or len(node.input) < 2 or len(body.input) < 2:
        raise ModelError(f"{where} has no graph as its body, or too few inputs")
    return body


def _trips(node: onnx.NodeProto, body: onnx.GraphProto, known: _Values, opsets: Mapping[str, int], where: str,
           limits: Limits) -> int | None:
    """The number of trips, by evaluating the nodes that the condition depends on; None if it depends on data."""
    count, condition = (known.get(name) for name in node.input[:2])
    if (node.input[0] and count is None) or (node.input[1] and condition is None):
        return None
    most = int(count.reshape(-1)[0]) if count is not None and count.size else np.iinfo(np.int64).max
    going = condition is None or bool(condition.any())
    nodes, positions = _deciding_nodes(body, where)
    initial = {tensor.name: numpy_helper.to_array(tensor) for tensor in body.initializer}
    carried = {position: known.get(node.input[position]) for position in positions}
    trip = 0
    while going and trip < most:
        if trip == limits.most_counted_trips(len(body.node)):
            raise limits.too_many_trips(len(body.node), where)
        values = {**known, **initial, body.input[0].name: np.array(trip, np.int64), body.input[1].name: np.array(True)}
        values |= {body.input[position].name: value for position, value in carried.items() if value is not None}
        for item in nodes:
            if all(name in values for name in item.inputs if name) and is_deterministic(item):
                values |= zip(item.outputs, evaluate(item, values, opsets, where), strict=False)
        found = values.get(body.output[0].name)
        if found is None:
            return None
        going = bool(found.any())
        carried = {position: values.get(body.output[position - 1].name) for position in carried}
        trip += 1
    return trip


def _deciding_nodes(body: onnx.GraphProto, where: str) -> tuple[Sequence[Node], set[int]]:
    """The nodes of a body that decide whether it runs again, and the input positions of carried values that they read.
    """
    positions, order = set[int](), read_nodes(body, where)
    while True:
        read = {body.output[0].name, *(body.output[position - 1].name for position in positions)}
        nodes = []
        for item in reversed(order):
            if read & {*item.outputs}:
                read |= {*item.inputs, *captured_names(item)}
                nodes.append(item)
        found = {position for position, value in enumerate(body.input) if position > 1 and value.name in read}
        if found <= positions:
            return nodes[::-1], positions
        positions |= found


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
