"""Operators in tiles of columns: each tile is a program of its own, of narrower tensors.

Bands go down the rows, and a row of a wide map with many channels may be too large for the fast memory that there is.
So neighbouring operators are made once for each tile: a SELECT takes the columns that the tile needs, at its edges some
more than its own, which are made in both tiles; the operators follow, and a CONCAT joins what the tiles made, where it
is read. Kernels, planner and runtime see ordinary operators. Each element is computed of the same elements as before.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_sharing
from tigris_pio.compiler.lower.operators.concat import MOST_OPERANDS
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import (
    AsymmetricConvInt8Params,
    ConcatParams,
    ConvFloatParams,
    ConvInt8Params,
    PoolFloatParams,
    PoolInt8Params,
    SelectParams,
)
from tigris_pio.format.record import Record

_COLUMNS = 1  #: the axis of a CONCAT
_SLIDING = (ConvInt8Params, AsymmetricConvInt8Params, ConvFloatParams, PoolInt8Params, PoolFloatParams)
#: Kinds of which an element is made of those at the same column, whatever the width.
_POINTWISE = frozenset({OpKind.LOOKUP, OpKind.UNARY})


class Span(NamedTuple):
    """Columns [first, end)."""

    first: int
    end: int


class Tiles(NamedTuple):
    """Operators [first, end), once for each of so many tiles."""

    first: int
    end: int
    number: int


class _Part(NamedTuple):
    """A tensor that holds columns of another."""

    tensor: str
    span: Span


def may_be_tiled(program: Program, op: ProgramOp) -> bool:
    """Whether an operator can be made by columns."""
    output, params = program.tensors[op.output], op.params
    tensors = [program.tensors[operand.tensor] for operand in op.operands]
    plain = not (output.folded or output.sequential or output.streamed) and output.batch == op.images == 1
    if not plain or not tensors or any(tensor.batch != 1 or tensor.folded for tensor in tensors):
        return False
    if isinstance(params, _SLIDING):
        return True
    if isinstance(params, SelectParams):
        return params.column_table == NO_TABLE and params.numerator[1] > 0 and _stays_inside(params, tensors[0], output)
    if isinstance(params, ConcatParams):
        return params.axis != _COLUMNS and all(tensor.constant is None for tensor in tensors)
    if hasattr(params, "row_step"):
        return all(_is_walked(op, place, tensor, output) for place, tensor in enumerate(tensors))
    return op.kind in _POINTWISE


def _stays_inside(params: SelectParams, source: ProgramTensor, output: ProgramTensor) -> bool:
    span = _selected(params, Span(0, output.width))
    return span.first >= 0 and span.end <= source.width


def _is_walked(op: ProgramOp, place: int, tensor: ProgramTensor, output: ProgramTensor) -> bool:
    """Whether an operand of a binary operator has the output's columns, or one for all of them."""
    if not _is_wide(op, place):
        return True
    steps = [getattr(op.params, name)[place] for name in ("row_step", "column_step")]
    matched = tensor.width == output.width and tensor.constant is None
    return matched and steps[1] == tensor.channels and steps[0] in (0, tensor.width * tensor.channels)


def _is_wide(op: ProgramOp, place: int) -> bool:
    """Whether a tile of the output needs only a tile of an operand."""
    steps = getattr(op.params, "column_step", None)
    return steps is None or bool(steps[place])


def _selected(params: SelectParams, span: Span) -> Span:
    first, last = (
        (column * params.numerator[1] + params.first[1]) // params.denominator[1]
        for column in (span.first, span.end - 1)
    )
    return Span(first, last + 1)


def _reach(op: ProgramOp, span: Span) -> Span:
    """The columns of its wide operands that columns of an operator's output are made of, padding too."""
    params = op.params
    if isinstance(params, SelectParams):
        return _selected(params, span)
    if not isinstance(params, _SLIDING):
        return span
    first = span.first * params.stride_width - params.pad_left
    last = (span.end - 1) * params.stride_width - params.pad_left + (params.kernel_width - 1) * params.dilation_width
    return Span(first, last + 1)


def needed(op: ProgramOp, span: Span, width: int) -> Span:
    """The columns of its wide operands, `width` wide, that columns of an operator's output are made of."""
    reach = _reach(op, span)
    first = min(max(0, reach.first), width - 1)
    return Span(first, max(first + 1, min(width, reach.end)))


def own_span(width: int, narrowest: int, tile: int, count: int) -> Span:
    """What one of `count` tiles makes of a tensor; `narrowest`: the width of the narrowest that they make."""
    first, end = (round(place * narrowest / count) * width // narrowest for place in (tile, tile + 1))
    return Span(first, end)


def spans_of(program: Program, tiles: Tiles, leaving: Iterable[str], tile: int) -> dict[str, Span]:
    """The columns that a tile needs of what its operators read and make; `leaving`: what is needed after them."""
    widths = {name: program.tensors[name].width for name in leaving}
    spans = {name: own_span(width, min(widths.values()), tile, tiles.number) for name, width in widths.items()}
    for op in reversed(program.ops[tiles.first : tiles.end]):
        if op.output in spans:
            for place, operand in enumerate(op.operands):
                tensor = program.tensors[operand.tensor]
                if tensor.constant is None and _is_wide(op, place):
                    span = needed(op, spans[op.output], tensor.width)
                    known = spans.get(tensor.name, span)
                    spans[tensor.name] = Span(min(span.first, known.first), max(span.end, known.end))
    return spans


def leaving(program: Program, first: int, end: int) -> tuple[str, ...]:
    """What operators [first, end) make that is needed after them."""
    later = program.ports.union(*((operand.tensor for operand in op.operands) for op in program.ops[end:]))
    return tuple(op.output for op in program.ops[first:end] if op.output in later)


def in_columns(program: Program, regions: Sequence[Tiles], apart: Container[str] = ()) -> Program:
    """`program` with some of its operators in tiles; they may all be tiled, and regions do not overlap.

    apart: tensors that are cut where they are made, for each tile that reads them to be brought its columns only."""
    edges: dict[str, set[int]] = {}
    for region in regions:
        left = leaving(program, region.first, region.end)
        made = {op.output for op in program.ops[region.first : region.end]}
        for tile in range(region.number):
            for name, span in spans_of(program, region, left, tile).items():
                if name in apart and name not in made:
                    edges.setdefault(name, set()).update(span)
    writer = _Writer(program, edges)
    step = 0
    for region in sorted(regions):
        writer.whole(program.ops[step : region.first])
        writer.tiled(region)
        step = region.end
    writer.whole(program.ops[step:])
    repeated = sum(op.macs for op in writer.ops) - sum(op.macs for op in program.ops)
    return dataclasses.replace(program, tensors=writer.tensors, repeated_macs=repeated).with_ops(writer.ops)


class _Writer:
    def __init__(self, program: Program, edges: Mapping[str, Collection[int]]) -> None:
        self.program = program
        self._edges = edges  #: at which columns a tensor is cut
        self.tensors = dict(program.tensors)
        self._names = Names(program.tensors)
        self.ops: list[ProgramOp] = []
        self._parts: dict[str, list[_Part]] = {}  # of what was made in tiles
        self._whole: set[str] = set()  # what there is whole, be it in parts too
        self._joined: dict[tuple[str, Span], str] = {}  # what was taken of it since the last tile began

    def whole(self, ops: Iterable[ProgramOp]) -> None:
        """Operators as they are, in front of each what it reads that was made in tiles."""
        self._joined = {}
        for op in ops:
            for operand in op.operands:
                if operand.tensor in self._parts and operand.tensor not in self._whole:
                    self._restore(operand.tensor)
            self.ops.append(op)
            self._whole.add(op.output)
            if op.output in self._edges:
                whole = Span(0, self.program.tensors[op.output].width)
                self._parts[op.output] = self._strips(op.output, _Part(op.output, whole), whole, "whole")

    def _strips(self, name: str, held: _Part | None, span: Span, tile: str) -> list[_Part]:
        """Some columns of a tensor, in parts that end where it is cut."""
        inside = [edge for edge in self._edges.get(name, ()) if span.first < edge < span.end]
        bounds = sorted({span.first, *inside, span.end})
        spans = [Span(first, end) for first, end in itertools.pairwise(bounds)]
        return [_Part(self._taken(name, held, each, tile), each) for each in spans]

    def _restore(self, name: str) -> None:
        tensor = self.program.tensors[name]
        self._whole.add(name)
        self.tensors[name] = tensor
        self._join(self._parts[name], tensor, name)

    def tiled(self, region: Tiles) -> None:
        """Operators of a region, tile by tile."""
        program = self.program
        left = leaving(program, region.first, region.end)
        made: dict[str, list[_Part]] = {name: [] for name in left}
        widths = {name: program.tensors[name].width for name in left}
        for place in range(region.number):
            spans, tile = spans_of(program, region, left, place), str(place)
            held: dict[str, _Part] = {}
            self._joined = {}
            for op in program.ops[region.first : region.end]:
                if op.output in spans:
                    held[op.output] = self._made(op, spans, held, tile)
            for name in left:
                span = own_span(widths[name], min(widths.values()), place, region.number)
                made[name] += self._strips(name, held.get(name), span, tile)
        self._parts |= made
        for name in left:
            if name in program.ports:
                self._restore(name)

    def _made(self, op: ProgramOp, spans: dict[str, Span], held: dict[str, _Part], tile: str) -> _Part:
        """One operator of a tile."""
        span, sources = spans[op.output], []
        part = self._part(op.output, span, tile)
        for place, operand in enumerate(op.operands):
            tensor = self.program.tensors[operand.tensor]
            if tensor.constant is not None or not _is_wide(op, place):
                sources.append(_Part(operand.tensor, Span(0, tensor.width)))
            else:
                sources.append(self._source(op, span, tensor, spans, held, tile))
        operands = tuple(Operand(source.tensor, each.rows) for source, each in zip(sources, op.operands, strict=True))
        narrow = dataclasses.replace(
            op, name=f"{op.name}/columns {tile}", operands=operands, output=part.tensor,
            params=self._params(op, span, sources), macs=op.macs * (span.end - span.first)
            // self.program.tensors[op.output].width,
        )  # fmt: skip
        self.ops.append(with_sharing(narrow, self.tensors))
        return part

    def _source(
        self,
        op: ProgramOp,
        span: Span,
        tensor: ProgramTensor,
        spans: dict[str, Span],
        held: dict[str, _Part],
        tile: str,
    ) -> _Part:
        """What an operator of a tile reads as one of its wide operands."""
        if isinstance(op.params, SelectParams) and tensor.name not in held and tensor.name not in self._parts:
            return _Part(tensor.name, Span(0, tensor.width))
        known = held.get(tensor.name)
        if known is None:
            whole = spans[tensor.name]
            known = held[tensor.name] = _Part(self._taken(tensor.name, None, whole, tile), whole)
        wanted = needed(op, span, tensor.width)
        if isinstance(op.params, SelectParams) or known.span == wanted:
            return known
        padded = _reach(op, span).end > tensor.width
        if isinstance(op.params, _SLIDING) and known.span.first == wanted.first and not padded:
            return known  # what lies behind the last tap is not read
        return _Part(self._taken(tensor.name, known, wanted, tile), wanted)

    def _params(self, op: ProgramOp, span: Span, sources: Sequence[_Part]) -> Record:
        params = op.params
        if isinstance(params, _SLIDING):
            return dataclasses.replace(params, pad_left=max(0, -_reach(op, span).first))
        if isinstance(params, SelectParams):
            at = params.first[1] + span.first * params.numerator[1] - sources[0].span.first * params.denominator[1]
            return dataclasses.replace(params, first=(params.first[0], at, params.first[2]))
        steps = getattr(params, "row_step", None)
        if steps is None:
            return params
        width = self.program.tensors[op.output].width
        narrow = tuple(
            step // width * (span.end - span.first) if _is_wide(op, place) else step for place, step in enumerate(steps)
        )
        return dataclasses.replace(params, row_step=narrow)  # type: ignore[type-var]

    def _taken(self, name: str, held: _Part | None, span: Span, tile: str) -> str:
        """The tensor that holds columns of one of which a tile has a part, or that was made before."""
        tensor = self.program.tensors[name]
        key = (name, span)
        if key not in self._joined:
            parts = self._parts.get(name, [_Part(name, Span(0, tensor.width))]) if held is None else [held]
            within = [part for part in parts if part.span.first < span.end and span.first < part.span.end]
            cut = [
                self._cut(part, Span(max(span.first, part.span.first), min(span.end, part.span.end)), name, tile)
                for part in within
            ]
            if len(cut) > 1:
                joined = self._part(name, span, tile)
                self._join(cut, self.tensors[joined.tensor], name)
                cut = [joined]
            self._joined[key] = cut[0].tensor
        return self._joined[key]

    def _cut(self, part: _Part, span: Span, name: str, tile: str) -> _Part:
        """Some columns of a part."""
        if part.span == span:
            return part
        result = self._part(name, span, tile)
        params = SelectParams(
            NO_TABLE, NO_TABLE, NO_TABLE, (1, 1, 1), (1, 1, 1), (0, span.first - part.span.first, 0), 0
        )
        self._add(OpKind.SELECT, result.tensor, (part.tensor,), params)
        return result

    def _join(self, parts: Sequence[_Part], tensor: ProgramTensor, name: str) -> None:
        while len(parts) > MOST_OPERANDS:
            some = parts[:MOST_OPERANDS]
            joined = self._part(name, Span(some[0].span.first, some[-1].span.end), "some")
            self._join(some, self.tensors[joined.tensor], name)
            parts = [joined, *parts[MOST_OPERANDS:]]
        self._add(OpKind.CONCAT, tensor.name, [part.tensor for part in parts], ConcatParams(_COLUMNS))

    def _add(self, kind: OpKind, output: str, sources: Sequence[str], params: SelectParams | ConcatParams) -> None:
        operands = tuple(Operand(source, RowMap.same()) for source in sources)
        op = ProgramOp(output, kind, self.tensors[output].dtype, operands, output, params)
        self.ops.append(with_sharing(op, self.tensors))

    def _part(self, name: str, span: Span, tile: str) -> _Part:
        """A new tensor for columns of another."""
        fresh = self._names.fresh(f"{name}/columns {span.first} to {span.end} of tile {tile}")
        tensor = self.program.tensors[name]
        self.tensors[fresh] = dataclasses.replace(tensor, name=fresh, width=span.end - span.first)
        return _Part(fresh, span)
