"""Assembles plans from records by hand, without compiler or planner.

Every tensor, window, block and scratch gets memory of its own, so a wrong result is a wrong kernel or
a wrong band, never an overlap.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import lz4.block
import numpy as np

from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format import records as r
from tigris_pio.format.enums import DType, HeaderFlag, Home, OperandFlag, OpKind, Packing, ViewFlag, WeightMode
from tigris_pio.format.packing import packed_blobs
from tigris_pio.format.record import Record

Shape = tuple[int, int, int, int]
#: Numerator, denominator, offset of the rows that appear by each band.
Pace = tuple[int, int, int]
NO_PACE: Pace = (0, 0, 0)
ALIGNMENT = 16
STATE_BYTES = 16 * 16


def align(value: int) -> int:
    """`value` rounded up to a section's or tensor's alignment."""
    return -(-value // ALIGNMENT) * ALIGNMENT


def pad(data: bytes) -> bytes:
    """`data` with zeros up to the alignment."""
    return data + bytes(align(len(data)) - len(data))


def padded_tuple(values: Sequence[int]) -> tuple[int, ...]:
    """`values` filled up with zeros to the format's largest rank."""
    return tuple(values) + (0,) * (r.MAX_RANK - len(values))


def _appended(section: bytearray, data: bytes) -> int:
    section += pad(data)
    return len(section) - align(len(data))


class Region:
    """A bump allocator over one arena."""

    def __init__(self, start: int) -> None:
        self.end = start

    def place(self, size: int) -> int:
        """Offset of `size` fresh bytes."""
        offset = align(self.end)
        self.end = offset + size
        return offset


@dataclasses.dataclass
class StageBuilder:
    """One stage being assembled; views and operators are added in order."""

    plan: PlanBuilder
    band_count: int
    weight_mode: WeightMode
    views: list[r.ViewRecord] = dataclasses.field(default_factory=list)
    ops: list[tuple[r.OpRecord, list[r.OperandRecord]]] = dataclasses.field(default_factory=list)
    block: bytearray = dataclasses.field(default_factory=bytearray)

    def view(self, tensor: int, capacity: int = 0, *, flags: int = 0, pace: Pace = NO_PACE) -> int:
        """A direct view, or a window of `capacity` rows; returns its index in the stage."""
        record = self.plan.tensors[tensor]
        offset = 0
        if capacity:
            flags |= int(ViewFlag.WINDOW)
            row_bytes = record.width * record.channels * DType(record.dtype).bytes
            offset = self.plan.fast.place(capacity * row_bytes)
        self.views.append(r.ViewRecord(tensor, flags, offset, capacity or record.height, *pace, offset))
        return len(self.views) - 1

    def op(self, kind: OpKind, dtype: DType, params: Record, operands: Sequence[tuple[int, RowMap]], output: int, *,
           blobs: Mapping[str, np.ndarray] | None = None, images: int = 1, scratch: int = 0,
           packing: Packing = Packing.PORTABLE) -> int:  # fmt: skip
        """An operator; `blobs` go to the stage's weight block and their offsets into `params`."""
        offsets: dict[str, Any] = {}
        for field, blob in packed_blobs(kind, dtype, params, blobs or {}, packing).items():
            self.block += bytes(align(len(self.block)) - len(self.block))
            offsets[field] = len(self.block)
            self.block += np.ascontiguousarray(blob).tobytes()
        placed = dataclasses.replace(params, **offsets)  # type: ignore[type-var]
        index = sum(len(stage.ops) for stage in self.plan.stages)
        record = r.OpRecord(
            kind=kind, dtype=dtype, packing=packing, operand_count=len(operands), flags=0, output_view=output,
            first_operand=0, images=images, name=self.plan.string(f"op{index}"),
            params=_appended(self.plan._params, placed.pack()), params_bytes=type(params).size(),
            scratch=self.plan.fast.place(scratch) if scratch else 0, scratch_bytes=scratch,
        )  # fmt: skip
        last = OperandFlag.LAST
        maps = [r.OperandRecord(view, m.numerator, m.denominator, last, m.first, m.last) for view, m in operands]
        read = {view for view, _ in operands}
        self.ops = [(op, [dataclasses.replace(m, flags=0) if m.view in read else m for m in earlier])
                    for op, earlier in self.ops]  # fmt: skip
        self.ops.append((record, maps))
        return index


class PlanBuilder:
    """A plan being assembled: tensors, inputs and outputs, stages, then `build()`."""

    def __init__(self) -> None:
        self.tensors: list[r.TensorRecord] = []
        self.stages: list[StageBuilder] = []
        self.fast = Region(STATE_BYTES)
        self.slow = Region(0)
        self._strings = bytearray()
        self._inputs: list[r.IoRecord] = []
        self._outputs: list[r.IoRecord] = []
        self._params = bytearray()
        self._weights = bytearray()

    def string(self, text: str) -> int:
        """Offset of `text` in the string section."""
        offset = len(self._strings)
        self._strings += text.encode() + b"\0"
        return offset

    def add_weights(self, data: bytes) -> int:
        """Offset of constants in the weights section."""
        return _appended(self._weights, data)

    def tensor(self, name: str, shape: Shape, dtype: DType = DType.INT8, home: Home = Home.FAST, *, scale: float = 0.0,
               zero_point: int = 0) -> int:  # fmt: skip
        """A tensor with memory in its home."""
        size = math.prod(shape) * dtype.bytes
        offset = {Home.FAST: self.fast.place, Home.SLOW: self.slow.place}.get(home, lambda _: 0)(size)
        self.tensors.append(
            r.TensorRecord(self.string(name), *shape, dtype, home, 0, offset, float(np.float32(scale)), zero_point)
        )
        return len(self.tensors) - 1

    def _io(self, tensor: int, shape: Sequence[int] | None, permutation: Sequence[int] | None) -> r.IoRecord:
        record = self.tensors[tensor]
        stored = (record.batch, record.height, record.width, record.channels)
        permutation = tuple(permutation or range(4))
        return r.IoRecord(
            name=record.name, tensor=tensor, model_dtype=DType.FLOAT32 if record.scale > 0 else record.dtype,
            rank=len(shape or stored), stored_rank=4, reserved=0, mover=0,
            shape=padded_tuple(shape or [stored[axis] for axis in permutation]), stored_shape=padded_tuple(stored),
            permutation=padded_tuple(permutation),
        )  # fmt: skip

    def input(self, tensor: int, shape: Sequence[int] | None = None, permutation: Sequence[int] | None = None) -> None:
        """Declares a model input."""
        self._inputs.append(self._io(tensor, shape, permutation))

    def output(self, tensor: int, shape: Sequence[int] | None = None, permutation: Sequence[int] | None = None) -> None:
        """Declares a model output."""
        self._outputs.append(self._io(tensor, shape, permutation))

    def stage(self, band_count: int = 1, weight_mode: WeightMode = WeightMode.IN_PLACE) -> StageBuilder:
        """A further stage."""
        self.stages.append(StageBuilder(self, band_count, weight_mode))
        return self.stages[-1]

    def _stage_records(self) -> dict[str, list[Record]]:
        made: dict[str, list[Record]] = {"stages": [], "views": [], "ops": [], "operands": []}
        for stage in self.stages:
            raw = stored = bytes(stage.block)
            if stage.weight_mode == WeightMode.LZ4:
                stored = lz4.block.compress(raw, store_size=False)
            copied = stage.weight_mode != WeightMode.IN_PLACE
            made["stages"].append(r.StageRecord(
                first_op=len(made["ops"]), op_count=len(stage.ops), first_view=len(made["views"]),
                view_count=len(stage.views), band_count=stage.band_count, strategy=0,
                weight_mode=stage.weight_mode, images=stage.ops[0][0].images, block=self.add_weights(stored),
                block_stored_bytes=len(stored), block_raw_bytes=len(raw),
                block_fast_offset=self.fast.place(len(raw)) if copied else 0,
            ))  # fmt: skip
            made["views"] += stage.views
            for op, maps in stage.ops:
                made["ops"].append(dataclasses.replace(op, first_operand=len(made["operands"])))
                made["operands"] += maps
        return made

    def build(self) -> bytes:
        """The plan's bytes."""
        made = self._stage_records()
        in_place = all(stage.weight_mode == WeightMode.IN_PLACE for stage in self.stages)
        copied = [len(s.block) for s in self.stages if s.weight_mode != WeightMode.IN_PLACE]
        records: dict[str, Sequence[Record]] = {"tensors": self.tensors, "io": self._inputs + self._outputs, **made}
        sections = {"strings": bytes(self._strings),
                    **{name: b"".join(one.pack() for one in each) for name, each in records.items()},
                    "params": bytes(self._params), "weights": bytes(self._weights)}  # fmt: skip
        body = bytearray(align(r.Header.size()) - r.Header.size())
        offsets = {}
        for name, data in sections.items():
            offsets[name] = r.Header.size() + len(body)
            body += pad(data)
        header = r.Header(
            magic=r.MAGIC, version=r.VERSION, header_bytes=r.Header.size(), flags=HeaderFlag.XIP * in_place,
            total_bytes=r.Header.size() + len(body), crc32=0, alignment=ALIGNMENT, security_version=0,
            fast_bytes=align(self.fast.end),
            slow_bytes=align(self.slow.end), state_bytes=STATE_BYTES, fast_reserved=max(copied, default=0),
            strings_bytes=len(self._strings), tensor_count=len(self.tensors), input_count=len(self._inputs),
            output_count=len(self._outputs), stage_count=len(made["stages"]), view_count=len(made["views"]),
            op_count=len(made["ops"]), operand_count=len(made["operands"]), params_bytes=len(self._params),
            weights_bytes=len(self._weights), macs=(0, 0), source_sha256=(0,) * 32, name=b"test", **offsets,
        )  # fmt: skip
        return with_crc(header.pack() + bytes(body))


def with_crc(plan: bytes) -> bytes:
    """The plan with the checksum that its bytes ask for."""
    checksum = zlib.crc32(plan[r.CRC_COVERS_FROM:])
    return plan[: r.CRC_COVERS_FROM - 4] + checksum.to_bytes(4, "little") + plan[r.CRC_COVERS_FROM:]


SECTIONS: dict[type[Record], str] = {r.TensorRecord: "tensors", r.IoRecord: "io", r.StageRecord: "stages",
                                     r.ViewRecord: "views", r.OpRecord: "ops", r.OperandRecord: "operands"}  # fmt: skip


def changed(plan: bytes, record: type[Record], index: int, **fields: Any) -> bytes:
    """The plan with fields of one record replaced."""
    start = 0 if record is r.Header else getattr(r.Header.unpack(plan), SECTIONS[record]) + index * record.size()
    packed = dataclasses.replace(record.unpack(plan, start), **fields).pack()  # type: ignore[type-var]
    return with_crc(plan[:start] + packed + plan[start + record.size() :])
