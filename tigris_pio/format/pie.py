"""The layout of weight streams of the ESP32-S3's vector kernels ("PIE"): sizes, and weights back from a stream.

A stream is a head of 16 bytes (ending, shift of sums, shift of outputs, zeros), blocks, and 16 bytes that kernels load
but do not use. A block is the weights of eight outputs, each padded with zeros to whole vectors, or the taps of
sixteen channels of a depthwise convolution; eight channels stand twice. The words of the block follow: constants that
turn sums into outputs (`compiler/backends/pie_streams.py`). The ending gives their size.
runtime/src/kernels/pie/layer.h reads streams.
"""

import enum
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tigris_pio.format.enums import OpKind
from tigris_pio.sizes import round_up

LANES = 16  # bytes of a vector, of the head, and of the unused end
OUTPUTS = 8  # outputs that a kernel requantises together
_OFFSETS = 32  # bytes of the offsets of eight outputs


class Ending(enum.IntEnum):
    """The variant of a kernel, named after the end of its function's name. It determines the words of a stream."""

    ABOVE = 0  #: no output is below the zero point
    USUAL = 1
    CLAMPED = 2  #: the activation's limits are not -128 and 127
    WHOLE = 3  #: products use all bits of the multipliers
    WHOLE_CLAMPED = 4
    LONG = 5  #: dense layers of more than 64 products, with all bits of the multipliers
    LONG_CLAMPED = 6

    @property
    def words(self) -> int:
        """Bytes of the words of eight outputs."""
        return _OFFSETS + {Ending.ABOVE: 48, Ending.USUAL: 80, Ending.CLAMPED: 80}.get(self, 112)


def stream_bytes(kind: OpKind, shape: Sequence[int], ending: Ending) -> int:
    """Bytes of the stream of weights of `shape`, in canonical order."""
    blocks, weights, eights = _blocks(kind, shape)
    return 2 * LANES + blocks * (weights + eights * ending.words)


def stream_weights(kind: OpKind, shape: Sequence[int], stream: bytes) -> NDArray[np.int8]:
    """The weights of a stream in canonical order; zeros for outputs that are constant.

    Raises ValueError for a stream that is too short, or has an unknown ending.
    """
    ending = Ending(stream[0]) if stream else Ending.ABOVE
    size = stream_bytes(kind, shape, ending)
    if len(stream) < size:
        raise ValueError(f"the stream has {len(stream)} bytes, not {size}")
    blocks, weights, _ = _blocks(kind, shape)
    content = np.frombuffer(stream, np.int8, size - 2 * LANES, LANES).reshape(blocks, -1)[:, :weights]
    if kind is OpKind.DEPTHWISE_CONV_2D:
        taps = content.reshape(blocks, -1, LANES).transpose(1, 0, 2).reshape(-1, blocks * LANES)
        return np.asarray(taps[:, : shape[-1]].reshape(shape))
    rows = content.reshape(blocks * OUTPUTS, -1)
    return np.asarray(rows[: shape[0], : math.prod(shape[1:])].reshape(shape))


def _blocks(kind: OpKind, shape: Sequence[int]) -> tuple[int, int, int]:
    """(number of blocks, bytes of weights in a block, groups of eight outputs in a block)."""
    if kind is OpKind.DEPTHWISE_CONV_2D:
        return -(-shape[-1] // LANES), math.prod(shape[:-1]) * LANES, 2
    return -(-shape[0] // OUTPUTS), OUTPUTS * round_up(math.prod(shape[1:]), LANES), 1
