"""Pooling through windows, and over whole maps in two operators."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, f32, i32, u16, u32


@dataclasses.dataclass(frozen=True)
class PoolInt8Params(Record):
    """Average and max pooling, int8, per channel.

    Average without rescale: the sum of the taps inside the tensor, divided by their number,
    rounding half away from zero. With rescale: (sum - taps * input_zero_point) is requantised by
    multiplier[taps - 1] and shift[taps - 1], then output_zero_point is added.
    """

    C_NAME = "tigris_pool_int8_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left")
    rescale: int = u16("1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8 (average only)")
    include_pad: int = u32("1: padded taps count as zeros in an average")
    input_zero_point: int = i32("see above")
    output_zero_point: int = i32("see above")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    multiplier: int = u32("int32 per number of taps, 1 … kernel_height * kernel_width; with rescale only")
    shift: int = u32("int8 per number of taps; with rescale only")


@dataclasses.dataclass(frozen=True)
class PoolFloatParams(Record):
    """Average and max pooling, float32, per channel."""

    C_NAME = "tigris_pool_float_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left")
    include_pad: int = u16("1: padded taps count as zeros in an average")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")


@dataclasses.dataclass(frozen=True)
class SumMapParams(Record):
    """out[c] += sum over rows and columns of in[row][column][c], from 0 at row 0; the output is folded.

    INT8: int32 sums of the stored values. FLOAT32: in the order of rows, then columns.
    """

    C_NAME = "tigris_sum_map_params"

    taps: int = u32("elements in each sum: height * width of the input")


@dataclasses.dataclass(frozen=True)
class MeanOfSumsInt8Params(Record):
    """Without rescale: the sum divided by `taps`, rounding half away from zero. With rescale: (sum - taps *
    input_zero_point) is requantised, then output_zero_point is added."""

    C_NAME = "tigris_mean_of_sums_int8_params"

    taps: int = u32("elements in each sum, at most 2^22")
    rescale: int = u32("1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8")
    input_zero_point: int = i32("see above")
    output_zero_point: int = i32("see above")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    multiplier: int = i32("Q0.31; with rescale only")
    shift: int = i32("positive: left; with rescale only")


@dataclasses.dataclass(frozen=True)
class MeanOfSumsFloatParams(Record):
    """out[c] = clamp(sum[c] / taps)."""

    C_NAME = "tigris_mean_of_sums_float_params"

    taps: int = u32("elements in each sum")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
