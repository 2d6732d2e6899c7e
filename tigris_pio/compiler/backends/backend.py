"""The table of backends: what the compiler knows of kernels that replace the portable ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from tigris_pio.compiler.backends import cmsis_nn, esp_nn, mve, pie
from tigris_pio.compiler.backends.chips import auto_choice
from tigris_pio.compiler.backends.pie_sums import sum_params
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.kinds import PLAIN_KINDS
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up
from tigris_pio.spelling import option


@dataclasses.dataclass(frozen=True)
class Backend:
    """A library with an adapter in runtime/backends, or an instruction set with a folder in runtime/src/kernels.

    symbol: the prefix of its kernels' C names; the kind and `int8` follow
    refuses: from a shape, the reason why none of its kernels can run it, or None
    scratch: from a shape and a chip ("" for any), the most scratch of a kernel, in bytes
    has_planned_scratch: whether the planner places scratch with the operator; if not, it lies above the arena
    kinds: the kinds of int8 operators that it runs, with the kinds that they become
    packing: the order of weights that its kernels read; plain kinds ignore it
    stream: from an operator, its weights as a stream, or the reason why there is none; None if weights are no stream
    plain_params: from an operator without weights, its record for the library's kernel, or why there is none
    alignment: a divisor of the alignment that a plan needs
    chips: chips that have its instructions; empty for all
    refuses_on: from an operator, its shape and a chip ("" for any), why the chip's kernels cannot run it, or None
    slower_on: from a shape and a chip, why the portable kernel is probably faster, or None
    accelerates: from a program and an operator that it does not run, whether its instructions run the portable kernel
    """

    name: str
    symbol: str
    refuses: Callable[[PlainShape], str | None]
    scratch: Callable[[PlainShape, str], int]
    kinds: Mapping[OpKind, OpKind] = dataclasses.field(default_factory=lambda: PLAIN_KINDS)
    packing: Packing = Packing.PORTABLE
    has_planned_scratch: bool = False
    stream: Callable[[ProgramOp], np.ndarray | str] | None = None
    plain_params: Callable[[Program, ProgramOp], Record | str] | None = None
    alignment: int = 1
    chips: tuple[str, ...] = ()
    refuses_on: Callable[[ProgramOp, PlainShape, str], str | None] | None = None
    slower_on: Callable[[PlainShape, str], str | None] | None = None
    accelerates: Callable[[Program, ProgramOp], bool] = lambda program, op: False

    def runs(self, op: ProgramOp) -> bool:
        """Whether the backend has kernels for the operator's kind and type."""
        return op.dtype is DType.INT8 and op.kind in self.kinds

    def for_cores(self, cores: int, alignment: int) -> Backend:
        """The backend for plans in which `cores` share an operator: planned scratch is multiplied by them."""
        if cores == 1 or not self.has_planned_scratch:
            return self
        own = self.scratch
        return dataclasses.replace(self, scratch=lambda shape, chip: cores * round_up(own(shape, chip), alignment))


#: The backends by their names in `custom_tigris_backend` and `--backend`.
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("esp-nn", "tigris_esp_nn", esp_nn.refuses, esp_nn.scratch_bytes, refuses_on=esp_nn.refuses_on),
        Backend("cmsis-nn", "tigris_cmsis_nn", cmsis_nn.refuses, cmsis_nn.scratch_bytes),
        Backend("pie", "tigris_pie", pie.refuses, pie.scratch_bytes, pie.KINDS, Packing.PIE, True, pie.stream,
                sum_params, pie.ALIGNMENT, (pie.CHIP,), accelerates=pie.accelerates),
        Backend("mve", "tigris_mve", mve.refuses, lambda shape, chip: 0, mve.KINDS, Packing.ROWS_16, True,
                chips=mve.CHIPS),
    )
}  # fmt: skip
#: `slower_on` of backends that `auto` selects. A backend that is named explicitly runs every operator that it can.
_SLOWER_ON = {"esp-nn": esp_nn.slower_on}
#: Names beside BACKENDS. `auto` is the fastest backend that was counted on the chip.
PORTABLE = ("auto", "portable")


def find_backend(name: str, chip: str = "") -> Backend | None:
    """The backend of that name for a chip of CHIPS, None for the portable kernels. Raises UsageError if unknown."""
    if name == "auto":
        chosen = auto_choice(chip).backend
        found = find_backend(chosen, chip)
        return None if found is None else dataclasses.replace(found, slower_on=_SLOWER_ON.get(chosen))
    if name == "portable":
        return None
    if name not in BACKENDS:
        raise UsageError(f"{option('backend')}: '{name}' is unknown; use one of {', '.join((*PORTABLE, *BACKENDS))}")
    backend = BACKENDS[name]
    if chip and backend.chips and chip not in backend.chips:
        raise UsageError(f"{option('backend')}: {name} is for {', '.join(backend.chips)}, not for {chip}")
    return backend
