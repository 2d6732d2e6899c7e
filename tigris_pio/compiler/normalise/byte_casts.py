"""Rewrites a Cast from uint8 or int8 to float32 as DequantizeLinear with a scale of 1, if its result is quantised.

Then a camera's image stays bytes, and one table of 256 entries converts it, without float32 in between. A Cast to the
tensor's own type becomes Identity.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.quantisation import is_quantize

_BYTES = ("uint8", "int8")


def read_casts(editor: GraphEditor, moving: Collection[str]) -> int:
    """Rewrites the Casts whose results are quantised, also behind operators of `moving`; returns their number."""
    count = 0
    for node in editor.nodes():
        if node.op == "Cast" and editor.tensors[node.inputs[0]].dtype == editor.tensors[node.outputs[0]].dtype:
            editor.replace(node, dataclasses.replace(node, op="Identity", attributes={}))
        if node.op == "Cast" and _is_of_bytes(editor, node) and _is_quantised(editor, node.outputs[0], moving):
            scale = editor.add_constant(f"{node.name}/scale", np.array(1, np.float32))
            zero = editor.add_constant(f"{node.name}/zero", np.array(0, editor.tensors[node.inputs[0]].dtype))
            inputs = (node.inputs[0], scale, zero)
            editor.replace(node, dataclasses.replace(node, op="DequantizeLinear", inputs=inputs, attributes={}))
            count += 1
    return count


def _is_of_bytes(editor: GraphEditor, node: Node) -> bool:
    source, result = (editor.tensors[name] for name in (node.inputs[0], node.outputs[0]))
    return source.dtype.name in _BYTES and source.quantisation is None and result.dtype == np.float32


def _is_quantised(editor: GraphEditor, name: str, moving: Collection[str]) -> bool:
    """Whether every reader of a tensor quantises it, or is an operator of `moving` whose results are quantised."""
    readers = editor.consumers(name)
    return bool(readers) and not editor.is_output(name) and all(
        is_quantize(reader) or (reader.op in moving and reader.inputs[0] == name
                                and all(_is_quantised(editor, item, moving) for item in reader.outputs if item))
        for reader in readers)
