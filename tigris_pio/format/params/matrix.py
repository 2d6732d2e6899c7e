"""Products with a constant matrix, and of two activations."""

from tigris_pio.format.params.shared import DenseShape, FloatClamp, ProductShape, ScaledOutput, SumsFactors, SumsOutput
from tigris_pio.format.record import Params, embed, i32_array, u32


class FullyConnectedInt8Params(Params):
    """out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); zero point folded into the bias.

    For PLAIN_FULLY_CONNECTED the weights are not packed and shifts are int32.
    """

    shape = embed(DenseShape, rows="vectors, each in_features long; the input is rows * in_features contiguous bytes")
    output = embed(SumsOutput)
    weights: int = u32("int8 [out_features][in_features], packed as SPEC.md section 6 says")
    bias: int = u32("int32 per output")
    factors = embed(SumsFactors)


class AsymmetricFullyConnectedInt8Params(FullyConnectedInt8Params):
    """As FULLY_CONNECTED, but weight_zero_points[o] * (sum of the vector) is subtracted from each sum."""

    weight_zero_points: int = u32("int8 per output")


class TableFullyConnectedInt8Params(FullyConnectedInt8Params):
    """TABLE_FULLY_CONNECTED: as FULLY_CONNECTED, with packed indices for weights. Scratch holds 256 pairs of values."""

    table: int = u32("16 values of int8, above -128")


class FullyConnectedFloatParams(Params):
    """out[r][o] = clamp(bias[o] + sum_i weights[o][i] * in[r][i])."""

    shape = embed(DenseShape)
    clamp = embed(FloatClamp)
    weights: int = u32("float32 [out_features][in_features]")
    bias: int = u32("float32 per output")


class FullyConnectedInt32Params(Params):
    """out[r][o] = clamp(scale[o] * (bias[o] + sum_i weights[o][i] * in[r][i])): int8 in, sums of int32, float32 out."""

    shape = embed(DenseShape)
    scale_step: int = u32("0: one scale for all outputs; 1: one per output")
    clamp = embed(FloatClamp)
    weights: int = u32("int8 [out_features][in_features], packed as SPEC.md section 6 says")
    bias: int = u32("int32 per output, the input's zero point folded in")
    scale: int = u32("float32, the input's times the weights'")


class SumProductsParams(Params):
    """sums[o] += sum_i weights[row][o][i] * in[row][i], from bias[o] at row 0; the output is folded.

    A fully connected layer of a whole map, row by row. INT8: int32 sums, the zero point folded into the bias.
    """

    in_features: int = u32("elements of an input row")
    out_features: int = u32("sums")
    weights: int = u32("[rows][out_features][in_features]; int8: each row's packed as SPEC.md section 6 says")
    bias: int = u32("int32 or float32 per output")


class ScaleSumsInt8Params(Params):
    """out[o] = requantise(sums[o]), of the last row of sums."""

    output = embed(SumsOutput)
    factors = embed(SumsFactors)


class ScaleSumsFloatParams(Params):
    """out[o] = clamp(sums[o]), of the last row of sums."""

    clamp = embed(FloatClamp)


class MatMulInt8Params(Params):
    """TensorFlow Lite's BatchMatMul of int8: sums of (a - zero_point) * (b - zero_point), requantised."""

    shape = embed(ProductShape, depth="terms of a sum, at most 32768")
    zero_point: tuple[int, ...] = i32_array(2, "of A and B")
    output = embed(ScaledOutput)


class MatMulFloatParams(Params):
    """out = sum over k of A[b…, r, k] * B[b…, k, c], elements at the given steps."""

    shape = embed(ProductShape)
    clamp = embed(FloatClamp)
