"""What the compiler knows about kernels that run instead of the portable ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from tigris_pio.compiler.backends import cmsis_nn, esp_nn
from tigris_pio.compiler.backends.chips import fastest
from tigris_pio.compiler.backends.shape import PLAIN_KINDS, PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.spelling import option


@dataclasses.dataclass(frozen=True)
class Backend:
    """A library whose kernels runtime/backends/ adapts, or an instruction set with a folder in runtime/src/kernels.

    symbol: what the C names of its kernels begin with; behind it stand a kind and int8.
    refuses: why none of its kernels can run an operator with weights, or None. Operators without run all or none.
    scratch: bytes at most that its kernel takes beside the arenas' own, on a chip; "": on any.
    kinds: the kinds of int8 operators that it runs, and what each becomes: a plain one for a library, itself otherwise.
    packing: in which order its kernels read the weights of convolutions and fully connected layers; plain ones have
      none.
    """

    name: str
    symbol: str
    refuses: Callable[[PlainShape], str | None]
    scratch: Callable[[PlainShape, str], int]
    kinds: Mapping[OpKind, OpKind] = dataclasses.field(default_factory=lambda: PLAIN_KINDS)
    packing: Packing = Packing.PORTABLE

    def runs(self, op: ProgramOp) -> bool:
        """Whether it has kernels for the operator's kind and type."""
        return op.dtype is DType.INT8 and op.kind in self.kinds


#: By the name of `custom_tigris_backend` and `--backend`.
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("esp-nn", "tigris_esp_nn", esp_nn.refuses, esp_nn.scratch_bytes),
        Backend("cmsis-nn", "tigris_cmsis_nn", cmsis_nn.refuses, cmsis_nn.scratch_bytes),
    )
}
#: The names that are none of these: `auto` is the fastest on the chip that is known, the portable kernels on any other.
PORTABLE = ("auto", "portable")


def find_backend(name: str, chip: str = "") -> Backend | None:
    """The backend of that name for a chip of CHIPS; None: the portable kernels."""
    if name == "auto":
        name = fastest(chip).backend
    if name == "portable":
        return None
    if name not in BACKENDS:
        raise UsageError(f"{option('backend')}: '{name}' is unknown; use one of {', '.join((*PORTABLE, *BACKENDS))}")
    return BACKENDS[name]
