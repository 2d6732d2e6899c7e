"""Resize and Upsample: nearest is a selection, linear and cubic are resampled."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import interpolation as ip
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, channels_last, fold
from tigris_pio.compiler.lower.operators.select import declare, emit_selection
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE, needed_rows
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ResampleParams

MOST_TAPS = 64
_CROP = "tf_crop_and_resize"


@dataclasses.dataclass(frozen=True)
class Manner:
    """How a node resizes; `regions` holds the begin and end of each axis for tf_crop_and_resize."""

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
    """The scales are an attribute by now (pass resize_scales)."""
    scales = node.attributes.get("scales")
    if scales is None:
        raise Refusal("its scales or sizes are computed at run time")
    shape, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    manner = _manner(builder, node)
    axes = {
        axis: ip.Scaling(old, new, float(scale))
        for axis, (old, new, scale) in enumerate(zip(shape, result, scales, strict=True))
        if old != new or float(scale) != 1.0 or manner.regions.get(axis, (0.0, 1.0)) != (0.0, 1.0)
    }
    try:
        if manner.mode == "nearest":
            _emit_nearest(builder, node, axes, manner)
        else:
            _emit_continued(builder, node, axes, manner)
    except ValueError as error:
        raise Refusal(str(error)) from None


def _manner(builder: Builder, node: Node) -> Manner:
    attributes = node.attributes
    old = builder.graph.opset < 11 or node.op == "Upsample"
    coordinates = "asymmetric" if old else attributes.get("coordinate_transformation_mode", "half_pixel")
    return Manner(
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
        raise Refusal("its region of interest is no constant")
    region = builder.real(node.inputs[1]).reshape(-1)
    rank = len(builder.shape(node.inputs[0]))
    axes = [int(axis) % rank for axis in node.attributes.get("axes", range(rank))]
    if len(region) != 2 * len(axes):
        raise Refusal(f"its region of interest has size {len(region)} instead of {2 * len(axes)}")
    return {axis: (float(region[i]), float(region[i + len(axes)])) for i, axis in enumerate(axes)}


def _positions(axis: int, scaling: ip.Scaling, manner: Manner) -> np.ndarray:
    return ip.coordinates(scaling, manner.coordinates, manner.regions.get(axis, (0.0, 1.0)))


def _outside(axis: int, scaling: ip.Scaling, manner: Manner) -> np.ndarray:
    """Where tf_crop_and_resize takes the extrapolation value."""
    if manner.coordinates != _CROP:
        return np.zeros(scaling.count, bool)
    positions = _positions(axis, scaling, manner)
    outside: np.ndarray = (positions < 0) | (positions > scaling.size - 1)
    return outside


def _emit_nearest(builder: Builder, node: Node, axes: Mapping[int, ip.Scaling], manner: Manner) -> None:
    selections = {
        axis: np.where(_outside(axis, scaling, manner), OUTSIDE,
                       ip.nearest(scaling, _positions(axis, scaling, manner), manner.nearest))
        for axis, scaling in axes.items()
    }
    emit_selection(builder, node.inputs[0], node.outputs[0], selections, fill=manner.extrapolation)


def _emit_continued(builder: Builder, node: Node, axes: Mapping[int, ip.Scaling], manner: Manner) -> None:
    """Interpolates everywhere, then puts the extrapolation value where the region leaves the input."""
    if manner.mode not in ("linear", "cubic"):
        raise Refusal(f"mode {manner.mode}")
    name, output = node.inputs[0], node.outputs[0]
    outside = {axis: mask for axis, scaling in axes.items() if (mask := _outside(axis, scaling, manner)).any()}
    if not outside:
        _emit_interpolated(builder, name, output, axes, manner)
        return
    inner = declare(builder, f"{output}/inside", builder.shape(output), name)
    _emit_interpolated(builder, name, inner, axes, manner)
    selections = {axis: np.where(mask, OUTSIDE, np.arange(len(mask))) for axis, mask in outside.items()}
    emit_selection(builder, inner, output, selections, fill=manner.extrapolation)


def _emit_interpolated(builder: Builder, name: str, output: str, axes: Mapping[int, ip.Scaling],
                       manner: Manner) -> None:
    shape, result = builder.shape(name), builder.shape(output)
    integer = _in_integers(builder, name, output, manner)
    numeric = builder.numeric(name) if integer else FLOAT
    spatial = [_taps(axes.get(axis), size, axis, manner, integer) for axis, size in enumerate(shape)]
    layout, rows, columns = _arrangement(shape, set(axes))
    value = builder.arranged(name, layout, numeric)
    new_layout = Layout(result, layout.order)
    dims, new_dims = _dims(layout, rows, columns), _dims(new_layout, rows, columns)
    one = _taps(None, 1, 0, manner, integer)
    row_taps = spatial[rows] if rows is not None else _repeat(one, dims[1])
    column_taps = spatial[columns] if columns is not None else _repeat(one, dims[2])
    params, blobs = resample_params(row_taps, column_taps, numeric)
    storage = builder.with_dims(value, dims)
    rows_read = needed_rows(*row_taps.reach(), dims[1])
    builder.emit(OpKind.RESAMPLE, numeric.dtype, [(storage, rows_read)], output,
                 new_layout, numeric, Cell(new_dims, fixed=True), params, blobs=blobs)


def _in_integers(builder: Builder, name: str, output: str, manner: Manner) -> bool:
    """Whether results at the input's scale are exact enough for the output: in its own steps, or in finer ones.

    What leaves the input's range, as cubic interpolation does, must leave the output's too.
    """
    if not builder.is_int8(name, output):
        return False
    source, result = builder.numeric(name), builder.numeric(output)
    return source == result or (manner.mode == "linear" and result.scale >= source.scale)


def _repeat(one: ip.Taps, count: int) -> ip.Taps:
    return ip.Taps(np.arange(count), np.repeat(one.weights, count, axis=0))


def _arrangement(shape: tuple[int, ...], axes: set[int]) -> tuple[Layout, int | None, int | None]:
    """An element order, and which axes are the rows and columns of the kernel."""
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
    """[what is before the rows, rows, columns, what is after]."""
    stored = layout.stored_shape
    if rows is None:
        return fold(stored)
    first = layout.order.index(rows)
    end = first + 1 if columns is None else layout.order.index(columns) + 1
    return (int(np.prod(stored[:first])), stored[first], stored[end - 1] if columns is not None else 1,
            int(np.prod(stored[end:])))


def _taps(scaling: ip.Scaling | None, size: int, axis: int, manner: Manner, integer: bool) -> ip.Taps:
    if scaling is None:
        unit = 1 << ip.WEIGHT_BITS if integer else 1.0
        return ip.Taps(np.arange(size), np.full((size, 1), unit))
    exact = abs(scaling.scale - scaling.count / scaling.size) < 1e-6 * scaling.scale
    exact |= manner.coordinates == "align_corners"
    plain = not manner.antialias and manner.mode == "linear"
    if integer and plain and exact and manner.coordinates in ("half_pixel", "asymmetric", "align_corners"):
        return ip.integer_linear(scaling, align_corners=manner.coordinates == "align_corners",
                                 half_pixel=manner.coordinates == "half_pixel")
    positions = _positions(axis, scaling, manner)
    if manner.mode == "linear" and not manner.antialias and not manner.exclude_outside:
        # Outside the input linear interpolation continues with the element at the end.
        positions = np.clip(positions, 0, scaling.size - 1)
    kernel = ip.linear if manner.mode == "linear" else ip.cubic(manner.cubic)
    taps = ip.interpolate(scaling, positions, kernel, 1 if manner.mode == "linear" else 2, antialias=manner.antialias,
                          exclude_outside=manner.exclude_outside)
    return ip.integer_weights(taps) if integer else taps


def resample_params(rows: ip.Taps, columns: ip.Taps, numeric: Numeric) -> tuple[ResampleParams, dict[str, np.ndarray]]:
    """The record and tables of a RESAMPLE."""
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
