"""Builds the streams of the ESP32-S3's vector kernels: weights and words in the order in which kernels read them.

format/pie.py and runtime/src/kernels/pie/pie_int8.h describe the order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tigris_pio.compiler.backends.pie_scales import INT8, Scale, VectorScale, Words, vector_scale
from tigris_pio.format.pie import LANES, OUTPUTS, Ending
from tigris_pio.sizes import round_up

#: A 32-bit register holds the running sum of a pixel's outputs, so all of them together must fit.
LARGEST_SUM_OF_BOUNDS = (1 << 31) - 1
DEPTHWISE_LEFT = 12  # sums have 20 bits of 32
DOUBLINGS = 2  # shifts of long sums that saturate
SHORT = (16, 32, 64)  # numbers of inputs with kernels of their own


@dataclass(frozen=True)
class Layer:
    """The constants of a kernel.

    function: the C name of the kernel
    content: all blocks, and the unused end
    blocks: blocks of outputs, the last padded
    left, right: shifts of sums and outputs
    vectors: vectors of a dense layer's inputs
    low, high: limits of outputs
    """

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
        """The stream of a plan."""
        head = bytes((self.ending, self.left, self.right)).ljust(LANES, b"\0")
        return np.frombuffer(head + self.content, np.int8)


def dense(weights: NDArray[np.int8], scale: Scale) -> Layer | None:
    """The layer of weights [outputs, inputs]; None if vector arithmetic cannot give the portable kernels' bytes."""
    weights, scale = _share_constant_outputs(weights, scale)
    outputs, inputs = round_up(weights.shape[0], OUTPUTS), round_up(weights.shape[1], LANES)
    padded = np.zeros((outputs, inputs), np.int8)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    bound = _bounds(weights)
    words = _scale_words(scale, bound, None) if inputs in SHORT and int(bound.sum()) <= LARGEST_SUM_OF_BOUNDS else None
    short = words is not None
    if not short:
        words = vector_scale(scale, bound, whole=True, doublings=DOUBLINGS)
    if words is None:
        return None
    channels = _channel_words(words, outputs)
    parts = []
    for block in range(0, outputs, OUTPUTS):
        eight = slice(block, block + OUTPUTS)
        parts += [padded[eight].tobytes(), _i4(channels.offset[eight]), _multiplier_bytes(channels, eight, words)]
    ending = _ending(words) if short else Ending.LONG_CLAMPED if _is_clamped(words) else Ending.LONG
    name = f"tigris_pie_dense_{inputs}{_SUFFIXES[ending]}" if short else f"tigris_pie_dense{_SUFFIXES[ending]}"
    return Layer(name, ending, b"".join(parts) + bytes(LANES), outputs // OUTPUTS, words.left - words.doublings,
                 words.right, inputs // LANES, words.low, words.high)  # fmt: skip


def depthwise(weights: NDArray[np.int8], scale: Scale) -> Layer | None:
    """The layer of depthwise weights [rows, columns, channels]; None as in `dense`."""
    by_channel, scale = _share_constant_outputs(weights.reshape(-1, weights.shape[-1]).T, scale)
    if len(by_channel) == LANES // 2:  # a vector has two pixels
        by_channel = np.tile(by_channel, (2, 1))
        scale = replace(scale, multiplier=np.tile(scale.multiplier, 2), shift=np.tile(scale.shift, 2),
                        offset=np.tile(scale.offset, 2))  # fmt: skip
    words = _scale_words(scale, _bounds(by_channel), DEPTHWISE_LEFT)
    if words is None:
        return None
    channels = round_up(len(by_channel), LANES)
    flat = np.pad(by_channel.T, ((0, 0), (0, channels - len(by_channel))))
    own = _channel_words(words, channels)
    parts = []
    for block in range(0, channels, LANES):
        parts.append(flat[:, block : block + LANES].tobytes())
        even, odd = np.arange(block, block + LANES, 2), np.arange(block + 1, block + LANES, 2)
        parts += [_i4(own.offset[even]), _i4(own.offset[odd])]
        parts += [_multiplier_bytes(own, lanes, words) for lanes in (even, odd)]
    ending = _ending(words)
    name = f"tigris_pie_depthwise{'_3x3' if weights.shape[:2] == (3, 3) else ''}{_SUFFIXES[ending]}"
    return Layer(name, ending, b"".join(parts) + bytes(LANES), channels // LANES, words.left, words.right, 0, words.low,
                 words.high)  # fmt: skip


def _bounds(weights: NDArray[np.int8]) -> Words:
    """The largest magnitude of each output's sum of int8 products; at least 1."""
    return np.asarray(np.maximum(128 * np.abs(weights.astype(np.int64)).sum(axis=1), 1))


def _share_constant_outputs(weights: NDArray[np.int8], scale: Scale) -> tuple[NDArray[np.int8], Scale]:
    """Weights and scale in which constant outputs have zero weights and the scale of another output.

    Their own scale often differs too much from the others for common words.
    """
    bound = _bounds(weights)
    least, most = scale.outputs(-bound), scale.outputs(bound)
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


def _scale_words(scale: Scale, bound: Words, left: int | None) -> VectorScale | None:
    """Words that use a part of the multipliers' bits if that is enough, all bits otherwise."""
    return vector_scale(scale, bound, left) or vector_scale(scale, bound, left, whole=True)


#: The ends of C function names.
_SUFFIXES = {Ending.ABOVE: "_above", Ending.USUAL: "", Ending.CLAMPED: "_clamped", Ending.WHOLE: "_whole",
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
class _ChannelWords:
    """A layer's words, padded for the channels of the last block."""

    offset: Words
    fraction: Words
    low: Words
    high: Words
    low_unsigned: Words
    high_unsigned: Words
    border: Words
    step: Words


def _channel_words(words: VectorScale, count: int) -> _ChannelWords:
    def filled(values: Words) -> Words:
        return np.pad(values, (0, count - len(values)))

    return _ChannelWords(*map(filled, (words.offset, words.fraction, words.low_words, words.high_words,
                                   words.multiplier & 0xFFFF, words.multiplier >> 16, words.border,
                                   words.step)))  # fmt: skip


def _i4(values: Words) -> bytes:
    return values.astype("<i4").tobytes()


def _i2(values: Words) -> bytes:
    return (values & 0xFFFF).astype("<u2").tobytes()


def _multiplier_bytes(own: _ChannelWords, lanes: slice | Words, words: VectorScale) -> bytes:
    if words.whole:
        parts = [own.fraction << 1, own.low_unsigned, own.high_unsigned, own.low, own.border, own.high, own.step]
    else:
        parts = [own.high, own.fraction, own.low, *([] if _ending(words) is Ending.ABOVE else [own.border, own.step])]
    return b"".join(_i2(part[lanes]) for part in parts)
