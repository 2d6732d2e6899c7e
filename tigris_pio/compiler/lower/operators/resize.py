"""Resize and Upsample: SELECT for nearest, RESAMPLE for linear and cubic.

GridSample with a constant grid is a SELECT, a Mul and an Add for each tap of the interpolation. Coordinates, padding
modes and the cubic coefficient (-0.75) follow ONNX's GridSample.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import interpolation as ip
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, channels_last, default_dims
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import emit_selection
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE, needed_rows
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ResampleParams

MOST_TAPS = 64
_CROP = "tf_crop_and_resize"


@dataclasses.dataclass(frozen=True)
class ResizeMode:
    """The attributes of a node. regions: begin and end of each axis for tf_crop_and_resize"""

    mode: str
    coordinates: str
    nearest: str
    cubic: float
    antialias: bool
    exclude_outside: bool
    extrapolation: float
    regions: Mapping[int, tuple[float, float]]


@operator("Resize", "Upsample", summary="nearest with all roundings, linear and cubic with all coordinate modes, "
          "antialias, exclude_outside; constant scales or sizes; align_corners goes by the output's real size, as in "
          "PyTorch and onnxruntime, where scales are fractional")
def lower_resize(builder: Builder, node: Node) -> None:
    """SELECT or RESAMPLE. The pass resize_scales made the scales an attribute."""
    scales = node.attributes.get("scales")
    if scales is None:
        raise Refusal("its scales or sizes are computed at run time")
    shape, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    how = _resize_mode(builder, node)
    axes = {
        axis: ip.Scaling(old, new, float(scale))
        for axis, (old, new, scale) in enumerate(zip(shape, result, scales, strict=True))
        if old != new or float(scale) != 1.0 or how.regions.get(axis, (0.0, 1.0)) != (0.0, 1.0)
    }
    if how.mode == "nearest":
        _emit_nearest(builder, node, axes, how)
    else:
        _emit_interpolation(builder, node, axes, how)


def _resize_mode(builder: Builder, node: Node) -> ResizeMode:
    attributes = node.attributes
    old = builder.graph.opset < 11 or node.op == "Upsample"
    coordinates = "asymmetric" if old else attributes.get("coordinate_transformation_mode", "half_pixel")
    return ResizeMode(
        mode={"bilinear": "linear"}.get(attributes.get("mode", "nearest"), attributes.get("mode", "nearest")),
        coordinates=coordinates,
        nearest="simple" if old else attributes.get("nearest_mode", "round_prefer_floor"),
        cubic=float(attributes.get("cubic_coeff_a", -0.75)),
        antialias=bool(attributes.get("antialias", 0)),
        exclude_outside=bool(attributes.get("exclude_outside", 0)),
        extrapolation=float(attributes.get("extrapolation_value", 0.0)),
        regions=_regions(builder, node) if coordinates == _CROP else {},
    )


def _regions(builder: Builder, node: Node) -> dict[int, tuple[float, float]]:
    if len(node.inputs) < 2 or not node.inputs[1] or not builder.is_constant(node.inputs[1]):
        raise Refusal("its region of interest is computed at run time")
    region = builder.float_constant(node.inputs[1]).reshape(-1)
    rank = len(builder.shape(node.inputs[0]))
    axes = [int(axis) % rank for axis in node.attributes.get("axes", range(rank))]
    if len(region) != 2 * len(axes):
        raise Refusal(f"its region of interest has size {len(region)} instead of {2 * len(axes)}")
    return {axis: (float(region[i]), float(region[i + len(axes)])) for i, axis in enumerate(axes)}


def _positions(axis: int, scaling: ip.Scaling, how: ResizeMode) -> np.ndarray:
    return ip.coordinates(scaling, how.coordinates, how.regions.get(axis, (0.0, 1.0)))


def _outside(axis: int, scaling: ip.Scaling, how: ResizeMode) -> np.ndarray:
    """The positions for which tf_crop_and_resize takes the extrapolation value."""
    if how.coordinates != _CROP:
        return np.zeros(scaling.count, bool)
    positions = _positions(axis, scaling, how)
    outside: np.ndarray = (positions < 0) | (positions > scaling.size - 1)
    return outside


def _emit_nearest(builder: Builder, node: Node, axes: Mapping[int, ip.Scaling], how: ResizeMode) -> None:
    selections = {
        axis: np.where(_outside(axis, scaling, how), OUTSIDE,
                       ip.nearest(scaling, _positions(axis, scaling, how), how.nearest))
        for axis, scaling in axes.items()
    }
    emit_selection(builder, node.inputs[0], node.outputs[0], selections, fill=how.extrapolation)


def _emit_interpolation(builder: Builder, node: Node, axes: Mapping[int, ip.Scaling], how: ResizeMode) -> None:
    """Emits RESAMPLE, then a SELECT of the extrapolation value for positions outside the input."""
    if how.mode not in ("linear", "cubic"):
        raise Refusal(f"mode {how.mode}")
    name, output = node.inputs[0], node.outputs[0]
    outside = {axis: mask for axis, scaling in axes.items() if (mask := _outside(axis, scaling, how)).any()}
    if not outside:
        _emit_interpolated(builder, name, output, axes, how)
        return
    inner = builder.declare(f"{output}/inside", builder.shape(output), name)
    _emit_interpolated(builder, name, inner, axes, how)
    selections = {axis: np.where(mask, OUTSIDE, np.arange(len(mask))) for axis, mask in outside.items()}
    emit_selection(builder, inner, output, selections, fill=how.extrapolation)


def _emit_interpolated(builder: Builder, name: str, output: str, axes: Mapping[int, ip.Scaling],
                       how: ResizeMode) -> None:
    shape, result = builder.shape(name), builder.shape(output)
    integer = _has_integer_weights(builder, name, output, how)
    numeric = builder.numeric(name) if integer else FLOAT
    spatial = [_taps(axes.get(axis), size, axis, how, integer) for axis, size in enumerate(shape)]
    layout, rows, columns = _kernel_axes(shape, set(axes))
    value = builder.value_in_order(name, layout, numeric)
    new_layout = Layout(result, layout.order)
    dims, new_dims = _dims(layout, rows, columns), _dims(new_layout, rows, columns)
    one = _taps(None, 1, 0, how, integer)
    row_taps = spatial[rows] if rows is not None else _repeated_tap(one, dims[1])
    column_taps = spatial[columns] if columns is not None else _repeated_tap(one, dims[2])
    params, blobs = resample_params(row_taps, column_taps, numeric)
    storage = builder.with_dims(value, dims)
    rows_read = needed_rows(*row_taps.reach(), dims[1])
    builder.emit(OpKind.RESAMPLE, numeric.dtype, [(storage, rows_read)], output,
                 new_layout, numeric, Cell(new_dims, fixed=True), params, blobs=blobs)


def _has_integer_weights(builder: Builder, name: str, output: str, how: ResizeMode) -> bool:
    """Whether int8 results at the input's scale are exact enough for the output.

    Cubic results may exceed the input's range, so they need equal quantisations.
    """
    if not builder.is_int8(name, output):
        return False
    source, result = builder.numeric(name), builder.numeric(output)
    return source == result or (how.mode == "linear" and result.scale >= source.scale)


def _repeated_tap(one: ip.Taps, count: int) -> ip.Taps:
    return ip.Taps(np.arange(count), np.repeat(one.weights, count, axis=0))


def _kernel_axes(shape: tuple[int, ...], axes: set[int]) -> tuple[Layout, int | None, int | None]:
    """An element order, and the axes that are rows and columns of RESAMPLE."""
    order = channels_last(shape).order
    moving = [axis for axis in order if axis in axes]
    if len(moving) > 2:
        raise Refusal(f"it interpolates along {len(moving)} axes; two are supported")
    if len(shape) == 4 and set(moving) <= {2, 3}:
        return Layout(shape, order), 2, 3
    if len(shape) == 3 and set(moving) <= {2}:
        return Layout(shape, order), 2, None
    if len(moving) == 2 and order.index(moving[1]) != order.index(moving[0]) + 1:
        still = [axis for axis in order if axis not in moving]
        order = (*still, *moving)
    rows = moving[0] if moving else None
    return Layout(shape, order), rows, moving[1] if len(moving) > 1 else None


def _dims(layout: Layout, rows: int | None, columns: int | None) -> Dims:
    """[batch, height, width, channels]: axes before the rows are the batch, axes after the columns the channels."""
    stored = layout.stored_shape
    if rows is None:
        return default_dims(stored)
    first = layout.order.index(rows)
    end = first + 1 if columns is None else layout.order.index(columns) + 1
    return (int(np.prod(stored[:first])), stored[first], stored[end - 1] if columns is not None else 1,
            int(np.prod(stored[end:])))


def _taps(scaling: ip.Scaling | None, size: int, axis: int, how: ResizeMode, integer: bool) -> ip.Taps:
    if scaling is None:
        unit = 1 << ip.WEIGHT_BITS if integer else 1.0
        return ip.Taps(np.arange(size), np.full((size, 1), unit))
    exact = abs(scaling.scale - scaling.count / scaling.size) < 1e-6 * scaling.scale
    exact |= how.coordinates == "align_corners"
    plain = not how.antialias and how.mode == "linear"
    if integer and plain and exact and how.coordinates in ("half_pixel", "asymmetric", "align_corners"):
        return ip.integer_linear(scaling, align_corners=how.coordinates == "align_corners",
                                 half_pixel=how.coordinates == "half_pixel")
    positions = _positions(axis, scaling, how)
    if how.mode == "linear" and not how.antialias and not how.exclude_outside:
        # Outside the input, linear interpolation takes the element at the end.
        positions = np.clip(positions, 0, scaling.size - 1)
    kernel = ip.linear if how.mode == "linear" else ip.cubic(how.cubic)
    taps = ip.interpolate(scaling, positions, kernel, 1 if how.mode == "linear" else 2, antialias=how.antialias,
                          exclude_outside=how.exclude_outside)
    return ip.integer_weights(taps) if integer else taps


def resample_params(rows: ip.Taps, columns: ip.Taps, numeric: Numeric) -> tuple[ResampleParams, dict[str, np.ndarray]]:
    """Parameters and tables of a RESAMPLE."""
    most = max(rows.weights.shape[1], columns.weights.shape[1])
    if most > MOST_TAPS:
        raise Refusal(f"{most} input elements add to one output element; {MOST_TAPS} are supported")
    dtype = np.float32 if numeric == FLOAT else np.int16
    blobs = {
        "row_start": rows.starts.astype(np.int32), "row_weight": rows.weights.astype(dtype),
        "column_start": columns.starts.astype(np.int32), "column_weight": columns.weights.astype(dtype),
    }
    params = ResampleParams(row_taps=rows.weights.shape[1], column_taps=columns.weights.shape[1], row_start=0,
                            row_weight=0, column_start=0, column_weight=0)
    return params, blobs


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
        _grid_positions(builder.float_constant(grid)[..., -1 - axis].astype(np.float64), size, padding, aligned, mode)
        for axis, size in enumerate(shape[2:])
    ]
    composer = Composer(builder, node)
    terms = list(_grid_taps(positions, shape[2:], mode, padding, aligned))
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


def _grid_positions(grid: np.ndarray, size: int, padding: str, aligned: bool, mode: str) -> np.ndarray:
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


def _grid_taps(positions: list[np.ndarray], sizes: tuple[int, ...], mode: str, padding: str,
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
    name = builder.declare(f"{node.outputs[0]}/tap", result)
    if batch == 1:
        emit_selection(builder, node.inputs[0], name, {2: places.reshape(-1)}, (batch, channels, area))
        return name
    # Each image has its own grid, so indices refer to the planes of all images and channels in row-major order.
    plane = places.reshape(batch, 1, -1)
    base = np.arange(batch * channels).reshape(batch, channels, 1) * area
    flat = np.where(plane == OUTSIDE, OUTSIDE, base + plane)
    emit_selection(builder, node.inputs[0], name, {0: flat.reshape(-1)}, (batch * channels * area,))
    return name
