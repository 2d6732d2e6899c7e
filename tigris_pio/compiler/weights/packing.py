"""Orders int8 weights as the kernels read them. Programs hold them in canonical order; plans hold them packed.

Packing permutes bytes and never adds any, so sizes and offsets are those of the canonical arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConvInt8Params, RecurrentInt16Params
from tigris_pio.format.record import Record

BLOCK_CHANNELS = 4  #: output channels that a kernel computes together
TILE_TAPS = 4  #: taps of each of them that lie side by side
TILE_ORDER = (0, 2, 1, 3)  #: so that Arm's SXTB16 widens two neighbouring taps


def packed_blobs(kind: OpKind, dtype: DType, params: Record, blobs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """An operator's arrays in the plan's order; all but the weights of some int8 kernels as they are."""
    result = dict(blobs)
    if isinstance(params, RecurrentInt16Params):
        return result | {name: _packed(result[name]) for name in ("input_weights", "recurrent_weights")}
    if dtype != DType.INT8 or "weights" not in result:
        return result
    weights = result["weights"]
    if kind in (OpKind.CONV_2D, OpKind.ASYMMETRIC_CONV_2D) and isinstance(params, ConvInt8Params):
        groups = np.split(weights.reshape(weights.shape[0], -1), params.groups)
        result["weights"] = np.concatenate([pack_rows(group) for group in groups])
    elif kind in (OpKind.FULLY_CONNECTED, OpKind.ASYMMETRIC_FULLY_CONNECTED):
        result["weights"] = _packed(weights)
    elif kind == OpKind.SUM_PRODUCTS:
        result["weights"] = np.concatenate([pack_rows(part) for part in weights])
    elif kind == OpKind.DEPTHWISE_CONV_2D:
        result["weights"] = pack_columns(weights.reshape(-1, weights.shape[-1]))
    return result


def _packed(weights: np.ndarray) -> np.ndarray:
    """[channels][…] by pack_rows."""
    return pack_rows(weights.reshape(weights.shape[0], -1))


def pack_rows(weights: np.ndarray) -> np.ndarray:
    """[channels][taps] by blocks of four channels, then the channels left one by one, flat.

    A block of n channels is its whole tiles [taps / 4][channel][tap], then [taps % 4][channel]. A tile's taps lie in
    the order of TILE_ORDER.
    """
    channels, _ = weights.shape
    blocked = channels - channels % BLOCK_CHANNELS
    blocks = weights[:blocked].reshape(-1, BLOCK_CHANNELS, weights.shape[1])
    rest = weights[blocked:].reshape(-1, 1, weights.shape[1])
    return np.concatenate([_pack_blocks(blocks).reshape(-1), _pack_blocks(rest).reshape(-1)])


def _pack_blocks(blocks: np.ndarray) -> np.ndarray:
    """[block][channel][tap] with the last two axes in the packed order."""
    count, channels, taps = blocks.shape
    tiled = taps - taps % TILE_TAPS
    tiles = blocks[:, :, :tiled].reshape(count, channels, tiled // TILE_TAPS, TILE_TAPS)[..., TILE_ORDER]
    rest = blocks[:, :, tiled:].transpose(0, 2, 1)
    parts = tiles.transpose(0, 2, 1, 3).reshape(count, channels * tiled), rest.reshape(count, channels * (taps - tiled))
    return np.concatenate(parts, axis=1)


def pack_columns(weights: np.ndarray) -> np.ndarray:
    """[taps][channels] by blocks of four channels (the last may be smaller), each [taps][channel], flat."""
    blocks = [weights[:, at : at + BLOCK_CHANNELS] for at in range(0, weights.shape[1], BLOCK_CHANNELS)]
    return np.concatenate([block.reshape(-1) for block in blocks])
