"""Float islands: operators in float32 between int8 ones, which processors without floating point pay for dearly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind

_MOVES = frozenset((OpKind.COPY, OpKind.TRANSPOSE, OpKind.CONCAT, OpKind.SELECT, OpKind.CAST))
#: Of int8 and int16, these say nothing about what a network computes in.
_NEUTRAL = _MOVES | {OpKind.QUANTIZE, OpKind.DEQUANTIZE, OpKind.LOOKUP, OpKind.RESCALE, OpKind.COMMIT}
#: Names that a warning lists.
_MOST_NAMES = 8


def islands(ops: Sequence[ProgramOp]) -> list[ProgramOp]:
    """Operators that compute in float32 from what was int8 to what becomes int8 again.

    None of a network that is float32 but for its inputs and outputs.
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
    """Which nodes are islands; None without any."""
    kinds = {node.name: node.op for node in nodes}
    names = dict.fromkeys(_node_of(op.name, kinds) for op in islands(ops))
    if not names:
        return None
    shown = [f"{name} ({kinds[name]})" if name in kinds else name for name in list(names)[:_MOST_NAMES]]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    listed = ", ".join(shown + more)
    count = "1 node computes" if len(names) == 1 else f"{len(names)} nodes compute"
    return (f"{count} in float32 between int8 ones: {listed}; a processor without floating point takes hundreds of "
            "instructions an element there; docs/operators.md says what runs in int8")


def _node_of(name: str, nodes: Iterable[str]) -> str:
    """The node an operator was made of: its name is the node's, with a count and a part behind it."""
    known = [node for node in nodes if name == node or name.startswith((f"{node}/", f"{node}_"))]
    return max(known, key=len, default=name)
