"""Computes the rows of sliding tensors while the signal is silent: zeros, or the input's zero point.

All inner rows of a tensor are then equal, so one row of each operator is enough. Kept rows begin with it, as if runs on
silence had come before the first run. Arithmetic is that of SPEC.md: int8 exact, float32 up to the order of sums.
If an operator has no function here, its output and everything after it has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.compiler.slide.motion import Motion
from tigris_pio.format.enums import DType, OpKind, Rounding, UnaryFunction
from tigris_pio.format.params import (
    BinaryFloatParams,
    BinaryInt8Params,
    ConcatParams,
    ConvFloatParams,
    ConvInt8Params,
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    PoolFloatParams,
    PoolInt8Params,
    QuantizeParams,
    SelectParams,
    UnaryFloatParams,
)
from tigris_pio.format.rounding import rounded

Array = np.ndarray
_TYPES = {DType.INT8: np.int8, DType.INT16: np.int16, DType.FLOAT32: np.float32}


class _Unknown(Exception):
    """No function of this module computes the operator."""


def silent_rows(program: Program, motions: Mapping[str, Motion]) -> dict[str, Array]:
    """The inner rows [width, channels] of sliding tensors in their stored type, by name; unknown ones are missing."""
    source = program.tensors[program.inputs[0].tensor]
    rows = {source.name: np.full((source.width, source.channels), source.zero_point, _TYPES[source.dtype])}
    for op in program.ops:
        if op.output in motions:
            try:
                rows[op.output] = _row(program.tensors, op, rows)
            except _Unknown:
                continue
    return rows


def _row(tensors: Mapping[str, ProgramTensor], op: ProgramOp, rows: Mapping[str, Array]) -> Array:
    inputs = []
    for operand in op.operands:
        constant = tensors[operand.tensor].constant
        if constant is None and operand.tensor not in rows:
            raise _Unknown
        inputs.append(rows[operand.tensor] if constant is None else constant[0, 0])
    output = tensors[op.output]
    function = _FUNCTIONS.get(op.kind)
    if function is None or op.dtype not in (DType.INT8, DType.FLOAT32):
        raise _Unknown
    return function(op, inputs, output).reshape(output.width, output.channels).astype(_TYPES[output.dtype])


def requantised(sums: Array, multiplier: Array | int, shift: Array | int) -> Array:
    """Requantisation of SPEC.md section 7. All arrays are int64; their values fit 32 bits."""
    left, right = np.maximum(shift, 0), np.maximum(np.negative(shift), 0)
    scaled = (sums << left) * multiplier
    nudged = scaled + np.where(scaled >= 0, 1 << 30, 1 - (1 << 30))
    high = np.minimum(np.where(nudged >= 0, nudged >> 31, -(-nudged >> 31)), 2**31 - 1)
    half = np.where(right > 0, np.left_shift(1, np.maximum(right, 1) - 1), 0)
    found: Array = np.where(high >= 0, (high + half) >> right, -((half - high) >> right))
    return found


class _Ranged(Protocol):
    @property
    def activation_min(self) -> float: ...
    @property
    def activation_max(self) -> float: ...


def _clamped(params: _Ranged, values: Array) -> Array:
    found: Array = np.clip(values, params.activation_min, params.activation_max)
    return found


def _requantised_sums(op: ProgramOp, sums: Array, scales: Array) -> Array:
    """Outputs of sums that include the bias; `scales`: the index of each sum's multiplier and shift."""
    params = op.params
    if isinstance(params, ConvFloatParams | FullyConnectedFloatParams):
        return _clamped(params, sums)
    assert isinstance(params, ConvInt8Params | FullyConnectedInt8Params)
    found = requantised(sums, op.blobs["multiplier"].astype(np.int64)[scales],
                        op.blobs["shift"].astype(np.int64)[scales])  # fmt: skip
    return _clamped(params, found + params.output_zero_point)


def _wide(array: Array) -> Array:
    return array.astype(np.float64 if array.dtype == np.float32 else np.int64)


def _columns(params: ConvInt8Params | ConvFloatParams | PoolInt8Params | PoolFloatParams, row: Array, width: int,
             fill: float) -> Array:
    """The taps [tap, output column, channel] of a row [column, channel]; `fill` in the padding."""
    place = np.arange(width) * params.stride_width - params.pad_left
    place = place + (np.arange(params.kernel_width) * params.dilation_width)[:, np.newaxis]
    inside = (place >= 0) & (place < len(row))
    taken = row[np.where(inside, place, 0)]
    found: Array = np.where(inside[..., np.newaxis], taken, fill)
    return found


def _convolution(op: ProgramOp, inputs: Sequence[Array], output: ProgramTensor) -> Array:
    params = op.params
    if type(params) not in (ConvInt8Params, ConvFloatParams):
        raise _Unknown
    assert isinstance(params, ConvInt8Params | ConvFloatParams)
    row, weights = _wide(inputs[0]), _wide(op.blobs["weights"])
    fill = params.input_zero_point if isinstance(params, ConvInt8Params) else 0
    taps = _columns(params, row, output.width, fill)
    if op.kind is OpKind.DEPTHWISE_CONV_2D:
        taps = np.repeat(taps, output.channels // row.shape[1], axis=2)
        sums = np.einsum("kxc,kc->xc", taps, weights.sum(axis=0))
    else:
        each_out, each_in = output.channels // params.groups, row.shape[1] // params.groups
        grouped = weights.sum(axis=1).reshape(params.groups, each_out, params.kernel_width, each_in)
        taps = taps.reshape(*taps.shape[:2], params.groups, each_in)
        sums = np.einsum("kxgi,goki->xgo", taps, grouped).reshape(output.width, output.channels)
    return _requantised_sums(op, sums + _wide(op.blobs["bias"]), np.arange(output.channels))


def _fully_connected(op: ProgramOp, inputs: Sequence[Array], output: ProgramTensor) -> Array:
    params = op.params
    if type(params) not in (FullyConnectedInt8Params, FullyConnectedFloatParams):
        raise _Unknown
    assert isinstance(params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    weights = _wide(op.blobs["weights"]).reshape(params.out_features, params.in_features)
    sums = _wide(inputs[0]).reshape(-1, params.in_features) @ weights.T + _wide(op.blobs["bias"])
    step = params.requantise_step if isinstance(params, FullyConnectedInt8Params) else 0
    return _requantised_sums(op, sums, np.arange(params.out_features) * step)


def _pool(op: ProgramOp, inputs: Sequence[Array], output: ProgramTensor) -> Array:
    params, row = op.params, _wide(inputs[0])
    assert isinstance(params, PoolInt8Params | PoolFloatParams)
    if op.kind is OpKind.MAX_POOL:
        lowest = -np.inf if isinstance(params, PoolFloatParams) else -128
        return _clamped(params, _columns(params, row, output.width, lowest).max(axis=0))
    rescale = params.rescale if isinstance(params, PoolInt8Params) else 0
    if rescale > 1:
        raise _Unknown
    fill = params.input_zero_point if isinstance(params, PoolInt8Params) and params.include_pad else 0
    sums = _columns(params, row, output.width, fill).sum(axis=0) * params.kernel_height
    counted = _columns(params, np.ones_like(row), output.width, params.include_pad).sum(axis=0) * params.kernel_height
    if isinstance(params, PoolFloatParams):
        return _clamped(params, sums / counted)
    counted = counted.astype(np.int64)
    if not rescale:
        mean = np.sign(sums) * ((2 * np.abs(sums) + counted) // (2 * counted))
    else:
        factors = [op.blobs[name].astype(np.int64)[counted - 1] for name in ("multiplier", "shift")]
        mean = requantised(sums - counted * params.input_zero_point, *factors) + params.output_zero_point
    return _clamped(params, mean)


_BINARY_FUNCTIONS: Mapping[OpKind, Callable[[Array, Array], Array]] = {
    OpKind.ADD: np.add, OpKind.SUB: np.subtract, OpKind.MUL: np.multiply,
}  # fmt: skip


def _binary(op: ProgramOp, inputs: Sequence[Array], output: ProgramTensor) -> Array:
    params = op.params
    if not isinstance(params, BinaryInt8Params | BinaryFloatParams):
        raise _Unknown
    operands = []
    for index, row in enumerate(inputs):
        place = (np.arange(output.width)[:, np.newaxis] * params.column_step[index]
                 + np.arange(output.channels) * params.channel_step[index])  # fmt: skip
        operands.append(_wide(row).reshape(-1)[place])
    if isinstance(params, BinaryFloatParams):
        return _clamped(params, _BINARY_FUNCTIONS[op.kind](*operands))
    operands = [row - params.zero_point[index] for index, row in enumerate(operands)]
    if op.kind is not OpKind.MUL:
        operands = [requantised(row << params.left_shift, params.multiplier[index], params.shift[index])
                    for index, row in enumerate(operands)]
    found = requantised(_BINARY_FUNCTIONS[op.kind](*operands), params.output_multiplier, params.output_shift)
    return _clamped(params, found + params.output_zero_point)


def _concat(op: ProgramOp, inputs: Sequence[Array], _: ProgramTensor) -> Array:
    assert isinstance(op.params, ConcatParams)
    return np.concatenate(inputs, axis=op.params.axis - 1)


def _select(op: ProgramOp, inputs: Sequence[Array], output: ProgramTensor) -> Array:
    params, row = op.params, inputs[0]
    assert isinstance(params, SelectParams)
    fill = np.array([params.fill], np.uint32).view(row.dtype)[0]
    for axis, (table, count) in enumerate((("column_table", output.width), ("channel_table", output.channels))):
        places = op.blobs.get(table)
        if getattr(params, table) == NO_TABLE or places is None:
            numerator, denominator, first = (line[axis + 1]
                                             for line in (params.numerator, params.denominator, params.first))
            places = (np.arange(count) * numerator + first) // denominator
        inside = (places >= 0) & (places < row.shape[axis])
        row = np.where(np.expand_dims(inside, 1 - axis), np.take(row, np.where(inside, places, 0), axis), fill)
    return row


def _lookup(op: ProgramOp, inputs: Sequence[Array], _: ProgramTensor) -> Array:
    if op.dtype is not DType.INT8:
        raise _Unknown
    found: Array = op.blobs["table"][inputs[0].astype(np.int16) + 128]
    return found


def _unary(op: ProgramOp, inputs: Sequence[Array], _: ProgramTensor) -> Array:
    params, x = op.params, inputs[0].astype(np.float64)
    assert isinstance(params, UnaryFloatParams)
    alpha, beta = params.alpha, params.beta
    functions: Mapping[int, Callable[[], Array]] = {
        UnaryFunction.CLAMP: lambda: np.clip(x, alpha, beta),
        UnaryFunction.SIGMOID: lambda: 1 / (1 + np.exp(-x)),
        UnaryFunction.TANH: lambda: np.tanh(x),
        UnaryFunction.LEAKY_RELU: lambda: np.where(x < 0, alpha * x, x),
        UnaryFunction.HARD_SIGMOID: lambda: np.clip(alpha * x + beta, 0, 1),
        UnaryFunction.HARD_SWISH: lambda: x * np.clip(x / 6 + 0.5, 0, 1),
        UnaryFunction.ABS: lambda: np.abs(x),
        UnaryFunction.NEGATE: lambda: -x,
        UnaryFunction.SQUARE: lambda: x * x,
        UnaryFunction.ELU: lambda: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), beta * x),
        UnaryFunction.SWISH: lambda: x / (1 + np.exp(-alpha * x)),
    }
    if params.function not in functions:
        raise _Unknown
    return functions[params.function]()


def _quantize(op: ProgramOp, inputs: Sequence[Array], _: ProgramTensor) -> Array:
    params, row = op.params, inputs[0]
    if not isinstance(params, QuantizeParams):
        raise _Unknown
    scale = np.float32(params.scale)
    dequantised = (row.astype(np.float32) - params.zero_point) * scale
    found: Array = np.clip(rounded(row / scale, Rounding(params.rounding)) + params.zero_point, -128, 127)
    return dequantised if op.kind is OpKind.DEQUANTIZE else found


_FUNCTIONS: Mapping[OpKind, Callable[[ProgramOp, Sequence[Array], ProgramTensor], Array]] = {
    OpKind.CONV_2D: _convolution, OpKind.DEPTHWISE_CONV_2D: _convolution, OpKind.AVERAGE_POOL: _pool,
    OpKind.MAX_POOL: _pool, OpKind.FULLY_CONNECTED: _fully_connected, OpKind.ADD: _binary, OpKind.SUB: _binary,
    OpKind.MUL: _binary, OpKind.CONCAT: _concat, OpKind.SELECT: _select, OpKind.LOOKUP: _lookup,
    OpKind.UNARY: _unary, OpKind.QUANTIZE: _quantize, OpKind.DEQUANTIZE: _quantize,
}  # fmt: skip
