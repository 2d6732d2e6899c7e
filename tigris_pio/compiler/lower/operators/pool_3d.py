"""Pooling over three spatial axes: over rows and columns with depth as a batch, then over depth.

The maximum or mean of a box is that of its planes' maxima or means, because all planes have equally many taps. The
reshapes are free: data stays [N, D, H, W, C].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.kernel_geometry import read_pads
from tigris_pio.compiler.lower.operators.select import declare
from tigris_pio.compiler.lower.operators.transpose import transposed_alias
from tigris_pio.compiler.lower.refusal import Refusal

Lower = Callable[[Builder, Node], None]


def lower_pool_3d(builder: Builder, node: Node, lower: Lower) -> None:
    """Emits a pool over three axes; `lower` is the contract of the pool over one or two axes."""
    name, output = node.inputs[0], node.outputs[0]
    batch, channels, depth, height, width = builder.shape(name)
    result = builder.shape(output)[2:]
    over_planes, over_depth = _attributes(node, (depth, height, width))

    planes = declare(builder, f"{output}/planes", (batch * depth, channels, height, width), name)
    transposed_alias(builder, name, planes, (0, 2, 1, 3, 4), (batch, channels, depth, height, width))
    between = name
    if node.op == "AveragePool" and not _is_coarse(builder, name, output):
        between = builder.fresh(f"{output}/float")
        builder.tensors[between] = Tensor(between, (), np.dtype(np.float32))
    pooled = declare(builder, f"{output}/pooled", (batch * depth, channels, result[1], result[2]), between)
    lower(builder, dataclasses.replace(node, inputs=(planes,), outputs=(pooled,), attributes=over_planes))

    # [N, D, C, H, W] -> [N, (H, W, C), D] in the same memory.
    lines = declare(builder, f"{output}/lines", (batch, result[1] * result[2] * channels, depth), between)
    transposed_alias(builder, pooled, lines, (0, 3, 4, 2, 1), (batch, depth, channels, result[1], result[2]))
    shortened = declare(builder, f"{output}/shortened", (batch, result[1] * result[2] * channels, result[0]), output)
    lower(builder, dataclasses.replace(node, inputs=(lines,), outputs=(shortened,), attributes=over_depth))
    transposed_alias(builder, shortened, output, (0, 3, 4, 1, 2), (batch, result[1], result[2], channels, result[0]))


def _is_coarse(builder: Builder, name: str, output: str) -> bool:
    """Whether a mean rounded to the input's steps is exact enough for the output."""
    return not builder.is_int8(name, output) or builder.numeric(output).scale >= builder.numeric(name).scale


def _attributes(node: Node, size: tuple[int, int, int]) -> tuple[dict[str, object], dict[str, object]]:
    """The attributes of the pool over planes and of the pool over depth."""
    kernel = tuple(node.attributes["kernel_shape"])
    strides = tuple(node.attributes.get("strides", (1, 1, 1)))
    dilations = tuple(node.attributes.get("dilations", (1, 1, 1)))
    if any(len(item) != 3 for item in (kernel, strides, dilations)) or min(*kernel, *strides, *dilations) < 1:
        raise Refusal(f"kernel {list(kernel)}, strides {list(strides)} or dilations {list(dilations)} contradict its "
                      "3 spatial dimensions")
    begin, end = read_pads(node, size, kernel, strides, dilations)
    kept = {key: value for key, value in node.attributes.items() if key not in ("auto_pad", "activation_min",
                                                                               "activation_max")}
    last = {key: value for key, value in node.attributes.items() if key.startswith("activation_")}
    planes = {**kept, "kernel_shape": kernel[1:], "strides": strides[1:], "dilations": dilations[1:],
              "pads": (*begin[1:], *end[1:])}
    depth = {**kept, **last, "kernel_shape": kernel[:1], "strides": strides[:1], "dilations": dilations[:1],
             "pads": (begin[0], end[0])}
    return planes, depth
