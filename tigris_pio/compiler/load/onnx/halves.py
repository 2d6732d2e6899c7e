"""Reads float16 and bfloat16 as float32: constants keep their values, and results are rounded less.

Models by skl2onnx also contain float64. It is read as float32, because no shape depends on it in these models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.ir.captured import subgraphs_of

_FLOAT = onnx.TensorProto.FLOAT
_HALVES: dict[int, str] = {onnx.TensorProto.FLOAT16: "float16", onnx.TensorProto.BFLOAT16: "bfloat16"}
_DOUBLE: dict[int, str] = {onnx.TensorProto.DOUBLE: "float64"}
#: Attributes that hold an element type.
_TYPES = frozenset(("to", "dtype", "output_dtype", "precision", "softmax_precision", "stash_type"))


def read_as_float32(model: onnx.ModelProto, doubles: bool) -> str | None:
    """Changes a model in place. Returns a warning with the types, inputs and outputs; None if nothing changed."""
    change = _Change(_HALVES | _DOUBLE if doubles else _HALVES)
    shown = [f"{kind} {value.name}" for kind, values in (("input", model.graph.input), ("output", model.graph.output))
             for value in values if value.type.tensor_type.elem_type in change.kinds]
    change.change_graph(model.graph)
    for function in model.functions:
        change.change_nodes(function.node)
    if not change.found:
        return None
    names = " and ".join(change.kinds[kind] for kind in sorted(change.found, reverse=True))
    ends = f"; {', '.join(shown)} {'is' if len(shown) == 1 else 'are'} float32" if shown else ""
    return f"{names} is computed in float32{ends}"


class _Change:
    """Changes the element types in `kinds` to float32; `found` collects the types that occurred."""

    def __init__(self, kinds: Mapping[int, str]):
        self.kinds = kinds
        self.found: set[int] = set()

    def change_graph(self, graph: onnx.GraphProto) -> None:
        """Changes a graph and all graphs within it."""
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            if value.type.HasField("tensor_type") and kind.elem_type in self.kinds:
                self.found.add(kind.elem_type)
                kind.elem_type = _FLOAT
        for tensor in graph.initializer:
            self._tensor(tensor)
        self.change_nodes(graph.node)

    def change_nodes(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Changes attributes that hold tensors of these types, or name the types."""
        for node in nodes:
            for item in node.attribute:
                if item.name in _TYPES and item.i in self.kinds:
                    self.found.add(item.i)
                    item.i = _FLOAT
                if item.HasField("t"):
                    self._tensor(item.t)
            for graph in subgraphs_of(node):
                self.change_graph(graph)

    def _tensor(self, tensor: onnx.TensorProto) -> None:
        """Changes a tensor. One that cannot be read stays, and its reader reports it."""
        if tensor.data_type in self.kinds:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                values = numpy_helper.to_array(tensor).astype(np.float32)
                self.found.add(tensor.data_type)
                tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
