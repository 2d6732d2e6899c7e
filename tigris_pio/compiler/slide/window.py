"""The window itself: which input it is, what a run is given of it, and what is said about that."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from tigris_pio import spelling
from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.slide.motion import KEPT_TYPES, Halt, find_motions
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
class Edges:
    """An operator of which each run makes more rows than are new, because padding reaches them."""

    op: str
    rows: int  #: that a run makes
    new: int
    height: int


@dataclasses.dataclass(frozen=True)
class Slid:
    """A program whose input has the new rows of a window alone.

    whole: the program for whole windows
    rows: that a run is given
    window: rows of the whole input
    axis: of the model's input, along which both are counted
    exact_from: the first run, counted from 1, whose outputs are those of its window; silence comes before the signal
    halts: operators that make all their rows in every run
    edges: operators that make edge rows in every run
    """

    program: Program
    whole: Program
    rows: int
    window: int
    axis: int
    exact_from: int
    halts: tuple[Halt, ...]
    edges: tuple[Edges, ...]


def slide(program: Program, hop: int) -> Slid:
    """`program` for windows that are `hop` rows apart. Raises UsageError where that has no meaning."""
    whole, program = program, _in_rows(program)
    io, window = _the_input(program, hop)
    given, axis = _given(io, window, hop)
    if hop == window.height:
        return Slid(whole, whole, hop, hop, axis, 1, (), ())
    motions, halts = find_motions(program, hop)
    pieces = choose_pieces(program, motions)
    silent = silent_rows(program, motions)
    builder = Rebuilder(program, pieces, silent)
    builder.input(io.tensor)
    for op in program.ops:
        builder.op(op)
    made = builder.finish((given,))
    edges = _edges(program, pieces)
    guessed = [op.output for op in program.ops if _is_kept(pieces, op.output) and op.output not in silent]
    exact = -(-window.height // hop) if guessed else 1
    made = dataclasses.replace(made, warnings=(*made.warnings, *_warnings(halts, edges, guessed, exact)))
    return Slid(made, whole, hop, window.height, axis, exact, tuple(halts), tuple(edges))


def _is_kept(pieces: Mapping[str, Pieces], name: str) -> bool:
    return name in pieces and pieces[name].ring_rows > 0


def _in_rows(program: Program) -> Program:
    """A program whose input is one long row, as a perceptron's is, with that row cut into as many as the input's
    slowest axis has entries; a COPY puts them together again."""
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


def _the_input(program: Program, hop: int) -> tuple[ProgramIo, ProgramTensor]:
    if program.states:
        names = ", ".join(visible_name(io.name) for io in program.states)
        raise UsageError(f"{_option(hop)}: {program.name} has states already ({names}), so its runs are no windows of "
                         "one signal; leave the option out")
    if len(program.inputs) != 1:
        names = ", ".join(visible_name(io.name) for io in program.inputs) or "none"
        raise UsageError(f"{_option(hop)}: {program.name} has {len(program.inputs)} inputs ({names}), and only one can "
                         f"be the signal; make the others constants by {spelling.option('set')}")
    io = program.inputs[0]
    tensor = program.tensors[io.tensor]
    if tensor.batch != 1 or tensor.dtype not in KEPT_TYPES:
        what = f"{tensor.batch} images" if tensor.batch != 1 else f"type {tensor.dtype.name.lower()}"
        raise UsageError(f"{_option(hop)}: input {visible_name(io.name)} has {what}; it must be one window of int8, "
                         "int16 or float32")
    if not 1 <= hop <= tensor.height:
        raise UsageError(f"{_option(hop)}: input {visible_name(io.name)}, {list(io.shape)}, has "
                         f"{counted(tensor.height, 'row')}; a hop has 1 to {tensor.height}")
    return io, tensor


def _given(io: ProgramIo, window: ProgramTensor, hop: int) -> tuple[ProgramIo, int]:
    """The input with `hop` rows, and the axis of the model's input on which they lie."""
    stored = next((axis for axis, size in enumerate(io.stored_shape) if size > 1), 0)
    axis = _axis_of(io, stored)
    if axis is None or io.stored_shape[stored] % window.height or io.shape[axis] % window.height:
        raise UsageError(f"{_option(hop)}: the {window.height} rows of input {visible_name(io.name)}, "
                         f"{list(io.shape)}, lie on no axis of their own")

    def shortened(shape: tuple[int, ...], at: int) -> tuple[int, ...]:
        return (*shape[:at], shape[at] // window.height * hop, *shape[at + 1 :])

    shape, stored_shape = shortened(io.shape, axis), shortened(io.stored_shape, stored)
    return dataclasses.replace(io, shape=shape, stored_shape=stored_shape), axis


def _axis_of(io: ProgramIo, stored: int) -> int | None:
    """The axis of the model's array that begins where a stored axis does."""
    permuted = [io.stored_shape[axis] for axis in io.permutation]
    before = math.prod(permuted[: io.permutation.index(stored)])
    starts = (math.prod(io.shape[:axis]) for axis in range(len(io.shape)))
    return next((axis for axis, start in enumerate(starts) if start == before and io.shape[axis] > 1), None)


def _edges(program: Program, pieces: Mapping[str, Pieces]) -> list[Edges]:
    found = []
    for op in program.ops:
        piece = pieces.get(op.output)
        made = 0 if piece is None else sum(end - first for first, end in piece.made)
        if piece is not None and op.macs and made > piece.motion.new_rows:
            found.append(Edges(op.name, made, piece.motion.new_rows, program.tensors[op.output].height))
    return found


def _warnings(halts: list[Halt], edges: list[Edges], guessed: list[str], exact: int) -> list[str]:
    """What is not kept from run to run, and why."""
    found = []
    if halts:
        named = "; ".join(f"{halt.op}: {halt.reason}" for halt in halts[:_MOST_NAMED])
        found.append(f"with a hop these operators, and what follows them, make all their rows in every run: "
                     f"{named}{_more(halts)}")
    if edges:
        named = ", ".join(f"{edge.op} {edge.rows} of {edge.height}" for edge in edges[:_MOST_NAMED])
        found.append(f"with a hop rows that padding reaches are made anew in every run: {named}{_more(edges)}")
    if guessed:
        runs = "run is" if exact == 2 else f"{exact - 1} runs are"
        found.append(f"the first {runs} not exact: what {guessed[0]} is of silence is not known here, "
                     "so its rows begin as zeros")
    return found


def _more(named: list[Halt] | list[Edges]) -> str:
    return f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""


def _option(hop: int) -> str:
    return spelling.option("hop", hop)
