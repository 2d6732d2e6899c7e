"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell of int16: RECURRENT, and what picks its outputs from the states.

Formulas of the scales: TensorFlow Lite Micro's kernels/lstm_eval_common.cc.
"""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import plain
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.selection import select_params, selected_rows
from tigris_pio.compiler.lower.sigmoid_table import sigmoid_table
from tigris_pio.compiler.lower.storage import Cell, Dims, Numeric, Value
from tigris_pio.format.enums import DType, OpKind, RecurrentCell
from tigris_pio.format.params import CopyParams, RecurrentInt16Params

_GATES = 4
_UNIT_BYTES = 3  #: of a unit's state: hidden, and the cell's two
_LARGEST = 65535
#: Scales of a gate before its function, and of what functions give.
_BEFORE, _BEHIND = 2.0**-12, 2.0**-15
_INT16_MIN, _INT16_MAX = -(1 << 15), (1 << 15) - 1
_INT16 = Numeric(DType.INT16)


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", domain=TFLITE, summary="int8 with a cell of int16")
def lower_lstm(builder: Builder, node: Node) -> None:
    """Inputs: sequence [steps, batch, inputs], weights and recurrent weights [unit][gate][…], bias [unit][gate], hidden
    and cell [batch, units]. Outputs: hidden of all steps, and hidden and cell behind the last."""
    source, weights, recurrent, bias, hidden, cell = node.inputs
    full, last, cells = node.outputs
    steps, batch, inputs = builder.shape(source)
    units = builder.shape(hidden)[1]
    if max(units, inputs) > _LARGEST:
        raise Refusal(f"units: {units}, inputs: {inputs}; at most {_LARGEST} of either are supported")
    constants = [builder.graph.weights[name] for name in (weights, recurrent, bias)]
    entered, shown = builder.numeric(source), builder.numeric(hidden)
    params = _params(node, (batch, inputs, units), entered, shown)
    blobs = {
        "input_weights": constants[0].reshape(-1, inputs), "recurrent_weights": constants[1].reshape(-1, units),
        "input_bias": _folded(constants[2].reshape(-1), constants[0], entered.zero_point),
        "recurrent_bias": _folded(np.zeros(_GATES * units, np.int32), constants[1], shown.zero_point),
        "table": sigmoid_table(),
    }
    sequence = builder.arranged(source, plain(builder.shape(source)))
    begun = [builder.with_dims(builder.arranged(name, plain(builder.shape(name)), numeric), (1, 1, batch, units))
             for name, numeric in ((hidden, shown), (cell, _INT16))]
    dims: Dims = (1, steps, batch, _UNIT_BYTES * units)
    states = builder.emit_part(
        f"{full}/states", OpKind.RECURRENT, DType.INT16,
        [(builder.with_dims(sequence, (1, steps, batch, inputs)), RowMap.same()),
         *((name, RowMap(0, 1, 0, 0)) for name in begun)],
        Cell(dims, fixed=True), Numeric(DType.INT8), params, blobs, sequential=steps > 1,
        macs=steps * batch * _GATES * units * (inputs + units), scratch_bytes=2 * _GATES * units,
    )
    of_hidden = np.arange(units)
    if builder.is_read(full):
        picked = _pick(builder, f"{full}/picked", states, np.arange(steps), of_hidden, shown)
        builder.add_value(full, Value(picked, plain((steps, batch, units))))
    if builder.is_read(last):
        picked = _pick(builder, f"{last}/picked", states, np.array([steps - 1]), of_hidden, shown)
        builder.add_value(last, Value(picked, plain((batch, units))))
    if builder.is_read(cells):
        of_cell = np.arange(units, _UNIT_BYTES * units)
        bytes_of = _pick(builder, f"{cells}/bytes", states, np.array([steps - 1]), of_cell, Numeric(DType.INT8))
        stored = builder.emit_part(cells, OpKind.COPY, DType.INT8, [(bytes_of, None)], Cell((1, 1, batch, units)),
                                   _INT16, CopyParams(2 * batch * units))
        builder.add_value(cells, Value(stored, plain((batch, units))))


def _pick(builder: Builder, name: str, states: str, steps: np.ndarray, units: np.ndarray, numeric: Numeric) -> str:
    """SELECT of some bytes of some steps' states."""
    _, height, batch, state = builder.dims(states)
    params, blobs = select_params((steps, np.arange(batch), units), (height, batch, state), 0.0, DType.INT8)
    return builder.emit_part(name, OpKind.SELECT, DType.INT8, [(states, selected_rows(steps, height))],
                             Cell((1, len(steps), batch, len(units)), fixed=True), numeric, params, blobs)


def _folded(bias: np.ndarray, weights: np.ndarray, zero_point: int) -> np.ndarray:
    """The bias less what the zero point of the vector adds to each sum; it wraps as the sums do."""
    sums = weights.reshape(len(bias), -1).astype(np.int64).sum(axis=1)
    folded: np.ndarray = (bias.astype(np.int64) - zero_point * sums).astype(np.uint32).view(np.int32)
    return folded


def _params(node: Node, size: tuple[int, int, int], entered: Numeric, shown: Numeric) -> RecurrentInt16Params:
    batch, inputs, units = size
    scale = float(np.float32(node.attributes["cell_scale"]))
    try:
        sides = [_multipliers(numeric, node.attributes[name])
                 for numeric, name in ((entered, "scales"), (shown, "recurrent_scales"))]
        to_cell = numerics.quantize_multiplier(_BEHIND * _BEHIND / scale)
        to_hidden = numerics.quantize_multiplier(_BEHIND * _BEHIND / shown.scale)
    except ValueError as error:
        raise Refusal(str(error)) from None
    return RecurrentInt16Params(
        RecurrentCell.LSTM, 1, batch, inputs, units, 0, 0, 0, 0, 0, 0, *sides[0], *sides[1], *to_cell,
        *_clip(float(node.attributes["cell_clip"]), scale), *_tanh(scale), *to_hidden, shown.zero_point,
    )


def _multipliers(source: Numeric, scales: tuple[float, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of each gate; the product of the scales is taken in single precision."""
    products = [float(np.float32(source.scale) * np.float32(scale)) for scale in scales]
    multipliers, shifts = zip(*(numerics.quantize_multiplier(product / _BEFORE) for product in products), strict=True)
    return multipliers, shifts


def _clip(limit: float, scale: float) -> tuple[int, int]:
    if limit <= 0:
        return _INT16_MIN, _INT16_MAX
    most = int(min(limit / scale, _INT16_MAX))
    return -most, most


def _tanh(scale: float) -> tuple[int, int]:
    """Multiplier and right shift of the cell's value before its tanh, by the power of two nearest to its scale."""
    power = int(numerics.round_half_away(np.float64(np.float32(math.log(scale)) * np.float32(1 / math.log(2)))))
    if power > 2 or power < -43:
        raise Refusal(f"its cell has a scale of {scale:g}, which 16 bits do not hold")
    return (3 << (power + 12), 0) if power >= -12 else (3, -12 - power)
