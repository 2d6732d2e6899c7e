"""Tiles operators along columns: each tile runs them on narrower tensors.

Bands divide rows. If one row of a wide tensor exceeds the fast memory, its columns must be divided, too. A SELECT takes
the columns that a tile reads; neighbouring tiles overlap by the columns that kernels reach. The operators follow, and a
CONCAT joins the tiles' outputs before they are read. Kernels, planner and runtime see ordinary operators, and every
element depends on the same elements as before. `plan/columns.py` chooses the tiles.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.operators.concat import MOST_OPERANDS
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import TRAITS, Access
from tigris_pio.format.params import ConcatParams, SelectParams
from tigris_pio.format.record import Record

_COLUMN_AXIS = 1  #: the axis of a CONCAT


class Span(NamedTuple):
    """Columns [first, end)."""

    first: int
    end: int


class Tiles(NamedTuple):
    """A region: operators [first, end), which run once for each of `number` tiles."""

    first: int
    end: int
    number: int


class _Part(NamedTuple):
    """A tensor that holds the columns `span` of another."""

    tensor: str
    span: Span


def is_tileable(program: Program, op: ProgramOp) -> bool:
    """Whether an operator can be tiled along columns."""
    output, params = program.tensors[op.output], op.params
    tensors = [program.tensors[operand.tensor] for operand in op.operands]
    plain = not (output.folded or output.sequential or output.streamed) and output.batch == op.images == 1
    if not plain or not tensors or any(tensor.batch != 1 or tensor.folded for tensor in tensors):
        return False
    if _is_spatial(op):
        return True
    if isinstance(params, SelectParams):
        return params.column_table == NO_TABLE and params.numerator[1] > 0 and _is_inside(params, tensors[0], output)
    if isinstance(params, ConcatParams):
        return params.axis != _COLUMN_AXIS and all(tensor.constant is None for tensor in tensors)
    if hasattr(params, "row_step"):
        return all(_is_columnwise(op, place, tensor, output) for place, tensor in enumerate(tensors))
    return TRAITS[op.kind].access is Access.ELEMENT


def _is_spatial(op: ProgramOp) -> bool:
    """Whether an operator reads a window of columns, and its parameters say which."""
    return TRAITS[op.kind].access is Access.WINDOW


def _is_inside(params: SelectParams, source: ProgramTensor, output: ProgramTensor) -> bool:
    span = _selected_columns(params, Span(0, output.width))
    return span.first >= 0 and span.end <= source.width


def _is_columnwise(op: ProgramOp, place: int, tensor: ProgramTensor, output: ProgramTensor) -> bool:
    """Whether an operand of a binary operator has the output's columns, or one that all columns read."""
    if not _has_columns(op, place):
        return True
    steps = [getattr(op.params, name)[place] for name in ("row_step", "column_step")]
    matched = tensor.width == output.width and tensor.constant is None
    return matched and steps[1] == tensor.channels and steps[0] in (0, tensor.width * tensor.channels)


def _has_columns(op: ProgramOp, place: int) -> bool:
    """Whether an operand has the output's columns, so that a tile reads only a part of it."""
    steps = getattr(op.params, "column_step", None)
    return steps is None or bool(steps[place])


def _selected_columns(params: SelectParams, span: Span) -> Span:
    first, last = (
        (column * params.numerator[1] + params.first[1]) // params.denominator[1]
        for column in (span.first, span.end - 1)
    )
    return Span(first, last + 1)


def _reach(op: ProgramOp, span: Span) -> Span:
    """The operand columns that the output columns `span` read, beyond the borders where padding is read."""
    params: Any = op.params
    if isinstance(params, SelectParams):
        return _selected_columns(params, span)
    if not _is_spatial(op):
        return span
    first = span.first * params.stride_width - params.pad_left
    last = (span.end - 1) * params.stride_width - params.pad_left + (params.kernel_width - 1) * params.dilation_width
    return Span(first, last + 1)


def needed_columns(op: ProgramOp, span: Span, width: int) -> Span:
    """The columns of an operand of `width` columns that the output columns `span` read; at least one."""
    reach = _reach(op, span)
    first = min(max(0, reach.first), width - 1)
    return Span(first, max(first + 1, min(width, reach.end)))


def tile_span(width: int, narrowest: int, tile: int, count: int) -> Span:
    """The columns of a region's output, `width` wide, that tile `tile` of `count` makes.

    narrowest: the width of the narrowest output of the region
    """
    first, end = (round(place * narrowest / count) * width // narrowest for place in (tile, tile + 1))
    return Span(first, end)


def tile_spans(program: Program, tiles: Tiles, live_outputs: Iterable[str], tile: int) -> dict[str, Span]:
    """The columns of each tensor that a tile reads or makes, by name.

    live_outputs: tensors of the region that later operators or the caller read
    """
    widths = {name: program.tensors[name].width for name in live_outputs}
    spans = {name: tile_span(width, min(widths.values()), tile, tiles.number) for name, width in widths.items()}
    for op in reversed(program.ops[tiles.first : tiles.end]):
        if op.output in spans:
            for place, operand in enumerate(op.operands):
                tensor = program.tensors[operand.tensor]
                if tensor.constant is None and _has_columns(op, place):
                    span = needed_columns(op, spans[op.output], tensor.width)
                    known = spans.get(tensor.name, span)
                    spans[tensor.name] = Span(min(span.first, known.first), max(span.end, known.end))
    return spans


def live_outputs(program: Program, first: int, end: int) -> tuple[str, ...]:
    """The outputs of operators [first, end) that later operators or the caller read."""
    later = program.ports.union(*((operand.tensor for operand in op.operands) for op in program.ops[end:]))
    return tuple(op.output for op in program.ops[first:end] if op.output in later)


def tile_columns(program: Program, regions: Sequence[Tiles], split_tensors: Container[str] = ()) -> Program:
    """`program` with `regions` in tiles. Regions do not overlap, and all their operators are tileable.

    split_tensors: tensors that are split into strips where they are made, so that a tile loads only its own columns
    """
    edges: dict[str, set[int]] = {}
    for region in regions:
        left = live_outputs(program, region.first, region.end)
        made = {op.output for op in program.ops[region.first : region.end]}
        for tile in range(region.number):
            for name, span in tile_spans(program, region, left, tile).items():
                if name in split_tensors and name not in made:
                    edges.setdefault(name, set()).update(span)
    tiled = _TiledProgram(program, edges)
    step = 0
    for region in sorted(regions):
        tiled.emit_whole(program.ops[step : region.first])
        tiled.emit_tiles(region)
        step = region.end
    tiled.emit_whole(program.ops[step:])
    repeated = sum(op.macs for op in tiled.ops) - sum(op.macs for op in program.ops)
    return dataclasses.replace(program, tensors=tiled.tensors, repeated_macs=repeated).with_ops(tiled.ops)


class _TiledProgram:
    """The program in the making."""

    def __init__(self, program: Program, edges: Mapping[str, Collection[int]]) -> None:
        self.program = program
        self._edges = edges  # the columns at which a tensor is split
        self.tensors = dict(program.tensors)
        self._names = Names(program.tensors)
        self.ops: list[ProgramOp] = []
        self._parts: dict[str, list[_Part]] = {}  # the parts of each tensor that exists in parts
        self._whole: set[str] = set()  # tensors that exist as a whole, some of them in parts, too
        self._columns: dict[tuple[str, Span], str] = {}  # tensors of columns that the current tile made

    def emit_whole(self, ops: Iterable[ProgramOp]) -> None:
        """Emits operators that are not tiled. A CONCAT in front joins operands that exist in parts only."""
        self._columns = {}
        for op in ops:
            for operand in op.operands:
                if operand.tensor in self._parts and operand.tensor not in self._whole:
                    self._join_whole(operand.tensor)
            self.ops.append(op)
            self._whole.add(op.output)
            if op.output in self._edges:
                whole = Span(0, self.program.tensors[op.output].width)
                self._parts[op.output] = self._strips(op.output, _Part(op.output, whole), whole, "whole")

    def _strips(self, name: str, own_part: _Part | None, span: Span, tile: str) -> list[_Part]:
        """The columns `span` of a tensor, in parts that end at its edges."""
        inside = [edge for edge in self._edges.get(name, ()) if span.first < edge < span.end]
        bounds = sorted({span.first, *inside, span.end})
        spans = [Span(first, end) for first, end in itertools.pairwise(bounds)]
        return [_Part(self._columns_of(name, own_part, each, tile), each) for each in spans]

    def _join_whole(self, name: str) -> None:
        tensor = self.program.tensors[name]
        self._whole.add(name)
        self.tensors[name] = tensor
        self._emit_concat(self._parts[name], tensor, name)

    def emit_tiles(self, region: Tiles) -> None:
        """Emits the operators of a region, tile by tile."""
        program = self.program
        left = live_outputs(program, region.first, region.end)
        made: dict[str, list[_Part]] = {name: [] for name in left}
        widths = {name: program.tensors[name].width for name in left}
        for place in range(region.number):
            spans, tile = tile_spans(program, region, left, place), str(place)
            own_parts: dict[str, _Part] = {}
            self._columns = {}
            for op in program.ops[region.first : region.end]:
                if op.output in spans:
                    own_parts[op.output] = self._emit_tile_op(op, spans, own_parts, tile)
            for name in left:
                span = tile_span(widths[name], min(widths.values()), place, region.number)
                made[name] += self._strips(name, own_parts.get(name), span, tile)
        self._parts |= made
        for name in left:
            if name in program.ports:
                self._join_whole(name)

    def _emit_tile_op(self, op: ProgramOp, spans: dict[str, Span], own_parts: dict[str, _Part], tile: str) -> _Part:
        """Emits one operator of a tile."""
        span, sources = spans[op.output], []
        part = self._new_part(op.output, span, tile)
        for place, operand in enumerate(op.operands):
            tensor = self.program.tensors[operand.tensor]
            if tensor.constant is not None or not _has_columns(op, place):
                sources.append(_Part(operand.tensor, Span(0, tensor.width)))
            else:
                sources.append(self._source(op, span, tensor, spans, own_parts, tile))
        operands = tuple(Operand(source.tensor, each.rows) for source, each in zip(sources, op.operands, strict=True))
        narrow = dataclasses.replace(
            op, name=f"{op.name}/columns {tile}", operands=operands, output=part.tensor,
            params=self._params(op, span, sources),
        )  # fmt: skip
        self.ops.append(with_derived(narrow, self.tensors))
        return part

    def _source(
        self,
        op: ProgramOp,
        span: Span,
        tensor: ProgramTensor,
        spans: dict[str, Span],
        own_parts: dict[str, _Part],
        tile: str,
    ) -> _Part:
        """The part of `tensor` that an operator of a tile reads."""
        if isinstance(op.params, SelectParams) and tensor.name not in own_parts and tensor.name not in self._parts:
            return _Part(tensor.name, Span(0, tensor.width))
        known = own_parts.get(tensor.name)
        if known is None:
            whole = spans[tensor.name]
            known = own_parts[tensor.name] = _Part(self._columns_of(tensor.name, None, whole, tile), whole)
        wanted = needed_columns(op, span, tensor.width)
        if isinstance(op.params, SelectParams) or known.span == wanted:
            return known
        padded = _reach(op, span).end > tensor.width
        if _is_spatial(op) and known.span.first == wanted.first and not padded:
            return known  # the kernel does not read columns behind its last tap
        return _Part(self._columns_of(tensor.name, known, wanted, tile), wanted)

    def _params(self, op: ProgramOp, span: Span, sources: Sequence[_Part]) -> Record:
        params = op.params
        if _is_spatial(op):
            return dataclasses.replace(params, pad_left=max(0, -_reach(op, span).first))
        if isinstance(params, SelectParams):
            at = params.first[1] + span.first * params.numerator[1] - sources[0].span.first * params.denominator[1]
            return dataclasses.replace(params, first=(params.first[0], at, params.first[2]))
        steps = getattr(params, "row_step", None)
        if steps is None:
            return params
        width = self.program.tensors[op.output].width
        narrow = tuple(
            step // width * (span.end - span.first) if _has_columns(op, place) else step
            for place, step in enumerate(steps)
        )
        return dataclasses.replace(params, row_step=narrow)

    def _columns_of(self, name: str, own_part: _Part | None, span: Span, tile: str) -> str:
        """The name of a tensor with the columns `span` of `name`, from the tile's own part or from earlier parts."""
        tensor = self.program.tensors[name]
        key = (name, span)
        if key not in self._columns:
            parts = self._parts.get(name, [_Part(name, Span(0, tensor.width))]) if own_part is None else [own_part]
            within = [part for part in parts if part.span.first < span.end and span.first < part.span.end]
            cut = [
                self._select(part, Span(max(span.first, part.span.first), min(span.end, part.span.end)), name, tile)
                for part in within
            ]
            if len(cut) > 1:
                joined = self._new_part(name, span, tile)
                self._emit_concat(cut, self.tensors[joined.tensor], name)
                cut = [joined]
            self._columns[key] = cut[0].tensor
        return self._columns[key]

    def _select(self, part: _Part, span: Span, name: str, tile: str) -> _Part:
        """The columns `span` of a part."""
        if part.span == span:
            return part
        result = self._new_part(name, span, tile)
        params = SelectParams(
            NO_TABLE, NO_TABLE, NO_TABLE, (1, 1, 1), (1, 1, 1), (0, span.first - part.span.first, 0), 0
        )
        self._emit(OpKind.SELECT, result.tensor, (part.tensor,), params)
        return result

    def _emit_concat(self, parts: Sequence[_Part], tensor: ProgramTensor, name: str) -> None:
        while len(parts) > MOST_OPERANDS:
            some = parts[:MOST_OPERANDS]
            joined = self._new_part(name, Span(some[0].span.first, some[-1].span.end), "some")
            self._emit_concat(some, self.tensors[joined.tensor], name)
            parts = [joined, *parts[MOST_OPERANDS:]]
        self._emit(OpKind.CONCAT, tensor.name, [part.tensor for part in parts], ConcatParams(_COLUMN_AXIS))

    def _emit(self, kind: OpKind, output: str, sources: Sequence[str], params: SelectParams | ConcatParams) -> None:
        operands = tuple(Operand(source, RowMap.same()) for source in sources)
        op = ProgramOp(output, kind, self.tensors[output].dtype, operands, output, params)
        self.ops.append(with_derived(op, self.tensors))

    def _new_part(self, name: str, span: Span, tile: str) -> _Part:
        """Declares a tensor for columns of `name`."""
        fresh = self._names.fresh(f"{name}/columns {span.first} to {span.end} of tile {tile}")
        tensor = self.program.tensors[name]
        self.tensors[fresh] = dataclasses.replace(tensor, name=fresh, width=span.end - span.first)
        return _Part(fresh, span)
