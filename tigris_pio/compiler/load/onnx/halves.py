"""Reads float16 and bfloat16 as float32: constants keep their values, results are rounded less.

Models by skl2onnx have float64 as well. It is read as float32, too, since no shape depends on it there.
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
    """Changes a model in place; returns a warning that names types, inputs and outputs, or None if nothing changed."""
    change = _Change(_HALVES | _DOUBLE if doubles else _HALVES)
    shown = [f"{kind} {value.name}" for kind, values in (("input", model.graph.input), ("output", model.graph.output))
             for value in values if value.type.tensor_type.elem_type in change.kinds]
    change.graph(model.graph)
    for function in model.functions:
        change.nodes(function.node)
    if not change.found:
        return None
    names = " and ".join(change.kinds[kind] for kind in sorted(change.found, reverse=True))
    ends = f"; {', '.join(shown)} {'is' if len(shown) == 1 else 'are'} float32" if shown else ""
    return f"{names} is computed in float32{ends}"


class _Change:
    """Goes through a model; collects the element types that it found among `kinds`."""

    def __init__(self, kinds: Mapping[int, str]):
        self.kinds = kinds
        self.found: set[int] = set()

    def graph(self, graph: onnx.GraphProto) -> None:
        """A graph and all within it."""
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            if value.type.HasField("tensor_type") and kind.elem_type in self.kinds:
                self.found.add(kind.elem_type)
                kind.elem_type = _FLOAT
        for tensor in graph.initializer:
            self._tensor(tensor)
        self.nodes(graph.node)

    def nodes(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Attributes that are such tensors or name such types."""
        for node in nodes:
            for item in node.attribute:
                if item.name in _TYPES and item.i in self.kinds:
                    self.found.add(item.i)
                    item.i = _FLOAT
                if item.HasField("t"):
                    self._tensor(item.t)
            for graph in subgraphs_of(node):
                self.graph(graph)

    def _tensor(self, tensor: onnx.TensorProto) -> None:
        """Tensors that cannot be read stay; whoever needs them says what is wrong."""
        if tensor.data_type in self.kinds:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                values = numpy_helper.to_array(tensor).astype(np.float32)
                self.found.add(tensor.data_type)
                tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
