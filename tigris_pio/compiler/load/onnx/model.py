"""The front end for ONNX files: from a model to a Graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tigris_pio.compiler.ir.captured import captured_names
from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.consistency import check_empty, check_moves, check_sizes
from tigris_pio.compiler.load.dimensions import bind_dimensions
from tigris_pio.compiler.load.onnx.branches import inline_branches
from tigris_pio.compiler.load.onnx.classical import labels_of
from tigris_pio.compiler.load.onnx.extent import check_extent
from tigris_pio.compiler.load.onnx.functions import expand_functions
from tigris_pio.compiler.load.onnx.fused import expand_fused
from tigris_pio.compiler.load.onnx.inputs import declared_shape, fix_inputs
from tigris_pio.compiler.load.onnx.nodes import check_names, read_nodes, read_weights
from tigris_pio.compiler.load.onnx.protobuf import Source, read
from tigris_pio.compiler.load.onnx.qoperators import expand_qoperators
from tigris_pio.compiler.load.onnx.scan import unroll_scans
from tigris_pio.compiler.load.onnx.shapes import infer, nodes_without_shape
from tigris_pio.compiler.lower.registry import is_lowered
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

OLDEST_OPSET = 7


def load_onnx(path: Path | str | onnx.ModelProto, dims: Mapping[str, int] | None, limits: Limits,
              fixed: Mapping[str, object]) -> Graph:
    """See load_model; `path`: a file or a model in memory."""
    source = read(path)
    check_extent(source.model, limits, source.origin)
    source = dataclasses.replace(source, model=fix_inputs(source.model, fixed, source.origin))
    model = _inlined(source, dims or {}, limits)
    opset = _opset(model, source.origin)
    weights = read_weights(model.graph, source.origin)
    inputs = [value for value in model.graph.input if value.name not in weights]
    outputs = [value.name for value in model.graph.output]
    if len({value.name for value in inputs}) != len(inputs) or len(set(outputs)) != len(outputs):
        raise ModelError(f"{source.origin}: two inputs or two outputs of the graph have one name; rename one")
    shapes = {value.name: declared_shape(value, source.origin) for value in inputs}
    binding = bind_dimensions(shapes, dims or {}, source.origin)
    nodes, protos = _ordered(model.graph, dict.fromkeys(binding.shapes), weights, outputs, source.origin)
    _check_inputs(binding.shapes, model.graph.output, source.origin)
    tensors = infer(model, nodes, protos, binding, weights, source.origin, limits)
    names = tuple(value.name for value in inputs)
    reasons = nodes_without_shape(nodes, outputs, tensors)
    refused = tuple((node, reasons[node.name]) for node in nodes if reasons.get(node.name))
    if reasons:
        nodes = [node for node in nodes if node.name not in reasons and _reads_known(node, tensors)]
        used = {name for node in nodes for name in (*node.inputs, *captured_names(node))}
        outputs = [name for node in nodes for name in node.outputs if name in tensors and name not in used]
    else:
        _check_outputs(outputs, tensors, source.origin)
        check_moves(nodes, tensors, source.origin)
        check_empty(nodes, tensors, names, outputs, source.origin)
    check_sizes(nodes, tensors, names, weights, source.origin, limits)
    labels = labels_of(source.model)
    return Graph(
        name=source.name,
        opset=opset,
        nodes=tuple(known for node in nodes if any((known := _without_unknown(node, tensors)).outputs)),
        tensors=tensors,
        weights=weights,
        inputs=names,
        outputs=tuple(outputs),
        source_sha256=source.sha256,
        warnings=(*source.warnings, *binding.warnings, *_class_warnings(labels, tensors)),
        limits=limits,
        io_dtypes={name: tensors[name].dtype for name in (*names, *outputs)},
        refused=refused,
        labels=labels,
    )


def _check_inputs(shapes: Mapping[str, Sequence[int]], outputs: Iterable[onnx.ValueInfoProto], origin: str) -> None:
    """Raises ModelError for an input that is an output, too, with another shape."""
    for value in outputs:
        if value.name in shapes and value.type.tensor_type.HasField("shape"):
            shape, declared = shapes[value.name], declared_shape(value, origin)
            sizes = [own if isinstance(size, str) else size for own, size in zip(shape, declared, strict=False)]
            if len(shape) != len(declared) or sizes != [*shape]:
                raise ModelError(f"{origin}: {value.name} is an input of shape {list(shape)} and an output of shape "
                                 f"{list(declared)}; rename the output")


def _class_warnings(labels: Mapping[str, tuple[str, ...]], tensors: Mapping[str, Any]) -> list[str]:
    """A warning for each output that is the index of a class."""
    return [f"output {visible_name(output)} is the index of its class: "
            + ", ".join(f"{index} {visible_name(name)}" for index, name in enumerate(names))
            for output, names in labels.items() if output in tensors and tensors[output].dtype.kind == "i"]


def _inlined(source: Source, dims: Mapping[str, int], limits: Limits) -> onnx.ModelProto:
    """The model without functions (its own, and those of operators without kernels), and without control flow that is
    decided when compiling."""
    model = source.model
    if model.functions:
        from onnx import inliner  # noqa: PLC0415 (rarely needed and slow to import)

        try:
            model = inliner.inline_local_functions(model)
        except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
            raise ModelError(f"{source.origin}: its functions cannot be inlined: {error}") from None

    def expand(part: onnx.ModelProto) -> onnx.ModelProto:
        part = expand_fused(expand_qoperators(part, source.origin), source.origin)
        return expand_functions(part, is_lowered, source.origin, limits)

    def unroll(part: onnx.ModelProto) -> onnx.ModelProto:
        return unroll_scans(part, expand, source.origin, limits)

    model = unroll(model)
    if not any(node.op_type in ("If", "Loop") for node in model.graph.node):
        return model
    weights = {tensor.name for tensor in model.graph.initializer}
    shapes = {value.name: declared_shape(value, source.origin) for value in model.graph.input
              if value.name not in weights}
    return inline_branches(model, bind_dimensions(shapes, dims, source.origin).shapes, unroll, source.origin, limits)


def _opset(model: onnx.ModelProto, origin: str) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if not versions:
        return newest
    if versions[0] < OLDEST_OPSET:
        raise ModelError(
            f"{origin}: opset {versions[0]} is older than {OLDEST_OPSET}; update the model with onnx.version_converter"
        )
    if versions[0] > newest:
        raise ModelError(
            f"{origin}: opset {versions[0]} is newer than {newest}, the newest the installed onnx package knows; "
            "update it (pip install -U onnx)"
        )
    return int(versions[0])


def _ordered(graph: onnx.GraphProto, inputs: Mapping[str, Any], weights: Mapping[str, np.ndarray], outputs: list[str],
             origin: str) -> tuple[list[Node], list[onnx.NodeProto]]:
    nodes = read_nodes(graph, origin)
    check_names(nodes, inputs, weights, outputs, origin)
    proto = dict(zip((node.name for node in nodes), graph.node, strict=True))
    ordered = execution_order(nodes, origin)
    return list(ordered), [_named(proto[node.name], node.name) for node in ordered]


def _named(proto: onnx.NodeProto, name: str) -> onnx.NodeProto:
    """The node with the name that messages use."""
    if proto.name == name:
        return proto
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    copy.name = name
    return copy


def _reads_known(node: Node, tensors: Mapping[str, Any]) -> bool:
    return all(name in tensors for name in (*node.inputs, *captured_names(node)) if name)


def _without_unknown(node: Node, tensors: Mapping[str, Any]) -> Node:
    """The node without outputs of unknown shape, which nothing reads, such as an old Dropout's mask."""
    if all(name in tensors for name in node.outputs if name):
        return node
    return dataclasses.replace(node, outputs=tuple(name if name in tensors else "" for name in node.outputs))


def _check_outputs(outputs: list[str], tensors: Mapping[str, Any], origin: str) -> None:
    for name in outputs:
        if name not in tensors:
            raise ModelError(f"{origin}: graph output {name} is not a tensor")
