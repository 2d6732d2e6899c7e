"""GridSample with a constant grid: a SELECT, a Mul and an Add for each tap of the interpolation.

Coordinates, padding modes and the cubic coefficient (-0.75) follow ONNX's GridSample.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower import interpolation as ip
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import emit_selection
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE

_MODES = {"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}


@operator("GridSample", summary="constant grid; nearest, linear and cubic, all paddings; in float32")
def lower_grid_sample(builder: Builder, node: Node) -> None:
    """Output position p is the input at grid[p], whose last axis is (x, y), or (x, y, z), in [-1, 1]."""
    name, grid = node.inputs[:2]
    if not builder.is_constant(grid):
        raise Refusal(f"its grid ({grid}) is computed at run time")
    shape, result = builder.shape(name), builder.shape(node.outputs[0])
    mode = _MODES.get(node.attributes.get("mode", "linear"), "")
    padding = node.attributes.get("padding_mode", "zeros")
    if not mode or padding not in ("zeros", "border", "reflection"):
        raise Refusal(f"mode {node.attributes.get('mode')} or padding_mode {padding}")
    aligned = bool(node.attributes.get("align_corners", 0))
    positions = [
        _positions(builder.float_constant(grid)[..., -1 - axis].astype(np.float64), size, padding, aligned, mode)
        for axis, size in enumerate(shape[2:])
    ]
    composer = Composer(builder, node)
    terms = list(_taps(positions, shape[2:], mode, padding, aligned))
    partial = ""
    for index, (places, weights) in enumerate(terms):
        picked = _emit_tap(builder, node, places, shape, result)
        column = composer.constant(weights.reshape(result[0], 1, *result[2:]))
        last = index == len(terms) - 1
        if last and not partial:
            composer.finish("Mul", [picked, column])
            return
        term = composer.add("Mul", [picked, column], result)
        if last:
            composer.finish("Add", [partial, term])
        else:
            partial = term if not partial else composer.add("Add", [partial, term], result)


def _positions(grid: np.ndarray, size: int, padding: str, aligned: bool, mode: str) -> np.ndarray:
    """Input coordinates along one axis, moved inside if the padding mode does so before interpolation."""
    real = (grid + 1) / 2 * (size - 1) if aligned else ((grid + 1) * size - 1) / 2
    if mode == "nearest":
        real = np.rint(real)
    if mode == "cubic" or padding == "zeros":
        return real
    return np.clip(real, 0, size - 1) if padding == "border" else _reflected(real, size, aligned)


def _reflected(positions: np.ndarray, size: int, aligned: bool) -> np.ndarray:
    """Positions beyond the ends, reflected at the outer pixels' centres or at their edges."""
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
    span = high - low
    if span == 0:
        return np.zeros_like(positions)
    folded = np.mod(positions - low, 2 * span)
    inside = low + np.where(folded > span, 2 * span - folded, folded)
    return np.clip(inside, 0, size - 1)


def _taps(positions: list[np.ndarray], sizes: tuple[int, ...], mode: str, padding: str,
          aligned: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Row-major positions in the map (OUTSIDE gives zero) and weights, a pair for each tap."""
    offsets = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]
    kernel = ip.linear if mode == "linear" else ip.cubic(-0.75)
    for taps in itertools.product(offsets, repeat=len(sizes)):
        places = np.zeros(positions[0].shape, np.int64)
        weights = np.ones(positions[0].shape)
        outside = np.zeros(positions[0].shape, bool)
        for position, size, tap in zip(positions, sizes, taps, strict=True):
            index = np.floor(position) + tap
            if mode != "nearest":
                weights = weights * kernel(index - position)
            if padding == "border":
                index = np.clip(index, 0, size - 1)
            elif padding == "reflection":
                index = np.rint(_reflected(index, size, aligned))
            outside |= (index < 0) | (index >= size)
            places = places * size + np.clip(index, 0, size - 1).astype(np.int64)
        yield np.where(outside, OUTSIDE, places), weights


def _emit_tap(builder: Builder, node: Node, places: np.ndarray, shape: tuple[int, ...],
              result: tuple[int, ...]) -> str:
    """Emits the input elements of one tap for all output positions, zero outside; returns the tensor's name."""
    batch, channels, area = shape[0], shape[1], math.prod(shape[2:])
    name = builder.fresh(f"{node.outputs[0]}/tap")
    builder.tensors[name] = Tensor(name, tuple(result), np.dtype(np.float32))
    if batch == 1:
        emit_selection(builder, node.inputs[0], name, {2: places.reshape(-1)}, (batch, channels, area))
        return name
    # Each image has its own grid, so indices refer to the planes of all images and channels in row-major order.
    plane = places.reshape(batch, 1, -1)
    base = np.arange(batch * channels).reshape(batch, channels, 1) * area
    flat = np.where(plane == OUTSIDE, OUTSIDE, base + plane)
    emit_selection(builder, node.inputs[0], name, {0: flat.reshape(-1)}, (batch * channels * area,))
    return name
