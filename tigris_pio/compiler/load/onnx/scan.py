"""Unrolls Scan: all shapes are static, so the body is copied for each step.

A step reads its element of a scan input by Gather; a scan output is the Concat of the steps' results. ONNX's operator
specification, version 9 and later, defines the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.onnx.functions import tensor_types
from tigris_pio.compiler.load.onnx.nodes import is_onnx
from tigris_pio.compiler.load.onnx.subgraphs import hoisted, inlined, tensor_names
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

_FIRST_VERSION = 9
_AXES_ARE_AN_INPUT_SINCE = 13


def unroll_scans(model: onnx.ModelProto, expand: Callable[[onnx.ModelProto], onnx.ModelProto], origin: str,
                 limits: Limits) -> onnx.ModelProto:
    """The model with functions expanded by `expand` and every Scan of static length unrolled."""
    model = expand(model)
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if not any(node.op_type == "Scan" for node in model.graph.node) or not versions or versions[0] < _FIRST_VERSION:
        return model
    types, names = tensor_types(model), tensor_names(model.graph)
    nodes: list[onnx.NodeProto] = []
    for index, node in enumerate(model.graph.node):
        name = node.name or f"Scan_{index}"
        if not is_onnx(node, "Scan"):
            nodes.append(node)
            continue
        where = f"{origin}: node {visible_name(name)} (Scan)"
        scan = _Scan(node, where)
        length = _length(node, scan, types)
        limits.check("unrolled", length * (len(scan.body.node) + 2 * scan.scanned), where)
        nodes += _unrolled(node, name, scan, length, versions[0], names) if length else [node]
        limits.check("nodes", len(nodes), f"{origin}: the graph, with its Scans unrolled")
    if len(nodes) == len(model.graph.node):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.node[:]
    changed.graph.node.extend(nodes)
    return expand(changed)


class _Scan:
    """One Scan node's attributes, with their defaults. Raises ModelError if they contradict the node or each other."""

    def __init__(self, node: onnx.NodeProto, where: str):
        attributes: dict[str, Any] = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        body = attributes.get("body")
        if not isinstance(body, onnx.GraphProto):
            raise ModelError(f"{where} has no graph as its body")
        self.body: onnx.GraphProto = body
        scanned = attributes.get("num_scan_inputs")
        if not isinstance(scanned, int) or not 1 <= scanned <= len(node.input):
            raise ModelError(f"{where}: num_scan_inputs = {scanned} is no number of its inputs, {len(node.input)}")
        self.scanned = scanned
        self.states = len(node.input) - self.scanned
        gathered = len(node.output) - self.states
        if gathered < 0 or (len(body.input), len(body.output)) != (len(node.input), len(node.output)):
            raise ModelError(
                f"{where}: inputs: {len(node.input)}, outputs: {len(node.output)}, its body's: {len(body.input)} and "
                f"{len(body.output)}"
            )
        given = {item.name for item in (*body.input, *body.initializer)}
        given |= {name for part in body.node for name in part.output}
        for item in body.output:
            if item.name not in given:
                raise ModelError(f"{where}: its body does not compute its output {item.name}")

        def numbers(name: str, count: int) -> list[int]:
            values = list(attributes.get(name, [0] * count))
            if len(values) != count or not all(isinstance(value, int) for value in values):
                raise ModelError(f"{where}: {name} has size {len(values)} instead of {count}, or no whole numbers")
            return values

        self.input_axes = numbers("scan_input_axes", self.scanned)
        self.input_reversed = numbers("scan_input_directions", self.scanned)
        self.output_axes = numbers("scan_output_axes", gathered)
        self.output_reversed = numbers("scan_output_directions", gathered)


def _unrolled(node: onnx.NodeProto, name: str, scan: _Scan, length: int, version: int,
              names: Names) -> list[onnx.NodeProto]:
    """The nodes that replace a Scan; `names`: those in use."""
    nodes, constants = hoisted(scan.body, name, names)
    states = list(node.input[: scan.states])
    gathered: list[list[str]] = [[] for _ in node.output[scan.states :]]
    for step in range(length):
        values = constants | dict(zip((item.name for item in scan.body.input), states, strict=False))
        for position in range(scan.scanned):
            at = length - 1 - step if scan.input_reversed[position] else step
            inner = scan.body.input[scan.states + position].name
            source, axis = node.input[scan.states + position], scan.input_axes[position]
            values[inner] = names.fresh(f"{name}/{step}/{inner}")
            nodes += _element(source, values[inner], axis, at, names)
        nodes += inlined(scan.body, f"{name}/{step}", values, names)
        results = [values[item.name] for item in scan.body.output]
        states = results[: scan.states]
        for position, result in enumerate(results[scan.states :]):
            gathered[position].append(result)
    nodes += [helper.make_node("Identity", [state], [output], f"{name}/{output}")
              for state, output in zip(states, node.output, strict=False) if output]
    for position, output in enumerate(node.output[scan.states :]):
        if output:
            parts = gathered[position][::-1] if scan.output_reversed[position] else gathered[position]
            nodes += stacked(parts, output, scan.output_axes[position], name, version, names)
    return nodes


def _length(node: onnx.NodeProto, scan: _Scan, types: Mapping[str, onnx.TypeProto]) -> int:
    """The number of steps; 0 if it is not static."""
    kind = types.get(node.input[scan.states])
    if kind is None or not kind.tensor_type.HasField("shape"):
        return 0
    dims = kind.tensor_type.shape.dim
    axis = scan.input_axes[0]
    return int(dims[axis].dim_value) if -len(dims) <= axis < len(dims) else 0


def _constant(value: list[int], name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], name, value=numpy_helper.from_array(np.array(value, np.int64)))


def _element(source: str, result: str, axis: int, at: int, names: Names) -> list[onnx.NodeProto]:
    """The nodes for element `at` of a tensor along an axis, without that axis."""
    name = names.fresh(f"{result}/index")
    index = helper.make_node("Constant", [], [name], name, value=numpy_helper.from_array(np.array(at, np.int64)))
    return [index, helper.make_node("Gather", [source, name], [result], result, axis=axis)]


def stacked(parts: list[str], output: str, axis: int, name: str, version: int, names: Names) -> list[onnx.NodeProto]:
    """The nodes that join tensors along a new axis."""
    axes = names.fresh(f"{name}/{output}/axes")
    rows = [names.fresh(f"{part}/{output}/row") for part in parts]
    if version < _AXES_ARE_AN_INPUT_SINCE:
        nodes = [helper.make_node("Unsqueeze", [part], [row], row, axes=[axis])
                 for part, row in zip(parts, rows, strict=True)]
    else:
        nodes = [_constant([axis], axes)]
        nodes += [helper.make_node("Unsqueeze", [part, axes], [row], row)
                  for part, row in zip(parts, rows, strict=True)]
    return [*nodes, helper.make_node("Concat", rows, [output], f"{name}/{output}", axis=axis)]
