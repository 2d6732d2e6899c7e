"""Copies the bodies of control flow (If, Loop, Scan) into the graph around them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import helper

from tigris_pio.compiler.ir.captured import subgraphs_of
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.load.onnx.nodes import is_onnx


def tensor_names(graph: onnx.GraphProto) -> Names:
    """The names of all tensors in a graph and in the bodies of its nodes."""
    names, graphs = Names(), [graph]
    while graphs:
        part = graphs.pop()
        names.add(*(item.name for item in (*part.input, *part.output, *part.initializer)))
        for node in part.node:
            names.add(*node.input, *node.output)
            graphs += subgraphs_of(node)
    return names


def hoisted(body: onnx.GraphProto, name: str, names: Names) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """The nodes of the body's constants, which all its copies share, and the constants' names outside of the body."""
    nodes, values = [], {}
    given = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in body.initializer]
    for node in (*given, *(node for node in body.node if is_onnx(node, "Constant") and len(node.output) == 1)):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = copy.output[0] = values[node.output[0]] = names.fresh(f"{name}/{node.output[0]}")
        nodes.append(copy)
    return nodes, values


def inlined(body: onnx.GraphProto, name: str, values: dict[str, str], names: Names) -> list[onnx.NodeProto]:
    """A copy of the body's nodes without hoisted constants; the names of its tensors start with `name`.

    `values`: the outer names of the body's inputs and hoisted constants; the names of its other tensors are added.
    Names of outer graphs stay.
    """
    nodes = []
    for index, node in enumerate(body.node):
        if is_onnx(node, "Constant") and values.keys() >= {*node.output}:
            continue
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = f"{name}/{node.name or f'{node.op_type}_{index}'}"
        for child in subgraphs_of(copy):
            _rename(child, values)
        for position, item in enumerate(node.input):
            copy.input[position] = values.get(item, item)
        for position, item in enumerate(node.output):
            if item:
                values[item] = copy.output[position] = names.fresh(f"{name}/{item}")
        nodes.append(copy)
    return nodes


def _rename(graph: onnx.GraphProto, values: Mapping[str, str]) -> None:
    """Renames the tensors that a nested body reads from outside."""
    own = {item.name for item in (*graph.input, *graph.initializer)} | {name for node in graph.node
                                                                       for name in node.output}
    outer = {old: new for old, new in values.items() if old not in own}
    for node in graph.node:
        for position, item in enumerate(node.input):
            node.input[position] = outer.get(item, item)
        for child in subgraphs_of(node):
            _rename(child, outer)
    for value in graph.output:
        value.name = outer.get(value.name, value.name)
