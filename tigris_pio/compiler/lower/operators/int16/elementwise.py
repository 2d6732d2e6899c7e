"""Elementwise operators of int16 tensors: sums, products and extremes of two tensors, functions of one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation, Tensor
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.conversion import rescale
from tigris_pio.compiler.lower.operators.broadcast import arithmetic_params, bound_masks, broadcast
from tigris_pio.compiler.lower.operators.calls import emit_same
from tigris_pio.compiler.lower.operators.int16.lines import line_table
from tigris_pio.compiler.lower.operators.int16.types import FINER, Int16Types, has_int16, int16_operands, int16_types
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ExtremeParams, LogisticInt16Params, LookupInt16Params

_KINDS = {"Add": OpKind.ADD, "Sub": OpKind.SUB, "Mul": OpKind.MUL}
_LEFT_SHIFT = 15
#: The output type of LOGISTIC.
_FRACTION = Numeric(DType.INT16, 1 / (1 << 15))
#: The largest error of straight lines, in output steps.
_MOST_MISSED = 1.0


def emit_binary(builder: Builder, node: Node) -> bool:
    """Emits ADD, SUB or MUL."""
    inputs = node.inputs[:2]
    found = int16_types(builder, inputs, node.outputs[0])
    if found is None or node.op not in _KINDS or all(map(builder.is_constant, inputs)):
        return False
    terms = int16_operands(builder, inputs, found)
    if node.op != "Mul":
        terms = bound_masks(builder, terms, found.output)
        found = Int16Types(tuple(item.numeric for item in terms), found.output)
    call = broadcast(builder, terms, builder.shape(node.outputs[0]))
    params = arithmetic_params(node, call, found.inputs, found.output, _LEFT_SHIFT)
    call.emit(builder, node, _KINDS[node.op], DType.INT16, found.output, params)
    return True


def emit_extreme(builder: Builder, node: Node) -> bool:
    """Emits EXTREME in the output's scale."""
    found = int16_types(builder, node.inputs, node.outputs[0])
    if found is None or all(map(builder.is_constant, node.inputs)):
        return False
    same = Int16Types((found.output,) * 2, found.output)
    call = broadcast(builder, int16_operands(builder, node.inputs, same), builder.shape(node.outputs[0]))
    params = ExtremeParams(int(node.op == "Min"), **call.steps)
    call.emit(builder, node, OpKind.EXTREME, DType.INT16, found.output, params)
    return True


def emit_rescale(builder: Builder, node: Node, slopes: tuple[float, float], low: float = -math.inf,
                 high: float = math.inf) -> bool:
    """Emits RESCALE of the first input.

    slopes: factors between stored integers, for real values from 0 on and below 0
    low, high: limits of the output as real numbers
    """
    name, output = node.inputs[0], node.outputs[0]
    if not has_int16(builder, name, output) or builder.is_constant(name):
        return False
    result = builder.numeric(output)
    params = rescale(builder.numeric(name), result, slopes, low, high)
    emit_same(builder, OpKind.RESCALE, DType.INT16, builder.value(name), output, result, params)
    return True


def emit_two_slopes(builder: Builder, node: Node, below: float = 1.0, above: float = 1.0, low: float = -math.inf,
                    high: float = math.inf) -> bool:
    """Emits RESCALE for the function `below` * x of negative real numbers x and `above` * x of others."""
    name, output = node.inputs[0], node.outputs[0]
    if not has_int16(builder, name, output):
        return False
    ratio = builder.numeric(name).scale / builder.numeric(output).scale
    return emit_rescale(builder, node, (above * ratio, below * ratio), low, high)


def emit_hard_sigmoid(builder: Builder, node: Node, alpha: float, beta: float) -> bool:
    """Emits RESCALE for alpha * x + beta, limited to 0 … 1."""
    name, output = node.inputs[0], node.outputs[0]
    found = int16_types(builder, (name,), output)
    if found is None or builder.is_constant(name):
        return False
    params = rescale(found.inputs[0], found.output, (alpha * found.inputs[0].scale / found.output.scale,) * 2, 0.0, 1.0)
    offset = round(beta / found.output.scale)
    if abs(offset) > numerics.INT16_MAX:
        return False
    params = dataclasses.replace(params, output_zero_point=offset)
    emit_same(builder, OpKind.RESCALE, DType.INT16, builder.value(name, found.inputs[0]), output, found.output, params)
    return True


def emit_hard_swish(builder: Builder, node: Node) -> bool:
    """Emits MUL of the input and its hard sigmoid, in which 1 is the largest int16."""
    name = node.inputs[0]
    if not has_int16(builder, name, node.outputs[0]) or builder.is_constant(name):
        return False
    said = Quantisation(np.array(1 / numerics.INT16_MAX, np.float32), np.zeros((), np.int64), np.dtype(np.int16))
    gate = builder.fresh(f"{node.outputs[0]}/gate")
    builder.tensors[gate] = Tensor(gate, builder.shape(name), said.dtype, said)
    return (emit_hard_sigmoid(builder, dataclasses.replace(node, outputs=(gate,)), 1 / 6, 0.5)
            and emit_binary(builder, dataclasses.replace(node, op="Mul", inputs=(name, gate))))


def emit_logistic(builder: Builder, node: Node, hyperbolic: bool) -> bool:
    """Emits LOGISTIC; False, too, if the input's scale exceeds its fixed point."""
    name, output = node.inputs[0], node.outputs[0]
    found = int16_types(builder, (name,), output)
    if found is None or builder.is_constant(name):
        return False
    multiplier, shift = _logistic_scaling(found.inputs[0].scale, hyperbolic)
    if multiplier > numerics.INT16_MAX:
        return False
    params = LogisticInt16Params(multiplier, shift, int(hyperbolic), 0)
    emit_same(builder, OpKind.LOGISTIC, DType.INT16, builder.value(name, found.inputs[0]), output, _FRACTION, params,
              {"table": _logistic_table()})
    return True


def _logistic_scaling(scale: float, hyperbolic: bool) -> tuple[int, int]:
    """TensorFlow Lite's multiplier and right shift to steps of 1 / (3 * 4096); powers of two are exact."""
    shift, mantissa = math.frexp(scale)[1] - 1 + 12, math.frexp(scale)[0]
    if mantissa == 0.5 and shift in ((0, 1) if hyperbolic else (0,)):
        return 3 << shift, 0
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    return int(multiplier), shift


def _logistic_table() -> np.ndarray:
    """TensorFlow Lite's sigmoid_table_uint16: each entry minus half of the error of the straight line after it."""
    places = np.arange(256)
    values, middles, nexts = (65536 / (1 + np.exp(-(places + part) / 24)) for part in (0.0, 0.5, 1.0))
    table = np.floor(values - ((values + nexts) / 2 - middles) / 2 + 0.5)
    table[-1] = 65535
    return table.astype(np.uint16)


def emit_lines(builder: Builder, node: Node, function: Callable[[Any], Any]) -> bool:
    """Emits LOOKUP by straight lines; False, too, if their error exceeds _MOST_MISSED output steps."""
    name, output = node.inputs[0], node.outputs[0]
    found = int16_types(builder, (name,), output)
    if found is None or builder.is_constant(name):
        return False
    source, int8 = found.inputs[0], builder.numeric(name).dtype is DType.INT8
    if int8:  # its values then lie on table entries
        source = Numeric(DType.INT16, source.scale / FINER)
    table, missed = line_table(function, source, found.output, not int8)
    if missed > _MOST_MISSED * max(1.0, builder.numeric(output).scale / found.output.scale):
        return False
    emit_same(builder, OpKind.LOOKUP, DType.INT16, builder.value(name, source), output, found.output,
              LookupInt16Params(0), {"table": table})
    return True

