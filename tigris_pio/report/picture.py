"""Reads a plan's operators, stages, arenas, inputs and outputs for a page.

Every command has the plan. A command that compiled it also passes the program, which adds MACs, weights and
instructions of each operator.
"""

import dataclasses

from tigris_pio.compiler.cost.model import CostModel, operator_instructions
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.weights.block import block_bytes
from tigris_pio.format.enums import DType, Home, OpKind, Strategy, WeightMode
from tigris_pio.format.reader import PlanFile
from tigris_pio.format.records import IoRecord, TensorRecord
from tigris_pio.report.blocks import Arena, fast_arena, slow_arena
from tigris_pio.report.macs import operator_macs

#: Prefix of the kinds that a kernel library runs.
_LIBRARY = "plain_"


@dataclasses.dataclass(frozen=True)
class Operator:
    """One operator; `index` counts from 0 in execution order. None: unknown without the program.

    inputs, output: stored shapes, without a batch of 1. calls: kernel calls per inference. instructions: estimate for
    the operator run whole, without bands and executor, on the page's processor; by default int8 on RV32IMC, float32
    with an FPU.
    """

    index: int
    name: str
    kind: str
    dtype: str
    inputs: tuple[str, ...]
    output: str
    stage: int  #: counts from 1
    strategy: str
    calls: int
    by_library: bool  #: a kernel library runs it
    macs: int | None
    weights: int | None
    instructions: float | None


@dataclasses.dataclass(frozen=True)
class PlanStage:
    """Operators [first, end) in `bands` bands; `number` counts from 1, sizes in bytes."""

    number: int
    strategy: str
    first: int
    end: int
    bands: int
    fast_peak: int
    weight_mode: str
    weights: int


@dataclasses.dataclass(frozen=True)
class Io:
    """An input, output or state (`role`): the model's shape and type, and its stored type and shape."""

    role: str
    name: str
    shape: str
    dtype: str
    stored: str
    bytes: int
    scale: float
    zero_point: int
    home: str


@dataclasses.dataclass(frozen=True)
class Picture:
    """A plan's contents for a page. Sizes in bytes."""

    model: str
    sha256: str
    plan_bytes: int
    weights_bytes: int
    macs: int
    operators: tuple[Operator, ...]
    stages: tuple[PlanStage, ...]
    ios: tuple[Io, ...]
    fast: Arena
    slow: Arena
    processor: str = ""  #: for which instructions are estimated; "": the default of `Operator`


def picture(plan: PlanFile, program: Program | None = None, processor: str = "") -> Picture:
    """Reads `plan`. program: the one it was made from, if known. processor: for which instructions are estimated."""
    fast = fast_arena(plan)
    operators = _operators(plan, program, processor)
    header = plan.header
    ios = [("input", io) for io in plan.inputs] + [("output", io) for io in plan.outputs]
    ios += [("state", io) for io in plan.states]
    return Picture(
        model=plan.name if program is None else program.name,
        sha256=bytes(header.source_sha256).hex(),
        plan_bytes=header.total_bytes,
        weights_bytes=header.weights_bytes,
        macs=header.macs[0] | header.macs[1] << 32,
        operators=operators,
        stages=_stages(plan, fast),
        ios=tuple(_io(plan, role, io) for role, io in ios),
        fast=fast,
        slow=slow_arena(plan),
        processor=processor,
    )


def _instructions(program: Program, op: ProgramOp, processor: str) -> float:
    if not processor:
        return operator_instructions(program, op, fpu=op.dtype is DType.FLOAT32)
    return op.images * CostModel.of(processor).call(op, program.tensors)


def _operators(plan: PlanFile, program: Program | None, processor: str) -> tuple[Operator, ...]:
    found = []
    macs = operator_macs(plan)
    for number, stage in enumerate(plan.stages, 1):
        views = plan.views[stage.first_view : stage.first_view + stage.view_count]
        for index in range(stage.first_op, stage.first_op + stage.op_count):
            op = plan.ops[index]
            operands = plan.operands[op.first_operand : op.first_operand + op.operand_count]
            kind, known = OpKind(op.kind).name.lower(), None if program is None else program.ops[index]
            found.append(Operator(
                index=index,
                name=plan.text(op.name) if known is None else known.name,
                kind=kind.removeprefix(_LIBRARY),
                dtype=DType(op.dtype).name.lower(),
                inputs=tuple(_shape(plan.tensors[views[operand.view].tensor]) for operand in operands),
                output=_shape(plan.tensors[views[op.output_view].tensor]),
                stage=number,
                strategy=Strategy(stage.strategy).name.lower(),
                calls=stage.band_count * op.images,
                by_library=kind.startswith(_LIBRARY),
                macs=known.macs if known is not None else macs[index] if macs else None,
                weights=None if known is None else block_bytes([known]),
                instructions=None if known is None or program is None else _instructions(program, known, processor),
            ))  # fmt: skip
    return tuple(found)


def _shape(tensor: TensorRecord) -> str:
    batch = "" if tensor.batch == 1 else f"{tensor.batch}×"
    return f"{batch}{tensor.height}×{tensor.width}×{tensor.channels}"


def _stages(plan: PlanFile, fast: Arena) -> tuple[PlanStage, ...]:
    found = []
    for number, stage in enumerate(plan.stages, 1):
        end = stage.first_op + stage.op_count
        live = (block for block in fast.blocks if block.birth < end and block.death >= stage.first_op)
        found.append(PlanStage(
            number=number,
            strategy=Strategy(stage.strategy).name.lower(),
            first=stage.first_op,
            end=end,
            bands=stage.band_count,
            fast_peak=max(block.offset + block.bytes for block in live),
            weight_mode=WeightMode(stage.weight_mode).name.lower(),
            weights=stage.block_raw_bytes,
        ))  # fmt: skip
    return tuple(found)


def _io(plan: PlanFile, role: str, io: IoRecord) -> Io:
    tensor = plan.tensors[io.tensor]
    return Io(
        role=role,
        name=plan.text(io.name),
        shape="×".join(map(str, io.shape[: io.rank])) or "one number",
        dtype=DType(io.model_dtype).name.lower(),
        stored=f"{DType(tensor.dtype).name.lower()} {'×'.join(map(str, io.stored_shape[: io.stored_rank]))}".strip(),
        bytes=plan.io_bytes(io),
        scale=tensor.scale,
        zero_point=tensor.zero_point,
        home="stream" if io.mover else Home(tensor.home).name.lower(),
    )
