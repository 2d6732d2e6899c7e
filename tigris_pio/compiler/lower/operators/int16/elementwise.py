"""Elementwise operators of int16 tensors: sums, products and extremes of two, functions of one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation, Tensor
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.conversion import rescale
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.broadcast import bounded, pair
from tigris_pio.compiler.lower.operators.int16.lines import lines
from tigris_pio.compiler.lower.operators.int16.types import FINER, Types, mixed, operands, types
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Numeric, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import BinaryInt8Params, ExtremeParams, LogisticInt16Params, LookupInt16Params
from tigris_pio.format.record import Record

_KINDS = {"Add": OpKind.ADD, "Sub": OpKind.SUB, "Mul": OpKind.MUL}
_LEFT_SHIFT = 15
#: What LOGISTIC writes.
_FRACTION = Numeric(DType.INT16, 1 / (1 << 15))
#: What straight lines may miss a function by, in steps of the output.
_MOST_MISSED = 1.0


def emit_binary(builder: Builder, node: Node) -> bool:
    """ADD, SUB, MUL."""
    inputs = node.inputs[:2]
    found = types(builder, inputs, node.outputs[0])
    if found is None or node.op not in _KINDS or all(map(builder.is_constant, inputs)):
        return False
    terms = operands(builder, inputs, found)
    if node.op != "Mul":
        terms = bounded(builder, terms, found.output)
        found = Types(tuple(item.numeric for item in terms), found.output)
    pairing = pair(builder, terms, builder.shape(node.outputs[0]))
    params = BinaryInt8Params(**_factors(node, found), zero_point=(0, 0), output_zero_point=0,
                              **fused.int8_fields(node, found.output), **pairing.steps)
    builder.emit(_KINDS[node.op], DType.INT16, pairing.sources, node.outputs[0], pairing.layout, found.output,
                 pairing.cell, params)
    return True


def _factors(node: Node, found: Types) -> dict[str, Any]:
    """TensorFlow Lite's constants."""
    first, second, result = found.inputs[0].scale, found.inputs[1].scale, found.output.scale
    double = 2 * max(first, second)
    ratios = (first / double, second / double, double / (math.ldexp(1.0, _LEFT_SHIFT) * result))
    if node.op == "Mul":
        ratios = (0.0, 0.0, first * second / result)
    try:
        pairs = [numerics.quantize_multiplier(ratio) for ratio in ratios]
    except ValueError as error:
        raise Refusal(str(error)) from None
    return {"multiplier": (pairs[0][0], pairs[1][0]), "shift": (pairs[0][1], pairs[1][1]),
            "left_shift": 0 if node.op == "Mul" else _LEFT_SHIFT, "output_multiplier": pairs[2][0],
            "output_shift": pairs[2][1]}


def emit_extreme(builder: Builder, node: Node) -> bool:
    """EXTREME in the output's scale."""
    found = types(builder, node.inputs, node.outputs[0])
    if found is None or all(map(builder.is_constant, node.inputs)):
        return False
    same = Types((found.output,) * 2, found.output)
    pairing = pair(builder, operands(builder, node.inputs, same), builder.shape(node.outputs[0]))
    builder.emit(OpKind.EXTREME, DType.INT16, pairing.sources, node.outputs[0], pairing.layout, found.output,
                 pairing.cell, ExtremeParams(int(node.op == "Min"), **pairing.steps))
    return True


def emit_rescaled(builder: Builder, node: Node, slopes: tuple[float, float], low: float = -math.inf,
                  high: float = math.inf) -> bool:
    """RESCALE of the first input: a factor in stored steps for values from 0 on, one for those below; then `low` to
    `high`, real numbers."""
    name, output = node.inputs[0], node.outputs[0]
    if not mixed(builder, name, output) or builder.is_constant(name):
        return False
    result = builder.numeric(output)
    params = rescale(builder.numeric(name), result, slopes, low, high)
    _emit(builder, builder.value(name), output, OpKind.RESCALE, result, params)
    return True


def emit_straight(builder: Builder, node: Node, below: float = 1.0, above: float = 1.0, low: float = -math.inf,
                  high: float = math.inf) -> bool:
    """The same for a function of real numbers: `below` * x of negative ones, `above` * x of others."""
    name, output = node.inputs[0], node.outputs[0]
    if not mixed(builder, name, output):
        return False
    ratio = builder.numeric(name).scale / builder.numeric(output).scale
    return emit_rescaled(builder, node, (above * ratio, below * ratio), low, high)


def emit_hard_sigmoid(builder: Builder, node: Node, alpha: float, beta: float) -> bool:
    """alpha * x + beta between 0 and 1."""
    name, output = node.inputs[0], node.outputs[0]
    found = types(builder, (name,), output)
    if found is None or builder.is_constant(name):
        return False
    params = rescale(found.inputs[0], found.output, (alpha * found.inputs[0].scale / found.output.scale,) * 2, 0.0, 1.0)
    offset = round(beta / found.output.scale)
    if abs(offset) > numerics.INT16_MAX:
        return False
    params = dataclasses.replace(params, output_zero_point=offset)
    _emit(builder, builder.value(name, found.inputs[0]), output, OpKind.RESCALE, found.output, params)
    return True


def emit_hard_swish(builder: Builder, node: Node) -> bool:
    """MUL by a hard sigmoid, whose largest value is the largest int16."""
    name = node.inputs[0]
    if not mixed(builder, name, node.outputs[0]) or builder.is_constant(name):
        return False
    said = Quantisation(np.array(1 / numerics.INT16_MAX, np.float32), np.zeros((), np.int64), np.dtype(np.int16))
    gate = builder.fresh(f"{node.outputs[0]}/gate")
    builder.tensors[gate] = Tensor(gate, builder.shape(name), said.dtype, said)
    return (emit_hard_sigmoid(builder, dataclasses.replace(node, outputs=(gate,)), 1 / 6, 0.5)
            and emit_binary(builder, dataclasses.replace(node, op="Mul", inputs=(name, gate))))


def emit_logistic(builder: Builder, node: Node, hyperbolic: bool) -> bool:
    """LOGISTIC; scales too large for its fixed point are left to others."""
    name, output = node.inputs[0], node.outputs[0]
    found = types(builder, (name,), output)
    if found is None or builder.is_constant(name):
        return False
    multiplier, shift = _logistic_scaling(found.inputs[0].scale, hyperbolic)
    if multiplier > numerics.INT16_MAX:
        return False
    params = LogisticInt16Params(multiplier, shift, int(hyperbolic), 0)
    _emit(builder, builder.value(name, found.inputs[0]), output, OpKind.LOGISTIC, _FRACTION, params,
          {"table": _logistic_table()})
    return True


def _logistic_scaling(scale: float, hyperbolic: bool) -> tuple[int, int]:
    """TensorFlow Lite's multiplier and right shift to steps of 1 / (3 * 4096), of which powers of two are exact."""
    shift, mantissa = math.frexp(scale)[1] - 1 + 12, math.frexp(scale)[0]
    if mantissa == 0.5 and shift in ((0, 1) if hyperbolic else (0,)):
        return 3 << shift, 0
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    return int(multiplier), shift


def _logistic_table() -> np.ndarray:
    """TensorFlow Lite's sigmoid_table_uint16: each entry less half of what a straight line misses behind it."""
    places = np.arange(256)
    values, middles, nexts = (65536 / (1 + np.exp(-(places + part) / 24)) for part in (0.0, 0.5, 1.0))
    table = np.floor(values - ((values + nexts) / 2 - middles) / 2 + 0.5)
    table[-1] = 65535
    return table.astype(np.uint16)


def emit_lines(builder: Builder, node: Node, function: Callable[[Any], Any]) -> bool:
    """LOOKUP by straight lines, where they miss the function by a step at most."""
    name, output = node.inputs[0], node.outputs[0]
    found = types(builder, (name,), output)
    if found is None or builder.is_constant(name):
        return False
    source, int8 = found.inputs[0], builder.numeric(name).dtype is DType.INT8
    if int8:  # spread over the whole table
        source = Numeric(DType.INT16, source.scale / FINER)
    table, missed = lines(function, source, found.output, not int8)
    if missed > _MOST_MISSED * max(1.0, builder.numeric(output).scale / found.output.scale):
        return False
    _emit(builder, builder.value(name, source), output, OpKind.LOOKUP, found.output, LookupInt16Params(0),
          {"table": table})
    return True


def _emit(builder: Builder, value: Value, output: str, kind: OpKind, numeric: Numeric, params: Record,
          blobs: dict[str, np.ndarray] | None = None) -> None:
    builder.emit(kind, DType.INT16, [(value.storage, RowMap.same())], output, value.layout, numeric,
                 builder.storages[value.storage].cell, params, blobs=blobs)
