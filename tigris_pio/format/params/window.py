"""Convolutions, transposed convolutions and pools, whose windows slide over rows and columns; pools of whole maps."""

from tigris_pio.format.params import shared
from tigris_pio.format.record import Params, embed, i32, u16, u32


class ConvInt8Params(Params):
    """Conv2D and depthwise Conv2D, int8.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
    [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D (out channel c reads in
    channel c / (out_channels / in_channels)), packed as SPEC.md section 6 says. The bias already holds
    -input_zero_point * sum of the channel's weights, so a padded tap counts as the value input_zero_point.

    PLAIN_CONV_2D and PLAIN_DEPTHWISE_CONV_2D have weights that are not packed, the model's own bias, and int32 shifts.
    Their products are weight * (input - input_zero_point); padded taps count as 0.
    """

    shape = embed(shared.ConvShape)
    input_zero_point: int = i32("value of a padded tap")
    output = embed(shared.Output)
    weights: int = u32("int8, see above")
    constants = embed(shared.ChannelConstants)


class AsymmetricConvInt8Params(ConvInt8Params):
    """ASYMMETRIC_CONV_2D: as CONV_2D, and weight_zero_points[c] * (sum of a pixel's taps) is subtracted from each sum.

    The bias holds -input_zero_point * sum of the channel's weights less their zero point. ASYMMETRIC_DEPTHWISE_CONV_2D
    has the record of DEPTHWISE_CONV_2D and weights of int16, not packed, less their zero points.
    """

    weight_zero_points: int = u32("int8 per out channel")


class TableConvInt8Params(ConvInt8Params):
    """TABLE_CONV_2D: as CONV_2D, with packed indices for weights. Scratch holds the int8 weights of a pass."""

    tables: int = u32("16 values of int8, or 16 for each out channel")
    table_step: int = u32("bytes from a channel's table to the next channel's: 16, or 0 with one table")
    pass_channels: int = u32("out channels of a pass, a multiple of 4")


class ConvFloatParams(Params):
    """Conv2D and depthwise Conv2D, float32. Weights as for int8; padded taps are 0."""

    shape = embed(shared.ConvShape)
    clamp = embed(shared.FloatClamp)
    constants = embed(shared.FloatChannelConstants)


class TransposeConvInt8Params(Params):
    """Transposed Conv2D, int8: input row i and kernel row k add to output row i * stride + k * dilation - pad.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups]. A phase is the remainders of output row
    + pad_top and of output column + pad_left by the strides. A bias includes -input_zero_point times the sum of its
    phase's weights; a tap outside the input counts as input_zero_point.
    """

    shape = embed(shared.TransposeConvShape)
    groups: int = u32("groups of channels")
    input_zero_point: int = i32("see above")
    output = embed(shared.Output)
    weights: int = u32("int8, see above")
    constants = embed(shared.ChannelConstants, bias="int32 [stride_height][stride_width][out_channels]")


class TransposeConvFloatParams(Params):
    """Transposed Conv2D, float32. Weights as for int8."""

    shape = embed(shared.TransposeConvShape)
    groups: int = u32("groups of channels")
    clamp = embed(shared.FloatClamp)
    constants = embed(shared.FloatChannelConstants)


class PoolInt8Params(Params):
    """Average and max pooling, int8, per channel.

    Average without rescale: the sum of the taps inside the tensor, divided by their number,
    rounding half away from zero. With rescale: (sum - taps * input_zero_point) is requantised by
    multiplier[taps - 1] and shift[taps - 1], then output_zero_point is added.
    """

    shape = embed(shared.PoolShape)
    rescale: int = u16("1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8 (average only)")
    include_pad: int = u32("1: padded taps count as zeros in an average")
    input_zero_point: int = i32("see above")
    output = embed(shared.Output, output_zero_point="see above")
    multiplier: int = u32("int32 per number of taps, 1 … kernel_height * kernel_width; with rescale only")
    shift: int = u32("int8 per number of taps; with rescale only")


class PoolFloatParams(Params):
    """Average and max pooling, float32, per channel."""

    shape = embed(shared.PoolShape)
    include_pad: int = u16("1: padded taps count as zeros in an average")
    clamp = embed(shared.FloatClamp)


class SumMapParams(Params):
    """out[c] += sum over rows and columns of in[row][column][c], from 0 at row 0; the output is folded.

    INT8: int32 sums of the stored values. FLOAT32: in the order of rows, then columns.
    """

    taps: int = u32("elements in each sum: height * width of the input")


class MeanOfSumsInt8Params(Params):
    """Without rescale: the sum divided by `taps`, rounding half away from zero. With rescale: (sum - taps *
    input_zero_point) is requantised, then output_zero_point is added."""

    taps: int = u32("elements in each sum, at most 2^22")
    rescale: int = u32("1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8")
    input_zero_point: int = i32("see above")
    output = embed(shared.Output, output_zero_point="see above")
    multiplier: int = i32("Q0.31; with rescale only")
    shift: int = i32("positive: left; with rescale only")


class MeanOfSumsFloatParams(Params):
    """out[c] = clamp(sum[c] / taps)."""

    taps: int = u32("elements in each sum")
    clamp = embed(shared.FloatClamp)
