"""Orders int8 weights as kernels read them. Programs hold weights in canonical order, plans hold them packed.

Canonical order is [outputs][rows][columns][inputs], or [rows][columns][channels] of a depthwise convolution. The number
of the packing stands in the operator's record and in the kernel's entry, so the loader refuses a mismatch. The portable
packing only permutes bytes. Other packings may fill lanes with zeros, whose products add nothing.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.format import enums
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import INT4_KINDS, PLAIN_KINDS, TABLE_KINDS, TRAITS
from tigris_pio.format.params import ConvInt8Params, RecurrentInt16Params, TransposeConvInt8Params
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up


class Padding(enum.Enum):
    """The part of an output channel's weights that is filled with zeros up to whole tap tiles.

    Except with NONE, output channels are filled up to whole channel blocks, too.
    """

    NONE = enum.auto()  #: nothing: incomplete tiles and blocks are stored without zeros
    CHANNEL = enum.auto()  #: all taps of an output channel
    ROW = enum.auto()  #: each row of a kernel
    PIXEL = enum.auto()  #: the channels of each pixel of a kernel


@dataclasses.dataclass(frozen=True)
class PackingLayout:
    """The order of the weights of convolutions and fully connected layers.

    name: for messages
    channel_block: output channels that a kernel computes together; blocks do not cross groups
    tap_tile: contiguous taps of each channel of a block
    tap_order: the order of the taps within a tile
    padding: the part that is filled with zeros
    depthwise_channels: contiguous output channels of each tap of a depthwise convolution; 0 for all
    """

    name: str
    channel_block: int
    tap_tile: int
    tap_order: tuple[int, ...]
    padding: Padding
    depthwise_channels: int


#: All packings but PIE, whose weights are parts of streams (pie.py). Taps have the portable order 0 2 1 3, because
#: Arm's SXTB16 widens bytes 0 and 2 of a word.
PACKINGS: dict[enums.Packing, PackingLayout] = {
    enums.Packing.PORTABLE: PackingLayout("portable", 4, 4, (0, 2, 1, 3), Padding.NONE, 4),
    enums.Packing.ROWS: PackingLayout("rows", 1, 1, (0,), Padding.NONE, 0),
    enums.Packing.LANES_16: PackingLayout("16 lanes", 1, 16, tuple(range(16)), Padding.PIXEL, 16),
    enums.Packing.ROWS_16: PackingLayout("rows of 16", 4, 16, tuple(range(16)), Padding.CHANNEL, 4),
}
_PORTABLE = PACKINGS[enums.Packing.PORTABLE]
#: Kinds that a backend may pack in its own order; weights of all other kinds have the portable packing.
PACKED_KINDS = frozenset(PLAIN_KINDS)

#: The least and the largest weight of the kinds with 4 bits.
INT4_RANGE = (-8, 7)
_INT4_KINDS = frozenset(INT4_KINDS.values())
_TABLE_KINDS = frozenset(TABLE_KINDS.values())
#: The order of weights of 4 bits before each eight of them become a word.
_INT4_LAYOUT = PackingLayout("4 bits", 4, 4, tuple(range(4)), Padding.CHANNEL, 0)
#: The order of indices into tables: with output channels and taps in multiples of four the portable one.
_TABLE_LAYOUT = dataclasses.replace(PACKINGS[enums.Packing.PORTABLE], padding=Padding.CHANNEL)
#: The weights of a word from its lowest four bits on: a mask gives taps 0 and 2 of an output, or 1 and 3.
_NIBBLES = (0, 1, 4, 5, 2, 3, 6, 7)


@dataclasses.dataclass(frozen=True)
class Int4Order:
    """The packing of weights of 4 bits: words of two outputs by four taps, filled up with zeros.

    shape: [outputs][taps]
    tables: the array holds indices into tables, which lie in pairs from the lower four bits of a byte on
    """

    shape: tuple[int, int]
    tables: bool = False

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The packed array, flat: words of 32 bits, or bytes of indices."""
        if self.tables:
            indices = _pack_channels(array.reshape(self.shape), _TABLE_LAYOUT).astype(np.uint8)
            pairs: np.ndarray = indices[::2] | indices[1::2] << 4
            return pairs
        packed = _pack_channels(array.reshape(self.shape), _INT4_LAYOUT)
        nibbles = (packed - INT4_RANGE[0]).reshape(-1, 8)[:, _NIBBLES].astype(np.uint32)
        words: np.ndarray = (nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
        return words

    @property
    def bytes(self) -> int:
        """Bytes of the packed array."""
        outputs, taps = self.shape
        return round_up(outputs, _INT4_LAYOUT.channel_block) * round_up(taps, _INT4_LAYOUT.tap_tile) // 2


@dataclasses.dataclass(frozen=True)
class ArrayOrder:
    """The packing of one array.

    parts: groups of output channels, which are packed separately
    shape: of one part; [taps][channels] of a depthwise convolution
    """

    packing: enums.Packing
    depthwise: bool
    parts: int
    shape: tuple[int, ...]

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The packed array, flat."""
        layout = PACKINGS[self.packing]
        if self.depthwise:
            return pack_depthwise(array.reshape(self.shape), layout)
        return np.concatenate([_pack_channels(part, layout) for part in array.reshape(self.parts, *self.shape)])


@dataclasses.dataclass(frozen=True)
class PhaseOrder:
    """The packing of the weights of a transposed convolution: those of each phase, as of a convolution.

    stride, dilation: in rows and columns
    """

    stride: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    shape: tuple[int, ...]

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The packed array, flat."""
        parts = [pack_rows(group.reshape(len(group), -1))
                 for phase in phase_weights(array.reshape(self.shape), self.stride, self.dilation)
                 for group in (np.split(phase, self.groups) if phase.size else ())]  # fmt: skip
        return np.concatenate(parts)


def phase_weights(weights: np.ndarray, stride: tuple[int, int], dilation: tuple[int, int]) -> list[np.ndarray]:
    """The weights of each phase of a transposed convolution, perhaps without taps, by rows, then columns.

    A phase is a remainder of an output's row and of its column, pads included, by the strides.
    weights: [outputs][rows][columns][inputs]
    """
    rows, columns = ([[tap for tap in range(size) if (phase - tap * apart) % step == 0] for phase in range(step)]
                     for size, step, apart in zip(weights.shape[1:3], stride, dilation, strict=True))  # fmt: skip
    return [weights[:, down][:, :, across] for down in rows for across in columns]


def stored_order(
    kind: OpKind, dtype: DType, params: Record, field: str, shape: Sequence[int], packing: enums.Packing
) -> ArrayOrder | PhaseOrder | Int4Order | None:
    """The packing of one of an operator's arrays, from its shape in canonical order; None if it is stored unchanged."""
    if packing in PACKINGS and kind in _INT4_KINDS | _TABLE_KINDS and field == "weights":
        return Int4Order((shape[0], math.prod(shape[1:])), kind in _TABLE_KINDS)
    if isinstance(params, RecurrentInt16Params):
        is_packed = field in ("input_weights", "recurrent_weights")
    else:
        is_packed = field == "weights" and dtype in (DType.INT8, DType.INT32) and TRAITS[kind].packed
    if packing not in PACKINGS or not is_packed:
        return None
    if isinstance(params, TransposeConvInt8Params):
        stride, dilation = (params.stride_height, params.stride_width), (params.dilation_height, params.dilation_width)
        return PhaseOrder(stride, dilation, params.groups, tuple(shape)) if len(shape) == 4 else None  # a damaged plan
    if kind == OpKind.DEPTHWISE_CONV_2D:
        return ArrayOrder(packing, True, 1, (math.prod(shape[:-1]), shape[-1]))
    parts = params.groups if isinstance(params, ConvInt8Params) else 1
    if kind == OpKind.SUM_PRODUCTS:
        parts, shape = shape[0], shape[1:]
    elif parts > 1:
        shape = (shape[0] // parts, *shape[1:])
    if PACKINGS[packing].padding is Padding.NONE:  # equal for all kernel shapes, so that equal arrays share a key
        shape = (shape[0], math.prod(shape[1:]))
    return ArrayOrder(packing, False, parts, tuple(shape))


def packed_blobs(
    kind: OpKind,
    dtype: DType,
    params: Record,
    blobs: Mapping[str, np.ndarray],
    packing: enums.Packing = enums.Packing.PORTABLE,
) -> dict[str, np.ndarray]:
    """An operator's arrays in the order of a plan. Only weights of some int8 kernels change; streams do not."""
    orders = {field: stored_order(kind, dtype, params, field, array.shape, packing) for field, array in blobs.items()}
    return {field: array if (order := orders[field]) is None else order.apply(array) for field, array in blobs.items()}


def packed_bytes(
    kind: OpKind, params: Record, field: str, array: np.ndarray, packing: enums.Packing = enums.Packing.PORTABLE
) -> int:
    """Bytes of one of an operator's arrays in a plan."""
    if kind in _INT4_KINDS | _TABLE_KINDS and field == "weights":
        return Int4Order((len(array), array.size // len(array))).bytes
    if field != "weights" or kind not in PACKED_KINDS:
        return array.nbytes
    layout = PACKINGS[packing]
    if layout.padding is Padding.NONE:
        return array.nbytes
    if kind == OpKind.DEPTHWISE_CONV_2D:
        channels = int(array.shape[-1])
        return array.size // channels * round_up(channels, layout.depthwise_channels or channels)
    groups = params.groups if isinstance(params, ConvInt8Params) else 1
    lanes, rows = _padded_axes(array.shape[1:], layout)
    channels = round_up(int(array.shape[0]) // groups, layout.channel_block)
    return groups * channels * rows * round_up(lanes, layout.tap_tile)


def unpacked_weights(
    kind: OpKind, params: Record, packed: np.ndarray, shape: Sequence[int], packing: enums.Packing
) -> np.ndarray:
    """The weights of an operator of PACKED_KINDS in canonical order, [*shape], from flat packed ones."""
    numbers = np.arange(1, math.prod(shape) + 1).reshape(shape)
    places = packed_blobs(kind, DType.INT8, params, {"weights": numbers}, packing)["weights"]
    result = np.empty(numbers.size, packed.dtype)
    result[places[places > 0] - 1] = packed[places > 0]
    return result.reshape(shape)


def _padded_axes(shape: Sequence[int], packing: PackingLayout) -> tuple[int, int]:
    """(taps, parts): taps that are padded together in an output channel of `shape`, and the number of such parts."""
    axes = {Padding.PIXEL: 1, Padding.ROW: 2}.get(packing.padding, len(shape))
    split = max(0, len(shape) - axes)
    return math.prod(shape[split:]), math.prod(shape[:split])


def _pack_channels(weights: np.ndarray, packing: PackingLayout) -> np.ndarray:
    """Packs weights [channels][…], padded as the packing demands; flat."""
    channels = weights.shape[0]
    if packing.padding is Padding.NONE:
        return pack_rows(weights.reshape(channels, -1), packing)
    lanes, parts = _padded_axes(weights.shape[1:], packing)
    more = (0, -channels % packing.channel_block), (0, 0), (0, -lanes % packing.tap_tile)
    filled = np.pad(weights.reshape(channels, parts, lanes), more)
    return pack_rows(filled.reshape(filled.shape[0], -1), packing)


def pack_rows(weights: np.ndarray, packing: PackingLayout = _PORTABLE) -> np.ndarray:
    """Packs weights [channels][taps] by channel blocks, then the remaining channels one by one; flat.

    A block of n channels is its whole tiles [taps / tile][channel][tap], then [taps % tile][channel]. Taps within a
    tile have the packing's order.
    """
    channels, _ = weights.shape
    blocked = channels - channels % packing.channel_block
    blocks = weights[:blocked].reshape(-1, packing.channel_block, weights.shape[1])
    rest = weights[blocked:].reshape(-1, 1, weights.shape[1])
    return np.concatenate([_pack_blocks(part, packing).reshape(-1) for part in (blocks, rest)])


def _pack_blocks(blocks: np.ndarray, packing: PackingLayout) -> np.ndarray:
    """Weights [block][channel][tap] as [block][packed channel and tap]."""
    (count, channels, taps), tile = blocks.shape, packing.tap_tile
    tiled = taps - taps % tile
    tiles = blocks[:, :, :tiled].reshape(count, channels, tiled // tile, tile)[..., packing.tap_order]
    rest = blocks[:, :, tiled:].transpose(0, 2, 1)
    parts = tiles.transpose(0, 2, 1, 3).reshape(count, channels * tiled), rest.reshape(count, channels * (taps - tiled))
    return np.concatenate(parts, axis=1)


def pack_depthwise(weights: np.ndarray, packing: PackingLayout = _PORTABLE) -> np.ndarray:
    """Packs depthwise weights [taps][channels] by blocks of channels, each [taps][channel]; flat.

    The last block is smaller, or padded if the packing demands it.
    """
    step = packing.depthwise_channels or weights.shape[1]
    if packing.padding is not Padding.NONE:
        weights = np.pad(weights, ((0, 0), (0, -weights.shape[1] % step)))
    blocks = [weights[:, at : at + step] for at in range(0, weights.shape[1], step)]
    return np.concatenate([block.reshape(-1) for block in blocks])
