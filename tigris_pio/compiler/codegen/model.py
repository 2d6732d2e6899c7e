"""What is written, as plain data: names, places, kernels and loops of one model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tigris_pio.compiler.codegen.c_source import names_in
from tigris_pio.compiler.codegen.call_layout import TYPES
from tigris_pio.compiler.codegen.kernels import Bundle, bundle
from tigris_pio.compiler.codegen.names import RESERVED, Names, function_name
from tigris_pio.compiler.codegen.schedule import Action, Call, Loop, Move, Place, schedule, tensors_of
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import ProgramIo, ProgramOp
from tigris_pio.compiler.weights.block import StoredArray, constant_key
from tigris_pio.compiler.weights.section import Block, Weights
from tigris_pio.format.c_header import kernel_symbol
from tigris_pio.format.enums import Home, OpKind, WeightMode

#: Operators that are no kernels in C: rows that come and go, and states.
WITHOUT_KERNEL = frozenset({OpKind.FETCH, OpKind.TAKE, OpKind.COMMIT})


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output. member: its name in C; step: the operator that moves its rows where it is streamed."""

    io: ProgramIo
    member: str
    step: int | None


@dataclasses.dataclass(frozen=True)
class Model:
    """One model to be written.

    name: what public names begin with; prefix: the same in capitals
    ops, tensors: identifiers of operators, by their step, and of tensors
    windows: identifiers of windows, by stage and place
    loops: of each stage
    """

    plan: ExecutionPlan
    name: str
    kernels: Bundle
    weights_in_calls: bool  #: some weights have their address at run time only
    loops: tuple[tuple[Loop, ...], ...]
    ops: tuple[str, ...]
    tensors: Mapping[str, str]
    windows: Mapping[tuple[int, Place], str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    partition: bool  #: weights are no part of the C
    split: bool  #: kernels are no part of its file
    notes: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """What macros begin with."""
        return self.name.upper()

    @property
    def fast_bytes(self) -> int:
        """The plan's without what its executor keeps there."""
        return self.plan.fast_bytes - self.plan.state_bytes

    @property
    def has_slow(self) -> bool:
        """Whether slow memory is given."""
        return self.plan.slow_bytes > 0

    @property
    def alone(self) -> bool:
        """One input and one output: they are arguments; else they are members of structs."""
        return len(self.inputs) == 1 and len(self.outputs) == 1

    def offset(self, fast: int) -> int:
        """Where something lies that the plan puts at `fast` of the arena."""
        return fast - self.plan.state_bytes

    def home(self, tensor: str) -> Home:
        """Where the whole tensor lies."""
        if self.plan.program.tensors[tensor].constant is not None:
            return Home.FLASH
        place = self.plan.homes.get(tensor)
        return Home.NONE if place is None else place.home

    def has_weights(self, stage: int) -> bool:
        """Whether operators that are called in a stage have any."""
        return stage in self.section[1]

    def is_in_place(self, stage: int) -> bool:
        """Whether a stage reads its weights where they are stored."""
        return self.plan.stages[stage].weight_mode is WeightMode.IN_PLACE

    @cached_property
    def section(self) -> tuple[Weights, Mapping[int, Block]]:
        """All weights, and the blocks of stages in which operators that have some are called."""
        weights, ops = Weights(), self.plan.program.ops
        called = {step for step in called_in(self.loops) if ops[step].blobs}
        blocks = {
            place: weights.add_block(ops[stage.first_op : stage.end_op], stage.weight_mode)
            for place, stage in enumerate(self.plan.stages)
            if not called.isdisjoint(range(stage.first_op, stage.end_op))
        }
        return weights, blocks

    @cached_property
    def weight_names(self) -> tuple[str, ...]:
        """The identifiers of the parts of the weights."""
        steps = {id(op): step for step, op in enumerate(self.plan.program.ops)}
        contents = (part.content for part in self.section[0].parts)
        return tuple(
            f"{self.ops[steps[id(content.op)]]}_{content.field}" if isinstance(content, StoredArray)
            else f"block_{place}"
            for place, content in enumerate(contents)
        )  # fmt: skip

    @cached_property
    def constants(self) -> Mapping[str, str]:
        """What constant operands are in C, by tensor: equal ones are one, or weights that are no file of their own."""
        parts = [] if self.partition else self.section[0].parts
        known = {part.content.key: f"{self.name}_weights.{member}"
                 for part, member in zip(parts, self.weight_names, strict=False)
                 if isinstance(part.content, StoredArray)}  # fmt: skip
        return {
            name: known.setdefault(constant_key(tensor.constant), f"{self.name}_constant_{self.tensors[name]}")
            for name, tensor in self.plan.program.tensors.items() if tensor.constant is not None
        }  # fmt: skip

    def weights_at(self, stage: int) -> str:
        """Where the weights of a stage are stored, as const uint8_t *."""
        offset = self.section[1][stage].offset
        if self.partition:
            return f"(weights + {self.prefix}_WEIGHTS_OF_STAGE_{stage})"
        start = f"(const uint8_t *)&{self.name}_weights"
        return f"({start} + {offset}U)" if offset else start

    def needs_slow(self, stage: int) -> bool:
        """Whether a stage reads or writes slow memory."""
        homes = [self.home(place.tensor) for place in tensors_of(self.loops[stage]) if not place.window]
        return Home.SLOW in homes

    def member(self, stage: int, place: Place) -> str:
        """The identifier of a place that a stage touches."""
        return self.windows[stage, place] if place.window else self.tensors[place.tensor]


def model_of(plan: ExecutionPlan, name: str, partition: bool, split: bool) -> Model:
    """What is to be written of `plan`."""
    program = plan.program
    members = Names(RESERVED, ["fast"])  # arguments beside them
    inputs = tuple(_port(plan, io, OpKind.FETCH, place, members) for place, io in enumerate(program.inputs))
    outputs = tuple(_port(plan, io, OpKind.TAKE, place, members) for place, io in enumerate(program.outputs))
    loops = tuple(tuple(found) for found in schedule(plan))
    modes = {stage.weight_mode for stage in plan.stages}
    called = called_in(loops)
    used = [op for step, op in enumerate(program.ops) if step in called and op.kind not in WITHOUT_KERNEL]
    kernels = bundle(
        (kernel_symbol(op.kind, op.dtype) for op in used),
        types=dict.fromkeys(op.params.C_NAME for op in used),
        helpers=helpers(plan, loops),
    )
    ops = _operators(plan, name, kernels, [f"{port.member}_rows" for port in (*inputs, *outputs)])
    tensors, windows = _tensors(plan, ops)
    notes = tuple(f"{old!r} is {new} in C: it {why}" for old, new, why in members.changed)
    in_calls = partition or modes != {WeightMode.IN_PLACE}
    return Model(plan, name, kernels, in_calls, loops, ops, tensors, windows, inputs, outputs, partition, split, notes)


#: What is called NAME_… in a model's file, beside names that begin as names.function_name knows.
_OWN = ("run", "reset", "model", "port", "status", "input_rows", "output_rows", "input_ports", "output_ports")


def _operators(plan: ExecutionPlan, name: str, kernels: Bundle, taken: Sequence[str]) -> tuple[str, ...]:
    """Identifiers of operators: of their functions, constants and weights. taken: other names of the file."""
    begin = f"{name}_"
    own = (word.removeprefix(begin) for word in names_in(TYPES + kernels.text) if word.startswith(begin))
    names = Names(taken=[*_OWN, *taken, *own])
    return tuple(
        names.give(function_name(op.name), op.kind.name, ["_rows", "_params", *(f"_{field}" for field in op.blobs)])
        for op in plan.program.ops
    )


def _tensors(
    plan: ExecutionPlan, ops: Sequence[str]
) -> tuple[dict[str, str], dict[tuple[int, Place], str]]:
    """Identifiers of tensors, and of windows by stage and place: members of the arenas' unions."""
    others = [*(f"scratch_of_{op}" for op in ops), *(f"weights_of_stage_{place}" for place in range(len(plan.stages)))]
    names = Names(RESERVED, ["bytes", *others])
    tensors = {tensor: names.give(tensor, "tensor") for tensor in plan.program.tensors}
    windows = {
        (place, Place(view.tensor, True, parked)): names.give(
            f"{tensors[view.tensor]} {'kept' if parked else 'rows'}", "rows"
        )
        for place, stage in enumerate(plan.stages)
        for view in stage.views
        if view.window
        for parked in ((False,) if view.parked is None else (False, True))
    }
    return tensors, windows


def called_in(loops: Sequence[Sequence[Loop]]) -> frozenset[int]:
    """Operators that are called; of others nobody needs a row."""
    return frozenset(action.op for action in _actions(loops) if isinstance(action, Call))


def _actions(loops: Sequence[Sequence[Loop]]) -> Iterator[Action]:
    return (step.action for stage in loops for loop in stage for step in loop.steps)


def helpers(plan: ExecutionPlan, loops: Sequence[Sequence[Loop]]) -> tuple[str, ...]:
    """Functions of the runtime, beside kernels, that a model's own functions call."""
    tensors = plan.program.tensors
    moves = any(isinstance(action, Move) and tensors[action.source.tensor].bytes for action in _actions(loops))
    unpacks = any(stage.weight_mode is WeightMode.LZ4 for stage in plan.stages)
    return (*(("tigris_move",) if moves else ()), *(("tigris_lz4_decompress",) if unpacks else ()))


def asks_for_rows(op: ProgramOp, kernels: Bundle) -> bool:
    """Whether an operator's kernel asks for the numbers of rows."""
    return op.kind not in WITHOUT_KERNEL and kernel_symbol(op.kind, op.dtype) in kernels.asks_first


def _port(plan: ExecutionPlan, io: ProgramIo, mover: OpKind, place: int, names: Names) -> Port:
    side = "input" if mover is OpKind.FETCH else "output"
    step = plan.program.movers.get((mover, place))
    beside = () if step is None else ("_context", "_row")  # which has a size in bytes
    return Port(io, names.give(io.name, f"{side}{place}", beside), step)
