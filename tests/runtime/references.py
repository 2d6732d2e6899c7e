"""int8 arithmetic of TensorFlow Lite in numpy, written from its definitions and not from the runtime."""

from collections.abc import Iterable

import numpy as np

INT32 = np.iinfo(np.int32)


def high_multiply(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
    """gemmlowp's SaturatingRoundingDoublingHighMul: nudge, then divide by 2^31 towards zero."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    quotient = np.sign(nudged) * (np.abs(nudged) >> 31)
    return np.clip(quotient, INT32.min, INT32.max)


def rounding_divide(value: np.ndarray, exponent: np.ndarray | int) -> np.ndarray:
    """gemmlowp's RoundingDivideByPOT: nearest, halves away from zero."""
    value = np.asarray(value, np.int64)
    half = np.where(np.asarray(exponent) > 0, np.int64(1) << np.maximum(np.asarray(exponent, np.int64) - 1, 0), 0)
    return np.sign(value) * ((np.abs(value) + half) >> np.asarray(exponent, np.int64))


def requantise(value: np.ndarray, multiplier: np.ndarray | int, shift: np.ndarray | int) -> np.ndarray:
    """TensorFlow Lite's MultiplyByQuantizedMultiplier."""
    shift = np.asarray(shift, np.int64)
    shifted = np.asarray(value, np.int64) << np.maximum(shift, 0)
    return rounding_divide(high_multiply(shifted, multiplier), np.maximum(-shift, 0))


def quantised_multiplier(real: float) -> tuple[int, int]:
    """The Q0.31 multiplier and left shift of a positive real factor."""
    mantissa, exponent = np.frexp(real)
    multiplier = round(float(mantissa) * (1 << 31))
    if multiplier == 1 << 31:
        return 1 << 30, int(exponent) + 1
    return multiplier, int(exponent)


def multipliers(reals: Iterable[float]) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers and shifts of positive real factors, as a plan stores them."""
    pairs = [quantised_multiplier(real) for real in reals]
    return np.array([pair[0] for pair in pairs], np.int32), np.array([pair[1] for pair in pairs], np.int8)


def pad_rows_and_columns(x: np.ndarray, pads: tuple[int, int, int, int], value: float) -> np.ndarray:
    """`x` with (top, bottom, left, right) rows and columns of `value`."""
    top, bottom, left, right = pads
    return np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)


def windows(
    x: np.ndarray, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], out: tuple[int, int]
) -> np.ndarray:
    """[batch, out height, out width, kernel height, kernel width, channels] of a padded input."""
    rows = np.arange(out[0])[:, None] * stride[0] + np.arange(kernel[0]) * dilation[0]
    columns = np.arange(out[1])[:, None] * stride[1] + np.arange(kernel[1]) * dilation[1]
    return x[:, rows[:, None, :, None], columns[None, :, None, :], :]


def softmax_exponentials(multiplier: int, left_shift: int, diff_min: int) -> np.ndarray:
    """What the record of int8 softmax takes: of the differences 0 … -255, those below `diff_min` count as nothing."""
    return np.array([_exp_negative(_mul(-difference << left_shift, multiplier)) if -difference >= diff_min else 0
                     for difference in range(256)], np.int32)  # fmt: skip


def softmax_int8(x: np.ndarray, exponentials: np.ndarray) -> np.ndarray:
    """TensorFlow Lite's int8 softmax over the last axis, each value in Python integers."""
    vectors, powers = x.reshape(-1, x.shape[-1]), exponentials.tolist()
    rows = [_softmax_vector([int(v) for v in vector], powers) for vector in vectors]
    return np.array(rows, np.int8).reshape(x.shape)


def _mul(a: int, b: int) -> int:
    return int(high_multiply(np.int64(a), b))


def _saturate(value: int) -> int:
    return max(INT32.min, min(INT32.max, value))


def _exp_negative(a: int) -> int:
    if a == 0:
        return INT32.max
    quarter = 1 << 24
    remainder = a % quarter - quarter
    x = _saturate(remainder << 5) + (1 << 28)
    squared = _mul(x, x)
    cubed, fourth = _mul(squared, x), _mul(squared, squared)
    inner = _mul(int(rounding_divide(np.int64(fourth), 2)) + cubed, 715827883) + squared
    result = 1895147668 + _mul(1895147668, x + int(rounding_divide(np.int64(inner), 1)))
    factors = {24: 1672461947, 25: 1302514674, 26: 790015084, 27: 290630308, 28: 39332535, 29: 720401, 30: 242}
    for bit, factor in factors.items():
        if (remainder - a) & (1 << bit):
            result = _mul(result, factor)
    return result


def _reciprocal(a: int) -> int:
    half = (a + INT32.max + 1) // 2
    x = 1515870810 + _mul(half, -1010580540)
    for _ in range(3):
        x += _saturate(_mul(x, (1 << 29) - _mul(half, x)) << 2)
    return _saturate(x << 1)


def _softmax_vector(values: list[int], powers: list[int]) -> list[int]:
    exponentials = [powers[max(values) - value] for value in values]
    total = sum(int(rounding_divide(np.int64(value), 12)) for value in exponentials)
    zeros = 32 - total.bit_length()
    scale = _reciprocal((total << zeros) - (1 << 31))
    shift = 12 - zeros + 23
    return [min(127, int(rounding_divide(np.int64(_mul(scale, value)), shift)) - 128) for value in exponentials]
