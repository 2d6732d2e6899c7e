"""Collects the contents of a model's C files as plain data: names, places, kernels and loops."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from tigris_pio.compiler.codegen.kernels import Bundle, bundle, names_in, types
from tigris_pio.compiler.codegen.names import RESERVED, Names, function_name
from tigris_pio.compiler.codegen.schedule import Call, Loop, Move, Place, schedule
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import ProgramIo, ProgramOp
from tigris_pio.compiler.weights.block import StoredArray, constant_key
from tigris_pio.compiler.weights.section import PlacedBlock, WeightSection
from tigris_pio.format.c_header import kernel_symbol
from tigris_pio.format.enums import Home, OpKind, WeightMode

#: Kinds without a kernel in C: transfers of streamed rows, and writing of states.
WITHOUT_KERNEL = frozenset({OpKind.FETCH, OpKind.TAKE, OpKind.COMMIT})


@dataclasses.dataclass(frozen=True)
class Io:
    """An input or output. member: its name in C. step: the operator that moves its rows; None: not streamed."""

    side: str  #: "input" or "output"
    record: ProgramIo
    member: str
    step: int | None


@dataclasses.dataclass(frozen=True)
class Model:
    """The contents of one model's C files.

    name: prefix of public names; prefix: the same in capitals
    loops: the loops of each stage
    called: operators by step that are called; no row of the others is needed
    ops, tensors: identifiers of operators by step, and of tensors
    windows: identifiers of windows by stage and place
    """

    plan: ExecutionPlan
    name: str
    kernels: Bundle
    weights_in_calls: bool  #: the address of some weights is known only at run time
    loops: tuple[tuple[Loop, ...], ...]
    called: Mapping[int, ProgramOp]
    ops: tuple[str, ...]
    tensors: Mapping[str, str]
    windows: Mapping[tuple[int, Place], str]
    inputs: tuple[Io, ...]
    outputs: tuple[Io, ...]
    partition: bool  #: weights are a binary file for a flash partition
    split: bool  #: kernels are in files of their own
    chip: str  #: the only chip that can run the C; "": any
    notes: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """Prefix of macros."""
        return self.name.upper()

    @property
    def fast_bytes(self) -> int:
        """Size of the fast arena: the plan's without the executor's run-time state."""
        return self.plan.fast_bytes - self.plan.state_bytes

    @property
    def has_slow(self) -> bool:
        """Whether functions have a parameter for slow memory."""
        return self.plan.slow_bytes > 0

    @property
    def has_single_io(self) -> bool:
        """Whether there is one input and one output. Then they are arguments, else members of structs."""
        return len(self.inputs) == 1 and len(self.outputs) == 1

    @property
    def arenas(self) -> list[str]:
        """Parameters for memory."""
        return ["fast", "slow"] if self.has_slow else ["fast"]

    @property
    def sides(self) -> Mapping[str, tuple[Io, ...]]:
        """Inputs and outputs."""
        return {"input": self.inputs, "output": self.outputs}

    def offset(self, fast: int) -> int:
        """The offset in the C's fast arena for offset `fast` in the plan's."""
        return fast - self.plan.state_bytes

    def home(self, tensor: str) -> Home:
        """The memory that holds the whole tensor."""
        if self.plan.program.tensors[tensor].constant is not None:
            return Home.FLASH
        place = self.plan.homes.get(tensor)
        return Home.NONE if place is None else place.home

    def is_in_place(self, stage: int) -> bool:
        """Whether a stage reads its weights in place."""
        return self.plan.stages[stage].weight_mode is WeightMode.IN_PLACE

    @cached_property
    def section(self) -> tuple[WeightSection, Mapping[int, PlacedBlock]]:
        """All weights, and the weight block of each stage that calls operators with weights."""
        weights, ops = WeightSection(), self.plan.program.ops
        called = {step for step, op in self.called.items() if op.blobs}
        blocks = {
            place: weights.add_block(ops[stage.first_op : stage.end_op], stage.weight_mode)
            for place, stage in enumerate(self.plan.stages)
            if not called.isdisjoint(range(stage.first_op, stage.end_op))
        }
        return weights, blocks

    @cached_property
    def weight_names(self) -> Mapping[int, str]:
        """Identifiers of the parts of the weights by offset."""
        steps = {id(op): step for step, op in enumerate(self.plan.program.ops)}
        return {
            part.offset: f"{self.ops[steps[id(part.content.op)]]}_{part.content.field}"
            if isinstance(part.content, StoredArray) else f"block_{place}"
            for place, part in enumerate(self.section[0].parts)
        }  # fmt: skip

    def block_members(self, stage: int) -> tuple[str, Mapping[int, str]]:
        """The C struct with a stage's weights, and its members by offset in the stage's block."""
        block, names = self.section[1][stage], self.weight_names
        if not self.weights_in_calls:
            return f"{self.name}_weights", {place - block.offset: name for place, name in names.items()}
        ops = enumerate(block.params, self.plan.stages[stage].first_op)
        found = ((getattr(params, field), f"{self.ops[step]}_{field}")
                 for step, params in ops for field in self.plan.program.ops[step].blobs)  # fmt: skip
        return f"{self.name}_weights_of_stage_{stage}", dict(sorted(found))

    @cached_property
    def constants(self) -> Mapping[str, str]:
        """C expressions of constant operands, by tensor. Equal constants share one array, also with weights in C."""
        parts = [] if self.partition else self.section[0].parts
        known = {part.content.key: f"{self.name}_weights.{self.weight_names[part.offset]}"
                 for part in parts if isinstance(part.content, StoredArray)}  # fmt: skip
        return {
            name: known.setdefault(constant_key(tensor.constant), f"{self.name}_constant_{self.tensors[name]}")
            for name, tensor in self.plan.program.tensors.items() if tensor.constant is not None
        }  # fmt: skip

    def weights_at(self, stage: int) -> str:
        """The address of a stage's stored weights, as const uint8_t *."""
        offset = self.section[1][stage].offset
        if self.partition:
            return f"(weights + {self.prefix}_WEIGHTS_OF_STAGE_{stage})"
        return f"({self.weights_start} + {offset}U)" if offset else self.weights_start

    @property
    def weights_start(self) -> str:
        """The address of all weights, as const uint8_t *."""
        return f"(const uint8_t *)&{self.name}_weights"

    def named_in(self, body: str, *names: str) -> list[str]:
        """Returns the `names` that C text uses as variables."""
        return [name for name in names if re.search(rf"(?<![\w.>]){name}\b", body)]

    def parameter(self, name: str) -> str:
        """The declaration of a parameter."""
        if name in ("fast", "slow"):
            return f"union {self.name}_{name} *{name}"
        return "const uint8_t *weights" if name == "weights" else f"uint32_t {name}"

    def member(self, stage: int, place: Place) -> str:
        """The identifier of a place in a stage."""
        return self.windows[stage, place] if place.window else self.tensors[place.tensor]


def model_of(plan: ExecutionPlan, name: str, partition: bool, split: bool, chip: str = "") -> Model:
    """Collects the contents of the C files of `plan`."""
    program = plan.program
    members = Names(RESERVED, ["fast"])  # an argument of the same function
    inputs = tuple(_io(plan, io, OpKind.FETCH, place, members) for place, io in enumerate(program.inputs))
    outputs = tuple(_io(plan, io, OpKind.TAKE, place, members) for place, io in enumerate(program.outputs))
    loops = tuple(tuple(found) for found in schedule(plan))
    modes = {stage.weight_mode for stage in plan.stages}
    actions = [step.action for stage in loops for loop in stage for step in loop.steps]
    called = {step: program.ops[step] for step in sorted({action.op for action in actions if isinstance(action, Call)})}
    used = [op for op in called.values() if op.kind not in WITHOUT_KERNEL]
    moves = any(isinstance(action, Move) and program.tensors[action.source.tensor].bytes for action in actions)
    roots = [*(op.params.C_NAME for op in used), *(["tigris_move"] if moves else []),
             *(["tigris_lz4_decompress"] if WeightMode.LZ4 in modes else [])]  # fmt: skip
    kernels = bundle([kernel_symbol(op.kind, op.dtype) for op in used], roots, chip)
    ops = _operators(plan, name, kernels, [f"{io.member}_rows" for io in (*inputs, *outputs)])
    tensors, windows = _tensors(plan, ops)
    notes = tuple(f"{old!r} is {new} in C: it {why}" for old, new, why in members.changed)
    in_calls = partition or modes != {WeightMode.IN_PLACE}
    if split:
        kernels = dataclasses.replace(kernels, text=bundle([], roots, chip).text)
    return Model(plan, name, kernels, in_calls, loops, called, ops, tensors, windows, inputs, outputs, partition, split,
                 chip, notes)  # fmt: skip


#: Other names NAME_… in a model's file; names.function_name avoids the prefixes of the rest.
_OWN = ("run", "reset", "model", "io", "status", "input_rows", "output_rows", "input_ios", "output_ios")


def _operators(plan: ExecutionPlan, name: str, kernels: Bundle, taken: Sequence[str]) -> tuple[str, ...]:
    """Identifiers of operators' functions, constants and weights. taken: other names of the file."""
    prefix = f"{name}_"
    own = (word.removeprefix(prefix) for word in names_in(types() + kernels.text) if word.startswith(prefix))
    names = Names(taken=[*_OWN, *taken, *own])
    return tuple(
        names.assign(function_name(op.name), op.kind.name, ["_rows", "_params", *(f"_{field}" for field in op.blobs)])
        for op in plan.program.ops
    )


def _tensors(
    plan: ExecutionPlan, ops: Sequence[str]
) -> tuple[dict[str, str], dict[tuple[int, Place], str]]:
    """Identifiers of tensors and of windows, by stage and place. They are members of the arenas' unions."""
    others = [*(f"scratch_of_{op}" for op in ops), *(f"weights_of_stage_{place}" for place in range(len(plan.stages)))]
    names = Names(RESERVED, ["bytes", *others])
    tensors = {tensor: names.assign(tensor, "tensor") for tensor in plan.program.tensors}
    windows = {
        (place, Place(view.tensor, True, parked)): names.assign(
            f"{tensors[view.tensor]} {'kept' if parked else 'rows'}", "rows"
        )
        for place, stage in enumerate(plan.stages)
        for view in stage.views
        if view.window
        for parked in ((False,) if view.parked is None else (False, True))
    }
    return tensors, windows


def _io(plan: ExecutionPlan, io: ProgramIo, mover: OpKind, place: int, names: Names) -> Io:
    side = "input" if mover is OpKind.FETCH else "output"
    step = plan.program.movers.get((mover, place))
    suffixes = () if step is None else ("_context", "_row")  # _row as in ROW_BYTES
    return Io(side, io, names.assign(io.name, f"{side}{place}", suffixes), step)
