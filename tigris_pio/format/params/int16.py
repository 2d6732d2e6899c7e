"""Kernels of int16 tensors. Zero points are 0, unless a record says otherwise.

Weights are int8, as in TensorFlow Lite's 16x8. Sums have 64 bits, as in its reference kernels. `sum_bits` tells how
they are requantised. 64: sum * multiplier (Q0.15) / 2^(15 - shift), rounding halves up. 32: the sum's lowest 32 bits,
requantised as SPEC.md section 7 says, by a multiplier in Q0.31.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, f32, i32, i32_array, u16, u32, u32_array

_SUM_BITS = "32 or 64: how sums are requantised"
_MULTIPLIER = "int32 per out channel, Q0.31 or Q0.15"


@dataclasses.dataclass(frozen=True)
class ConvInt16Params(Record):
    """Conv2D and depthwise Conv2D of int16, with sums and biases of 64 bits.

    With sum_bits 64, out = (sum * multiplier + half) >> (15 - shift), and the multiplier is in Q0.15. With sum_bits 32
    the lowest 32 bits of the sum are requantised by a multiplier in Q0.31.

    Weights are not packed: [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
    [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D. Padded taps are 0.
    """

    C_NAME = "tigris_conv_int16_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left; columns missing on the right are padding too")
    groups: int = u16("groups of CONV_2D; 1 for DEPTHWISE_CONV_2D")
    sum_bits: int = u16(_SUM_BITS)
    weight_bytes: int = u16("1: weights are int8; 2: int16, of CONV_2D")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    weights: int = u32("int8 or int16, see above")
    bias: int = u32("int64 per out channel")
    multiplier: int = u32(_MULTIPLIER)
    shift: int = u32("int8 per out channel; at most 14 of 64 bits")


@dataclasses.dataclass(frozen=True)
class TransposeConvInt16Params(Record):
    """Transposed Conv2D of int16, as TRANSPOSE_CONV of int8; sums as in tigris_conv_int16_params."""

    C_NAME = "tigris_transpose_conv_int16_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("output rows from one input row to the next")
    stride_width: int = u16("output columns from one input column to the next")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_top: int = u16("rows cut off above")
    pad_left: int = u16("columns cut off on the left")
    groups: int = u16("groups of channels")
    sum_bits: int = u16(_SUM_BITS)
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    weights: int = u32("int8 [out_channels][kernel_height][kernel_width][in_channels / groups]")
    bias: int = u32("int64 per out channel")
    multiplier: int = u32(_MULTIPLIER)
    shift: int = u32("int8 per out channel")


@dataclasses.dataclass(frozen=True)
class FullyConnectedInt16Params(Record):
    """out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); sums as in tigris_conv_int16_params."""

    C_NAME = "tigris_fully_connected_int16_params"

    rows: int = u32("vectors, each in_features long")
    in_features: int = u32("input vector length")
    out_features: int = u32("output vector length")
    sum_bits: int = u32(_SUM_BITS)
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    weights: int = u32("int8 [out_features][in_features], not packed")
    bias: int = u32("int64 per output")
    multiplier: int = u32("int32 per output, Q0.31 or Q0.15")
    shift: int = u32("int8 per output")


@dataclasses.dataclass(frozen=True)
class MatMulInt16Params(Record):
    """TensorFlow Lite's BatchMatMul of int16: sums of 64 bits, as in tigris_conv_int16_params."""

    C_NAME = "tigris_mat_mul_int16_params"

    batch: tuple[int, ...] = u32_array(3, "matrices")
    rows: int = u32("rows of a product")
    depth: int = u32("terms of a sum")
    columns: int = u32("columns of a product")
    batch_step_a: tuple[int, ...] = u32_array(3, "elements from one matrix of A to the next; 0: the same for all")
    row_step_a: int = u32("elements from one row of A to the next")
    depth_step_a: int = u32("elements from one term to the next")
    batch_step_b: tuple[int, ...] = u32_array(3, "see A")
    depth_step_b: int = u32("elements from one term to the next")
    column_step_b: int = u32("elements from one column of B to the next")
    interleaved: int = u32("0: out[b0][b1][b2][r][c]; 1: out[r][b0][b1][b2][c]; its rows are those of A")
    output_multiplier: int = i32("Q0.15")
    output_shift: int = i32("positive: left; at most 14")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")


@dataclasses.dataclass(frozen=True)
class RescaleParams(Record):
    """out = clamp(requantise(in - input_zero_point) + output_zero_point), from int8 or int16 to int8 or int16.

    Differences of 0 and above have the first multiplier and shift, those below the second.
    """

    C_NAME = "tigris_rescale_params"

    input_zero_point: int = i32("of the input")
    output_zero_point: int = i32("added after requantisation")
    multiplier: tuple[int, ...] = i32_array(2, "Q0.31")
    shift: tuple[int, ...] = i32_array(2, "positive: left")
    negate: int = u32("the results whose sign changes, 1: of differences from 0 up, 2: of negative ones, 3: of all; "
                      "4: negative differences change theirs before they are scaled")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")


@dataclasses.dataclass(frozen=True)
class QuantizeInt16Params(Record):
    """QUANTIZE: q = clamp(round(x / scale) + zero_point); DEQUANTIZE: x = (q - zero_point) * scale."""

    C_NAME = "tigris_quantize_int16_params"

    scale: float = f32("positive")
    zero_point: int = i32("an int16")
    rounding: int = u32("tigris_rounding of halves; of DEQUANTIZE 0")


@dataclasses.dataclass(frozen=True)
class LookupInt16Params(Record):
    """Any function of one int16, piecewise linear: the table has values at -32768, -32640, … 32768, 4 fraction bits.

    With t = table + 256 + (in >> 7) and f = in & 127: clamp((128 * t[0] + f * (t[1] - t[0]) + 1024) >> 11).
    """

    C_NAME = "tigris_lookup_int16_params"

    table: int = u32("513 int32, from -2^22 to 2^22")


@dataclasses.dataclass(frozen=True)
class LogisticInt16Params(Record):
    """TensorFlow Lite's logistic function and tanh of int16. The output's scale is 2^-15.

    x = (in * multiplier + half) >> shift. Results lie on straight lines between the table's entries, one for each 512
    (tanh: 256) steps of |x|; they are 1 from the last entry on."""

    C_NAME = "tigris_logistic_int16_params"

    multiplier: int = i32("at most 32767; the table's steps are 1 / 24")
    shift: int = i32("0 … 31, to the right")
    hyperbolic: int = u32("0: 1 / (1 + exp(-x)); 1: tanh(x)")
    table: int = u32("256 uint16: 65536 / (1 + exp(-i / 24))")


@dataclasses.dataclass(frozen=True)
class SoftmaxInt16Params(Record):
    """Softmax over vectors of `length` contiguous int16; the output's scale is 2^-15.

    As TensorFlow Lite computes it: differences to the largest, requantised so that -65535 is -10, pass a table of
    exponentials. The sum's reciprocal comes from a table of 1 / (1 + x). Entry t[i] is for the input 128 * (i - 256);
    f steps above it the result is t[i] + ((t[i + 1] - t[i]) * f + 64) >> 7 (LUTLookup).
    """

    C_NAME = "tigris_softmax_int16_params"

    length: int = u32("elements of one vector, at most 65536")
    multiplier: int = i32("Q0.31")
    shift: int = i32("positive: left")
    exponentials: int = u32("513 int16, Q0.15: exp(x) of -10 … 0")
    reciprocals: int = u32("513 int16, Q0.15: 1 / (1 + x) of 0 … 1")
