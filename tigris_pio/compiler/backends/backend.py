"""What the compiler knows about a kernel library."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tigris_pio.compiler.backends import cmsis_nn, esp_nn
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.errors import UsageError
from tigris_pio.spelling import option


@dataclasses.dataclass(frozen=True)
class Backend:
    """A library whose kernels runtime/backends/ adapts.

    symbol: what the C names of its kernels begin with.
    refuses: why none of its kernels can run an operator, or None.
    scratch: bytes at most that its kernel takes beside the arenas' own, on a chip; "": on any.
    """

    name: str
    symbol: str
    refuses: Callable[[PlainShape], str | None]
    scratch: Callable[[PlainShape, str], int]


#: By the name of `custom_tigris_backend` and `--backend`.
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("esp-nn", "tigris_esp_nn", esp_nn.refuses, esp_nn.scratch_bytes),
        Backend("cmsis-nn", "tigris_cmsis_nn", cmsis_nn.refuses, cmsis_nn.scratch_bytes),
    )
}
#: The names that mean the portable kernels, which `auto` takes: no other is known to be faster on every chip.
PORTABLE = ("auto", "portable")


def find_backend(name: str) -> Backend | None:
    """The library of that name; None: the portable kernels."""
    if name in PORTABLE:
        return None
    if name not in BACKENDS:
        raise UsageError(f"{option('backend')}: '{name}' is unknown; use one of {', '.join((*PORTABLE, *BACKENDS))}")
    return BACKENDS[name]
