"""LpPool and GlobalLpPool, as Abs, Pow, AveragePool, Mul by the number of taps, and Pow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.pool import WHOLE_KERNEL
from tigris_pio.compiler.lower.registry import operator


@operator("LpPool", summary="1-D to 3-D, any p, pads, strides, dilations and ceil_mode; in float32")
def lower_lp_pool(builder: Builder, node: Node) -> None:
    """(sum of |x|^p)^(1/p) over the kernel's taps; padding is zero."""
    _lower(builder, node, {key: value for key, value in node.attributes.items() if key != "p"})


@operator("GlobalLpPool", summary="1-D to 3-D, any p; in float32")
def lower_global_lp_pool(builder: Builder, node: Node) -> None:
    """(sum of |x|^p)^(1/p) over the whole map."""
    _lower(builder, node, {"kernel_shape": builder.shape(node.inputs[0])[2:]})


def _lower(builder: Builder, node: Node, geometry: Mapping[str, Any]) -> None:
    composer = Composer(builder, node)
    shape, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    p = float(node.attributes.get("p", 2))
    power = composer.add("Abs", node.inputs[:1], shape)
    if p != 1:
        power = composer.add("Pow", [power, composer.constant(p)], shape)
    mean = composer.add("AveragePool", [power], result, {**geometry, WHOLE_KERNEL: 1})
    total = [mean, composer.constant(float(math.prod(geometry["kernel_shape"])))]
    if p == 1:
        composer.finish("Mul", total)
    else:
        composer.finish("Pow", [composer.add("Mul", total, result), composer.constant(1 / p)])
