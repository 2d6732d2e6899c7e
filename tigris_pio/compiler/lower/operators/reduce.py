"""Reductions over any axes, ArgMax and ArgMin."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.layout import fold
from tigris_pio.compiler.lower.operators.vectors import Vectors, row_by_row, same_rows, vectors
from tigris_pio.compiler.lower.registry import Refusal, operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell
from tigris_pio.format.enums import DType, OpKind, ReduceFunction
from tigris_pio.format.params import ArgReduceParams, ReduceParams
from tigris_pio.format.record import Record

_FUNCTIONS = {
    "ReduceSum": ReduceFunction.SUM,
    "ReduceMean": ReduceFunction.MEAN,
    "ReduceMax": ReduceFunction.MAXIMUM,
    "ReduceMin": ReduceFunction.MINIMUM,
    "ReduceProd": ReduceFunction.PRODUCT,
    "ReduceL1": ReduceFunction.L1,
    "ReduceL2": ReduceFunction.L2,
    "ReduceSumSquare": ReduceFunction.SUM_SQUARE,
    "ReduceLogSum": ReduceFunction.LOG_SUM,
    "ReduceLogSumExp": ReduceFunction.LOG_SUM_EXP,
}
_LONGEST = 1 << 24


@operator(*_FUNCTIONS, summary="any constant axes; computed in float32")
def lower_reduce(builder: Builder, node: Node) -> None:
    """REDUCE."""
    found = vectors(builder, node.inputs[0], _axes(builder, node))
    _emit(builder, node, OpKind.REDUCE, found, ReduceParams(_FUNCTIONS[node.op], found.length, found.inner))


@operator("ArgMax", "ArgMin", summary="any axis; computed in float32")
def lower_arg_reduce(builder: Builder, node: Node) -> None:
    """ARG_REDUCE."""
    rank = len(builder.shape(node.inputs[0]))
    found = vectors(builder, node.inputs[0], (int(node.attributes.get("axis", 0)) % rank,))
    if found.length > _LONGEST:
        raise Refusal(f"its axis has {found.length} elements; at most {_LONGEST} are supported")
    last = int(bool(node.attributes.get("select_last_index", 0)))
    _emit(builder, node, OpKind.ARG_REDUCE, found, ArgReduceParams(int(node.op == "ArgMin"), last, found.length,
                                                                   found.inner))


def _axes(builder: Builder, node: Node) -> tuple[int, ...]:
    rank = len(builder.shape(node.inputs[0]))
    axes = node.attributes.get("axes")  # an input since opset 18, of ReduceSum since 13
    if axes is None and len(node.inputs) > 1 and node.inputs[1]:
        if not builder.is_constant(node.inputs[1]):
            raise Refusal("its axes are computed at run time")
        axes = tuple(int(axis) for axis in builder.graph.weights[node.inputs[1]].reshape(-1))
    if axes:
        return tuple(sorted(axis % rank for axis in axes))
    return () if node.attributes.get("noop_with_empty_axes", 0) else tuple(range(rank))


def _emit(builder: Builder, node: Node, kind: OpKind, found: Vectors, params: Record) -> None:
    rows = row_by_row(builder, found)
    if rows is None:
        storage, cell = found.value.storage, Cell(fold(found.kept.stored_shape))
    else:
        storage, (batch, height, width, channels) = rows
        left = width * channels // found.length
        column = channels if width % found.length == 0 and left % channels == 0 else 1
        cell = Cell((batch, height, left // column, column), fixed=True)
    builder.emit(kind, DType.FLOAT32, [(storage, same_rows(rows is not None))], node.outputs[0], found.kept, FLOAT,
                 cell, params, per_image=rows is not None)
