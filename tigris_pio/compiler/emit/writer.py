"""Writes an execution plan as the bytes of a `.tgrs` file. The same plan gives the same bytes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import BinaryIO

from tigris_pio.compiler.emit.sections import Params, Strings
from tigris_pio.compiler.ir.plan import ExecutionPlan, Location, Stage, View
from tigris_pio.compiler.ir.program import Operand, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.weights.section import PlacedBlock, WeightSection
from tigris_pio.errors import ModelError
from tigris_pio.format.enums import (
    HeaderFlag,
    Home,
    OperandFlag,
    OpFlag,
    OpKind,
    Rounding,
    TensorFlag,
    ViewFlag,
    WeightMode,
)
from tigris_pio.format.record import Record
from tigris_pio.format.records import (
    CRC_COVERS_FROM,
    MAGIC,
    MAX_RANK,
    SECTION_ALIGNMENT,
    VERSION,
    Header,
    IoRecord,
    OperandRecord,
    OpRecord,
    StageRecord,
    TensorRecord,
    ViewRecord,
)
from tigris_pio.sizes import round_up

NAME_BYTES = 47  #: longest model name in the header, without its final zero
_MOST_IMAGES = (1 << 16) - 1  #: `images` of StageRecord has 16 bits


class _Writer:
    """Collects the sections of one plan."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self.strings, self.params, self.weights = Strings(), Params(), WeightSection()
        self.tensors: list[Record] = []
        self.io: list[Record] = []
        self.stages: list[Record] = []
        self.views: list[Record] = []
        self.ops: list[Record] = []
        self.operands: list[Record] = []
        names = dict.fromkeys(view.tensor for stage in plan.stages for view in stage.views)
        names.update(dict.fromkeys(io.tensor for io in (*plan.program.inputs, *plan.program.outputs)))
        self.tensor_index = {name: index for index, name in enumerate(names)}

    def collect(self) -> None:
        program = self.plan.program
        for name in self.tensor_index:
            self._tensor(program.tensors[name])
        for kind, ios in ((OpKind.FETCH, program.inputs), (OpKind.TAKE, program.outputs)):
            for index, io in enumerate(ios):
                self._io(io, program.movers.get((kind, index), -1))
        for stage in self.plan.stages:
            self._stage(stage)

    def _tensor(self, tensor: ProgramTensor) -> None:
        location = self.plan.homes.get(tensor.name, Location(Home.NONE, 0))
        if tensor.constant is not None:
            location = Location(Home.FLASH, self.weights.add_constant(tensor.constant))
        self.tensors.append(
            TensorRecord(
                name=self.strings.add(tensor.name),
                batch=tensor.batch,
                height=tensor.height,
                width=tensor.width,
                channels=tensor.channels,
                dtype=tensor.dtype,
                home=location.home,
                flags=(TensorFlag.FOLDED if tensor.folded else 0) | (TensorFlag.STATE if tensor.state else 0),
                home_offset=location.offset,
                scale=tensor.scale,
                zero_point=tensor.zero_point,
            )
        )

    def _io(self, io: ProgramIo, mover: int) -> None:
        self.io.append(
            IoRecord(
                name=self.strings.add(io.name),
                tensor=self.tensor_index[io.tensor],
                model_dtype=io.dtype,
                rank=len(io.shape),
                stored_rank=len(io.stored_shape),
                reserved=0,
                mover=mover + 1,
                shape=_padded(io.shape),
                stored_shape=_padded(io.stored_shape),
                permutation=_padded(io.permutation),
            )
        )

    def _stage(self, stage: Stage) -> None:
        ops = self.plan.program.ops[stage.first_op : stage.end_op]
        block = self.weights.add_block(ops, stage.weight_mode)
        self.stages.append(self._stage_record(stage, block))
        view_index = {view.tensor: index for index, view in enumerate(stage.views)}
        self.views += [self._view(view) for view in stage.views]
        last = self._last_reads(stage)
        for step in range(stage.first_op, stage.end_op):
            op = self.plan.program.ops[step]
            self._op(step, op, block.params[step - stage.first_op], view_index)
            for operand in self._operands(op):
                flags = OperandFlag.LAST if last.get(operand.tensor) == step else OperandFlag(0)
                self._operand(operand, view_index, flags)

    def _last_reads(self, stage: Stage) -> dict[str, int]:
        """The last operator to read each window that keeps rows."""
        kept = {view.tensor for view in stage.views if view.keep}
        return {
            operand.tensor: step
            for step in range(stage.first_op, stage.end_op)
            for operand in self._operands(self.plan.program.ops[step])
            if operand.tensor in kept
        }

    def _stage_record(self, stage: Stage, block: PlacedBlock) -> StageRecord:
        first = self.plan.program.ops[stage.first_op]
        if first.images > _MOST_IMAGES:
            raise ModelError(f"{self.plan.program.name}: {first.name} computes a batch of {first.images} images, a "
                             f"plan holds {_MOST_IMAGES} at most; export the model with a smaller batch")
        return StageRecord(
            first_op=stage.first_op,
            op_count=stage.end_op - stage.first_op,
            first_view=len(self.views),
            view_count=len(stage.views),
            band_count=stage.bands,
            strategy=stage.strategy,
            weight_mode=stage.weight_mode,
            images=first.images,
            block=block.offset,
            block_stored_bytes=block.stored_bytes,
            block_raw_bytes=block.raw_bytes,
            block_fast_offset=stage.block_offset,
        )

    def _view(self, view: View) -> ViewRecord:
        flags = (
            (ViewFlag.WINDOW if view.window else 0)
            | (ViewFlag.LOAD if view.load else 0)
            | (ViewFlag.STORE if view.store else 0)
            | (ViewFlag.KEEP if view.keep else 0)
        )
        pace = view.pace
        numerator, denominator, offset = (pace.numerator, pace.denominator, pace.offset) if pace else (0, 0, 0)
        index = self.tensor_index[view.tensor]
        parked = view.offset if view.parked is None else view.parked
        return ViewRecord(index, flags, view.offset, view.capacity_rows, numerator, denominator, offset, parked)

    def _op(self, step: int, op: ProgramOp, params: Record, view_index: dict[str, int]) -> None:
        offset, size = self.params.add(params)
        self.ops.append(
            OpRecord(
                kind=op.kind,
                dtype=op.dtype,
                packing=op.packing,
                operand_count=len(self._operands(op)),
                flags=OpFlag.SPLIT if step in (self.plan.split or ()) else 0,
                output_view=view_index[op.output],
                first_operand=len(self.operands),
                images=op.images,
                name=self.strings.add(op.name),
                params=offset,
                params_bytes=size,
                scratch=self.plan.scratch.get(step, 0),
                scratch_bytes=op.scratch_bytes,
            )
        )

    def _operands(self, op: ProgramOp) -> tuple[Operand, ...]:
        """The operands of an operator; a sequential one also reads the row before of its own output."""
        if self.plan.program.tensors[op.output].sequential:
            return (*op.operands, Operand(op.output, RowMap.shifted(-1)))
        return op.operands

    def _operand(self, operand: Operand, view_index: dict[str, int], flags: int) -> None:
        rows = operand.rows
        self.operands.append(
            OperandRecord(view_index[operand.tensor], rows.numerator, rows.denominator, flags, rows.first, rows.last)
        )


def _padded(values: Sequence[int]) -> tuple[int, ...]:
    return (*values, *([0] * (MAX_RANK - len(values))))


def _name(text: str) -> bytes:
    """The model's name, cut to NAME_BYTES in whole characters."""
    return text.replace("\0", "?").encode()[:NAME_BYTES].decode(errors="ignore").encode()


def _packed(records: Sequence[Record]) -> bytes:
    return b"".join(record.pack() for record in records)


def write_plan(plan: ExecutionPlan, xip: bool) -> bytes:
    """The `.tgrs` file's bytes. `xip`: the header states that no weight is copied, if that is so."""
    writer = _Writer(plan)
    writer.collect()
    contents = {
        "strings": bytes(writer.strings.data),
        "tensors": _packed(writer.tensors),
        "io": _packed(writer.io),
        "stages": _packed(writer.stages),
        "views": _packed(writer.views),
        "ops": _packed(writer.ops),
        "operands": _packed(writer.operands),
        "params": bytes(writer.params.data),
    }
    sizes = {name: len(content) for name, content in contents.items()} | {"weights": writer.weights.bytes}
    offsets, end = {}, round_up(Header.size(), SECTION_ALIGNMENT)
    for name, size in sizes.items():
        offsets[name] = end
        end += round_up(size, SECTION_ALIGNMENT)
    file = BytesIO()
    file.write(_header(plan, writer, sizes, offsets, end, xip).pack())
    for content in contents.values():
        _align(file)
        file.write(content)
    _align(file)
    writer.weights.write(file)
    _align(file)
    assert file.tell() == end
    with file.getbuffer() as written:
        crc = zlib.crc32(written[CRC_COVERS_FROM:])
        written[CRC_COVERS_FROM - 4 : CRC_COVERS_FROM] = crc.to_bytes(4, "little")
    return file.getvalue()


def _align(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % SECTION_ALIGNMENT))


def _header(
    plan: ExecutionPlan,
    writer: _Writer,
    sizes: dict[str, int],
    offsets: dict[str, int],
    total: int,
    xip: bool,
) -> Header:
    program = plan.program
    macs = sum(op.macs for op in program.ops)
    in_place = all(stage.weight_mode is WeightMode.IN_PLACE for stage in plan.stages)
    kinds = {op.kind for op in program.ops}
    flags = HeaderFlag(HeaderFlag.XIP if xip and in_place else 0)
    flags |= HeaderFlag.HALF_AWAY if program.rounding is Rounding.HALF_AWAY else 0
    flags |= (HeaderFlag.FETCHES if OpKind.FETCH in kinds else 0) | (HeaderFlag.TAKES if OpKind.TAKE in kinds else 0)
    return Header(
        magic=MAGIC,
        version=VERSION,
        header_bytes=Header.size(),
        flags=flags,
        total_bytes=total,
        crc32=0,
        alignment=plan.alignment,
        security_version=0,
        fast_bytes=plan.fast_bytes,
        slow_bytes=plan.slow_bytes,
        state_bytes=plan.state_bytes,
        fast_reserved=plan.fast_reserved,
        strings=offsets["strings"],
        strings_bytes=sizes["strings"],
        tensors=offsets["tensors"],
        tensor_count=len(writer.tensors),
        io=offsets["io"],
        input_count=len(program.inputs),
        output_count=len(program.outputs),
        stages=offsets["stages"],
        stage_count=len(writer.stages),
        views=offsets["views"],
        view_count=len(writer.views),
        ops=offsets["ops"],
        op_count=len(writer.ops),
        operands=offsets["operands"],
        operand_count=len(writer.operands),
        params=offsets["params"],
        params_bytes=sizes["params"],
        weights=offsets["weights"],
        weights_bytes=sizes["weights"],
        macs=(macs & 0xFFFFFFFF, macs >> 32),
        source_sha256=tuple(program.source_sha256),
        name=_name(program.name),
    )
