"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell: RECURRENT, and SELECTs of the outputs from its states.

Scales follow TensorFlow Lite Micro's kernels/lstm_eval_common.cc.
"""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import row_major
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.selection import select_params, selected_rows
from tigris_pio.compiler.lower.storage import Cell, Dims, Numeric, Value
from tigris_pio.format.enums import DType, OpKind, RecurrentCell
from tigris_pio.format.params import CopyParams, RecurrentInt16Params

_GATES = 4
_UNIT_BYTES = 3  #: of a unit's state: one of the hidden value, two of the cell
_LARGEST = 65535
#: The scale of a gate before its activation function, and of the function's result.
_GATE_SCALE, _ACTIVATION_SCALE = 2.0**-12, 2.0**-15
_INT16 = Numeric(DType.INT16)


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", domain=TFLITE, summary="int8 with a cell of int16")
def lower_lstm(builder: Builder, node: Node) -> None:
    """RECURRENT and SELECTs.

    Inputs: sequence [steps, batch, inputs], weights and recurrent weights [unit][gate][…], bias [unit][gate], hidden
    state and cell [batch, units]. Outputs: hidden states of all steps, hidden state and cell after the last step.
    """
    source, weights, recurrent, bias, hidden, cell = node.inputs
    full, last, cells = node.outputs
    steps, batch, inputs = builder.shape(source)
    units = builder.shape(hidden)[1]
    if max(units, inputs) > _LARGEST:
        raise Refusal(f"units: {units}, inputs: {inputs}; at most {_LARGEST} of either are supported")
    constants = [builder.graph.weights[name] for name in (weights, recurrent, bias)]
    source_type, hidden_type = builder.numeric(source), builder.numeric(hidden)
    params = _params(node, (batch, inputs, units), source_type, hidden_type)
    blobs = {
        "input_weights": constants[0].reshape(-1, inputs), "recurrent_weights": constants[1].reshape(-1, units),
        "input_bias": _folded(constants[2].reshape(-1), constants[0], source_type.zero_point),
        "recurrent_bias": _folded(np.zeros(_GATES * units, np.int32), constants[1], hidden_type.zero_point),
        "table": sigmoid_table(),
    }
    sequence = builder.value_in_order(source, row_major(builder.shape(source)))
    initial = [builder.with_dims(builder.value_in_order(name, row_major(builder.shape(name)), numeric),
                                 (1, 1, batch, units)) for name, numeric in ((hidden, hidden_type), (cell, _INT16))]
    dims: Dims = (1, steps, batch, _UNIT_BYTES * units)
    states = builder.emit_part(
        f"{full}/states", OpKind.RECURRENT, DType.INT16,
        [(builder.with_dims(sequence, (1, steps, batch, inputs)), RowMap.same()),
         *((name, RowMap(0, 1, 0, 0)) for name in initial)],
        Cell(dims, fixed=True), Numeric(DType.INT8), params, blobs, sequential=steps > 1,
        scratch_bytes=2 * _GATES * units,
    )
    of_hidden = np.arange(units)
    if builder.is_read(full):
        picked = _select(builder, f"{full}/picked", states, np.arange(steps), of_hidden, hidden_type)
        builder.add_value(full, Value(picked, row_major((steps, batch, units))))
    if builder.is_read(last):
        picked = _select(builder, f"{last}/picked", states, np.array([steps - 1]), of_hidden, hidden_type)
        builder.add_value(last, Value(picked, row_major((batch, units))))
    if builder.is_read(cells):
        of_cell = np.arange(units, _UNIT_BYTES * units)
        bytes_of = _select(builder, f"{cells}/bytes", states, np.array([steps - 1]), of_cell, Numeric(DType.INT8))
        stored = builder.emit_part(cells, OpKind.COPY, DType.INT8, [(bytes_of, None)], Cell((1, 1, batch, units)),
                                   _INT16, CopyParams(2 * batch * units))
        builder.add_value(cells, Value(stored, row_major((batch, units))))


def _select(builder: Builder, name: str, states: str, steps: np.ndarray, units: np.ndarray, numeric: Numeric) -> str:
    """Emits a SELECT of the bytes `units` of the states of `steps`; returns its storage."""
    _, height, batch, state = builder.dims(states)
    params, blobs = select_params((steps, np.arange(batch), units), (height, batch, state), 0.0, DType.INT8)
    return builder.emit_part(name, OpKind.SELECT, DType.INT8, [(states, selected_rows(steps, height))],
                             Cell((1, len(steps), batch, len(units)), fixed=True), numeric, params, blobs)


def _folded(bias: np.ndarray, weights: np.ndarray, zero_point: int) -> np.ndarray:
    """The bias minus the contribution of the vector's zero point to each sum; it wraps, as sums do."""
    sums = weights.reshape(len(bias), -1).astype(np.int64).sum(axis=1)
    folded: np.ndarray = (bias.astype(np.int64) - zero_point * sums).astype(np.uint32).view(np.int32)
    return folded


def _params(node: Node, size: tuple[int, int, int], source_type: Numeric, hidden_type: Numeric) -> RecurrentInt16Params:
    batch, inputs, units = size
    scale = float(np.float32(node.attributes["cell_scale"]))
    sides = [_multipliers(numeric, node.attributes[name])
             for numeric, name in ((source_type, "scales"), (hidden_type, "recurrent_scales"))]
    to_cell = numerics.quantize_multiplier(_ACTIVATION_SCALE * _ACTIVATION_SCALE / scale)
    to_hidden = numerics.quantize_multiplier(_ACTIVATION_SCALE * _ACTIVATION_SCALE / hidden_type.scale)
    return RecurrentInt16Params(
        RecurrentCell.LSTM, 1, batch, inputs, units, 0, 0, 0, 0, 0, 0, *sides[0], *sides[1], *to_cell,
        *_clip(float(node.attributes["cell_clip"]), scale), *_tanh(scale), *to_hidden, hidden_type.zero_point,
    )


def _multipliers(source: Numeric, scales: tuple[float, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Multipliers and shifts of the gates. Products of scales are single precision."""
    products = [float(np.float32(source.scale) * np.float32(scale)) for scale in scales]
    pairs = [numerics.quantize_multiplier(product / _GATE_SCALE) for product in products]
    multipliers, shifts = zip(*pairs, strict=True)
    return multipliers, shifts


def _clip(limit: float, scale: float) -> tuple[int, int]:
    if limit <= 0:
        return numerics.INT16_MIN, numerics.INT16_MAX
    most = int(min(limit / scale, numerics.INT16_MAX))
    return -most, most


def _tanh(scale: float) -> tuple[int, int]:
    """Multiplier and right shift of the cell before its tanh, from the power of two nearest to its scale."""
    power = int(numerics.round_half_away(np.float64(np.float32(math.log(scale)) * np.float32(1 / math.log(2)))))
    if power > 2 or power < -43:
        raise Refusal(f"its cell has a scale of {scale:g}, outside 2^-43 to 4")
    return (3 << (power + 12), 0) if power >= -12 else (3, -12 - power)


_ENTRIES, _STEPS_OF_ONE = 256, 24
#: Entries of TensorFlow Lite's table that are one more than the nearest integer, because it lacks full precision.
_ONE_MORE = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45, 46,
    49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)


def sigmoid_table() -> np.ndarray:
    """The values sigmoid(i / 24) for i = 0 … 255 as Q0.16, uint16."""
    exact = 65536 / (1 + np.exp(-np.arange(_ENTRIES) / _STEPS_OF_ONE))
    table: np.ndarray = np.rint(exact).astype(np.uint16)
    table[list(_ONE_MORE)] += 1
    return table
