"""Functions of vectors: softmax, reductions, normalisations."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, f32, i32, u32


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
