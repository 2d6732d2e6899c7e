"""Functions of elements: of one tensor, of two or three that are broadcast, and changes of type."""

from tigris_pio.format.params.shared import (
    FloatClamp,
    Operands,
    Output,
    OutputZero,
    Requantise,
    ScaledOutput,
    Steps,
)
from tigris_pio.format.record import Params, embed, f32, i32, i32_array, u32


class LookupParams(Params):
    """out = table[in + 128], any unary int8 function, requantisation included."""

    table: int = u32("256 int8 values, for inputs -128 … 127")


class UnaryFloatParams(Params):
    """out = function(in; alpha, beta)."""

    function: int = u32("tigris_unary_function")
    alpha: float = f32("see the function")
    beta: float = f32("see the function")


class BinaryInt8Params(Params):
    """ADD, SUB and MUL of two int8 tensors, TensorFlow Lite arithmetic.

    ADD/SUB: each input (q - zero_point) << left_shift is scaled by its own multiplier, both are
    added or subtracted, the sum is scaled by the output's. MUL: the product of both (q -
    zero_point) is scaled by the output's multiplier. Element steps are 0 along broadcast axes.
    """

    operands = embed(Operands, multiplier="of input 0 and 1, Q0.31 (ADD, SUB)", shift="of input 0 and 1 (ADD, SUB)")
    left_shift: int = i32("20 for ADD and SUB; 0 for MUL")
    output = embed(ScaledOutput, output_zero_point="added last")
    steps = embed(Steps)


class PieSumInt8Params(BinaryInt8Params):
    """ADD and SUB with packing PIE: inputs have the output's shape, the words give the bytes of the other fields.

    out = saturated((256 * factor[0] * a + 256 * factor[1] * b + 2^14 * offset) >> 35). A word holds two signed halves
    of 16 bits; its value is upper * 65536 + lower. The factor of SUB's second input is negative.
    """

    words: tuple[int, ...] = i32_array(3, "factor of input 0 and 1, offset")


class ExtremeParams(Params):
    """The larger or the smaller of two int8 elements of one scale. Element steps are 0 along broadcast axes."""

    smallest: int = u32("0: the larger; 1: the smaller")
    steps = embed(Steps)


class PreluInt8Params(Params):
    """q >= zero_point[0]: table[q + 128]; else (q - zero_point[0]) * (slope - zero_point[1]), requantised.

    Element steps are 0 along broadcast axes.
    """

    zero_point: tuple[int, ...] = i32_array(2, "of the input and the slopes")
    factor = embed(Requantise)
    output = embed(OutputZero)
    table: int = u32("256 int8 values; those below zero_point[0] are not read")
    steps = embed(Steps)


class DivideInt8Params(Params):
    """Quotients of two int8 tensors in TensorFlow Lite's arithmetic. Element steps are 0 along broadcast axes.

    a and b are the inputs less their zero points, both negated if b is negative. h(v) = headroom[v + 256], and x * y is
    the rounding doubling high multiply. The output is ((a << h(a)) * reciprocal[b] / 2) * multiplier, shifted right by
    power[b] + h(a) + 1, halves away from zero. A quotient by 0 saturates; 0 by 0 is 0.
    """

    zero_point: tuple[int, ...] = i32_array(2, "of input 0 and 1")
    multiplier: int = i32("Q0.31")
    output = embed(Output, output_zero_point="added last")
    headroom: int = u32("512 int8, for -256 … 255 as int32: leading sign bits less one")
    power: int = u32("256 int8: the power of two in each of 0 … 255, less the shift of the scale and 1; -64 of 0")
    reciprocal: int = u32("256 uint32: of 0 … 255, each times its power of two, in Q0.32")
    modulo: int = u32("shifts s beyond 31 bits: 0 gives 0; 1 gives TFLM's result on x86: (x >> s % 32) + (x >= 0)")
    steps = embed(Steps)


class BinaryFloatParams(Params):
    """ADD, SUB and MUL of two float32 tensors. Element steps are 0 along broadcast axes."""

    clamp = embed(FloatClamp)
    steps = embed(Steps)


class BinaryFunctionParams(Params):
    """out = function(a, b) of two float32 tensors. Element steps are 0 along broadcast axes."""

    function: int = u32("tigris_binary_function")
    steps = embed(Steps)


class CompareInt8Params(Params):
    """out = 1 where function(a, b), else 0, in float32, of two int8 tensors in TensorFlow Lite's arithmetic.

    Each is (q - zero_point) * 256, requantised. Element steps are 0 along broadcast axes.
    """

    function: int = u32("tigris_binary_function from LESS to EQUAL")
    operands = embed(Operands)
    steps = embed(Steps)


class WhereParams(Params):
    """out = a is not 0 ? b : c of three tensors, the first float32. Element steps are 0 along broadcast axes."""

    row_step: tuple[int, ...] = i32_array(3, "elements from one row to the next, of input 0, 1 and 2")
    column_step: tuple[int, ...] = i32_array(3, "elements from one column to the next")
    channel_step: tuple[int, ...] = i32_array(3, "elements from one channel to the next, 0 or 1")


class QuantizeParams(Params):
    """QUANTIZE: q = clamp(round(x / scale) + zero_point); DEQUANTIZE: x = (q - zero_point) * scale.

    The table has the same results, for processors without floating point. DEQUANTIZE: 256 float32, for -128 … 127.
    QUANTIZE has 255 ascending int32: for each of -127 … 127 the least float32 that gives it. Their bits are compared as
    integers, so all bits of a negative number but its sign are inverted.
    """

    scale: float = f32("positive")
    zero_point: int = i32("in the quantised type's range")
    table: int = u32("see above")
    rounding: int = u32("tigris_rounding of halves; of DEQUANTIZE 0")


class CastParams(Params):
    """Elements in another type. To integers: truncated and saturated, NaN becomes 0; to BOOL: 0 or 1."""

    source: int = u32("tigris_dtype of the input")
    target: int = u32("tigris_dtype of the output")
