"""Kernel calls that convert between int8, int16 and float32: kind, parameters and arrays."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.format.enums import DType, OpKind, Rounding
from tigris_pio.format.params import LookupParams, QuantizeInt16Params, QuantizeParams, RescaleParams
from tigris_pio.format.record import Record
from tigris_pio.format.rounding import rounded

Conversion = tuple[OpKind, Record, dict[str, np.ndarray]]


def quantise(target: Numeric, rounding: Rounding) -> Conversion:
    """QUANTIZE from float32 to `target`."""
    if target.dtype is DType.INT16:
        return OpKind.QUANTIZE, QuantizeInt16Params(target.scale, target.zero_point, rounding), {}
    table = {"table": numerics.quantise_table(target.scale, target.zero_point, rounding)}
    return OpKind.QUANTIZE, QuantizeParams(target.scale, target.zero_point, 0, rounding), table


def dequantise(source: Numeric) -> Conversion:
    """DEQUANTIZE from `source` to float32."""
    if source.dtype is DType.INT16:
        return OpKind.DEQUANTIZE, QuantizeInt16Params(source.scale, source.zero_point, 0), {}
    table = {"table": numerics.dequantise_table(source.scale, source.zero_point)}
    return OpKind.DEQUANTIZE, QuantizeParams(source.scale, source.zero_point, 0, 0), table


def requantise(source: Numeric, target: Numeric, rounding: Rounding) -> Conversion:
    """LOOKUP between int8 types.

    For ONNX what DEQUANTIZE and QUANTIZE compute together, in single precision; for TensorFlow Lite the nearest to its
    fixed-point product.
    """
    if rounding is Rounding.HALF_EVEN:
        with np.errstate(over="ignore"):
            steps = numerics.dequantise_table(source.scale, source.zero_point) / np.float32(target.scale)
        codes = np.clip(rounded(steps, rounding) + target.zero_point, numerics.INT8_MIN, numerics.INT8_MAX)
        return OpKind.LOOKUP, LookupParams(0), {"table": codes.astype(np.int8)}
    values = (np.arange(numerics.INT8_MIN, numerics.INT8_MAX + 1) - source.zero_point) * source.scale
    return OpKind.LOOKUP, LookupParams(0), {"table": numerics.quantize(values, target.scale, target.zero_point)}


def rescale(source: Numeric, result: Numeric, slopes: tuple[float, float] | None = None,
            low: float = -math.inf, high: float = math.inf) -> RescaleParams:
    """Parameters of RESCALE between int8 and int16. Refuses ratios that are not finite.

    slopes: factors between stored integers, for real values from 0 on and below 0; the ratio of scales by default
    low, high: limits of the result as real numbers
    """
    factors = slopes or (source.scale / result.scale,) * 2
    pairs = [numerics.quantize_multiplier(abs(slope)) for slope in factors]
    lowest, highest = numerics.activation_range(low, high, result.scale, result.zero_point, result.dtype)
    negate = 4 if factors[1] == -factors[0] < 0 else int(factors[0] < 0) | int(factors[1] < 0) << 1
    return RescaleParams(
        input_zero_point=source.zero_point, output_zero_point=result.zero_point,
        multiplier=(pairs[0][0], pairs[1][0]), shift=(pairs[0][1], pairs[1][1]), negate=negate,
        activation_min=lowest, activation_max=highest,
    )
