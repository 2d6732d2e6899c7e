"""What the compiler knows about kernels that run instead of the portable ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from tigris_pio.compiler.backends import cmsis_nn, esp_nn, pie
from tigris_pio.compiler.backends.chips import fastest
from tigris_pio.compiler.backends.shape import PLAIN_KINDS, PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.sizes import round_up
from tigris_pio.spelling import option


@dataclasses.dataclass(frozen=True)
class Backend:
    """A library whose kernels runtime/backends/ adapts, or an instruction set with a folder in runtime/src/kernels.

    symbol: what the C names of its kernels begin with; behind it stand a kind and int8.
    refuses: why none of its kernels can run an operator with weights, or None. Operators without run all or none.
    scratch: bytes at most that its kernel takes beside its tensors, on a chip; "": on any.
    own_scratch: whether that is planned with the operator; otherwise it lies above all that is planned.
    kinds: the kinds of int8 operators that it runs, and what each becomes: a plain one for a library, itself otherwise.
    packing: in which order its kernels read the weights of convolutions and fully connected layers; plain ones have
      none.
    stream: an operator's weights as the kernels read them, where that is more than these in an order, or why there are
      none.
    alignment: what that of a plan's tensors must be a multiple of.
    chips: those that have its instructions; (): any.
    refuses_on: why its kernels for a chip cannot run an operator that it does not refuse anywhere; "": for any chip.
    slower_on: why the portable kernel is expected to be the faster one for an operator on a chip, or None; where there
      is no such function, what the backend can run it runs.
    """

    name: str
    symbol: str
    refuses: Callable[[PlainShape], str | None]
    scratch: Callable[[PlainShape, str], int]
    kinds: Mapping[OpKind, OpKind] = dataclasses.field(default_factory=lambda: PLAIN_KINDS)
    packing: Packing = Packing.PORTABLE
    own_scratch: bool = False
    stream: Callable[[ProgramOp], np.ndarray | str] | None = None
    alignment: int = 1
    chips: tuple[str, ...] = ()
    refuses_on: Callable[[ProgramOp, PlainShape, str], str | None] | None = None
    slower_on: Callable[[PlainShape, str], str | None] | None = None

    def runs(self, op: ProgramOp) -> bool:
        """Whether it has kernels for the operator's kind and type."""
        return op.dtype is DType.INT8 and op.kind in self.kinds

    def of_cores(self, cores: int, alignment: int) -> Backend:
        """The same where so many cores may share an operator: scratch of its kernels' own is planned for each."""
        if cores == 1 or not self.own_scratch:
            return self
        own = self.scratch
        return dataclasses.replace(self, scratch=lambda shape, chip: cores * round_up(own(shape, chip), alignment))


#: By the name of `custom_tigris_backend` and `--backend`.
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("esp-nn", "tigris_esp_nn", esp_nn.refuses, esp_nn.scratch_bytes, refuses_on=esp_nn.refuses_on),
        Backend("cmsis-nn", "tigris_cmsis_nn", cmsis_nn.refuses, cmsis_nn.scratch_bytes),
        Backend("pie", "tigris_pie", pie.refuses, pie.scratch_bytes, pie.KINDS, Packing.PIE, True, pie.stream,
                pie.ALIGNMENT, (pie.CHIP,)),
    )
}  # fmt: skip
#: Of those that `auto` chooses, which operators it leaves to portable kernels. Who names a backend gets it wherever it
#: runs.
_SLOWER_ON = {"esp-nn": esp_nn.slower_on}
#: The names that are none of these: `auto` is the fastest on the chip that is known, the portable kernels on any other.
PORTABLE = ("auto", "portable")


def find_backend(name: str, chip: str = "") -> Backend | None:
    """The backend of that name for a chip of CHIPS; None: the portable kernels."""
    if name == "auto":
        chosen = fastest(chip).backend
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
