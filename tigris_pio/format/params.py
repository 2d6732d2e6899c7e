"""Kernel parameter records, one per (kind, dtype).

Fields that name data ("weights", "bias", …) hold byte offsets into the stage's weight block;
every such array starts on a 16-byte boundary. Names, signs and rounding follow the TensorFlow
Lite int8 specification: real = (q - zero_point) * scale, requantisation by a Q0.31 multiplier and
a power of two, shift > 0 meaning left.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.record import Record, f32, i32, i32_array, u16, u32, u32_array
from tigris_pio.format.records import MAX_RANK


@dataclasses.dataclass(frozen=True)
class ConvInt8Params(Record):
    """Conv2D and depthwise Conv2D, int8.

    Weights: [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
    [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D (out channel c reads in
    channel c / (out_channels / in_channels)), packed as SPEC.md section 6 says. The bias already holds
    -input_zero_point * sum of the channel's weights, so a padded tap counts as the value input_zero_point.
    """

    C_NAME = "tigris_conv_int8_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left; what lacks on the right is padding too")
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
class ConvFloatParams(Record):
    """Conv2D and depthwise Conv2D, float32. Weights as for int8; padded taps are 0."""

    C_NAME = "tigris_conv_float_params"

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")
    pad_left: int = u16("columns of padding on the left; what lacks on the right is padding too")
    groups: int = u16("groups of CONV_2D; 1 for DEPTHWISE_CONV_2D")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
    weights: int = u32("float32")
    bias: int = u32("float32 per out channel")


@dataclasses.dataclass(frozen=True)
class FullyConnectedInt8Params(Record):
    """out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); zero point folded into the bias."""

    C_NAME = "tigris_fully_connected_int8_params"

    rows: int = u32("vectors, each in_features long; the input is rows * in_features contiguous bytes")
    in_features: int = u32("input vector length")
    out_features: int = u32("output vector length")
    requantise_step: int = u32("0: one multiplier and shift for all outputs; 1: one per output")
    output_zero_point: int = i32("added after requantisation")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    weights: int = u32("int8 [out_features][in_features], packed as SPEC.md section 6 says")
    bias: int = u32("int32 per output")
    multiplier: int = u32("int32, Q0.31")
    shift: int = u32("int8")


@dataclasses.dataclass(frozen=True)
class FullyConnectedFloatParams(Record):
    """out[r][o] = clamp(bias[o] + sum_i weights[o][i] * in[r][i])."""

    C_NAME = "tigris_fully_connected_float_params"

    rows: int = u32("vectors, each in_features long")
    in_features: int = u32("input vector length")
    out_features: int = u32("output vector length")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
    weights: int = u32("float32 [out_features][in_features]")
    bias: int = u32("float32 per output")


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
    rescale: int = u16("1: input and output scales differ (average only)")
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
    rescale: int = u32("1: input and output scales differ")
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


@dataclasses.dataclass(frozen=True)
class BinaryInt8Params(Record):
    """ADD, SUB and MUL of two int8 tensors, TensorFlow Lite arithmetic.

    ADD/SUB: each input (q - zero_point) << left_shift is scaled by its own multiplier, both are
    added or subtracted, the sum is scaled by the output's. MUL: the product of both (q -
    zero_point) is scaled by the output's multiplier. Element steps are 0 along broadcast axes.
    """

    C_NAME = "tigris_binary_int8_params"

    zero_point: tuple[int, ...] = i32_array(2, "of input 0 and 1")
    multiplier: tuple[int, ...] = i32_array(2, "of input 0 and 1, Q0.31 (ADD, SUB)")
    shift: tuple[int, ...] = i32_array(2, "of input 0 and 1 (ADD, SUB)")
    left_shift: int = i32("20 for ADD and SUB; 0 for MUL")
    output_zero_point: int = i32("added last")
    output_multiplier: int = i32("Q0.31")
    output_shift: int = i32("positive: left")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    row_step: tuple[int, ...] = i32_array(2, "elements from one row to the next, of input 0 and 1")
    column_step: tuple[int, ...] = i32_array(2, "elements from one column to the next")
    channel_step: tuple[int, ...] = i32_array(2, "elements from one channel to the next, 0 or 1")


@dataclasses.dataclass(frozen=True)
class BinaryFloatParams(Record):
    """ADD, SUB and MUL of two float32 tensors. Element steps are 0 along broadcast axes."""

    C_NAME = "tigris_binary_float_params"

    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
    row_step: tuple[int, ...] = i32_array(2, "elements from one row to the next, of input 0 and 1")
    column_step: tuple[int, ...] = i32_array(2, "elements from one column to the next")
    channel_step: tuple[int, ...] = i32_array(2, "elements from one channel to the next, 0 or 1")


@dataclasses.dataclass(frozen=True)
class SoftmaxInt8Params(Record):
    """Softmax over vectors of `length` contiguous elements; output scale 1/256, zero point -128.

    TensorFlow Lite's fixed-point algorithm (5 integer bits of scaled difference, 12 of the sum).
    """

    C_NAME = "tigris_softmax_int8_params"

    length: int = u32("elements of one vector")
    multiplier: int = i32("Q0.31 of input_scale * 2^26")
    left_shift: int = i32("its power of two")
    diff_min: int = i32("differences to the largest element below this count as zero")


@dataclasses.dataclass(frozen=True)
class SoftmaxFloatParams(Record):
    """Softmax over vectors of `length` contiguous float32 elements."""

    C_NAME = "tigris_softmax_float_params"

    length: int = u32("elements of one vector")


@dataclasses.dataclass(frozen=True)
class LookupParams(Record):
    """out = table[in + 128], any unary int8 function, requantisation included."""

    C_NAME = "tigris_lookup_params"

    table: int = u32("256 int8 values, for inputs -128 … 127")


@dataclasses.dataclass(frozen=True)
class UnaryFloatParams(Record):
    """out = function(in; alpha, beta)."""

    C_NAME = "tigris_unary_float_params"

    function: int = u32("tigris_unary_function")
    alpha: float = f32("see the function")
    beta: float = f32("see the function")


@dataclasses.dataclass(frozen=True)
class CopyParams(Record):
    """Bytes of the input, unchanged."""

    C_NAME = "tigris_copy_params"

    bytes: int = u32("bytes copied; must equal the input's and the output's")


@dataclasses.dataclass(frozen=True)
class TransposeParams(Record):
    """Output element at index (i0, …) is input element at sum(i_k * input_step[k]); whole tensors."""

    C_NAME = "tigris_transpose_params"

    rank: int = u32("axes used")
    element_bytes: int = u32("1, 2, 4 or 8")
    output_shape: tuple[int, ...] = u32_array(MAX_RANK, "unused entries 1")
    input_step: tuple[int, ...] = u32_array(MAX_RANK, "in elements; unused entries 0")


@dataclasses.dataclass(frozen=True)
class ConcatParams(Record):
    """Inputs side by side along one axis."""

    C_NAME = "tigris_concat_params"

    axis: int = u32("0 rows, 1 columns, 2 channels")


@dataclasses.dataclass(frozen=True)
class QuantizeParams(Record):
    """QUANTIZE: q = clamp(round_half_even(x / scale) + zero_point); DEQUANTIZE: x = (q - zero_point) * scale."""

    C_NAME = "tigris_quantize_params"

    scale: float = f32("positive")
    zero_point: int = i32("in the quantised type's range")


@dataclasses.dataclass(frozen=True)
class SelectParams(Record):
    """Output element (row, column, channel) is the input element at the three selected indices.

    Index i of the output selects index table[i] of the input, or without a table
    floor((i * numerator + first) / denominator). Where one of the three lies outside the input the
    output element is `fill`. The arrays have one entry each for rows, columns and channels.
    """

    C_NAME = "tigris_select_params"

    row_table: int = u32("int32 per output row; 0xFFFFFFFF: no table")
    column_table: int = u32("int32 per output column; 0xFFFFFFFF: no table")
    channel_table: int = u32("int32 per output channel; 0xFFFFFFFF: no table")
    numerator: tuple[int, ...] = i32_array(3, "see above; negative to turn round")
    denominator: tuple[int, ...] = i32_array(3, "see above; at least 1")
    first: tuple[int, ...] = i32_array(3, "see above")
    fill: int = u32("bits of the fill value, in the lowest bytes")


@dataclasses.dataclass(frozen=True)
class ResampleParams(Record):
    """Interpolation along rows and columns, per channel.

    out[r][x] = sum_j sum_i row_weight[r][j] * column_weight[x][i] * in[row_start[r] + j][column_start[x] + i].
    Weights are float32, or for int8 int16 with 10 fractional bits; the int8 sum is divided by 2^20,
    rounding half away from zero, and saturated (TensorFlow Lite's ResizeBilinear).
    """

    C_NAME = "tigris_resample_params"

    row_taps: int = u32("rows that add to one output row; at most 64")
    column_taps: int = u32("columns that add to one output column; at most 64")
    row_start: int = u32("int32 per output row")
    row_weight: int = u32("[output rows][row_taps]")
    column_start: int = u32("int32 per output column")
    column_weight: int = u32("[output columns][column_taps]")


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


@dataclasses.dataclass(frozen=True)
class BinaryFunctionParams(Record):
    """out = function(a, b) of two float32 tensors. Element steps are 0 along broadcast axes."""

    C_NAME = "tigris_binary_function_params"

    function: int = u32("tigris_binary_function")
    row_step: tuple[int, ...] = i32_array(2, "elements from one row to the next, of input 0 and 1")
    column_step: tuple[int, ...] = i32_array(2, "elements from one column to the next")
    channel_step: tuple[int, ...] = i32_array(2, "elements from one channel to the next, 0 or 1")


@dataclasses.dataclass(frozen=True)
class WhereParams(Record):
    """out = a is not 0 ? b : c of three tensors, the first float32. Element steps are 0 along broadcast axes."""

    C_NAME = "tigris_where_params"

    row_step: tuple[int, ...] = i32_array(3, "elements from one row to the next, of input 0, 1 and 2")
    column_step: tuple[int, ...] = i32_array(3, "elements from one column to the next")
    channel_step: tuple[int, ...] = i32_array(3, "elements from one channel to the next, 0 or 1")


@dataclasses.dataclass(frozen=True)
class ReduceParams(Record):
    """out[o][i] = function over k of in[o][k][i]; all axes of the tensors flattened.

    Sums are compensated (Kahan), so that long vectors lose nothing.
    """

    C_NAME = "tigris_reduce_params"

    function: int = u32("tigris_reduce_function")
    length: int = u32("elements of one vector")
    inner: int = u32("elements from one element of a vector to the next")


@dataclasses.dataclass(frozen=True)
class ArgReduceParams(Record):
    """out[o][i] = the k at which in[o][k][i] is largest or smallest, as float32; all axes flattened."""

    C_NAME = "tigris_arg_reduce_params"

    smallest: int = u32("0: the largest element; 1: the smallest")
    last: int = u32("of equal elements 0: the first; 1: the last")
    length: int = u32("elements of one vector, at most 2^24")
    inner: int = u32("elements from one element of a vector to the next")


@dataclasses.dataclass(frozen=True)
class VectorParams(Record):
    """out[o][k][i] = function of in[o][k][i] and its vector in[o][…][i]; all axes flattened."""

    C_NAME = "tigris_vector_params"

    function: int = u32("tigris_vector_function")
    length: int = u32("elements of one vector")
    inner: int = u32("elements from one element of a vector to the next")
    epsilon: float = f32("see the function")
    exclusive: int = u32("CUMULATIVE_SUM, 1: without the element itself")
    reverse: int = u32("CUMULATIVE_SUM, 1: from the end")


@dataclasses.dataclass(frozen=True)
class LrnParams(Record):
    """out[c] = in[c] / (bias + alpha * sum of in[j]^2) ^ beta, j from c - before to c + after, inside the pixel."""

    C_NAME = "tigris_lrn_params"

    before: int = u32("channels before")
    after: int = u32("channels after")
    alpha: float = f32("already divided by the size of the window")
    beta: float = f32("exponent")
    bias: float = f32("see above")


@dataclasses.dataclass(frozen=True)
class MatMulFloatParams(Record):
    """out[b0][b1][b2][r][c] = sum over k of A[b…, r, k] * B[b…, k, c], elements at the given steps."""

    C_NAME = "tigris_mat_mul_float_params"

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
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")


@dataclasses.dataclass(frozen=True)
class MatMulInt8Params(Record):
    """The same in int8, TensorFlow Lite's BatchMatMul: sums of (a - zero_point) * (b - zero_point), requantised."""

    C_NAME = "tigris_mat_mul_int8_params"

    batch: tuple[int, ...] = u32_array(3, "matrices")
    rows: int = u32("rows of a product")
    depth: int = u32("terms of a sum, at most 32768")
    columns: int = u32("columns of a product")
    batch_step_a: tuple[int, ...] = u32_array(3, "elements from one matrix of A to the next; 0: the same for all")
    row_step_a: int = u32("elements from one row of A to the next")
    depth_step_a: int = u32("elements from one term to the next")
    batch_step_b: tuple[int, ...] = u32_array(3, "see A")
    depth_step_b: int = u32("elements from one term to the next")
    column_step_b: int = u32("elements from one column of B to the next")
    zero_point: tuple[int, ...] = i32_array(2, "of A and B")
    output_zero_point: int = i32("added after requantisation")
    output_multiplier: int = i32("Q0.31")
    output_shift: int = i32("positive: left")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")


@dataclasses.dataclass(frozen=True)
class CastParams(Record):
    """Elements in another type. To integers: truncated and saturated, NaN becomes 0; to BOOL: 0 or 1."""

    C_NAME = "tigris_cast_params"

    source: int = u32("tigris_dtype of the input")
    target: int = u32("tigris_dtype of the output")


#: The record that the kernel of (kind, dtype) takes.
PARAMS: dict[tuple[OpKind, DType], type[Record]] = {
    (OpKind.CONV_2D, DType.INT8): ConvInt8Params,
    (OpKind.CONV_2D, DType.FLOAT32): ConvFloatParams,
    (OpKind.DEPTHWISE_CONV_2D, DType.INT8): ConvInt8Params,
    (OpKind.DEPTHWISE_CONV_2D, DType.FLOAT32): ConvFloatParams,
    (OpKind.FULLY_CONNECTED, DType.INT8): FullyConnectedInt8Params,
    (OpKind.FULLY_CONNECTED, DType.FLOAT32): FullyConnectedFloatParams,
    (OpKind.AVERAGE_POOL, DType.INT8): PoolInt8Params,
    (OpKind.AVERAGE_POOL, DType.FLOAT32): PoolFloatParams,
    (OpKind.MAX_POOL, DType.INT8): PoolInt8Params,
    (OpKind.MAX_POOL, DType.FLOAT32): PoolFloatParams,
    (OpKind.ADD, DType.INT8): BinaryInt8Params,
    (OpKind.ADD, DType.FLOAT32): BinaryFloatParams,
    (OpKind.SUB, DType.INT8): BinaryInt8Params,
    (OpKind.SUB, DType.FLOAT32): BinaryFloatParams,
    (OpKind.MUL, DType.INT8): BinaryInt8Params,
    (OpKind.MUL, DType.FLOAT32): BinaryFloatParams,
    (OpKind.SOFTMAX, DType.INT8): SoftmaxInt8Params,
    (OpKind.SOFTMAX, DType.FLOAT32): SoftmaxFloatParams,
    (OpKind.LOOKUP, DType.INT8): LookupParams,
    (OpKind.UNARY, DType.FLOAT32): UnaryFloatParams,
    (OpKind.COPY, DType.INT8): CopyParams,
    (OpKind.COPY, DType.FLOAT32): CopyParams,
    (OpKind.TRANSPOSE, DType.INT8): TransposeParams,
    (OpKind.TRANSPOSE, DType.FLOAT32): TransposeParams,
    (OpKind.CONCAT, DType.INT8): ConcatParams,
    (OpKind.CONCAT, DType.FLOAT32): ConcatParams,
    (OpKind.QUANTIZE, DType.INT8): QuantizeParams,
    (OpKind.DEQUANTIZE, DType.INT8): QuantizeParams,
    (OpKind.SELECT, DType.INT8): SelectParams,
    (OpKind.SELECT, DType.FLOAT32): SelectParams,
    (OpKind.RESAMPLE, DType.INT8): ResampleParams,
    (OpKind.RESAMPLE, DType.FLOAT32): ResampleParams,
    (OpKind.TRANSPOSE_CONV, DType.INT8): TransposeConvInt8Params,
    (OpKind.TRANSPOSE_CONV, DType.FLOAT32): TransposeConvFloatParams,
    (OpKind.TRIGONOMETRIC, DType.FLOAT32): UnaryFloatParams,
    (OpKind.BINARY, DType.FLOAT32): BinaryFunctionParams,
    (OpKind.WHERE, DType.FLOAT32): WhereParams,
    (OpKind.REDUCE, DType.FLOAT32): ReduceParams,
    (OpKind.ARG_REDUCE, DType.FLOAT32): ArgReduceParams,
    (OpKind.VECTOR, DType.FLOAT32): VectorParams,
    (OpKind.LRN, DType.FLOAT32): LrnParams,
    (OpKind.MAT_MUL, DType.FLOAT32): MatMulFloatParams,
    (OpKind.MAT_MUL, DType.INT8): MatMulInt8Params,
    (OpKind.CAST, DType.FLOAT32): CastParams,
    (OpKind.SUM_MAP, DType.INT8): SumMapParams,
    (OpKind.SUM_MAP, DType.FLOAT32): SumMapParams,
    (OpKind.MEAN_OF_SUMS, DType.INT8): MeanOfSumsInt8Params,
    (OpKind.MEAN_OF_SUMS, DType.FLOAT32): MeanOfSumsFloatParams,
}


def parameter_records() -> tuple[type[Record], ...]:
    """Each parameter record once, in the order of the table."""
    return tuple(dict.fromkeys(PARAMS.values()))
