"""ONNX model -> Graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.consistency import check_empty, check_reshapes, check_sizes
from tigris_pio.compiler.load.dimensions import bind_dimensions
from tigris_pio.compiler.load.extent import check_extent
from tigris_pio.compiler.load.functions import expand_functions
from tigris_pio.compiler.load.nodes import check_names, read_nodes, read_weights
from tigris_pio.compiler.load.protobuf import Source, read
from tigris_pio.compiler.load.qoperators import expand_qoperators
from tigris_pio.compiler.load.scan import unroll_scans
from tigris_pio.compiler.load.schedule import execution_order
from tigris_pio.compiler.load.shapes import infer
from tigris_pio.errors import ModelError

OLDEST_OPSET = 7
DEFAULT_LIMITS = Limits()


def load_model(path: Path | str | onnx.ModelProto, dims: Mapping[str, int] | None = None,
               limits: Limits = DEFAULT_LIMITS) -> Graph:
    """Reads a model and gives every tensor a static shape and every node its place in the execution order.

    `dims` sizes free input dimensions, by symbol or as INPUT:AXIS; a free batch dimension becomes 1
    and says so in the graph's warnings. Raises ModelError, UnsupportedError or UsageError.
    """
    source = read(path)
    check_extent(source.model, limits, source.label)
    model = _inlined(source, limits)
    opset = _opset(model, source.label)
    weights = read_weights(model.graph, source.label)
    inputs = [value for value in model.graph.input if value.name not in weights]
    outputs = [value.name for value in model.graph.output]
    if len({value.name for value in inputs}) != len(inputs) or len(set(outputs)) != len(outputs):
        raise ModelError(f"{source.label}: two inputs or two outputs of the graph have the same name")
    binding = bind_dimensions(inputs, dims or {}, source.label)
    nodes, protos = _ordered(model.graph, dict.fromkeys(binding.shapes), weights, outputs, source.label)
    tensors = infer(model, nodes, protos, binding, weights, source.label, limits)
    _check_outputs(outputs, tensors, source.label)
    names = tuple(value.name for value in inputs)
    check_reshapes(nodes, tensors, source.label)
    check_empty(nodes, tensors, names, outputs, source.label)
    check_sizes(nodes, tensors, names, weights, source.label, limits)
    return Graph(
        name=source.name,
        opset=opset,
        nodes=tuple(known for node in nodes if any((known := _without_unknown(node, tensors)).outputs)),
        tensors=tensors,
        weights=weights,
        inputs=names,
        outputs=tuple(outputs),
        source_sha256=source.sha256,
        warnings=binding.warnings,
        limits=limits,
        io_dtypes={name: tensors[name].dtype for name in (*names, *outputs)},
    )


def _inlined(source: Source, limits: Limits) -> onnx.ModelProto:
    """The model without functions: its own, and those of operators that have no kernels."""
    from tigris_pio.compiler.lower.registry import is_lowered  # noqa: PLC0415 (only to know what has kernels)

    model = source.model
    if model.functions:
        from onnx import inliner  # noqa: PLC0415 (rarely needed and slow to import)

        try:
            model = inliner.inline_local_functions(model)
        except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
            raise ModelError(f"{source.label}: its functions cannot be inlined: {error}") from None

    def expand(part: onnx.ModelProto) -> onnx.ModelProto:
        return expand_functions(part, is_lowered, source.label, limits)

    return unroll_scans(expand_qoperators(model), expand, source.label, limits)


def _opset(model: onnx.ModelProto, label: str) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if not versions:
        return newest
    if versions[0] < OLDEST_OPSET:
        raise ModelError(
            f"{label}: opset {versions[0]} is older than {OLDEST_OPSET}; update the model with onnx.version_converter"
        )
    if versions[0] > newest:
        raise ModelError(
            f"{label}: opset {versions[0]} is newer than {newest}, the newest the installed onnx package knows; "
            "update it (pip install -U onnx)"
        )
    return int(versions[0])


def _ordered(graph: onnx.GraphProto, inputs: Mapping[str, Any], weights: Mapping[str, np.ndarray], outputs: list[str],
             label: str) -> tuple[list[Node], list[onnx.NodeProto]]:
    nodes = read_nodes(graph, label)
    check_names(nodes, inputs, weights, outputs, label)
    proto = dict(zip((node.name for node in nodes), graph.node, strict=True))
    ordered = execution_order(nodes, label)
    return list(ordered), [_named(proto[node.name], node.name) for node in ordered]


def _named(proto: onnx.NodeProto, name: str) -> onnx.NodeProto:
    """The node under the name that messages use."""
    if proto.name == name:
        return proto
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    copy.name = name
    return copy


def _without_unknown(node: Node, tensors: Mapping[str, Any]) -> Node:
    """Outputs that nothing reads and whose shape is unknown, such as an old Dropout's mask, are dropped."""
    if all(name in tensors for name in node.outputs if name):
        return node
    return dataclasses.replace(node, outputs=tuple(name if name in tensors else "" for name in node.outputs))


def _check_outputs(outputs: list[str], tensors: Mapping[str, Any], label: str) -> None:
    for name in outputs:
        if name not in tensors:
            raise ModelError(f"{label}: graph output {name} is not a tensor")
