"""Weights and words of layers in the order that the ESP32-S3's kernels read them (compiler/weights/pie.py,
runtime/src/kernels/pie/pie_int8.h)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tigris_pio.compiler.backends.pie_scales import INT8, Scale, VectorScale, Words, vector_scale
from tigris_pio.compiler.weights.pie import LANES, OUTPUTS, TAPS, Ending
from tigris_pio.sizes import round_up

#: Sums follow one another in a register of 32 bits: all of a pixel's together must fit.
MOST_TOGETHER = (1 << 31) - 1
DEPTHWISE_LEFT = 12  # sums of 20 bits in words of 32
DOUBLINGS = 2  # of sums of any number of products
SHORT = (16, 32, 64)  # input channels that have kernels of their own


@dataclass(frozen=True)
class Layer:
    """What a kernel is given, and its name's end. `blocks`: of outputs, with those that only fill the last; `content`:
    of these, and what is read behind them."""

    function: str
    ending: Ending
    content: bytes
    blocks: int
    left: int
    right: int
    vectors: int
    low: int
    high: int

    @property
    def stream(self) -> NDArray[np.int8]:
        """What a plan has."""
        head = bytes((self.ending, self.left, self.right)).ljust(LANES, b"\0")
        return np.frombuffer(head + self.content, np.int8)


def dense(weights: NDArray[np.int8], scale: Scale) -> Layer | None:
    """Of [outputs, inputs]; None where the vectors' arithmetic cannot give the portable kernels' bytes."""
    weights, scale = _settled(weights, scale)
    outputs, inputs = round_up(weights.shape[0], OUTPUTS), round_up(weights.shape[1], LANES)
    padded = np.zeros((outputs, inputs), np.int8)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    bound = _bounds(weights)
    words = _either(scale, bound, None) if inputs in SHORT and int(bound.sum()) <= MOST_TOGETHER else None
    short = words is not None
    if not short:
        words = vector_scale(scale, bound, whole=True, doublings=DOUBLINGS)
    if words is None:
        return None
    channels = _channels(words, outputs)
    parts = []
    for block in range(0, outputs, OUTPUTS):
        eight = slice(block, block + OUTPUTS)
        parts += [padded[eight].tobytes(), _i4(channels.offset[eight]), _multipliers(channels, eight, words)]
    ending = _ending(words) if short else Ending.LONG_CLAMPED if _is_clamped(words) else Ending.LONG
    name = f"tigris_pie_dense_{inputs}{_NAMES[ending]}" if short else f"tigris_pie_dense{_NAMES[ending]}"
    return Layer(name, ending, b"".join(parts) + bytes(LANES), outputs // OUTPUTS, words.left - words.doublings,
                 words.right, inputs // LANES, words.low, words.high)  # fmt: skip


def depthwise(weights: NDArray[np.int8], scale: Scale) -> Layer | None:
    """Of [3, 3, channels]; None likewise."""
    if weights.shape[:2] != (3, 3):
        return None
    turned, scale = _settled(weights.reshape(TAPS, -1).T, scale)
    words = _either(scale, _bounds(turned), DEPTHWISE_LEFT)
    if words is None:
        return None
    channels = round_up(len(turned), LANES)
    flat = np.pad(turned.T, ((0, 0), (0, channels - len(turned))))
    own = _channels(words, channels)
    parts = []
    for block in range(0, channels, LANES):
        parts.append(flat[:, block : block + LANES].tobytes())
        even, odd = np.arange(block, block + LANES, 2), np.arange(block + 1, block + LANES, 2)
        parts += [_i4(own.offset[even]), _i4(own.offset[odd])]
        parts += [_multipliers(own, lanes, words) for lanes in (even, odd)]
    ending = _ending(words)
    return Layer(f"tigris_pie_depthwise_3x3{_NAMES[ending]}", ending, b"".join(parts) + bytes(LANES), channels // LANES,
                 words.left, words.right, 0, words.low, words.high)  # fmt: skip


def _bounds(weights: NDArray[np.int8]) -> Words:
    """The furthest from 0 that each output's sum may be, of bytes; at least 1."""
    return np.asarray(np.maximum(128 * np.abs(weights.astype(np.int64)).sum(axis=1), 1))


def _settled(weights: NDArray[np.int8], scale: Scale) -> tuple[NDArray[np.int8], Scale]:
    """Outputs whose value no sum changes get no weights, and the scale of another: their own is often too far from the
    others' for words of the same layer."""
    bound = _bounds(weights)
    least, most = scale.exact(-bound), scale.exact(bound)
    if not (least == most).any():
        return weights, scale
    moves = np.where(least == most, -1.0, scale.multiplier * np.exp2(scale.shift - 31.0))
    like = int(moves.argmax())
    multiplier, shift = (scale.multiplier[like], scale.shift[like]) if moves[like] > 0 else (1 << 30, -6)
    offset = np.rint((least - scale.zero_point) / (multiplier * np.exp2(shift - 31.0))).astype(np.int64)
    fixed = least == most
    return np.where(fixed[:, None], 0, weights).astype(np.int8), replace(
        scale, multiplier=np.where(fixed, multiplier, scale.multiplier), shift=np.where(fixed, shift, scale.shift),
        offset=np.where(fixed, offset, scale.offset),
    )  # fmt: skip


def _either(scale: Scale, bound: Words, left: int | None) -> VectorScale | None:
    """With few digits of the multipliers if these do, else with all."""
    return vector_scale(scale, bound, left) or vector_scale(scale, bound, left, whole=True)


#: The ends of functions' names.
_NAMES = {Ending.ABOVE: "_above", Ending.USUAL: "", Ending.CLAMPED: "_clamped", Ending.WHOLE: "_whole",
          Ending.WHOLE_CLAMPED: "_whole_clamped", Ending.LONG: "", Ending.LONG_CLAMPED: "_clamped"}  # fmt: skip


def _is_clamped(words: VectorScale) -> bool:
    return (words.low, words.high) != INT8


def _ending(words: VectorScale) -> Ending:
    if words.whole:
        return Ending.WHOLE_CLAMPED if _is_clamped(words) else Ending.WHOLE
    if _is_clamped(words):
        return Ending.CLAMPED
    return Ending.USUAL if words.step.any() else Ending.ABOVE


@dataclass(frozen=True)
class _Channels:
    """A layer's words, with those of channels that only fill the last block."""

    offset: Words
    fraction: Words
    low: Words
    high: Words
    low_unsigned: Words
    high_unsigned: Words
    border: Words
    step: Words


def _channels(words: VectorScale, count: int) -> _Channels:
    def filled(values: Words) -> Words:
        return np.pad(values, (0, count - len(values)))

    return _Channels(*map(filled, (words.offset, words.fraction, words.low_words, words.high_words,
                                   words.multiplier & 0xFFFF, words.multiplier >> 16, words.border,
                                   words.step)))  # fmt: skip


def _i4(values: Words) -> bytes:
    return values.astype("<i4").tobytes()


def _i2(values: Words) -> bytes:
    return (values & 0xFFFF).astype("<u2").tobytes()


def _multipliers(own: _Channels, lanes: slice | Words, words: VectorScale) -> bytes:
    if words.whole:
        parts = [own.fraction << 1, own.low_unsigned, own.high_unsigned, own.low, own.border, own.high, own.step]
    else:
        parts = [own.high, own.fraction, own.low, *([] if _ending(words) is Ending.ABOVE else [own.border, own.step])]
    return b"".join(_i2(part[lanes]) for part in parts)
