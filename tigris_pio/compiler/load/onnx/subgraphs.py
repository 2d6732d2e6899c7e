"""Bodies of control flow (If, Scan) in the place of the node that holds them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import helper


def inlined(body: onnx.GraphProto, name: str, values: dict[str, str]) -> list[onnx.NodeProto]:
    """A copy of the body's nodes with names of their own, which begin with `name`.

    `values` says what the body's inputs are called outside, and learns what its other tensors become. Names of outer
    graphs stay as they are.
    """
    nodes = []
    for tensor in body.initializer:
        values[tensor.name] = f"{name}/{tensor.name}"
        nodes.append(helper.make_node("Constant", [], [values[tensor.name]], values[tensor.name], value=tensor))
    for index, node in enumerate(body.node):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = f"{name}/{node.name or f'{node.op_type}_{index}'}"
        for child in _bodies(copy):
            _rename(child, values)
        for position, item in enumerate(node.input):
            copy.input[position] = values.get(item, item)
        for position, item in enumerate(node.output):
            if item:
                values[item] = copy.output[position] = f"{name}/{item}"
        nodes.append(copy)
    return nodes


def _bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [child for attribute in node.attribute
            for child in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))]


def _rename(graph: onnx.GraphProto, values: Mapping[str, str]) -> None:
    """Gives a nested body the new names of what it takes from outside."""
    own = {item.name for item in (*graph.input, *graph.initializer)} | {name for node in graph.node
                                                                       for name in node.output}
    outer = {old: new for old, new in values.items() if old not in own}
    for node in graph.node:
        for position, item in enumerate(node.input):
            node.input[position] = outer.get(item, item)
        for child in _bodies(node):
            _rename(child, outer)
    for value in graph.output:
        value.name = outer.get(value.name, value.name)
