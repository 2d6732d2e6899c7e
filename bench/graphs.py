"""Synthetic programs for the planner's benchmark: geometry and sizes only, no arithmetic."""

from __future__ import annotations

from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CopyParams

HEIGHT, ROW_BYTES = 96, 256


class _Builder:
    """Adds operators over maps of HEIGHT rows one by one."""

    def __init__(self) -> None:
        self.tensors = {"in": ProgramTensor("in", 1, HEIGHT, ROW_BYTES, 1, DType.INT8)}
        self.ops: list[ProgramOp] = []

    def op(self, rows: RowMap, *sources: str, height: int = HEIGHT) -> str:
        name = f"t{len(self.ops)}"
        self.tensors[name] = ProgramTensor(name, 1, height, ROW_BYTES, 1, DType.INT8)
        operands = tuple(Operand(source, rows) for source in sources)
        macs = height * ROW_BYTES * 9
        self.ops.append(ProgramOp(name, OpKind.COPY, DType.INT8, operands, name, CopyParams(0), macs=macs))
        return name

    def program(self, name: str, output: str) -> Program:
        ios = []
        for tensor in ("in", output):
            shape = (self.tensors[tensor].height, ROW_BYTES)
            ios.append(ProgramIo(tensor, tensor, DType.INT8, shape, shape, (0, 1)))
        return Program(name, bytes(32), self.tensors, tuple(self.ops), (ios[0],), (ios[1],))


def chain(nodes: int) -> Program:
    """3-row windows one after the other."""
    builder = _Builder()
    tensor = "in"
    for _ in range(nodes):
        tensor = builder.op(RowMap.window(3, 1, 1, 1), tensor)
    return builder.program(f"chain of {nodes}", tensor)


def grid(nodes: int, columns: int = 4) -> Program:
    """`columns` parallel branches; every layer mixes each branch with its neighbour."""
    builder = _Builder()
    layer = [builder.op(RowMap.same(), "in") for _ in range(columns)]
    while len(builder.ops) < nodes - columns:
        pairs = zip(layer, layer[1:] + layer[:1], strict=True)
        layer = [builder.op(RowMap.window(3, 1, 1, 1), left, right) for left, right in pairs]
    return builder.program(f"grid of {nodes}", builder.op(RowMap.same(), *layer))


def residual(nodes: int) -> Program:
    """Blocks of two windows and an addition, with a stride every 64 nodes until four rows are left."""
    builder = _Builder()
    tensor, height = "in", HEIGHT
    while len(builder.ops) < nodes:
        if len(builder.ops) % 64 == 63 and height > 4:
            height //= 2
            tensor = builder.op(RowMap.window(3, 2, 1, 1), tensor, height=height)
            continue
        first = builder.op(RowMap.window(3, 1, 1, 1), tensor, height=height)
        second = builder.op(RowMap.window(3, 1, 1, 1), first, height=height)
        tensor = builder.op(RowMap.same(), second, tensor, height=height)
    return builder.program(f"residual of {nodes}", tensor)


GRAPHS = {"chain": chain, "grid": grid, "residual": residual}
