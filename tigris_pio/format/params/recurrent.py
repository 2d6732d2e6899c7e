"""Recurrent layers: RNN, GRU and LSTM."""

from tigris_pio.format.params.shared import OutputZero, RecurrentShape
from tigris_pio.format.record import Params, embed, f32, f32_array, i32, i32_array, u32, u32_array


class RecurrentParams(Params):
    """state(t) = cell(in(t), state(t - 1)); the operands behind the input hold state(-1): hidden, and an LSTM's cell.

    A state is [batch][units] of the hidden values, for LSTM [batch][2][units]: hidden, then cell. An output row has
    the states of all `steps` steps of an input row, or only the last one; each row continues where the row before
    ended. With several rows each has one step, and the operator has one more operand: its own output, one row late.
    Tensors, bias and peepholes are float32; weights of INT8 are int8 with one scale a gate and unit. Scratch: float32
    [units], GRU [2 * units].
    """

    shape = embed(RecurrentShape)
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


class RecurrentInt16Params(Params):
    """LSTM of int8 with a cell of int16, as TensorFlow Lite Micro computes it; steps and rows as in recurrent_params.

    The operands behind the input hold hidden, int8, and cell, int16, before the first step. A state is int8
    [batch][3 * units]: hidden, then the cell's values as two bytes each. Gates are input, forget, cell, output. Each
    is sigmoid(i + h), the third tanh(i + h): i is the product of its weights and the input, h that of its recurrent
    weights and hidden. Both are requantised to Q3.12 and clamped to int16, as is their sum. Functions give Q0.15 by
    the table: sigmoid(x) at 3 * x / 2^9 of it, tanh(x) at 3 * x / 2^8. Then cell = clamp(forget * cell / 2^15 + input
    * tanh), hidden = output * tanh(cell), requantised. Scratch: int16 [units][4].
    """

    shape = embed(RecurrentShape, cell="tigris_recurrent_cell: LSTM")
    reverse: int = u32("0")
    input_weights: int = u32("int8 [unit][gate][inputs], packed as SPEC.md section 6 says")
    recurrent_weights: int = u32("int8 [unit][gate][units], packed alike")
    input_bias: int = u32("int32 [unit][gate], zero point folded in")
    recurrent_bias: int = u32("int32 [unit][gate]: correction for the zero point")
    table: int = u32("256 uint16: sigmoid(place / 24) in Q0.16")
    input_multiplier: tuple[int, ...] = i32_array(4, "Q0.31, of each gate")
    input_shift: tuple[int, ...] = i32_array(4, "positive: left")
    recurrent_multiplier: tuple[int, ...] = i32_array(4, "Q0.31, of each gate")
    recurrent_shift: tuple[int, ...] = i32_array(4, "positive: left")
    cell_multiplier: int = i32("Q0.31: from Q0.30 to the cell's scale")
    cell_shift: int = i32("positive: left")
    cell_min: int = i32("lowest value of the cell")
    cell_max: int = i32("highest value of the cell")
    tanh_multiplier: int = u32("of the cell's value before its tanh, whose place is this / 2^tanh_shift / 2^8")
    tanh_shift: int = u32("right, rounded; at most 31")
    output_multiplier: int = i32("Q0.31: from Q0.30 to hidden's scale")
    output_shift: int = i32("positive: left")
    output = embed(OutputZero)
