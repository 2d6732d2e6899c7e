"""A compiled model as plain C: one `.c` and one `.h`, without plan, loader, executor or session.

The same stages, bands and places as in the plan, and the same kernels, so the same bytes; but what a plan says in
records, and what the runtime's executor computes from them, is here C: calls, loops and constants.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.codegen.header import header_text
from tigris_pio.compiler.codegen.model import model_of, prefix_of
from tigris_pio.compiler.codegen.source import source_text
from tigris_pio.compiler.codegen.weights import partition
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Generated:
    """files: by name, what they hold. notes: names that had to be changed."""

    files: Mapping[str, bytes]
    notes: tuple[str, ...]


def generate(plan: ExecutionPlan, name: str | None = None, weights: str = "c") -> Generated:
    """`plan` as C. weights: "c", as constants, or "partition", in a file that is flashed alone."""
    if plan.backend is not None:
        raise UsageError(f"the kernels of {plan.backend.name} are called by plans only; leave the backend out")
    given = prefix_of(name or plan.program.name)
    model = model_of(plan, given, weights == "partition")
    data, offsets = partition(model) if model.partition else (b"", {})
    files = {f"{given}.c": source_text(model, offsets).encode(), f"{given}.h": header_text(model).encode()}
    if model.partition:
        files[f"{given}_weights.bin"] = data
    return Generated(files, model.notes)
