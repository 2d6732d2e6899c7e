"""The `kernels` of the report: the kernel of each operator, and the reason for it."""

from __future__ import annotations

from typing import Any

from tigris_pio.compiler.backends.chips import auto_choice
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.c_header import kernel_symbol


def kernels_report(plan: ExecutionPlan, requested: str, chip: str) -> dict[str, Any]:
    """The section of the report. requested: the option's backend; chip: one of CHIPS, or "".

    backend, why: the backend of the plan, and the reason
    lost: the cost of doing without the backend
    ops: for each operator its name, its kernel's C name, and the reason
    """
    chosen = "portable" if plan.backend is None else plan.backend.name
    choice = auto_choice(chip)
    why = choice.why if requested == "auto" else f"{chosen} was requested"
    if requested == "auto" and not chip:
        why = "no chip was given"
    reasons = {} if plan.backend is None else plan.backend.portable
    return {
        "backend": chosen,
        "chip": chip,
        "why": why,
        "lost": choice.lost if requested == "auto" or chosen != choice.backend else "",
        "ops": [
            {"op": op.name, "kernel": _symbol(plan, op), "why": reasons.get(op.name, why)} for op in plan.program.ops
        ],
    }


def _symbol(plan: ExecutionPlan, op: ProgramOp) -> str:
    if plan.backend is not None and op.backend:
        return plan.backend.kernel_symbol(op.kind)
    return kernel_symbol(op.kind, op.dtype)
