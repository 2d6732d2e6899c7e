"""Convolutions and transposed convolutions."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, f32, i32, u16, u32


@dataclasses.dataclass(frozen=True)
class ConvInt8Params(Record):
    """Conv2D and depthwise Conv2D, int8.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
    [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D (out channel c reads in
    channel c / (out_channels / in_channels)), packed as SPEC.md section 6 says. The bias already holds
    -input_zero_point * sum of the channel's weights, so a padded tap counts as the value input_zero_point.

    PLAIN_CONV_2D and PLAIN_DEPTHWISE_CONV_2D have weights that are not packed, the model's own bias, and int32 shifts.
    Their products are weight * (input - input_zero_point); padded taps count as 0.
    """

    C_NAME = "tigris_conv_int8_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left; columns missing on the right are padding too")
    groups: int = u16("groups of CONV_2D; 1 for DEPTHWISE_CONV_2D")
    input_zero_point: int = i32("value of a padded tap")
    output_zero_point: int = i32("added after requantisation")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    weights: int = u32("int8, see above")
    bias: int = u32("int32 per out channel, zero point folded in")
    multiplier: int = u32("int32 per out channel, Q0.31")
    shift: int = u32("int8 per out channel")


@dataclasses.dataclass(frozen=True)
class AsymmetricConvInt8Params(ConvInt8Params):
    """ASYMMETRIC_CONV_2D: as CONV_2D, and weight_zero_points[c] * (sum of a pixel's taps) is subtracted from each sum.

    The bias holds -input_zero_point * sum of the channel's weights less their zero point. ASYMMETRIC_DEPTHWISE_CONV_2D
    has the record of DEPTHWISE_CONV_2D and weights of int16, not packed, less their zero points.
    """

    C_NAME = "tigris_asymmetric_conv_int8_params"

    weight_zero_points: int = u32("int8 per out channel")


@dataclasses.dataclass(frozen=True)
class ConvFloatParams(Record):
    """Conv2D and depthwise Conv2D, float32. Weights as for int8; padded taps are 0."""

    C_NAME = "tigris_conv_float_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left; columns missing on the right are padding too")
    groups: int = u16("groups of CONV_2D; 1 for DEPTHWISE_CONV_2D")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
    weights: int = u32("float32")
    bias: int = u32("float32 per out channel")


@dataclasses.dataclass(frozen=True)
class TransposeConvInt8Params(Record):
    """Transposed Conv2D, int8: input row i and kernel row k add to output row i * stride + k * dilation - pad.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups], of which a product is
    weight * (input - input_zero_point).
    """

    C_NAME = "tigris_transpose_conv_int8_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("output rows from one input row to the next")
    stride_width: int = u16("output columns from one input column to the next")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_top: int = u16("rows cut off above")
    pad_left: int = u16("columns cut off on the left")
    groups: int = u32("groups of channels")
    input_zero_point: int = i32("see above")
    output_zero_point: int = i32("added after requantisation")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    weights: int = u32("int8, see above")
    bias: int = u32("int32 per out channel, no zero point folded in")
    multiplier: int = u32("int32 per out channel, Q0.31")
    shift: int = u32("int8 per out channel")


@dataclasses.dataclass(frozen=True)
class TransposeConvFloatParams(Record):
    """Transposed Conv2D, float32. Weights as for int8."""

    C_NAME = "tigris_transpose_conv_float_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("output rows from one input row to the next")
    stride_width: int = u16("output columns from one input column to the next")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_top: int = u16("rows cut off above")
    pad_left: int = u16("columns cut off on the left")
    groups: int = u32("groups of channels")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
    weights: int = u32("float32")
    bias: int = u32("float32 per out channel")
