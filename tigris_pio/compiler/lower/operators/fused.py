"""The output range that activation fusing left on a node."""

from __future__ import annotations

import math
from typing import Any

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.storage import Numeric


def real_range(node: Node) -> tuple[float, float]:
    """Lowest and highest output value in real numbers."""
    return (float(node.attributes.get("activation_min", -math.inf)),
            float(node.attributes.get("activation_max", math.inf)))


def float_fields(node: Node) -> dict[str, Any]:
    """`activation_min` and `activation_max` of float records."""
    low, high = real_range(node)
    return {"activation_min": low, "activation_max": high}


def int8_fields(node: Node, numeric: Numeric) -> dict[str, Any]:
    """The same in the output's int8 or int16 domain."""
    low, high = numerics.activation_range(*real_range(node), numeric.scale, numeric.zero_point, numeric.dtype)
    return {"activation_min": low, "activation_max": high}
