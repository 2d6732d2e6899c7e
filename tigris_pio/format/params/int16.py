"""Kernels of int16 tensors. Zero points are 0, unless a record says otherwise.

Weights are int8, as in TensorFlow Lite's 16x8. Sums have 64 bits, as in its reference kernels. `sum_bits` tells how
they are requantised. 64: sum * multiplier (Q0.15) / 2^(15 - shift), rounding halves up. 32: the sum's lowest 32 bits,
requantised as SPEC.md section 7 says, by a multiplier in Q0.31.
"""

from tigris_pio.format.params import shared
from tigris_pio.format.record import Params, embed, f32, i32, i32_array, u16, u32

_SUM_BITS = "32 or 64: how sums are requantised"


class ConvInt16Params(Params):
    """Conv2D and depthwise Conv2D of int16, with sums and biases of 64 bits.

    With sum_bits 64, out = (sum * multiplier + half) >> (15 - shift), and the multiplier is in Q0.15. With sum_bits 32
    the lowest 32 bits of the sum are requantised by a multiplier in Q0.31.

    Weights are not packed: [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
    [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D. Padded taps are 0.
    """

    shape = embed(shared.ConvShape)
    sum_bits: int = u16(_SUM_BITS)
    weight_bytes: int = u16("1: weights are int8; 2: int16, of CONV_2D")
    clamp = embed(shared.Clamp)
    weights: int = u32("int8 or int16, see above")
    constants = embed(shared.WideChannelConstants, shift="int8 per out channel; at most 14 of 64 bits")


class TransposeConvInt16Params(Params):
    """Transposed Conv2D of int16, as TRANSPOSE_CONV of int8; sums as in tigris_conv_int16_params."""

    shape = embed(shared.TransposeConvShape)
    groups: int = u16("groups of channels")
    sum_bits: int = u16(_SUM_BITS)
    clamp = embed(shared.Clamp)
    weights: int = u32("int8 [out_channels][kernel_height][kernel_width][in_channels / groups]")
    constants = embed(shared.WideChannelConstants)


class FullyConnectedInt16Params(Params):
    """out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); sums as in tigris_conv_int16_params."""

    shape = embed(shared.DenseShape)
    sum_bits: int = u32(_SUM_BITS)
    clamp = embed(shared.Clamp)
    weights: int = u32("int8 [out_features][in_features], not packed")
    bias: int = u32("int64 per output")
    multiplier: int = u32("int32 per output, Q0.31 or Q0.15")
    shift: int = u32("int8 per output")


class MatMulInt16Params(Params):
    """TensorFlow Lite's BatchMatMul of int16: sums of 64 bits, as in tigris_conv_int16_params."""

    shape = embed(shared.ProductShape)
    output_multiplier: int = i32("Q0.15")
    output_shift: int = i32("positive: left; at most 14")
    clamp = embed(shared.Clamp)


class RescaleParams(Params):
    """out = clamp(requantise(in - input_zero_point) + output_zero_point), from int8 or int16 to int8 or int16.

    Differences of 0 and above have the first multiplier and shift, those below the second.
    """

    input_zero_point: int = i32("of the input")
    output = embed(shared.OutputZero)
    multiplier: tuple[int, ...] = i32_array(2, "Q0.31")
    shift: tuple[int, ...] = i32_array(2, "positive: left")
    negate: int = u32("the results whose sign changes, 1: of differences from 0 up, 2: of negative ones, 3: of all; "
                      "4: negative differences change theirs before they are scaled")
    clamp = embed(shared.Clamp)


class QuantizeInt16Params(Params):
    """QUANTIZE: q = clamp(round(x / scale) + zero_point); DEQUANTIZE: x = (q - zero_point) * scale."""

    scale: float = f32("positive")
    zero_point: int = i32("an int16")
    rounding: int = u32("tigris_rounding of halves; of DEQUANTIZE 0")


class LookupInt16Params(Params):
    """Any function of one int16, piecewise linear: the table has values at -32768, -32640, … 32768, 4 fraction bits.

    With t = table + 256 + (in >> 7) and f = in & 127: clamp((128 * t[0] + f * (t[1] - t[0]) + 1024) >> 11).
    """

    table: int = u32("513 int32, from -2^22 to 2^22")


class LogisticInt16Params(Params):
    """TensorFlow Lite's logistic function and tanh of int16. The output's scale is 2^-15.

    x = (in * multiplier + half) >> shift. Results lie on straight lines between the table's entries, one for each 512
    (tanh: 256) steps of |x|; they are 1 from the last entry on."""

    multiplier: int = i32("at most 32767; the table's steps are 1 / 24")
    shift: int = i32("0 … 31, to the right")
    hyperbolic: int = u32("0: 1 / (1 + exp(-x)); 1: tanh(x)")
    table: int = u32("256 uint16: 65536 / (1 + exp(-i / 24))")


class SoftmaxInt16Params(Params):
    """Softmax over vectors of `length` contiguous int16; the output's scale is 2^-15.

    As TensorFlow Lite computes it: differences to the largest, requantised so that -65535 is -10, pass a table of
    exponentials. The sum's reciprocal comes from a table of 1 / (1 + x). Entry t[i] is for the input 128 * (i - 256);
    f steps above it the result is t[i] + ((t[i + 1] - t[i]) * f + 64) >> 7 (LUTLookup).
    """

    length: int = u32("elements of one vector, at most 65536")
    factor = embed(shared.Requantise)
    exponentials: int = u32("513 int16, Q0.15: exp(x) of -10 … 0")
    reciprocals: int = u32("513 int16, Q0.15: 1 / (1 + x) of 0 … 1")
