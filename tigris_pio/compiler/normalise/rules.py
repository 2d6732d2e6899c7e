"""Passes that look at one node at a time, and replace it by nodes that lowering knows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass
from tigris_pio.errors import ModelError

#: From a node to the nodes in its place, or to None if the rule does not apply.
Rule = Callable[[GraphEditor, Node], Sequence[Node] | None]

#: Marks a GlobalAveragePool that was a ReduceMean: in int8 the two round differently.
MEAN = "mean"
_SIGMOID = Quantisation(np.array(1 / 256, np.float32), np.array(-128), np.dtype(np.int8))
_SIGMOID_INT16 = Quantisation(np.array(1 / (1 << 15), np.float32), np.array(0), np.dtype(np.int16))


def rule(summary: str, requires: Collection[str], provides: str) -> Callable[[Rule], Pass[Graph]]:
    """Makes a pass of a rule; the function's name becomes the pass's."""

    def make(rewrite: Rule) -> Pass[Graph]:
        def run(graph: Graph) -> tuple[Graph, int]:
            editor, folded = GraphEditor(graph), 0
            for node in editor.nodes():
                new = rewrite(editor, node)
                if new is not None:
                    editor.replace(node, *new)
                    folded += 1
            return editor.finish(), folded

        return Pass(rewrite.__name__, summary, frozenset(requires), frozenset({provides}), run)

    return make


@rule("Silu becomes Sigmoid and Mul", {"quantisation"}, "no_silu")
def silu_decompose(editor: GraphEditor, node: Node) -> list[Node] | None:
    """Silu (and Swish) becomes Sigmoid and Mul. A Swish whose alpha is not 1 multiplies the Sigmoid's input by it.

    Between quantised tensors the Sigmoid gets TensorFlow Lite's fixed output quantisation: scale 1/256 and zero point
    -128 for int8, scale 2^-15 and zero point 0 for int16.
    """
    if node.op not in ("Silu", "SiLU", "Swish"):
        return None
    source, result = node.inputs[0], node.outputs[0]
    tensor, alpha = editor.tensors[source], float(node.attributes.get("alpha", 1.0))
    nodes, scaled = [], source
    if alpha != 1.0:
        scaled = editor.add_tensor(f"{result}/scaled", tensor, dtype=np.dtype(np.float32), quantisation=None)
        factor = editor.add_constant(f"{result}/alpha", np.array(alpha, np.float32))
        nodes.append(Node(f"{node.name}/scale", "Mul", (source, factor), (scaled,)))
    gate = editor.add_tensor(f"{result}/sigmoid", editor.tensors[result], quantisation=None)
    if tensor.quantisation is not None and editor.quantisation(result) is not None and alpha == 1.0:
        editor.annotate(gate, _SIGMOID_INT16 if tensor.dtype == np.int16 else _SIGMOID)
    else:
        editor.tensors[gate] = dataclasses.replace(editor.tensors[gate], dtype=np.dtype(np.float32))
    nodes.append(Node(f"{node.name}/sigmoid", "Sigmoid", (scaled,), (gate,)))
    nodes.append(Node(f"{node.name}/mul", "Mul", (source, gate), (result,)))
    return nodes


@rule("Conv with group == input channels becomes DepthwiseConv", {"batchnorm"}, "depthwise")
def depthwise_relabel(editor: GraphEditor, node: Node) -> list[Node] | None:
    """A Conv with one input channel a group becomes DepthwiseConv. A Conv of a single input channel stays."""
    shape = editor.shape(node.inputs[0]) if node.op == "Conv" else ()
    depthwise = len(shape) > 1 and shape[1] > 1 and node.attributes.get("group", 1) == shape[1]
    return [dataclasses.replace(node, op="DepthwiseConv")] if depthwise else None


@rule("Conv over one spatial axis becomes Conv1D", {"depthwise"}, "conv1d")
def conv1d_relabel(editor: GraphEditor, node: Node) -> list[Node] | None:
    """A DepthwiseConv keeps its name: its kernel also computes images of width 1."""
    flat = node.op == "Conv" and len(editor.shape(node.inputs[0])) == 3
    return [dataclasses.replace(node, op="Conv1D")] if flat else None


@rule("Clip(0, 6) becomes Relu6; other constant bounds become attributes", {"constants", "quantisation"}, "clip_bounds")
def clip_to_relu6(editor: GraphEditor, node: Node) -> list[Node] | None:
    """Clip(0, 6) becomes Relu6, Clip(0, none) Relu; other constant bounds become attributes.

    activation_fuse then finds one form of each activation, whatever the exporter wrote. Bounds that are computed at run
    time stay inputs.
    """
    bounds = _bounds(editor, node) if node.op == "Clip" and _is_data(editor, node) else None
    if bounds is None:
        return None
    name = {(0.0, 6.0): "Relu6", (0.0, math.inf): "Relu"}.get(bounds, "Clip")
    attributes = {"min": bounds[0], "max": bounds[1]} if name == "Clip" else {}
    return [dataclasses.replace(node, op=name, inputs=node.inputs[:1], attributes=attributes)]


def _is_data(editor: GraphEditor, node: Node) -> bool:
    """Whether a node's output is data; shape arithmetic on wide integers is left to the pass shape_fold."""
    tensor = editor.tensors[node.outputs[0]]
    return tensor.quantisation is not None or tensor.dtype.kind == "f" or tensor.dtype.itemsize == 1


def _bounds(editor: GraphEditor, node: Node) -> tuple[float, float] | None:
    """Lower and upper bound, from attributes up to opset 10, from inputs since; None if computed at run time."""
    found = []
    for index, name, default in ((1, "min", -math.inf), (2, "max", math.inf)):
        if index < len(node.inputs) and node.inputs[index]:
            value = editor.constant(node, index)
            if value is None:
                return None
            if value.size != 1:
                raise ModelError(f"{editor.graph.name}: node {node.name} (Clip): its {name} has {value.size} elements")
            found.append(float(value.reshape(-1)[0]))
        else:
            found.append(float(node.attributes.get(name, default)))
    return found[0], found[1]


@rule("ReduceMean over the spatial axes becomes GlobalAveragePool", {"constants", "quantisation"}, "pooled_means")
def reduce_mean_to_pool(editor: GraphEditor, node: Node) -> list[Node] | None:
    """A mean over all spatial axes becomes GlobalAveragePool, because exporters write either for the same layer.

    With keepdims=0 a Reshape follows, which drops the reduced axes.
    """
    if node.op != "ReduceMean" or not _is_spatial(editor, node):
        return None
    (source, *_), (result, *_) = node.inputs, node.outputs
    if node.attributes.get("keepdims", 1):
        return [Node(node.name, "GlobalAveragePool", (source,), (result,), {MEAN: 1})]
    shape = editor.shape(source)[:2] + (1,) * (len(editor.shape(source)) - 2)
    pooled = editor.add_tensor(f"{result}/pooled", editor.tensors[result], shape=shape)
    return [
        Node(node.name, "GlobalAveragePool", (source,), (pooled,), {MEAN: 1}),
        Node(f"{node.name}/reshape", "Reshape", (pooled,), (result,), {"shape": editor.shape(result)}),
    ]


def _is_spatial(editor: GraphEditor, node: Node) -> bool:
    """Whether the reduced axes are exactly the axes after batch and channels."""
    rank = len(editor.shape(node.inputs[0]))
    axes = node.attributes.get("axes")  # an input since opset 18
    if axes is None:
        value = editor.constant(node, 1)
        axes = () if value is None else tuple(int(axis) for axis in value.reshape(-1))
    return rank in (3, 4) and sorted(axis % rank for axis in axes) == list(range(2, rank))


@rule("Resize and Upsample carry their scale factors as an attribute", {"constants", "static_shapes"}, "resize_scales")
def resize_scales(editor: GraphEditor, node: Node) -> list[Node] | None:
    """The scale factors of Resize and Upsample become the attribute `scales`, a float for each axis.

    Lowering then reads one form instead of three. The factors come from the constant input `scales` or `sizes`, or from
    Upsample's old attribute. The constant inputs are removed.
    """
    scales = _scales(editor, node) if node.op in ("Resize", "Upsample") else None
    if scales is None:
        return None
    attributes = {**node.attributes, "scales": scales}
    kept = 2 if "tf_crop_and_resize" in str(attributes.get("coordinate_transformation_mode", "")) else 1
    return [dataclasses.replace(node, inputs=node.inputs[:kept], attributes=attributes)]


def _scales(editor: GraphEditor, node: Node) -> tuple[float, ...] | None:
    source = editor.shape(node.inputs[0])
    if len(node.inputs) == 1:
        given = node.attributes.get("scales")
        return None if given is None else tuple(float(value) for value in given)
    index = 1 if node.op == "Upsample" or editor.graph.opset < 11 else 2
    scales = editor.constant(node, index)
    if scales is not None and scales.size:
        axes = node.attributes.get("axes", tuple(range(len(source))))
        if scales.size != len(axes):
            return None
        full = [1.0] * len(source)
        for axis, value in zip(axes, scales, strict=True):
            full[axis] = float(value)
        return tuple(full)
    sizes = editor.constant(node, 3)
    return None if sizes is None or 0 in source else _size_scales(node, sizes, source, editor.shape(node.outputs[0]))


def _size_scales(node: Node, sizes: np.ndarray, source: tuple[int, ...], target: tuple[int, ...]) -> tuple[float, ...]:
    """Factors from sizes; a policy that keeps the aspect ratio has one factor for all resized axes."""
    policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return tuple(new / old for old, new in zip(source, target, strict=True))
    axes = [int(axis) % len(source) for axis in node.attributes.get("axes", range(len(source)))]
    factors = [int(size) / source[axis] for axis, size in zip(axes, sizes.reshape(-1), strict=False)]
    common = min(factors) if policy == "not_larger" else max(factors)
    return tuple(common if axis in axes else 1.0 for axis in range(len(source)))


@rule("Concat gets its axis in the channels-last order", {"static_shapes"}, "stored_axes")
def concat_axis(editor: GraphEditor, node: Node) -> list[Node] | None:
    """Adds to each Concat its axis in the stored element order, because images are stored channels-last.

    `axis` becomes non-negative and counts the model's axes. `stored_axis` counts the axes of the channels-last form
    [N, H, W, C] (or [N, L, C]).
    """
    if node.op != "Concat" or node.domain:
        return None
    rank = len(editor.shape(node.outputs[0]))
    axis = int(node.attributes["axis"]) % rank
    return [dataclasses.replace(node, attributes={"axis": axis, "stored_axis": channels_last_axis(axis, rank)})]


def channels_last_axis(axis: int, rank: int) -> int:
    """The index in [N, spatial…, C] of an axis of [N, C, spatial…]; unchanged below three axes."""
    if rank < 3 or axis == 0:
        return axis
    return rank - 1 if axis == 1 else axis - 1
