"""Orders int8 weights as the kernels read them. Programs hold them in canonical order; plans hold them packed.

How is a `Packing`, and its number stands in the operator's record and in the kernel's entry: no kernel gets weights
in an order that it does not know. What the portable kernels read only permutes bytes; others may fill lanes with zeros,
whose products add nothing.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.format import enums
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConvInt8Params, RecurrentInt16Params
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up


class Padding(enum.Enum):
    """What is filled with zeros up to whole tiles; with any, output channels are filled up to whole blocks."""

    NONE = enum.auto()  #: nothing: what is left of a tile or a block is stored as it is
    CHANNEL = enum.auto()  #: all taps of an output channel
    ROW = enum.auto()  #: each row of a kernel
    PIXEL = enum.auto()  #: the channels of each pixel of a kernel


@dataclasses.dataclass(frozen=True)
class Packing:
    """How the weights of convolutions and fully connected layers lie.

    name: for people.
    block: output channels that a kernel computes together; those of a group, by themselves.
    tile: taps of each of them that lie side by side.
    order: in which the taps of a tile lie.
    padding: what is filled up with zeros.
    columns: output channels of a depthwise convolution that lie together at each tap; 0: all.
    """

    name: str
    block: int
    tile: int
    order: tuple[int, ...]
    padding: Padding
    columns: int


#: By their numbers in a plan, but for PIE: there the weights are parts of streams (pie.py). The portable order
#: 0 2 1 3 is so that Arm's SXTB16 widens two neighbouring taps.
PACKINGS: dict[enums.Packing, Packing] = {
    enums.Packing.PORTABLE: Packing("portable", 4, 4, (0, 2, 1, 3), Padding.NONE, 4),
    enums.Packing.ROWS: Packing("rows", 1, 1, (0,), Padding.NONE, 0),
    enums.Packing.LANES_16: Packing("16 lanes", 1, 16, tuple(range(16)), Padding.PIXEL, 16),
}
_PORTABLE = PACKINGS[enums.Packing.PORTABLE]
#: Kinds whose weights of int8 have an order of their own in a plan.
_ORDERED = frozenset((
    OpKind.CONV_2D, OpKind.ASYMMETRIC_CONV_2D, OpKind.FULLY_CONNECTED, OpKind.ASYMMETRIC_FULLY_CONNECTED,
    OpKind.SUM_PRODUCTS, OpKind.DEPTHWISE_CONV_2D,
))  # fmt: skip
#: Kinds that a backend may pack in its own way; the weights of all others lie as the portable kernels read them.
PACKED_KINDS = frozenset((OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.FULLY_CONNECTED))


@dataclasses.dataclass(frozen=True)
class Order:
    """How one array is put in order. parts: groups of output channels, each by itself; shape: of one, and of a
    depthwise convolution [taps][channels]."""

    packing: enums.Packing
    depthwise: bool
    parts: int
    shape: tuple[int, ...]

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The array as a plan stores it, flat."""
        how = PACKINGS[self.packing]
        if self.depthwise:
            return pack_columns(array.reshape(self.shape), how)
        return np.concatenate([_rows(part, how) for part in array.reshape(self.parts, *self.shape)])


def stored_order(
    kind: OpKind, dtype: DType, params: Record, field: str, shape: Sequence[int], packing: enums.Packing
) -> Order | None:
    """How one of an operator's arrays, of that shape in canonical order, is put in order; None: as it is."""
    if packing not in PACKINGS:
        return None
    if isinstance(params, RecurrentInt16Params):
        if field not in ("input_weights", "recurrent_weights"):
            return None
    elif field != "weights" or dtype not in (DType.INT8, DType.INT32) or kind not in _ORDERED:
        return None
    if kind == OpKind.DEPTHWISE_CONV_2D:
        return Order(packing, True, 1, (math.prod(shape[:-1]), shape[-1]))
    parts = params.groups if isinstance(params, ConvInt8Params) else 1
    if kind == OpKind.SUM_PRODUCTS:
        parts, shape = shape[0], shape[1:]
    elif parts > 1:
        shape = (shape[0] // parts, *shape[1:])
    if PACKINGS[packing].padding is Padding.NONE:  # where the taps of a channel are one line, whatever their shape
        shape = (shape[0], math.prod(shape[1:]))
    return Order(packing, False, parts, tuple(shape))


def packed_blobs(
    kind: OpKind,
    dtype: DType,
    params: Record,
    blobs: Mapping[str, np.ndarray],
    packing: enums.Packing = enums.Packing.PORTABLE,
) -> dict[str, np.ndarray]:
    """An operator's arrays in the plan's order; all but the weights of some int8 kernels, and streams, as they are."""
    orders = {field: stored_order(kind, dtype, params, field, array.shape, packing) for field, array in blobs.items()}
    return {field: array if (order := orders[field]) is None else order.apply(array) for field, array in blobs.items()}


def packed_bytes(
    kind: OpKind, params: Record, field: str, array: np.ndarray, packing: enums.Packing = enums.Packing.PORTABLE
) -> int:
    """Bytes that one of an operator's arrays takes in a plan."""
    if field != "weights" or kind not in PACKED_KINDS:
        return array.nbytes
    how = PACKINGS[packing]
    if how.padding is Padding.NONE:
        return array.nbytes
    if kind == OpKind.DEPTHWISE_CONV_2D:
        channels = int(array.shape[-1])
        return array.size // channels * round_up(channels, how.columns or channels)
    groups = params.groups if isinstance(params, ConvInt8Params) else 1
    lanes, rows = _lanes(array.shape[1:], how)
    channels = round_up(int(array.shape[0]) // groups, how.block)
    return groups * channels * rows * round_up(lanes, how.tile)


def unpacked_weights(
    kind: OpKind, params: Record, packed: np.ndarray, shape: Sequence[int], packing: enums.Packing
) -> np.ndarray:
    """The weights of an operator of PACKED_KINDS in canonical order, of that shape, from those of a plan, flat."""
    numbers = np.arange(1, math.prod(shape) + 1).reshape(shape)
    places = packed_blobs(kind, DType.INT8, params, {"weights": numbers}, packing)["weights"]
    result = np.empty(numbers.size, packed.dtype)
    result[places[places > 0] - 1] = packed[places > 0]
    return result.reshape(shape)


def _lanes(shape: Sequence[int], packing: Packing) -> tuple[int, int]:
    """What one output channel, of that shape, is filled up by: (taps of a part, parts)."""
    axes = {Padding.PIXEL: 1, Padding.ROW: 2}.get(packing.padding, len(shape))
    split = max(0, len(shape) - axes)
    return math.prod(shape[split:]), math.prod(shape[:split])


def _rows(weights: np.ndarray, packing: Packing) -> np.ndarray:
    """[channels][…] by pack_rows, filled up as the packing says."""
    channels = weights.shape[0]
    if packing.padding is Padding.NONE:
        return pack_rows(weights.reshape(channels, -1), packing)
    lanes, parts = _lanes(weights.shape[1:], packing)
    more = (0, -channels % packing.block), (0, 0), (0, -lanes % packing.tile)
    filled = np.pad(weights.reshape(channels, parts, lanes), more)
    return pack_rows(filled.reshape(filled.shape[0], -1), packing)


def pack_rows(weights: np.ndarray, packing: Packing = _PORTABLE) -> np.ndarray:
    """[channels][taps] by blocks of channels, then the channels left one by one, flat.

    A block of n channels is its whole tiles [taps / tile][channel][tap], then [taps % tile][channel]. A tile's taps lie
    in the packing's order.
    """
    channels, _ = weights.shape
    blocked = channels - channels % packing.block
    blocks = weights[:blocked].reshape(-1, packing.block, weights.shape[1])
    rest = weights[blocked:].reshape(-1, 1, weights.shape[1])
    return np.concatenate([_pack_blocks(part, packing).reshape(-1) for part in (blocks, rest)])


def _pack_blocks(blocks: np.ndarray, packing: Packing) -> np.ndarray:
    """[block][channel][tap] with the last two axes in the packed order."""
    count, channels, taps = blocks.shape
    tiled = taps - taps % packing.tile
    tiles = blocks[:, :, :tiled].reshape(count, channels, tiled // packing.tile, packing.tile)[..., packing.order]
    rest = blocks[:, :, tiled:].transpose(0, 2, 1)
    parts = tiles.transpose(0, 2, 1, 3).reshape(count, channels * tiled), rest.reshape(count, channels * (taps - tiled))
    return np.concatenate(parts, axis=1)


def pack_columns(weights: np.ndarray, packing: Packing = _PORTABLE) -> np.ndarray:
    """[taps][channels] by blocks of channels, each [taps][channel], flat; the last may be smaller, or is filled up."""
    step = packing.columns or weights.shape[1]
    if packing.padding is not Padding.NONE:
        weights = np.pad(weights, ((0, 0), (0, -weights.shape[1] % step)))
    blocks = [weights[:, at : at + step] for at in range(0, weights.shape[1], step)]
    return np.concatenate([block.reshape(-1) for block in blocks])
