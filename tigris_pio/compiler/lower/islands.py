"""Finds float islands: float32 operators between int8 operators. They are slow on processors without an FPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import kinds_with

_MOVES = kinds_with(lambda traits: traits.moves) | {OpKind.CAST}
#: int8 and int16 operators of these kinds also occur in float32 networks.
_NEUTRAL = _MOVES | {OpKind.QUANTIZE, OpKind.DEQUANTIZE, OpKind.LOOKUP, OpKind.RESCALE}
#: Most names that a warning lists.
_MOST_NAMES = 8


def islands(ops: Sequence[ProgramOp]) -> list[ProgramOp]:
    """Operators that compute in float32 between a DEQUANTIZE and a QUANTIZE.

    A float32 network with int8 inputs and outputs has none.
    """
    if not any(op.dtype in (DType.INT8, DType.INT16) and op.kind not in _NEUTRAL for op in ops):
        return []
    floats = [op for op in ops if op.dtype is DType.FLOAT32]
    behind = {op.output for op in ops if op.kind is OpKind.DEQUANTIZE}
    for op in floats:
        if any(operand.tensor in behind for operand in op.operands):
            behind.add(op.output)
    ahead = {operand.tensor for op in ops if op.kind is OpKind.QUANTIZE for operand in op.operands}
    for op in reversed(floats):
        if op.output in ahead:
            ahead |= {operand.tensor for operand in op.operands}
    return [op for op in floats if op.output in behind and op.output in ahead and op.kind not in _MOVES]


def island_warning(ops: Sequence[ProgramOp], nodes: Iterable[Node]) -> str | None:
    """A warning that names the nodes of islands; None if there are none."""
    kinds = {node.name: node.op for node in nodes}
    names = dict.fromkeys(_node_of(op.name, kinds) for op in islands(ops))
    if not names:
        return None
    shown = [f"{name} ({kinds[name]})" if name in kinds else name for name in list(names)[:_MOST_NAMES]]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    listed = ", ".join(shown + more)
    count = "1 node computes" if len(names) == 1 else f"{len(names)} nodes compute"
    return (f"{count} in float32 between int8 ones: {listed}; without an FPU each element takes hundreds of "
            "instructions; docs/operators.md lists the operators that compute in int8")


def _node_of(name: str, nodes: Iterable[str]) -> str:
    """The node of an operator, whose name begins with the node's name."""
    known = [node for node in nodes if name == node or name.startswith((f"{node}/", f"{node}_"))]
    return max(known, key=len, default=name)
