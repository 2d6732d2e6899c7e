"""Concat along any axis."""

from __future__ import annotations

import math

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, channels_last, default_dims, refined, row_major
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConcatParams

#: Most operands of one kernel call (TIGRIS_MAX_OPERANDS). With more, the smallest neighbours are joined first.
MOST_OPERANDS = 8


@operator("Concat", summary="any axis, any number of inputs")
def lower_concat(builder: Builder, node: Node) -> None:
    """CONCAT of inputs with the output's scale and one element order."""
    output = node.outputs[0]
    quantised = builder.is_quantised(output) and all(
        builder.is_constant(name) or builder.is_quantised(name) for name in node.inputs if name
    )
    numeric = builder.numeric(output) if quantised else FLOAT
    order = _order(builder, node)
    axis = int(node.attributes["axis"]) % len(builder.shape(output))
    # The pass concat_axis computed the axis for the channels-last order.
    image = order == channels_last(builder.shape(output)).order
    stored_axis = int(node.attributes["stored_axis"]) if image else order.index(axis)
    parts = []
    for name in node.inputs:
        shape = builder.shape(name)
        layout = Layout(shape, order)
        value = builder.value_in_order(name, layout, numeric)
        parts.append((builder.with_dims(value, _dims(layout.stored_shape, stored_axis)), layout))
    _emit(builder, node, parts, stored_axis, numeric)


def _order(builder: Builder, node: Node) -> tuple[int, ...]:
    """The axis order in which most input elements are stored."""
    votes: dict[tuple[int, ...], int] = {}
    for name in node.inputs:
        if builder.is_constant(name):
            continue
        shape = builder.shape(name)
        fine = refined(builder.values[name][0].layout, shape)
        order = None if fine is None else axis_order(fine[0], fine[1])
        if order is not None:
            votes[order] = votes.get(order, 0) + math.prod(shape)
    return max(votes, key=lambda item: votes[item]) if votes else row_major(builder.shape(node.outputs[0])).order


def axis_order(layout: Layout, groups: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """The layout as an order of the tensor's own axes; None if the factors of an axis are not contiguous."""
    owner = {part: axis for axis, parts in enumerate(groups) for part in parts}
    order: list[int] = []
    position = 0
    while position < len(layout.order):
        axis = owner[layout.order[position]]
        parts = groups[axis]
        if layout.order[position : position + len(parts)] != parts:
            return None
        order.append(axis)
        position += len(parts)
    return _with_unit_axes(order, len(groups))


def _with_unit_axes(order: list[int], rank: int) -> tuple[int, ...]:
    """The order with axes of size one at their places in the channels-last order, if that is possible."""
    missing = [axis for axis in range(rank) if axis not in order]
    for preferred in (channels_last((1,) * rank).order, tuple(range(rank))):
        if [axis for axis in preferred if axis in order] == order:
            return preferred
    return (*missing, *order)


def _dims(stored_shape: tuple[int, ...], axis: int) -> Dims:
    """[batch, height, width, channels] in which the stored axis `axis` is height, width or channels."""
    if len(stored_shape) in (3, 4) and axis > 0:
        return default_dims(stored_shape)
    before, after = math.prod(stored_shape[:axis]), math.prod(stored_shape[axis + 1 :])
    if before == after == 1:  # vectors
        return 1, 1, 1, stored_shape[axis]
    return (1, stored_shape[axis], 1, after) if before == 1 else (1, before, stored_shape[axis], after)


def _kernel_axis(stored_shape: tuple[int, ...], axis: int) -> int:
    """The dimension that `_dims` gives to `axis`: 0 rows, 1 columns, 2 channels."""
    if len(stored_shape) in (3, 4) and axis > 0:
        return axis - 1 if len(stored_shape) == 4 else (0, 2)[axis - 1]
    if math.prod(stored_shape[:axis]) > 1:
        return 1
    return 0 if math.prod(stored_shape[axis + 1 :]) > 1 else 2


def _emit(builder: Builder, node: Node, parts: list[tuple[str, Layout]], axis: int, numeric: Numeric) -> None:
    output = node.outputs[0]
    while len(parts) > MOST_OPERANDS:
        chosen = _smallest_run(parts)
        joined = _joined([layout for _, layout in parts[chosen]], axis)
        dtype, sources, cell, params = _call(builder, parts[chosen], joined, axis, numeric)
        name = builder.emit_part(f"{output}/part", OpKind.CONCAT, dtype, sources, cell, numeric, params)
        parts[chosen] = [(name, joined)]
    joined = _joined([layout for _, layout in parts], axis)
    dtype, sources, cell, params = _call(builder, parts, joined, axis, numeric)
    builder.emit(OpKind.CONCAT, dtype, sources, output, joined, numeric, cell, params)


def _smallest_run(parts: list[tuple[str, Layout]]) -> slice:
    """The neighbours to join first: the smallest, because their bytes are copied twice."""
    count = min(MOST_OPERANDS, len(parts) - MOST_OPERANDS + 1)
    sizes = [math.prod(layout.factors) for _, layout in parts]
    start = min(range(len(parts) - count + 1), key=lambda first: sum(sizes[first : first + count]))
    return slice(start, start + count)


def _joined(layouts: list[Layout], axis: int) -> Layout:
    factors = list(layouts[0].factors)
    own = layouts[0].order[axis]
    factors[own] = sum(layout.factors[own] for layout in layouts)
    return Layout(tuple(factors), layouts[0].order)


def _call(builder: Builder, parts: list[tuple[str, Layout]], joined: Layout, axis: int,
          numeric: Numeric) -> tuple[DType, list[tuple[str, RowMap | None]], Cell, ConcatParams]:
    along = _kernel_axis(joined.stored_shape, axis)
    sources: list[tuple[str, RowMap | None]] = []
    row = 0
    for storage, _ in parts:
        sources.append((storage, RowMap.shifted(-row) if along == 0 else RowMap.same()))
        row += builder.dims(storage)[1]
    cell = Cell(_dims(joined.stored_shape, axis), fixed=True)
    return numeric.dtype, sources, cell, ConcatParams(along)
