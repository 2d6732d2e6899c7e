"""Streams of weights and words for the ESP32-S3's vector kernels: where the weights lie in them.

A stream is a head of 16 bytes (ending, shift of sums, shift of outputs, zeros), blocks, and 16 bytes that are loaded
and not used. A block is the weights of eight outputs, those of each filled up with zeros to whole vectors, or the nine
taps of sixteen channels of a depthwise convolution; behind them the words that make outputs of their sums
(`compiler/backends/pie_streams.py`), whose bytes follow from the ending. runtime/src/kernels/pie/layer.h reads it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tigris_pio.format.enums import OpKind
from tigris_pio.sizes import round_up

LANES = 16  # bytes of a vector, of a head, and of what lies behind the blocks
OUTPUTS = 8  # that are requantised at a time
TAPS = 9
_OFFSETS = 32


class Ending(enum.IntEnum):
    """What the names of functions end in, and so what words a stream has. Those of dense layers of more than 64
    products are the last two."""

    ABOVE = 0  #: no output is below the zero point
    USUAL = 1
    CLAMPED = 2  #: the activation's limits are not those of a byte
    WHOLE = 3  #: all digits of the multipliers count
    WHOLE_CLAMPED = 4
    LONG = 5  #: so they do here
    LONG_CLAMPED = 6

    @property
    def words(self) -> int:
        """Bytes of the words of eight outputs."""
        return _OFFSETS + {Ending.ABOVE: 48, Ending.USUAL: 80, Ending.CLAMPED: 80}.get(self, 112)


def stream_bytes(kind: OpKind, shape: Sequence[int], ending: Ending) -> int:
    """Of weights of that shape in canonical order."""
    blocks, weights, eights = _blocks(kind, shape)
    return 2 * LANES + blocks * (weights + eights * ending.words)


def weights_of(kind: OpKind, shape: Sequence[int], stream: bytes) -> NDArray[np.int8]:
    """The weights in canonical order. Those of outputs that no sum changes are zeros. ValueError for a stream that is
    too short or has no such ending."""
    ending = Ending(stream[0]) if stream else Ending.ABOVE
    size = stream_bytes(kind, shape, ending)
    if len(stream) < size:
        raise ValueError(f"the stream has {len(stream)} bytes, not {size}")
    blocks, weights, _ = _blocks(kind, shape)
    content = np.frombuffer(stream, np.int8, size - 2 * LANES, LANES).reshape(blocks, -1)[:, :weights]
    if kind is OpKind.DEPTHWISE_CONV_2D:
        taps = content.reshape(blocks, TAPS, LANES).transpose(1, 0, 2).reshape(TAPS, -1)
        return np.asarray(taps[:, : shape[-1]].reshape(shape))
    rows = content.reshape(blocks * OUTPUTS, -1)
    return np.asarray(rows[: shape[0], : math.prod(shape[1:])].reshape(shape))


def _blocks(kind: OpKind, shape: Sequence[int]) -> tuple[int, int, int]:
    """(how many, bytes of weights, eights of outputs) of each."""
    if kind is OpKind.DEPTHWISE_CONV_2D:
        return -(-shape[-1] // LANES), TAPS * LANES, 2
    return -(-shape[0] // OUTPUTS), OUTPUTS * round_up(math.prod(shape[1:]), LANES), 1
