"""Bodies of control flow (If, Loop, Scan) in the place of the node that holds them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import helper

from tigris_pio.compiler.ir.captured import bodies_of
from tigris_pio.compiler.ir.names import Names


def tensor_names(graph: onnx.GraphProto) -> Names:
    """The names of a graph's tensors, and of those in the bodies of its nodes."""
    names, graphs = Names(), [graph]
    while graphs:
        part = graphs.pop()
        names.add(*(item.name for item in (*part.input, *part.output, *part.initializer)))
        for node in part.node:
            names.add(*node.input, *node.output)
            graphs += bodies_of(node)
    return names


def hoisted(body: onnx.GraphProto, name: str, names: Names) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """Nodes of the body's constants, which all copies of it share, and the constants' names outside of the body."""
    given = [(tensor.name, {"value": tensor}) for tensor in body.initializer]
    given += [(node.output[0], {item.name: helper.get_attribute_value(item) for item in node.attribute})
              for node in body.node if node.op_type == "Constant" and len(node.output) == 1]
    values = {inner: names.fresh(f"{name}/{inner}") for inner, _ in given}
    return [helper.make_node("Constant", [], [values[inner]], values[inner], **said) for inner, said in given], values


def inlined(body: onnx.GraphProto, name: str, values: dict[str, str], names: Names) -> list[onnx.NodeProto]:
    """A copy of the body's nodes, with tensors of their own, free in `names`, which begin with `name`.

    `values` has the outer names of the body's inputs and hoisted constants. The names of its other tensors are added
    to it. Names of outer graphs stay as they are.
    """
    nodes = []
    for tensor in body.initializer:
        if tensor.name in values:
            continue
        values[tensor.name] = names.fresh(f"{name}/{tensor.name}")
        nodes.append(helper.make_node("Constant", [], [values[tensor.name]], values[tensor.name], value=tensor))
    for index, node in enumerate(body.node):
        if node.op_type == "Constant" and values.keys() >= {*node.output}:
            continue
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = f"{name}/{node.name or f'{node.op_type}_{index}'}"
        for child in bodies_of(copy):
            _rename(child, values)
        for position, item in enumerate(node.input):
            copy.input[position] = values.get(item, item)
        for position, item in enumerate(node.output):
            if item:
                values[item] = copy.output[position] = names.fresh(f"{name}/{item}")
        nodes.append(copy)
    return nodes


def _rename(graph: onnx.GraphProto, values: Mapping[str, str]) -> None:
    """Gives a nested body the new names of what it takes from outside."""
    own = {item.name for item in (*graph.input, *graph.initializer)} | {name for node in graph.node
                                                                       for name in node.output}
    outer = {old: new for old, new in values.items() if old not in own}
    for node in graph.node:
        for position, item in enumerate(node.input):
            node.input[position] = outer.get(item, item)
        for child in bodies_of(node):
            _rename(child, outer)
    for value in graph.output:
        value.name = outer.get(value.name, value.name)
