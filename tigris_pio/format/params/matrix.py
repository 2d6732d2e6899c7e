"""Products with a constant matrix, and of two activations."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, f32, i32, i32_array, u32, u32_array


@dataclasses.dataclass(frozen=True)
class FullyConnectedInt8Params(Record):
    """out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); zero point folded into the bias.

    For PLAIN_FULLY_CONNECTED the weights are not packed and shifts are int32.
    """

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
class AsymmetricFullyConnectedInt8Params(FullyConnectedInt8Params):
    """As FULLY_CONNECTED, but weight_zero_points[o] * (sum of the vector) is subtracted from each sum."""

    C_NAME = "tigris_asymmetric_fully_connected_int8_params"

    weight_zero_points: int = u32("int8 per output")


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
class FullyConnectedInt32Params(Record):
    """out[r][o] = clamp(scale[o] * (bias[o] + sum_i weights[o][i] * in[r][i])): int8 in, sums of int32, float32 out."""

    C_NAME = "tigris_fully_connected_int32_params"

    rows: int = u32("vectors, each in_features long")
    in_features: int = u32("input vector length")
    out_features: int = u32("output vector length")
    scale_step: int = u32("0: one scale for all outputs; 1: one per output")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
    weights: int = u32("int8 [out_features][in_features], packed as SPEC.md section 6 says")
    bias: int = u32("int32 per output, the input's zero point folded in")
    scale: int = u32("float32, the input's times the weights'")


@dataclasses.dataclass(frozen=True)
class SumProductsParams(Record):
    """sums[o] += sum_i weights[row][o][i] * in[row][i], from bias[o] at row 0; the output is folded.

    A fully connected layer of a whole map, row by row. INT8: int32 sums, the zero point folded into the bias.
    """

    C_NAME = "tigris_sum_products_params"

    in_features: int = u32("elements of an input row")
    out_features: int = u32("sums")
    weights: int = u32("[rows][out_features][in_features]; int8: each row's packed as SPEC.md section 6 says")
    bias: int = u32("int32 or float32 per output")


@dataclasses.dataclass(frozen=True)
class ScaleSumsInt8Params(Record):
    """out[o] = requantise(sums[o]), of the last row of sums."""

    C_NAME = "tigris_scale_sums_int8_params"

    requantise_step: int = u32("0: one multiplier and shift for all outputs; 1: one per output")
    output_zero_point: int = i32("added after requantisation")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")
    multiplier: int = u32("int32, Q0.31")
    shift: int = u32("int8")


@dataclasses.dataclass(frozen=True)
class ScaleSumsFloatParams(Record):
    """out[o] = clamp(sums[o]), of the last row of sums."""

    C_NAME = "tigris_scale_sums_float_params"

    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")


@dataclasses.dataclass(frozen=True)
class MatMulInt8Params(Record):
    """TensorFlow Lite's BatchMatMul of int8: sums of (a - zero_point) * (b - zero_point), requantised."""

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
    interleaved: int = u32("0: out[b0][b1][b2][r][c]; 1: out[r][b0][b1][b2][c]; its rows are those of A")
    zero_point: tuple[int, ...] = i32_array(2, "of A and B")
    output_zero_point: int = i32("added after requantisation")
    output_multiplier: int = i32("Q0.31")
    output_shift: int = i32("positive: left")
    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")


@dataclasses.dataclass(frozen=True)
class MatMulFloatParams(Record):
    """out = sum over k of A[b…, r, k] * B[b…, k, c], elements at the given steps."""

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
    interleaved: int = u32("0: out[b0][b1][b2][r][c]; 1: out[r][b0][b1][b2][c]; its rows are those of A")
    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")
