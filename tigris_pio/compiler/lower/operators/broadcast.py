"""Brings the operands of an elementwise operator with broadcasting into one element order and one set of dimensions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, channels_last, default_dims, refined, row_major
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Cell, Dims, Numeric, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import BinaryInt8Params, TransposeParams
from tigris_pio.format.record import Record
from tigris_pio.format.records import MAX_RANK


@dataclasses.dataclass(frozen=True)
class Operand:
    """An operand: a graph tensor, or a constant that the caller computed, in the element type `numeric`."""

    shape: tuple[int, ...]
    numeric: Numeric
    name: str
    constant: np.ndarray | None = None


def bound_masks(builder: Builder, operands: Sequence[Operand], result: Numeric) -> list[Operand]:
    """The two operands of a sum or difference, with masks bounded.

    A mask is an operand whose values, except zero, all saturate the result. Smaller values that still saturate it give
    the same result, and the other operand keeps its resolution.
    """
    if builder.graph.tflite:
        return list(operands)
    pairs = zip(operands, reversed(operands), strict=True)
    return [_bounded(item, _largest(other.numeric) + _largest(result)) for item, other in pairs]


def _bounded(item: Operand, reach: float) -> Operand:
    """The operand, or a narrower one if all its values but zero are `reach` or more."""
    if _least_but_zero(item) < reach:
        return item
    high = numerics.limits(item.numeric.dtype)[1]
    narrow = Numeric(item.numeric.dtype, float(np.float32(1.01 * reach / high)))
    constant = None if item.constant is None else numerics.quantize(_real(item), narrow.scale, 0, narrow.dtype)
    return dataclasses.replace(item, numeric=narrow, constant=constant)


def _real(item: Operand) -> np.ndarray:
    assert item.constant is not None
    real: np.ndarray = (item.constant.astype(np.float64) - item.numeric.zero_point) * item.numeric.scale
    return real


def _largest(numeric: Numeric) -> float:
    """The largest real magnitude of the type."""
    return max(abs(level - numeric.zero_point) for level in numerics.limits(numeric.dtype)) * numeric.scale


def _least_but_zero(item: Operand) -> float:
    """The smallest real magnitude above zero: of the constant's values, or of an activation's type."""
    if item.constant is None:
        return item.numeric.scale
    real = np.abs(_real(item))
    return float(np.min(real, where=real > 0, initial=np.inf))


@dataclasses.dataclass(frozen=True)
class BroadcastCall:
    """An elementwise kernel call: sources with row maps, step fields of the record, the output's layout and cell."""

    sources: list[tuple[str, RowMap | None]]
    steps: dict[str, Any]
    layout: Layout
    cell: Cell

    def emit(self, builder: Builder, node: Node, kind: OpKind, dtype: DType, numeric: Numeric, params: Record,
             blobs: Mapping[str, np.ndarray] | None = None) -> None:
        """Emits the call, whose result has the type `numeric`."""
        builder.emit(kind, dtype, self.sources, node.outputs[0], self.layout, numeric, self.cell, params, blobs=blobs)


def arithmetic_params(node: Node, call: BroadcastCall, inputs: Sequence[Numeric], result: Numeric,
                      left_shift: int) -> BinaryInt8Params:
    """TensorFlow Lite's constants of ADD (PrepareGeneral), SUB, MUL and SQUARED_DIFFERENCE.

    left_shift: of the inputs of the others before they are scaled; MUL has none
    """
    first, second = inputs
    twice = 2 * max(first.scale, second.scale)
    ratios = (first.scale / twice, second.scale / twice, twice / (math.ldexp(1.0, left_shift) * result.scale))
    if node.op in ("Mul", "Div"):
        left_shift, ratios = 0, (0.0, 0.0, first.scale * second.scale / result.scale)
    elif node.op == "SQUARED_DIFFERENCE":
        ratios = (*ratios[:2], twice * twice / (math.ldexp(1.0, 2 * left_shift) * result.scale))
    multipliers, shifts = zip(*map(numerics.quantize_multiplier, ratios), strict=True)
    return BinaryInt8Params(
        zero_point=(first.zero_point, second.zero_point), multiplier=multipliers[:2], shift=shifts[:2],
        left_shift=left_shift, output_zero_point=result.zero_point, output_multiplier=multipliers[2],
        output_shift=shifts[2], **fused.int8_fields(node, result), **call.steps,
    )


def broadcast(builder: Builder, operands: Sequence[Operand], shape: tuple[int, ...]) -> BroadcastCall:
    """The kernel call for an output of `shape`.

    Its four dimensions express a broadcast along up to four groups of axes. With more, all operands are expanded.
    """
    for item in operands:
        if len(item.shape) > len(shape):
            raise Refusal(f"shapes {list(item.shape)} and {list(shape)} do not broadcast")
    try:
        return _pair(builder, operands, shape)
    except Refusal:
        return _pair(builder, [_expanded(builder, item, shape) for item in operands], shape)


def _expanded(builder: Builder, item: Operand, shape: tuple[int, ...]) -> Operand:
    """The operand with the output's shape: a repeated constant, or a TRANSPOSE with strides of 0."""
    if item.constant is not None:
        return dataclasses.replace(item, shape=shape, constant=np.broadcast_to(item.constant, shape))
    if item.shape == shape:
        return item
    if len(shape) > MAX_RANK:
        raise Refusal(f"its operands broadcast along more than {MAX_RANK} axes")
    value = builder.value_in_order(item.name, row_major(item.shape), item.numeric)
    own = (1,) * (len(shape) - len(item.shape)) + item.shape
    steps = [0 if size == 1 else math.prod(own[axis + 1 :]) for axis, size in enumerate(own)]
    pad = MAX_RANK - len(shape)
    bytes_each = item.numeric.dtype.bytes
    params = TransposeParams(len(shape), bytes_each, (*shape, *(1,) * pad), (*steps, *(0,) * pad))
    name = builder.declare(f"{item.name}/expanded", shape, item.name)
    builder.emit(OpKind.TRANSPOSE, item.numeric.dtype, [(value.storage, None)], name, row_major(shape), item.numeric,
                 Cell(default_dims(shape)), params, per_image=False)
    return dataclasses.replace(item, shape=shape, name=name)


def _pair(builder: Builder, operands: Sequence[Operand], shape: tuple[int, ...]) -> BroadcastCall:
    padded = [(1,) * (len(shape) - len(item.shape)) + item.shape for item in operands]
    layout, groups = _output_layout(builder, operands, shape)
    masks = [_mask(layout, groups, own, shape) for own in padded]
    values = [_arranged(builder, item, layout, mask) for item, mask in zip(operands, masks, strict=True)]
    cells = [builder.storages[value.storage].cell for item, value, mask in zip(operands, values, masks, strict=True)
             if not any(mask) and item.constant is None]
    stored_masks = [tuple(mask[axis] for axis in layout.order) for mask in masks]
    dims, flags = _choose_dims(layout.stored_shape, stored_masks, cells)
    sources: list[tuple[str, RowMap | None]] = []
    own_dims = []
    for value, flag in zip(values, flags, strict=True):
        own: Dims = tuple(1 if masked else size for size, masked in zip(dims, flag, strict=True))  # type: ignore
        own_dims.append(own)
        sources.append((builder.with_dims(value, own), RowMap(0, 1, 0, 0) if flag[1] else RowMap.same()))
    return BroadcastCall(sources, _steps(own_dims, flags), layout, Cell(dims, fixed=True))


def _output_layout(builder: Builder, operands: Sequence[Operand],
                   shape: tuple[int, ...]) -> tuple[Layout, tuple[tuple[int, ...], ...]]:
    """The order of an operand that is not broadcast, or the default order of the shape."""
    for item in operands:
        if item.constant is None and math.prod(item.shape) == math.prod(shape):
            fine = refined(builder.value(item.name, item.numeric).layout, shape)
            if fine is not None:
                return fine
    usual = channels_last(shape) if len(shape) == 4 else row_major(shape)
    fine = refined(usual, shape)
    assert fine is not None  # a layout made from the shape has its factors
    return fine


def _mask(layout: Layout, groups: tuple[tuple[int, ...], ...], own: tuple[int, ...],
          shape: tuple[int, ...]) -> tuple[bool, ...]:
    """Whether the operand is broadcast along each factor of the layout."""
    mask = [False] * len(layout.factors)
    for parts, size, full in zip(groups, own, shape, strict=True):
        if size not in (full, 1):
            raise Refusal(f"shapes {list(own)} and {list(shape)} do not broadcast")
        for part in parts:
            mask[part] = size != full
    return tuple(mask)


def _arranged(builder: Builder, item: Operand, layout: Layout, mask: tuple[bool, ...]) -> Value:
    factors = tuple(1 if masked else size for size, masked in zip(layout.factors, mask, strict=True))
    own = Layout(factors, layout.order)
    if item.constant is None:
        return builder.value_in_order(item.name, own, item.numeric)
    array = own.apply(item.constant)
    return Value(builder.add_constant(item.name, array, item.numeric, default_dims(array.shape)), own)


def _choose_dims(stored: tuple[int, ...], masks: Sequence[tuple[bool, ...]],
                 cells: Sequence[Cell]) -> tuple[Dims, list[tuple[bool, ...]]]:
    """[batch, height, width, channels] in which each operand is broadcast along a whole dimension or not at all.

    cells: of the operands that are not broadcast. Dims that all of them allow come first; others cost a copy.
    """
    candidates = sorted((cell.dims for cell in cells), key=lambda dims: not all(cell.allows(dims) for cell in cells))
    candidates += [default_dims(stored), *_merged(stored, masks)]
    for dims in candidates:
        flags = [_flags(stored, mask, dims) for mask in masks]
        if all(flag is not None for flag in flags):
            return dims, [flag for flag in flags if flag is not None]
    raise Refusal("its operands broadcast along more than four groups of axes")


def _flags(stored: tuple[int, ...], mask: tuple[bool, ...], dims: Dims) -> tuple[bool, ...] | None:
    """Whether the operand is broadcast along each of the four dimensions; None if only along a part of one."""
    fine = refined(row_major(stored), dims)
    if fine is None:
        return None
    layout, groups = fine
    of_part = _spread(layout.factors, stored, mask)
    if of_part is None:
        return None
    flags = []
    for parts in groups:
        seen = {of_part[part] for part in parts}
        if len(seen) > 1:
            return None
        flags.append(bool(seen and seen.pop()))
    return tuple(flags)


def _spread(factors: tuple[int, ...], stored: tuple[int, ...], mask: tuple[bool, ...]) -> list[bool] | None:
    """The mask of the stored axis that each factor belongs to; None if a factor spans parts of two axes."""
    result = []
    index, left = 0, 1
    for size in factors:
        while left == 1:
            left = stored[index]
            index += 1
        if left % size:
            return None
        result.append(mask[index - 1])
        left //= size
    return result


def _merged(stored: tuple[int, ...], masks: Sequence[tuple[bool, ...]]) -> list[Dims]:
    """Dimensions that merge neighbouring axes with equal masks."""
    runs: list[int] = []
    last: tuple[bool, ...] | None = None
    for axis, size in enumerate(stored):
        key = tuple(mask[axis] for mask in masks)
        if size == 1:
            continue
        if key == last:
            runs[-1] *= size
        else:
            runs.append(size)
            last = key
    forms = {0: (1, 1, 1, 1), 1: (1, 1, 1, *runs), 3: (1, *runs), 4: tuple(runs)}
    if len(runs) == 2:
        return [(1, runs[0], 1, runs[1])]
    return [forms[len(runs)]] if len(runs) in forms else []  # type: ignore[list-item]


def _steps(dims: Sequence[Dims], flags: Sequence[tuple[bool, ...]]) -> dict[str, Any]:
    rows, columns, channels = [], [], []
    for (_, _, width, depth), flag in zip(dims, flags, strict=True):
        rows.append(0 if flag[1] else width * depth)
        columns.append(0 if flag[2] else depth)
        channels.append(0 if flag[3] else 1)
    return {"row_step": tuple(rows), "column_step": tuple(columns), "channel_step": tuple(channels)}
