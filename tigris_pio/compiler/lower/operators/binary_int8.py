"""Functions of two int8 tensors in TensorFlow Lite's arithmetic: Max, Min, PRelu, Div, SQUARED_DIFFERENCE."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import fixed_point, numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.broadcast import Operand, arithmetic_params, broadcast
from tigris_pio.compiler.lower.registry import TFLITE
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import DivideInt8Params, ExtremeParams, PreluInt8Params

#: The error of an output, in its steps, that rounded slopes of PRelu may cause. Rounding the output adds 0.5.
_SLOPE_ERROR = 0.45
#: A power so small that a quotient by 0 saturates.
_POWER_OF_ZERO = -64
#: The left shift of the inputs of SQUARED_DIFFERENCE.
_SQUARE_SHIFT = 7


def operands(builder: Builder, names: Sequence[str], numeric: Numeric | None = None) -> list[Operand] | None:
    """int8 activations and constants, with their own scales or all with `numeric`; None if one has no scale."""
    found = []
    for name in names:
        if not builder.is_constant(name):
            if not builder.is_int8(name):
                return None
            found.append(Operand(builder.shape(name), numeric or builder.numeric(name), name))
            continue
        quantisation = builder.tensors[name].quantisation
        own = None
        if quantisation is not None and quantisation.axis is None and quantisation.dtype == np.int8:
            own = builder.numeric(name)
        wanted = numeric or own
        if wanted is None:
            return None
        values = builder.graph.weights[name]
        if own != wanted:
            values = numerics.quantize(builder.float_constant(name), wanted.scale, wanted.zero_point)
        found.append(Operand(builder.shape(name), wanted, name, values))
    return found


def emit_extreme(builder: Builder, node: Node) -> bool:
    """Emits EXTREME in the output's scale; False if an input or the output has none."""
    if not builder.is_int8(node.outputs[0]) or all(builder.is_constant(name) for name in node.inputs):
        return False
    found = operands(builder, node.inputs, builder.numeric(node.outputs[0]))
    if found is None:
        return False
    call = broadcast(builder, found, builder.shape(node.outputs[0]))
    params = ExtremeParams(int(node.op == "Min"), **call.steps)
    call.emit(builder, node, OpKind.EXTREME, DType.INT8, builder.numeric(node.outputs[0]), params)
    return True


def emit_prelu(builder: Builder, node: Node) -> bool:
    """Emits PRELU. Slopes without a scale are quantised; False if that exceeds _SLOPE_ERROR."""
    name, slope = node.inputs
    output = node.outputs[0]
    if not builder.is_int8(name, output) or builder.is_constant(name):
        return False
    source, result = builder.numeric(name), builder.numeric(output)
    found = operands(builder, (name, slope))
    if found is None:
        rounded = _rounded_slopes(builder, slope, source, result)
        if rounded is None:
            return False
        found = [Operand(builder.shape(name), source, name), rounded]
    identity = numerics.quantize_multiplier(source.scale / result.scale)
    negative = numerics.quantize_multiplier(source.scale * found[1].numeric.scale / result.scale)
    codes = np.arange(-128, 128) - source.zero_point
    table = np.clip(numerics.multiply_rounded(codes, *identity) + result.zero_point, -128, 127).astype(np.int8)
    call = broadcast(builder, found, builder.shape(output))
    params = PreluInt8Params((source.zero_point, found[1].numeric.zero_point), *negative, result.zero_point, 0,
                             **call.steps)
    call.emit(builder, node, OpKind.PRELU, DType.INT8, result, params, {"table": table})
    return True


def _rounded_slopes(builder: Builder, name: str, source: Numeric, result: Numeric) -> Operand | None:
    if not builder.is_constant(name):
        return None
    real = builder.float_constant(name).astype(np.float64)
    low, high = min(float(real.min(initial=0.0)), 0.0), max(float(real.max(initial=0.0)), 0.0)
    if not math.isfinite(high - low):
        return None
    scale = float(np.float32((high - low) / 255)) or 1.0
    zero = int(np.clip(numerics.round_half_away(np.float64(-128 - low / scale)), -128, 127))
    values = numerics.quantize(real, scale, zero)
    moved = np.abs((values.astype(np.int64) - zero) * scale - real).max(initial=0.0)
    if moved * (128 + source.zero_point) * source.scale / result.scale > _SLOPE_ERROR:
        return None
    return Operand(builder.shape(name), Numeric(DType.INT8, scale, zero), name, values)


def emit_divide(builder: Builder, node: Node) -> bool:
    """Emits DIVIDE; False unless both inputs and the output have scales."""
    output = node.outputs[0]
    if not builder.is_int8(output) or all(builder.is_constant(name) for name in node.inputs):
        return False
    found = operands(builder, node.inputs)
    if found is None:
        return False
    first, second, result = found[0].numeric, found[1].numeric, builder.numeric(output)
    divisor = second.scale * result.scale
    multiplier, shift = numerics.quantize_multiplier(first.scale / divisor)
    call = broadcast(builder, found, builder.shape(output))
    params = DivideInt8Params((first.zero_point, second.zero_point), multiplier, result.zero_point,
                              **fused.int8_fields(node, result), headroom=0, power=0, reciprocal=0,
                              modulo=int(node.domain == TFLITE), **call.steps)
    blobs: dict[str, np.ndarray] = {
        "headroom": np.array([fixed_point.sign_bits(value) for value in range(-256, 256)], np.int8),
        "power": np.array([_POWER_OF_ZERO, *(value.bit_length() - 2 - shift for value in range(1, 256))], np.int8),
        "reciprocal": np.array([2 * fixed_point.reciprocal(max(value, 1)) for value in range(256)], np.uint32),
    }
    call.emit(builder, node, OpKind.DIVIDE, DType.INT8, result, params, blobs)
    return True


def emit_squared_difference(builder: Builder, node: Node) -> bool:
    """Emits SQUARED_DIFFERENCE; False unless both inputs and the output have scales."""
    output = node.outputs[0]
    found = operands(builder, node.inputs) if builder.is_int8(output) else None
    if found is None:
        return False
    call = broadcast(builder, found, builder.shape(output))
    params = arithmetic_params(node, call, [item.numeric for item in found], builder.numeric(output), _SQUARE_SHIFT)
    call.emit(builder, node, OpKind.SQUARED_DIFFERENCE, DType.INT8, builder.numeric(output), params)
    return True
