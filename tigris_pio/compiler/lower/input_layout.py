"""Chooses the element order in which a model input is stored: the one its first readers want."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.lower.element_order import Layout, channels_last, plain, same_bytes, transposed

_IMAGE = frozenset(("Conv", "DepthwiseConv", "Conv1D", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool",
                    "GlobalMaxPool", "BatchNormalization", "InstanceNormalization", "LRN", "Resize", "DepthToSpace",
                    "SpaceToDepth"))
_ROWS = frozenset(("Gemm", "MatMul", "Softmax", "LogSoftmax", "Reshape", "Flatten", "Squeeze", "Unsqueeze"))


def input_layout(graph: Graph, name: str) -> Layout:
    """Channels last for images, row-major where the readers take rows or transpose by themselves."""
    shape = graph.tensors[name].shape
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for source in node.inputs:
            readers.setdefault(source, []).append(node)
    seen = {name}
    queue = [name]
    while queue:
        for node in readers.get(queue.pop(0), ()):
            wish = _wish(graph, node, shape)
            if wish is not None:
                return wish
            for result in node.outputs:
                if result and result not in seen and graph.tensors[result].shape == shape:
                    seen.add(result)
                    queue.append(result)
    return channels_last(shape) if len(shape) == 4 else plain(shape)


def _wish(graph: Graph, node: Node, shape: tuple[int, ...]) -> Layout | None:
    """The order a reader wants; None when it takes any."""
    if node.op in _IMAGE:
        return channels_last(shape)
    if node.op in _ROWS:
        return plain(shape)
    if node.op == "Transpose":
        permutation = node.attributes.get("perm", tuple(reversed(range(len(shape)))))
        result = graph.tensors[node.outputs[0]].shape
        moved = transposed(plain(shape), shape, permutation)
        return plain(shape) if moved is not None and same_bytes(moved, channels_last(result)) else channels_last(shape)
    return None
