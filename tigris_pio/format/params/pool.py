"""Pooling through windows, and over whole maps in two operators."""

from __future__ import annotations

from tigris_pio.format.params.shared import FloatClamp, Output, PoolShape
from tigris_pio.format.record import Params, embed, i32, u16, u32


class PoolInt8Params(Params):
    """Average and max pooling, int8, per channel.

    Average without rescale: the sum of the taps inside the tensor, divided by their number,
    rounding half away from zero. With rescale: (sum - taps * input_zero_point) is requantised by
    multiplier[taps - 1] and shift[taps - 1], then output_zero_point is added.
    """

    shape = embed(PoolShape)
    rescale: int = u16("1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8 (average only)")
    include_pad: int = u32("1: padded taps count as zeros in an average")
    input_zero_point: int = i32("see above")
    output = embed(Output, output_zero_point="see above")
    multiplier: int = u32("int32 per number of taps, 1 … kernel_height * kernel_width; with rescale only")
    shift: int = u32("int8 per number of taps; with rescale only")


class PoolFloatParams(Params):
    """Average and max pooling, float32, per channel."""

    shape = embed(PoolShape)
    include_pad: int = u16("1: padded taps count as zeros in an average")
    clamp = embed(FloatClamp)


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
    output = embed(Output, output_zero_point="see above")
    multiplier: int = i32("Q0.31; with rescale only")
    shift: int = i32("positive: left; with rescale only")


class MeanOfSumsFloatParams(Params):
    """out[c] = clamp(sum[c] / taps)."""

    taps: int = u32("elements in each sum")
    clamp = embed(FloatClamp)
