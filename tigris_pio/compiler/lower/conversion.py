"""Kernel calls between int8 and float32: kind, parameters and arrays."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.lower import numerics
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import QuantizeParams

Conversion = tuple[OpKind, QuantizeParams, dict[str, np.ndarray]]


def quantise(scale: float, zero_point: int) -> Conversion:
    """From float32."""
    table = {"table": numerics.quantise_table(scale, zero_point)}
    return OpKind.QUANTIZE, QuantizeParams(scale, zero_point, 0), table


def dequantise(scale: float, zero_point: int) -> Conversion:
    """To float32."""
    table = {"table": numerics.dequantise_table(scale, zero_point)}
    return OpKind.DEQUANTIZE, QuantizeParams(scale, zero_point, 0), table
