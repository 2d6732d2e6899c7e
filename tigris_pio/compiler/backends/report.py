"""Which kernel each operator got, and why."""

from __future__ import annotations

from typing import Any

from tigris_pio.compiler.backends.chips import fastest
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.c_header import kernel_symbol


def kernels_report(plan: ExecutionPlan, asked: str, chip: str) -> dict[str, Any]:
    """`asked`: the backend's name as it was given, `chip` one of CHIPS or "".

    backend: whose kernels were chosen. why: for what reason. lost: what is given up where its library cannot be had.
    ops: of each operator its name, its kernel's, and why it has that one.
    """
    chosen = "portable" if plan.backend is None else plan.backend.name
    choice = fastest(chip)
    why = choice.why if asked == "auto" else f"{chosen} was asked for"
    if asked == "auto" and not chip:
        why = "no chip was named"
    reasons = {} if plan.backend is None else plan.backend.portable
    return {
        "backend": chosen,
        "chip": chip,
        "why": why,
        "lost": choice.lost if asked == "auto" or chosen != choice.backend else "",
        "ops": [
            {"op": op.name, "kernel": _symbol(plan, op), "why": reasons.get(op.name, why)} for op in plan.program.ops
        ],
    }


def _symbol(plan: ExecutionPlan, op: ProgramOp) -> str:
    if plan.backend is not None and op.backend:
        return plan.backend.kernel_symbol(op.kind)
    return kernel_symbol(op.kind, op.dtype)
