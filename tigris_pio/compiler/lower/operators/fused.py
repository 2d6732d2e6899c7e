"""The output range of a fused activation, which the pass activation_fuse stores as attributes of a node."""

from __future__ import annotations

import math
from typing import Any

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.storage import Numeric


def real_range(node: Node) -> tuple[float, float]:
    """The lowest and highest output as real numbers."""
    return (float(node.attributes.get("activation_min", -math.inf)),
            float(node.attributes.get("activation_max", math.inf)))


def float_fields(node: Node) -> dict[str, Any]:
    """The fields `activation_min` and `activation_max` of a float32 record."""
    low, high = real_range(node)
    return {"activation_min": low, "activation_max": high}


def int8_fields(node: Node, numeric: Numeric) -> dict[str, Any]:
    """The fields `activation_min` and `activation_max` of an int8 or int16 record."""
    low, high = numerics.activation_range(*real_range(node), numeric.scale, numeric.zero_point, numeric.dtype)
    return {"activation_min": low, "activation_max": high}
