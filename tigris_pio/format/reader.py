"""Reads a `.tgrs` plan back into its records, for inspection. The runtime has its own, stricter loader."""

import dataclasses
import zlib
from functools import cached_property
from typing import TypeVar

from tigris_pio.errors import PlanError
from tigris_pio.format.enums import DType, Home, OpKind, Packing, Strategy, WeightMode
from tigris_pio.format.kinds import PARAMS, PIE_PARAMS
from tigris_pio.format.params import CommitParams
from tigris_pio.format.record import Record
from tigris_pio.format.records import (
    CRC_COVERS_FROM,
    MAGIC,
    VERSION,
    Header,
    IoRecord,
    OperandRecord,
    OpRecord,
    StageRecord,
    TensorRecord,
    ViewRecord,
)

R = TypeVar("R", bound=Record)


@dataclasses.dataclass(frozen=True)
class PlanFile:
    """The records of one plan."""

    data: bytes
    header: Header
    tensors: tuple[TensorRecord, ...]
    io: tuple[IoRecord, ...]
    stages: tuple[StageRecord, ...]
    views: tuple[ViewRecord, ...]
    ops: tuple[OpRecord, ...]
    operands: tuple[OperandRecord, ...]

    def text(self, offset: int) -> str:
        """The name at `offset` of the string section."""
        start = self.header.strings + offset
        end = self.data.find(b"\0", start, self.header.strings + self.header.strings_bytes)
        if offset >= self.header.strings_bytes or end < 0:
            raise PlanError(f"a name at offset {offset} is outside the string section; the plan is damaged")
        return self.data[start:end].decode(errors="replace")

    def params(self, op: OpRecord) -> Record:
        """The kernel parameters of an operator."""
        record = PARAMS.get((OpKind(op.kind), DType(op.dtype)))
        if op.packing == Packing.PIE:
            record = PIE_PARAMS.get(OpKind(op.kind), record)
        if record is None or op.params_bytes != record.size():
            raise PlanError(f"operator {self.text(op.name)}: kind {op.kind} with type {op.dtype} is unknown")
        start = self.header.params + op.params
        if start + op.params_bytes > len(self.data):
            raise PlanError(f"operator {self.text(op.name)}: its parameters are outside the file; the plan is damaged")
        return record.unpack(self.data, start)

    @property
    def inputs(self) -> tuple[IoRecord, ...]:
        """The model's inputs."""
        return self.io[: self.header.input_count]

    @property
    def outputs(self) -> tuple[IoRecord, ...]:
        """The model's outputs."""
        return self.io[self.header.input_count :]

    def io_bytes(self, io: IoRecord) -> int:
        """Bytes of the stored data."""
        tensor = self.tensors[io.tensor]
        return tensor.batch * tensor.height * tensor.width * tensor.channels * DType(tensor.dtype).bytes

    @property
    def states(self) -> tuple[IoRecord, ...]:
        """The states, with records like those of inputs and outputs."""
        found = []
        for stage in self.stages:
            for op in self.ops[stage.first_op : stage.first_op + stage.op_count]:
                params = self.params(op) if op.kind == OpKind.COMMIT else None
                if isinstance(params, CommitParams):
                    found.append(self._state(stage.first_view + op.output_view, params))
        return tuple(found)

    def _state(self, view: int, params: CommitParams) -> IoRecord:
        tensor = self.views[view].tensor if view < len(self.views) else len(self.tensors)
        if tensor >= len(self.tensors) or params.model_dtype not in set(DType):
            raise PlanError("a state's tensor or type is unknown; the plan is damaged, or made for another version")
        return params.io(tensor, self.tensors[tensor].name)

    @cached_property
    def name(self) -> str:
        """The model's name."""
        return self.header.name.rstrip(b"\0").decode(errors="replace")


def is_plan(data: bytes) -> bool:
    """Whether `data` begins with the magic number of a plan."""
    return data[:4] == MAGIC


def read_plan(data: bytes) -> PlanFile:
    """Parses `data`; PlanError if it is damaged or of another version."""
    if not is_plan(data) or len(data) < Header.size():
        raise PlanError("not a .tgrs plan: it does not begin with TGRS and a header")
    header = Header.unpack(data)
    if header.version != VERSION:
        raise PlanError(f"the plan has format {header.version}, this version reads {VERSION}; compile the model again")
    if header.total_bytes > len(data):
        raise PlanError(f"the plan is cut short: {len(data)} of {header.total_bytes} bytes; copy or compile it again")
    data = data[: header.total_bytes]
    if zlib.crc32(data[CRC_COVERS_FROM:]) != header.crc32:
        raise PlanError("the plan is damaged: its checksum differs; copy or compile it again")
    plan = PlanFile(
        data,
        header,
        _section(data, TensorRecord, header.tensors, header.tensor_count),
        _section(data, IoRecord, header.io, header.input_count + header.output_count),
        _section(data, StageRecord, header.stages, header.stage_count),
        _section(data, ViewRecord, header.views, header.view_count),
        _section(data, OpRecord, header.ops, header.op_count),
        _section(data, OperandRecord, header.operands, header.operand_count),
    )
    _check_values(plan)
    return plan


def _check_values(plan: PlanFile) -> None:
    """Checks the numbers of enumerations, and the indices of other records."""
    for what, values, known in (
        ("kind of operator", [op.kind for op in plan.ops], OpKind),
        ("type of operator", [op.dtype for op in plan.ops], DType),
        ("type of tensor", [tensor.dtype for tensor in plan.tensors], DType),
        ("home of tensor", [tensor.home for tensor in plan.tensors], Home),
        ("type of input or output", [io.model_dtype for io in plan.io], DType),
        ("strategy of stage", [stage.strategy for stage in plan.stages], Strategy),
        ("weights of stage", [stage.weight_mode for stage in plan.stages], WeightMode),
        ("tensor of input or output", [io.tensor for io in plan.io], range(len(plan.tensors))),
        ("operator of stage", [stage.first_op for stage in plan.stages], range(len(plan.ops))),
    ):
        unknown = set(values) - set(map(int, known))
        if unknown:
            raise PlanError(f"{what} {min(unknown)} is unknown; the plan is damaged, or made for another version")


def _section(data: bytes, record: type[R], offset: int, count: int) -> tuple[R, ...]:
    if offset + count * record.size() > len(data):
        raise PlanError(f"the {record.C_NAME} section is outside the file; the plan is damaged")
    return tuple(record.unpack(data, offset + place * record.size()) for place in range(count))
