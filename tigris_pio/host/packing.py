"""Restores the portable order of weights that are packed for a chip's kernels, so that the host can run the plan.

The numbers are the same, so a session on the host computes what the chip computes. Only weights move, each array within
its own place: the portable order adds no bytes. A block that is compressed is compressed again, behind all others.
"""

import dataclasses
import zlib

import lz4.block
import numpy as np

from tigris_pio.errors import PlanError
from tigris_pio.format import pie
from tigris_pio.format.enums import DType, OpKind, Packing, WeightMode
from tigris_pio.format.kinds import PARAMS, PIE_PARAMS
from tigris_pio.format.packing import PACKED_KINDS, packed_blobs, packed_bytes, unpacked_weights
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params
from tigris_pio.format.reader import PlanFile, read_plan
from tigris_pio.format.record import Record
from tigris_pio.format.records import CRC_COVERS_FROM, SECTION_ALIGNMENT, Header, OpRecord, StageRecord


def portable_plan(data: bytes) -> bytes:
    """A checked plan with its weights in the portable order, except those in an unknown order.

    Raises PlanError for weights outside their block.
    """
    header = Header.unpack(data)
    records = np.frombuffer(data, np.uint8, header.op_count * OpRecord.size(), header.ops)
    packing = next(field.offset for field in OpRecord.layout() if field.name == "packing")
    if not records.reshape(-1, OpRecord.size())[:, packing].any():
        return data
    plan = read_plan(data)
    writer = _Writer(plan)
    for index in range(len(plan.stages)):
        writer.stage(index)
    return writer.finished()


def _is_packed(op: OpRecord) -> bool:
    known = op.packing != Packing.PORTABLE and op.packing in set(Packing)
    return known and (op.kind in PACKED_KINDS or (op.packing == Packing.PIE and op.kind in PIE_PARAMS))


def _shape(plan: PlanFile, stage: StageRecord, op: OpRecord, params: Record) -> tuple[int, ...]:
    """The shape of an operator's weights in canonical order."""
    if isinstance(params, FullyConnectedInt8Params):
        return params.out_features, params.in_features
    assert isinstance(params, ConvInt8Params)
    operand = plan.operands[op.first_operand].view
    inputs, outputs = (
        plan.tensors[plan.views[stage.first_view + view].tensor].channels for view in (operand, op.output_view)
    )
    kernel = params.kernel_height, params.kernel_width
    if op.kind == OpKind.DEPTHWISE_CONV_2D:
        return *kernel, outputs
    return outputs, *kernel, inputs // max(1, params.groups)


def _canonical(
    op: OpRecord, kind: OpKind, params: Record, shape: tuple[int, ...], stored: memoryview
) -> np.ndarray | None:
    """The weights at the start of a stored block in canonical order; None if the block is too short."""
    if DType(op.dtype) != DType.INT8:
        return None
    if op.packing == Packing.PIE:
        try:
            return pie.stream_weights(kind, shape, bytes(stored))
        except ValueError:
            return None
    packing = Packing(op.packing)
    size = packed_bytes(kind, params, "weights", np.broadcast_to(np.int8(0), shape), packing)
    if size > len(stored) or not size:
        return None
    return unpacked_weights(kind, params, np.frombuffer(stored, np.int8, size), shape, packing)


class _Writer:
    """A copy of a plan whose stages are converted one by one."""

    def __init__(self, plan: PlanFile) -> None:
        self._plan = plan
        self._data = bytearray(plan.data)

    def stage(self, index: int) -> None:
        """The operators of one stage."""
        plan, stage = self._plan, self._plan.stages[index]
        steps = [step for step in range(stage.first_op, stage.first_op + stage.op_count) if _is_packed(plan.ops[step])]
        if not steps:
            return
        start = plan.header.weights + stage.block
        stored = plan.data[start : start + stage.block_stored_bytes]
        if stage.weight_mode == WeightMode.LZ4:
            stored = lz4.block.decompress(bytes(stored), uncompressed_size=stage.block_raw_bytes)
            raw = bytearray(stored)
            for step in steps:
                self._op(stored, memoryview(raw), stage, step)
            self._compress(index, bytes(raw))
            return
        for step in steps:
            self._op(stored, memoryview(self._data)[start:], stage, step)

    def _op(self, stored: bytes, target: memoryview, stage: StageRecord, step: int) -> None:
        """Converts the weights of one operator from its block to `target`. Operators may share weights."""
        op = self._plan.ops[step]
        params = self._plan.params(op)
        if op.kind in PIE_PARAMS:  # the portable kernel's record begins the other
            self._replace(step, packing=Packing.PORTABLE, params_bytes=PARAMS[OpKind(op.kind), DType(op.dtype)].size())
            return
        kind, shape = OpKind(op.kind), _shape(self._plan, stage, op, params)
        start = int(getattr(params, "weights"))  # noqa: B009  both records have it
        weights = _canonical(op, kind, params, shape, memoryview(stored)[start:])
        if weights is None:
            raise PlanError(f"the weights of operator {self._plan.text(op.name)} are outside their block")
        portable = packed_blobs(kind, DType.INT8, params, {"weights": weights})["weights"].tobytes()
        target[start : start + len(portable)] = portable
        self._replace(step, packing=Packing.PORTABLE)

    def _replace(self, step: int, **fields: int) -> None:
        """Changes fields of an operator's record."""
        place = self._plan.header.ops + step * OpRecord.size()
        record = dataclasses.replace(self._plan.ops[step], **fields)
        self._data[place : place + OpRecord.size()] = record.pack()

    def _compress(self, index: int, raw: bytes) -> None:
        stored = lz4.block.compress(raw, store_size=False)
        block = len(self._data) - self._plan.header.weights
        stage = dataclasses.replace(self._plan.stages[index], block=block, block_stored_bytes=len(stored))
        place = self._plan.header.stages + index * StageRecord.size()
        self._data[place : place + StageRecord.size()] = stage.pack()
        self._data += stored + bytes(-len(stored) % SECTION_ALIGNMENT)

    def finished(self) -> bytes:
        """The copy."""
        header = dataclasses.replace(
            self._plan.header, total_bytes=len(self._data), weights_bytes=len(self._data) - self._plan.header.weights
        )
        self._data[: Header.size()] = header.pack()
        crc = zlib.crc32(memoryview(self._data)[CRC_COVERS_FROM:])
        self._data[CRC_COVERS_FROM - 4 : CRC_COVERS_FROM] = crc.to_bytes(4, "little")
        return bytes(self._data)
