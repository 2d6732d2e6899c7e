"""Chooses the element order in which a model input is stored: the order that its first readers prefer."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.lower.element_order import Layout, channels_last, row_major, same_bytes, transposed

_IMAGE_OPERATORS = frozenset(("Conv", "DepthwiseConv", "Conv1D", "ConvTranspose", "MaxPool", "AveragePool",
                              "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization", "InstanceNormalization",
                              "LRN", "Resize", "DepthToSpace", "SpaceToDepth"))
_MATRIX_OPERATORS = frozenset(("Gemm", "MatMul", "Softmax", "LogSoftmax", "Reshape", "Flatten", "Squeeze", "Unsqueeze"))


def input_layout(graph: Graph, name: str) -> Layout:
    """Channels last for images; row-major if readers take rows, or transpose to channels last themselves."""
    shape = graph.tensors[name].shape
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for source in node.inputs:
            readers.setdefault(source, []).append(node)
    seen = {name}
    queue = [name]
    while queue:
        for node in readers.get(queue.pop(0), ()):
            layout = _preferred_layout(graph, node, shape)
            if layout is not None:
                return layout
            for result in node.outputs:
                if result and result not in seen and graph.tensors[result].shape == shape:
                    seen.add(result)
                    queue.append(result)
    return channels_last(shape) if len(shape) == 4 else row_major(shape)


def _preferred_layout(graph: Graph, node: Node, shape: tuple[int, ...]) -> Layout | None:
    """The order that a reader prefers; None if it takes any."""
    if node.op in _IMAGE_OPERATORS:
        return channels_last(shape)
    if node.op in _MATRIX_OPERATORS:
        return row_major(shape)
    if node.op == "Transpose":
        permutation = node.attributes.get("perm", tuple(reversed(range(len(shape)))))
        result = graph.tensors[node.outputs[0]].shape
        moved = transposed(row_major(shape), shape, permutation)
        is_to_last = moved is not None and same_bytes(moved, channels_last(result))
        return row_major(shape) if is_to_last else channels_last(shape)
    return None
