"""Functions of one int8 tensor, as tables of TensorFlow Lite Micro's result for each value; QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import fixed_point, numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.fixed_point import exp_of_negative
from tigris_pio.compiler.lower.operators.calls import emit_table, int8_types
from tigris_pio.compiler.lower.operators.int16.elementwise import emit_rescale
from tigris_pio.compiler.lower.operators.int16.types import has_int16
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import DType

#: Fraction bits of a root in RSQRT before it is scaled.
_ROOT_SHIFT = 20

#: Functions that TensorFlow Lite Micro has for int16, too.
INT16 = frozenset(("ABS", "LEAKY_RELU", "RELU"))

#: From an input minus its zero point to an output minus its zero point.
_Function = Callable[[int], int]


def _ratio(first: float, second: float) -> float:
    """A quotient in single precision."""
    return float(np.float32(first) / np.float32(second))


def _abs(node: Node, source: Numeric, result: Numeric) -> _Function:
    if source.scale == result.scale:
        return abs
    multiplier, shift = numerics.quantize_multiplier(source.scale / result.scale)
    return lambda value: fixed_point.multiply(abs(value), multiplier, shift)


def _leaky_relu(node: Node, source: Numeric, result: Numeric) -> _Function:
    slope = source.scale * float(np.float32(node.attributes["alpha"])) / result.scale
    sign = -1 if slope < 0 else 1
    identity = numerics.quantize_multiplier(source.scale / result.scale)
    negative = numerics.quantize_multiplier(abs(slope))

    def function(value: int) -> int:
        return fixed_point.multiply(value, *identity) if value >= 0 else sign * fixed_point.multiply(value, *negative)

    return function


def _relu(node: Node, source: Numeric, result: Numeric) -> _Function:
    multiplier, shift = numerics.quantize_multiplier(source.scale / result.scale)
    return lambda value: max(fixed_point.multiply(value, multiplier, shift), 0)


def _elu(node: Node, source: Numeric, result: Numeric) -> _Function:
    inverse = np.float32(1) / np.float32(result.scale)

    def function(value: int) -> int:
        real = np.float32(source.scale) * np.float32(value)
        moved = np.exp(real) - np.float32(1) if real < 0 else real
        return int(numerics.round_half_away(np.float64(np.float32(moved) * inverse)))

    return function


def _rsqrt(node: Node, source: Numeric, result: Numeric) -> _Function:
    root = np.sqrt(np.float32(source.scale)) * np.float32(result.scale)
    multiplier, shift = numerics.quantize_multiplier(1.0 / float(root))

    def function(value: int) -> int:
        if value <= 0:
            return 1 << 16  # the largest output
        inverse, inverse_shift = fixed_point.inverse_root(value)
        scaled = fixed_point.multiply(1, inverse, inverse_shift + _ROOT_SHIFT)
        return fixed_point.multiply(scaled, multiplier, shift - _ROOT_SHIFT)

    return function


def _half(multiplier: int) -> int:
    """DownScaleInt32ToInt16Multiplier."""
    return min((multiplier + (1 << 15)) >> 16, numerics.INT16_MAX)


def _high_multiply16(a: int, b: int) -> int:
    return min((a * b + (1 << 14)) >> 15, numerics.INT16_MAX)


def _saturate16(value: int) -> int:
    return min(max(value, numerics.INT16_MIN), numerics.INT16_MAX)


def _hard_swish(node: Node, source: Numeric, result: Numeric) -> _Function:
    """In 16-bit arithmetic: the value in the output's scale, times its share of the way from -3 to 3."""
    fine = np.float32(1 / 128) * np.float32(source.scale)
    out_multiplier, out_shift = numerics.quantize_multiplier(_ratio(float(fine), result.scale))
    share_multiplier, share_shift = numerics.quantize_multiplier(_ratio(float(fine), 3 / 32768))
    if out_shift > 0:
        raise Refusal("its output's scale is too fine for TensorFlow Lite's arithmetic")
    out, share_of = _half(out_multiplier), _half(share_multiplier)

    def function(value: int) -> int:
        scaled = _high_multiply16(value << 7, out)
        share = value << 7
        if share_shift > 0:
            share = _saturate16(share << (share_shift - 1))
        share = _high_multiply16(share, share_of)
        left = share_shift > 0
        share = _saturate16(share << 1) if left else fixed_point.rounding_divide(share, -share_shift)
        share = (share + (1 << 15)) >> 1
        product = share * scaled
        moved = product >> 15 if product >= 0 else -(-product >> 15)
        return fixed_point.rounding_divide(moved, -out_shift)

    return function


#: Fraction bits of the arguments of LOGISTIC and TANH, and of their results.
_ARGUMENT_BITS, _LOGISTIC_BITS, _TANH_BITS = 27, 8, 7


def _magnitude(source: Numeric) -> Callable[[int], int | None]:
    """A function that gives the magnitude of a value as Q4.27, None if it is too large."""
    real = source.scale * (1 << _ARGUMENT_BITS)
    multiplier, shift = numerics.quantize_multiplier(real)
    radius = math.floor(15 * (1 << _ARGUMENT_BITS) / 2**shift)
    return lambda value: None if abs(value) >= radius else abs(fixed_point.multiply(value, multiplier, shift))


def _logistic(node: Node, source: Numeric, result: Numeric) -> _Function:
    magnitude = _magnitude(source)

    def function(value: int) -> int:
        found = magnitude(value)
        if found is None:
            return 1 << _LOGISTIC_BITS if value > 0 else 0
        share = fixed_point.one_over_one_plus(exp_of_negative(-found, _ARGUMENT_BITS)) if found else 1 << 30
        return fixed_point.rounding_divide(share if value >= 0 else numerics.INT32_MAX - share, 31 - _LOGISTIC_BITS)

    return function


def _tanh(node: Node, source: Numeric, result: Numeric) -> _Function:
    magnitude = _magnitude(source)

    def function(value: int) -> int:
        sign, found = (1 if value >= 0 else -1), magnitude(value)
        if found is None:
            return sign << _TANH_BITS
        part = fixed_point.one_minus_over_one_plus(exp_of_negative(-found, _ARGUMENT_BITS - 1)) if found else 0
        return fixed_point.rounding_divide(sign * part, 31 - _TANH_BITS)

    return function


_FUNCTIONS: dict[str, Callable[[Node, Numeric, Numeric], _Function]] = {
    "ABS": _abs, "LEAKY_RELU": _leaky_relu, "RELU": _relu, "ELU": _elu, "RSQRT": _rsqrt, "HARD_SWISH": _hard_swish,
    "LOGISTIC": _logistic, "TANH": _tanh,
}


@operator(*_FUNCTIONS, domain=TFLITE, summary="int8")
def lower_function(builder: Builder, node: Node) -> None:
    """LOOKUP."""
    if _lower_int16(builder, node):
        return
    source, result = int8_types(builder, node)
    try:
        function = _FUNCTIONS[node.op](node, source, result)
        values = np.array([function(code - source.zero_point) for code in range(-128, 128)]) + result.zero_point
    except ValueError as error:
        raise Refusal(str(error)) from None
    emit_table(builder, node.inputs[0], node.outputs[0], np.clip(values, -128, 127).astype(np.int8))


def _lower_int16(builder: Builder, node: Node) -> bool:
    """Emits RESCALE for LEAKY_RELU, RELU and ABS of int16; False for all others."""
    name, output = node.inputs[0], node.outputs[0]
    if node.op not in INT16 or not has_int16(builder, name, output):
        return False
    source, result = builder.numeric(name), builder.numeric(output)
    ratio = source.scale / result.scale
    if node.op == "RELU":
        return emit_rescale(builder, node, (ratio, ratio), 0.0)
    if node.op == "ABS":
        return emit_rescale(builder, node, (ratio, -ratio))
    below = source.scale * float(np.float32(node.attributes["alpha"])) / result.scale
    return emit_rescale(builder, node, (ratio, below))


@operator("QUANTIZE", domain=TFLITE, summary="float32, int8 and uint8 to int8 and uint8")
def lower_quantize(builder: Builder, node: Node) -> None:
    """QUANTIZE from float32; from int8 a LOOKUP with the results of fixed-point rescaling."""
    name, output = node.inputs[0], node.outputs[0]
    result = builder.numeric(output)
    if not builder.is_quantised(name):
        value = builder.value(name, FLOAT)
        builder.convert(output, value, result, output)
        return
    source, value = builder.numeric(name), builder.value(name)
    if source == result:
        builder.add_alias(name, output, [item.layout for item in builder.values[name]])
        return
    if DType.INT16 in (source.dtype, result.dtype):
        builder.convert(output, value, result, output)
        return
    multiplier, shift = numerics.quantize_multiplier(source.scale / result.scale)
    codes = np.arange(-128, 128) - source.zero_point
    table = np.clip(numerics.multiply_rounded(codes, multiplier, shift) + result.zero_point, -128, 127).astype(np.int8)
    emit_table(builder, name, output, table)


@operator("DEQUANTIZE", domain=TFLITE, summary="int8 and uint8 to float32")
def lower_dequantize(builder: Builder, node: Node) -> None:
    """DEQUANTIZE."""
    name, output = node.inputs[0], node.outputs[0]
    builder.convert(output, builder.value(name), builder.numeric(output), output)


@operator("SVDF", domain=TFLITE, summary="the newest row of its memory")
def lower_memory(builder: Builder, node: Node) -> None:
    """LOOKUP. As in the reference, the zero point is added after clamping to int8, and the sum wraps to 8 bits."""
    name, output = node.inputs[0], node.outputs[0]
    shifted = np.arange(-128, 128) + builder.numeric(output).zero_point - builder.numeric(name).zero_point
    emit_table(builder, name, output, ((shifted + 128) % 256 - 128).astype(np.int8))
