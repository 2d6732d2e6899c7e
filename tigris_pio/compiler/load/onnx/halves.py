"""Reads float16 and bfloat16 as float32: constants keep their values, results are rounded less."""

from __future__ import annotations

import contextlib

import numpy as np
import onnx
from onnx import numpy_helper

_FLOAT = onnx.TensorProto.FLOAT
_HALVES = {onnx.TensorProto.FLOAT16: "float16", onnx.TensorProto.BFLOAT16: "bfloat16"}
#: Attributes that hold an element type.
_TYPES = frozenset(("to", "dtype", "output_dtype", "precision", "softmax_precision", "stash_type"))


def widen(model: onnx.ModelProto) -> str | None:
    """Changes a model; returns what is to be said about it, None if it has no such tensors."""
    shown = [f"{kind} {value.name}" for kind, values in (("input", model.graph.input), ("output", model.graph.output))
             for value in values if value.type.tensor_type.elem_type in _HALVES]
    found: set[int] = set()
    _widen(model.graph, found)
    for function in model.functions:
        _widen_nodes(function.node, found)
    if not found:
        return None
    names = " and ".join(_HALVES[kind] for kind in sorted(found, reverse=True))
    ends = f"; {', '.join(shown)} {'is' if len(shown) == 1 else 'are'} float32" if shown else ""
    return f"{names} is computed in float32{ends}"


def _widen(graph: onnx.GraphProto, found: set[int]) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        kind = value.type.tensor_type
        if value.type.HasField("tensor_type") and kind.elem_type in _HALVES:
            found.add(kind.elem_type)
            kind.elem_type = _FLOAT
    for tensor in graph.initializer:
        _widen_tensor(tensor, found)
    _widen_nodes(graph.node, found)


def _widen_nodes(nodes: object, found: set[int]) -> None:
    for node in nodes:  # type: ignore[attr-defined]  # a container of protobuf, which has no public type
        for item in node.attribute:
            if item.name in _TYPES and item.i in _HALVES:
                found.add(item.i)
                item.i = _FLOAT
            if item.HasField("t"):
                _widen_tensor(item.t, found)
            for graph in (*item.graphs, *([item.g] if item.HasField("g") else [])):
                _widen(graph, found)


def _widen_tensor(tensor: onnx.TensorProto, found: set[int]) -> None:
    """Tensors that cannot be read stay; whoever needs them says what is wrong."""
    if tensor.data_type in _HALVES:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            values = numpy_helper.to_array(tensor).astype(np.float32)
            found.add(tensor.data_type)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
