"""Layers that take one step after the other."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, f32, f32_array, u32, u32_array


@dataclasses.dataclass(frozen=True)
class RecurrentParams(Record):
    """state(t) = cell(in(t), state(t - 1)); the operands behind the input hold state(-1): hidden, and an LSTM's cell.

    A state is [batch][units] of the hidden values, for LSTM [batch][2][units]: hidden, then cell. An output row has
    the states of the `steps` steps of an input row, or only the last, where it has room for one; a row goes on where
    the row before ended. Rows behind each other have one step each, and their operator has one more operand: its own
    output, a row late. Tensors are float32, and so are bias and peepholes; weights of INT8 are int8 with one scale a
    gate and unit. Scratch: float32 [units], GRU [2 * units].
    """

    C_NAME = "tigris_recurrent_params"

    cell: int = u32("tigris_recurrent_cell")
    steps: int = u32("steps in a row")
    batch: int = u32("sequences")
    inputs: int = u32("elements of one step of one sequence")
    units: int = u32("hidden values")
    reverse: int = u32("1: from the last step to the first; of one row only")
    linear_before_reset: int = u32("GRU, 1: the reset gate acts on the product, not on the state")
    coupled: int = u32("LSTM, 1: the forget gate is 1 - the input gate")
    clip: float = f32("arguments of activations stay within -clip and clip; inf: none")
    cell_clip: float = f32("LSTM: the cell's values stay within -cell_clip and cell_clip; inf: any")
    function: tuple[int, ...] = u32_array(3, "tigris_recurrent_function of gates, candidate and, for LSTM, output")
    alpha: tuple[float, ...] = f32_array(3, "of each function")
    beta: tuple[float, ...] = f32_array(3, "of each function")
    input_weights: int = u32("[gate][unit][inputs]")
    recurrent_weights: int = u32("[gate][unit][units]")
    bias: int = u32("[gate][unit], GRU one more [unit] inside the reset gate's product, for linear_before_reset")
    peepholes: int = u32("LSTM: input, output, forget [unit] each")
    input_scales: int = u32("INT8: [gate][unit]")
    recurrent_scales: int = u32("INT8: [gate][unit]")
