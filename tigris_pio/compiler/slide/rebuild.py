"""Builds the program that makes the pieces: operators run on parts of their rows, COMMITs keep rows for the next run.

Each piece is a tensor of its own. The operator's kernel makes it under a shifted row map. Operands of Access.WINDOW and
SELECT may have more rows than are read; operands of all other kinds have exactly the rows that are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Alias, Operand, Program, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.rowwise import params_of_part
from tigris_pio.compiler.lower.selection import identity, select_params
from tigris_pio.compiler.lower.states import commit_params
from tigris_pio.compiler.slide.pieces import Pieces, Rows, needed_rows
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import TRAITS, Access
from tigris_pio.format.params import ConcatParams, SelectParams
from tigris_pio.format.record import Record


@dataclasses.dataclass(frozen=True)
class Part:
    """A tensor of the new program: rows [first, end) of a tensor of the old one."""

    name: str
    first: int
    end: int


class Rebuilder:
    """Collects the operators and tensors of the new program.

    Call `add_input`, then `add_op` for each operator in order, then `finish`.
    """

    def __init__(self, program: Program, pieces: Mapping[str, Pieces], silent: Mapping[str, np.ndarray]) -> None:
        self.program = program
        self.pieces = pieces
        self.silent = silent
        self.tensors: dict[str, ProgramTensor] = {}
        self.ops: list[ProgramOp] = []
        self.commits: list[ProgramOp] = []
        self.states: list[ProgramIo] = []
        self._names = Names(program.tensors)
        self._heads: set[str] = set()
        self._parts: dict[str, list[Part]] = {}
        self._rings: dict[str, Part] = {}

    def add_input(self, name: str) -> None:
        """Adds the input, reduced to the last rows of its window."""
        pieces = self.pieces[name]
        self._add_part(name, name, (pieces.tail, pieces.end))
        self._keep_rows(name)

    def add_op(self, op: ProgramOp) -> None:
        """Adds the operator once for each piece of its output; once for the whole output if it does not slide."""
        pieces = self.pieces.get(op.output)
        if pieces is None:
            self._copy_tensor(op.output)
            self._emit(op, op.output, (0, self.program.tensors[op.output].height))
            return
        for rows in pieces.made:
            is_head = rows[0] == 0 and rows[1] < pieces.end
            name = self._names.fresh(f"{op.output}/head") if is_head else op.output
            self._emit(op, name, rows, "/head" if is_head else "")
            if is_head:
                self._heads.add(name)
            self._add_part(op.output, name, rows)
        self._keep_rows(op.output)

    def whole_tensor(self, name: str) -> str:
        """The name of a tensor of the new program that holds all rows of `name`."""
        if name not in self.pieces:
            return name
        return self._exact_part(name, (0, self.program.tensors[name].height)).name

    def finish(self, inputs: tuple[ProgramIo, ...]) -> Program:
        """The new program, with `inputs`. Call it after the last operator."""
        outputs = tuple(dataclasses.replace(io, tensor=self._output(io)) for io in self.program.outputs)
        values = {name: value for name, value in self.program.values.items()
                  if value.tensor not in self.pieces and value.tensor in self.tensors}
        lasting = {io.tensor for io in outputs} | {item.tensor for op in self.commits for item in op.operands}
        ordered = _heads_first(self.ops, self._heads)
        ops = (*(self._with_sharing(op, lasting) for op in ordered), *self.commits)
        return dataclasses.replace(self.program, tensors=self.tensors, ops=ops, inputs=inputs, outputs=outputs,
                                   values=values, states=tuple(self.states))

    def _with_sharing(self, op: ProgramOp, lasting: set[str]) -> ProgramOp:
        """`op` with the memory that its output may share with its operands.

        If a reader sees most rows of a join at once, the join's parts lie in it. So does the state, unless the join is
        in `lasting`: read after the first COMMIT. If readers see a few rows only, the join gets no aliases, because a
        rolling stage then takes less memory.
        """
        shared = with_derived(op, self.tensors)
        if op.params != ConcatParams(0) or op.output in lasting:
            return shared
        if not self._is_mostly_read_at_once(op.output):
            return op
        sizes = [self.tensors[operand.tensor].bytes for operand in op.operands]
        kept = [Alias(place, sum(sizes[:place])) for place, operand in enumerate(op.operands)
                if self.tensors[operand.tensor].state]  # fmt: skip
        return dataclasses.replace(shared, aliases=(*kept, *shared.aliases))

    def _is_mostly_read_at_once(self, name: str) -> bool:
        seen = [operand.rows for op in self.ops for operand in op.operands if operand.tensor == name]
        height = self.tensors[name].height
        return any(rows.numerator == 0 or 2 * (rows.last - rows.first + 1) >= height for rows in seen)

    def _output(self, io: ProgramIo) -> str:
        name = self.whole_tensor(io.tensor)
        taken = {self.program.inputs[0].tensor, *(ring.name for ring in self._rings.values())}
        if name in taken:
            return self._select(name, self._names.fresh(f"{io.name}/output"), (0, self.tensors[name].height))
        return name

    # Operators of the model.

    def _copy_tensor(self, name: str) -> None:
        self.tensors[name] = self.program.tensors[name]

    def _emit(self, op: ProgramOp, output: str, rows: Rows, suffix: str = "") -> None:
        height = self.program.tensors[op.output].height
        operands = tuple(self._operand(op, operand, rows) for operand in op.operands)
        self.tensors[output] = self._sized(op.output, output, rows[1] - rows[0])
        if rows == (0, height) and operands == op.operands:
            self.ops.append(op)
            return
        self.ops.append(dataclasses.replace(
            op, name=op.name + suffix, operands=operands, output=output,
            params=_params_for_rows(op, rows, height, operands)))  # fmt: skip

    def _operand(self, op: ProgramOp, operand: Operand, rows: Rows) -> Operand:
        name, row_map = operand.tensor, operand.rows
        tensor = self.program.tensors[name]
        if name not in self.pieces:
            self._copy_tensor(name)
            return operand
        if op.output not in self.pieces:
            return Operand(self._exact_part(name, (0, tensor.height)).name, row_map)
        needed = needed_rows(row_map, rows, tensor.height)
        within = TRAITS[op.kind].access in (Access.WINDOW, Access.INDEX)
        part = self._covering_part(name, needed) if within else self._exact_part(name, needed)
        return Operand(part.name, _shifted(row_map, rows, part))

    # Rows of tensors.

    def _sized(self, name: str, new_name: str, rows: int) -> ProgramTensor:
        return dataclasses.replace(self.program.tensors[name], name=new_name, height=rows)

    def _add_part(self, name: str, part: str, rows: Rows) -> Part:
        found = Part(part, *rows)
        self.tensors.setdefault(part, self._sized(name, part, rows[1] - rows[0]))
        self._parts.setdefault(name, []).append(found)
        return found

    def _covering_part(self, name: str, rows: Rows) -> Part:
        """A part that contains these rows; any part for an empty range, whose reader sees padding only."""
        if rows[0] >= rows[1]:
            return self._parts[name][0]
        for part in self._parts[name]:
            if part.first <= rows[0] and rows[1] <= part.end:
                return part
        pieces = self.pieces[name]
        low = 0 if rows[0] < pieces.kept else pieces.kept
        return self._joined_part(name, (low, pieces.end))

    def _exact_part(self, name: str, rows: Rows) -> Part:
        """The part of exactly these rows; a SELECT or a CONCAT makes it if there is none."""
        for part in self._parts[name]:
            if (part.first, part.end) == rows:
                return part
        for part in self._parts[name]:
            if part.first <= rows[0] and rows[1] <= part.end:
                return self._cut_part(name, part, rows)
        return self._joined_part(name, rows)

    def _cut_part(self, name: str, part: Part, rows: Rows) -> Part:
        wanted = self._names.fresh(f"{name}/rows")
        self._select(part.name, wanted, (rows[0] - part.first, rows[1] - part.first))
        return self._add_part(name, wanted, rows)

    def _joined_part(self, name: str, rows: Rows) -> Part:
        """A part that joins these rows of the head, of the kept rows and of the tail."""
        pieces = self.pieces[name]
        spans = ((rows[0], pieces.kept), (max(rows[0], pieces.kept), min(rows[1], pieces.tail)),
                 (max(rows[0], pieces.tail), rows[1]))
        parts = [self._kept_rows(name, span) if index == 1 else self._exact_part(name, span).name
                 for index, span in enumerate(spans) if span[0] < span[1]]
        if len(parts) == 1:
            self._parts[name].append(found := Part(parts[0], *rows))
            return found
        wanted = self._names.fresh(f"{name}/window")
        operands, start = [], 0
        for part in parts:
            operands.append(Operand(part, RowMap.shifted(-start)))
            start += self.tensors[part].height
        found = self._add_part(name, wanted, rows)
        self.ops.append(ProgramOp(f"{wanted}/join", OpKind.CONCAT, self.tensors[wanted].dtype, tuple(operands), wanted,
                                  ConcatParams(0)))  # fmt: skip
        return found

    def _kept_rows(self, name: str, rows: Rows) -> str:
        """The name of a tensor of rows that earlier runs made."""
        pieces, ring = self.pieces[name], self._rings[name]
        stride = pieces.motion.ring_stride
        if stride == 1 and rows == (ring.first, ring.end):
            return ring.name
        first = (rows[0] - pieces.kept) * stride
        earlier = self._names.fresh(f"{name}/earlier")
        return self._select(ring.name, earlier, (first, first + (rows[1] - rows[0])), stride)

    def _select(self, source: str, target: str, rows: Rows, stride: int = 1) -> str:
        """Emits a SELECT of rows[1] - rows[0] rows of `source`, from rows[0] on with `stride`; returns `target`."""
        tensor, count = self.tensors[source], rows[1] - rows[0]
        picked = rows[0] + stride * np.arange(count)
        params, _ = select_params((picked, identity(tensor.width), identity(tensor.channels)),
                                  (tensor.height, tensor.width, tensor.channels), 0, tensor.dtype)
        line = (params.numerator[0], params.first[0])
        self.tensors[target] = dataclasses.replace(tensor, name=target, height=count, state=False)
        operand = Operand(source, RowMap(line[0], 1, line[1], line[1]))
        self.ops.append(ProgramOp(f"{target}/select", OpKind.SELECT, tensor.dtype, (operand,), target, params))
        return target

    # Kept rows.

    def _keep_rows(self, name: str) -> None:
        """Adds the state that keeps rows of `name`, and the COMMIT that appends the new ones."""
        pieces = self.pieces[name]
        count = pieces.ring_rows
        if not count:
            return
        state = dataclasses.replace(self._sized(name, self._names.fresh(f"{name}/kept"), count), state=True)
        self.tensors[state.name] = state
        self._rings[name] = Part(state.name, pieces.kept, pieces.tail)
        new = min(count, pieces.motion.new_rows)
        source = self._exact_part(name, (pieces.inner_end - new, pieces.inner_end)).name
        shape = (1, count, state.width, state.channels)
        dtype = DType.FLOAT32 if state.scale else state.dtype
        io = ProgramIo(state.name, state.name, dtype, shape, shape, (0, 1, 2, 3))
        fill, first = self._initial_value(name, state)
        params = dataclasses.replace(commit_params(io, fill), kept_bytes=(count - new) * state.row_bytes)
        operands = (Operand(source, RowMap.whole(new)), *first)
        self.commits.append(ProgramOp(f"{state.name}/commit", OpKind.COMMIT, DType.INT8, operands, state.name, params))
        self.states.append(io)

    def _initial_value(self, name: str, state: ProgramTensor) -> tuple[int, tuple[Operand, ...]]:
        """The first value of a state: a byte, or a constant row as operand. Unknown rows begin as the zero point."""
        row = self.silent.get(name)
        if row is None:
            return (state.zero_point & 0xFF if state.dtype is DType.INT8 else 0), ()
        stored = np.ascontiguousarray(row).reshape(-1).view(np.uint8)
        if np.all(stored == stored[0]):
            return int(stored[0]), ()
        constant = dataclasses.replace(state, name=self._names.fresh(f"{name}/silent"), height=1, state=False,
                                       constant=row.reshape(1, 1, *row.shape))
        self.tensors[constant.name] = constant
        return 0, (Operand(constant.name, RowMap.whole(1)),)


def _heads_first(ops: Sequence[ProgramOp], heads: set[str]) -> list[ProgramOp]:
    """`ops` reordered: the operators that make the tensors `heads`, and their ancestors, come first.

    One stage can then run all heads, and no memory holds layers of heads and of tails together.
    """
    needed = set(heads)
    for op in reversed(ops):
        if op.output in needed:
            needed |= {operand.tensor for operand in op.operands}
    return [*(op for op in ops if op.output in needed), *(op for op in ops if op.output not in needed)]


def _shifted(rows: RowMap, made: Rows, part: Part) -> RowMap:
    """`rows` between the output rows `made` and `part` of the input, both counted from 0."""
    shift = made[0] * rows.numerator - part.first * rows.denominator
    return RowMap(rows.numerator, rows.denominator, rows.first + shift, rows.last + shift)


def _params_for_rows(op: ProgramOp, rows: Rows, height: int, operands: tuple[Operand, ...]) -> Record:
    """The operator's parameters for `rows` of an output of `height` rows."""
    if isinstance(op.params, SelectParams):
        return dataclasses.replace(op.params, first=(operands[0].rows.first, *op.params.first[1:]))
    return params_of_part(op.params, rows[1] - rows[0], height)
