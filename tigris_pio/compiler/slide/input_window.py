"""Entry of `--hop`: checks the input, builds the sliding program, and warns of operators that do not slide."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from tigris_pio import spelling
from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.slide.motion import KEPT_TYPES, NonSlidingOp, find_motions
from tigris_pio.compiler.slide.pieces import Pieces, choose_pieces
from tigris_pio.compiler.slide.rebuild import Rebuilder
from tigris_pio.compiler.slide.silence import silent_rows
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import CopyParams
from tigris_pio.text import counted, visible_name

#: Operators that one warning names.
_MOST_NAMED = 4


@dataclasses.dataclass(frozen=True)
class EdgeRows:
    """An operator of which each run makes more than the new rows, because padding reaches some."""

    op: str
    rows: int  #: made by each run
    new: int  #: of them, rows that no earlier run made
    height: int  #: all rows of the output


@dataclasses.dataclass(frozen=True)
class SlidingProgram:
    """A program whose runs receive the new rows of the input window only.

    whole: the program for whole input windows
    hop: rows that each run receives
    input_rows: rows of the whole input window
    axis: the axis of the model's input that has these rows
    exact_from: the first run, counted from 1, whose outputs are exact if silence precedes the signal
    non_sliding: operators that make all their rows in every run
    edges: operators that make edge rows in every run
    """

    program: Program
    whole: Program
    hop: int
    input_rows: int
    axis: int
    exact_from: int
    non_sliding: tuple[NonSlidingOp, ...]
    edges: tuple[EdgeRows, ...]


def slide(program: Program, hop: int) -> SlidingProgram:
    """Rewrites `program` for input windows with a stride of `hop` rows. Raises UsageError if it cannot stream."""
    whole, program = program, _split_into_rows(program)
    io, tensor = _checked_input(program, hop)
    new_input, axis = _shortened_input(io, tensor, hop)
    if hop == tensor.height:
        return SlidingProgram(whole, whole, hop, hop, axis, 1, (), ())
    motions, non_sliding = find_motions(program, hop)
    pieces = choose_pieces(program, motions)
    silent = silent_rows(program, motions)
    rebuilder = Rebuilder(program, pieces, silent)
    rebuilder.add_input(io.tensor)
    for op in program.ops:
        rebuilder.add_op(op)
    made = rebuilder.finish((new_input,))
    edges = _edge_rows(program, pieces)
    unknown = [op.output for op in program.ops if _is_kept(pieces, op.output) and op.output not in silent]
    exact = -(-tensor.height // hop) if unknown else 1
    made = dataclasses.replace(made, warnings=(*made.warnings, *_warnings(non_sliding, edges, unknown, exact)))
    return SlidingProgram(made, whole, hop, tensor.height, axis, exact, tuple(non_sliding), tuple(edges))


def _is_kept(pieces: Mapping[str, Pieces], name: str) -> bool:
    return name in pieces and pieces[name].ring_rows > 0


def _split_into_rows(program: Program) -> Program:
    """`program`; if its input is one long row, as a perceptron's is, that row cut along the input's slowest axis.

    A COPY joins the rows again in front of the first operator.
    """
    if len(program.inputs) != 1 or program.tensors[program.inputs[0].tensor].height > 1:
        return program
    io = program.inputs[0]
    flat = program.tensors[io.tensor]
    count = next((size for size in io.stored_shape if size > 1), 1)
    if flat.batch != 1 or count == 1:
        return program
    row = flat.width * flat.channels // count
    rows = dataclasses.replace(flat, name=f"{flat.name}/rows", height=count, width=1, channels=row)
    join = ProgramOp(f"{io.name}/rows", OpKind.COPY, flat.dtype, (Operand(rows.name, RowMap.whole(count)),), flat.name,
                     CopyParams(flat.bytes))  # fmt: skip
    return dataclasses.replace(program, tensors={rows.name: rows, **program.tensors}, ops=(join, *program.ops),
                               inputs=(dataclasses.replace(io, tensor=rows.name),))  # fmt: skip


def _checked_input(program: Program, hop: int) -> tuple[ProgramIo, ProgramTensor]:
    if program.states:
        names = ", ".join(visible_name(io.name) for io in program.states)
        raise UsageError(f"{_option(hop)}: {program.name} keeps states itself ({names}); leave the option out")
    if len(program.inputs) != 1:
        names = ", ".join(visible_name(io.name) for io in program.inputs) or "none"
        raise UsageError(f"{_option(hop)}: {program.name} has {len(program.inputs)} inputs ({names}), and only one can "
                         f"be the signal; make the others constants with {spelling.option('set')}")
    io = program.inputs[0]
    tensor = program.tensors[io.tensor]
    if tensor.batch != 1 or tensor.dtype not in KEPT_TYPES:
        what = f"{tensor.batch} images" if tensor.batch != 1 else f"type {tensor.dtype.name.lower()}"
        raise UsageError(f"{_option(hop)}: input {visible_name(io.name)} has {what}; it must be one image of int8, "
                         "int16 or float32")
    if not 1 <= hop <= tensor.height:
        raise UsageError(f"{_option(hop)}: input {visible_name(io.name)}, {list(io.shape)}, has "
                         f"{counted(tensor.height, 'row')}; give a hop of 1 to {tensor.height}")
    return io, tensor


def _shortened_input(io: ProgramIo, tensor: ProgramTensor, hop: int) -> tuple[ProgramIo, int]:
    """The input with `hop` rows instead of all, and the axis of the model's input that has the rows."""
    stored = next((axis for axis, size in enumerate(io.stored_shape) if size > 1), 0)
    axis = _axis_of(io, stored)
    if axis is None or io.stored_shape[stored] % tensor.height or io.shape[axis] % tensor.height:
        raise UsageError(f"{_option(hop)}: no axis of input {visible_name(io.name)}, {list(io.shape)}, holds its "
                         f"{tensor.height} rows alone; leave the option out")

    def shortened(shape: tuple[int, ...], at: int) -> tuple[int, ...]:
        return (*shape[:at], shape[at] // tensor.height * hop, *shape[at + 1 :])

    shape, stored_shape = shortened(io.shape, axis), shortened(io.stored_shape, stored)
    return dataclasses.replace(io, shape=shape, stored_shape=stored_shape), axis


def _axis_of(io: ProgramIo, stored: int) -> int | None:
    """The axis of the model's array that begins where the stored axis `stored` does; None if there is none."""
    permuted = [io.stored_shape[axis] for axis in io.permutation]
    before = math.prod(permuted[: io.permutation.index(stored)])
    starts = (math.prod(io.shape[:axis]) for axis in range(len(io.shape)))
    return next((axis for axis, start in enumerate(starts) if start == before and io.shape[axis] > 1), None)


def _edge_rows(program: Program, pieces: Mapping[str, Pieces]) -> list[EdgeRows]:
    found = []
    for op in program.ops:
        piece = pieces.get(op.output)
        made = 0 if piece is None else sum(end - first for first, end in piece.made)
        if piece is not None and op.macs and made > piece.motion.new_rows:
            found.append(EdgeRows(op.name, made, piece.motion.new_rows, program.tensors[op.output].height))
    return found


def _warnings(non_sliding: list[NonSlidingOp], edges: list[EdgeRows], unknown: list[str], exact: int) -> list[str]:
    """Warnings about rows that every run makes anew, and about inexact first runs."""
    found = []
    if non_sliding:
        named = "; ".join(f"{item.op}: {item.reason}" for item in non_sliding[:_MOST_NAMED])
        found.append(f"despite the hop these operators and their successors compute all rows in every run: "
                     f"{named}{_more(non_sliding)}")
    if edges:
        named = ", ".join(f"{edge.op} {edge.rows} of {edge.height}" for edge in edges[:_MOST_NAMED])
        found.append(f"despite the hop every run computes the rows that padding reaches: {named}{_more(edges)}")
    if unknown:
        runs = "run is" if exact == 2 else f"{exact - 1} runs are"
        found.append(f"the first {runs} not exact: the rows of {unknown[0]} for a silent input are unknown, "
                     "so they begin as zeros")
    return found


def _more(named: list[NonSlidingOp] | list[EdgeRows]) -> str:
    return f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""


def _option(hop: int) -> str:
    return spelling.option("hop", hop)
