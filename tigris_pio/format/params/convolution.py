"""Convolutions and transposed convolutions."""

from __future__ import annotations

from tigris_pio.format.params.shared import (
    ChannelConstants,
    ConvShape,
    FloatChannelConstants,
    FloatClamp,
    Output,
    TransposeConvShape,
)
from tigris_pio.format.record import Params, embed, i32, u32


class ConvInt8Params(Params):
    """Conv2D and depthwise Conv2D, int8.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
    [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D (out channel c reads in
    channel c / (out_channels / in_channels)), packed as SPEC.md section 6 says. The bias already holds
    -input_zero_point * sum of the channel's weights, so a padded tap counts as the value input_zero_point.

    PLAIN_CONV_2D and PLAIN_DEPTHWISE_CONV_2D have weights that are not packed, the model's own bias, and int32 shifts.
    Their products are weight * (input - input_zero_point); padded taps count as 0.
    """

    shape = embed(ConvShape)
    input_zero_point: int = i32("value of a padded tap")
    output = embed(Output)
    weights: int = u32("int8, see above")
    constants = embed(ChannelConstants)


class AsymmetricConvInt8Params(ConvInt8Params):
    """ASYMMETRIC_CONV_2D: as CONV_2D, and weight_zero_points[c] * (sum of a pixel's taps) is subtracted from each sum.

    The bias holds -input_zero_point * sum of the channel's weights less their zero point. ASYMMETRIC_DEPTHWISE_CONV_2D
    has the record of DEPTHWISE_CONV_2D and weights of int16, not packed, less their zero points.
    """

    weight_zero_points: int = u32("int8 per out channel")


class ConvFloatParams(Params):
    """Conv2D and depthwise Conv2D, float32. Weights as for int8; padded taps are 0."""

    shape = embed(ConvShape)
    clamp = embed(FloatClamp)
    constants = embed(FloatChannelConstants)


class TransposeConvInt8Params(Params):
    """Transposed Conv2D, int8: input row i and kernel row k add to output row i * stride + k * dilation - pad.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups], of which a product is
    weight * (input - input_zero_point).
    """

    shape = embed(TransposeConvShape)
    groups: int = u32("groups of channels")
    input_zero_point: int = i32("see above")
    output = embed(Output)
    weights: int = u32("int8, see above")
    constants = embed(ChannelConstants, bias="int32 per out channel, no zero point folded in")


class TransposeConvFloatParams(Params):
    """Transposed Conv2D, float32. Weights as for int8."""

    shape = embed(TransposeConvShape)
    groups: int = u32("groups of channels")
    clamp = embed(FloatClamp)
    constants = embed(FloatChannelConstants)
