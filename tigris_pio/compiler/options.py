"""The options of a compilation, checked when they are made. The command line and `compile_model` make them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler import arguments
from tigris_pio.compiler.backends import Backend, find_backend
from tigris_pio.compiler.backends.chips import find_chip
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.limits import Limits, find_limits
from tigris_pio.compiler.load.states import Tie
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import WeightMode
from tigris_pio.platformio.options import name_fault
from tigris_pio.spelling import option, switch

#: Bytes; enough on every architecture of the runtime but x86-64, where the host library sets its own.
DEFAULT_ALIGNMENT = 16
COMPRESSIONS = {"none": WeightMode.IN_PLACE, "lz4": WeightMode.LZ4}

UNLIMITED = Budget(None)


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    """The options that the user may choose. Sizes are in bytes; None: no limit."""

    budget: Budget = UNLIMITED
    xip: bool = False
    compress: str = "none"
    copy_weights: bool = False
    alignment: int = DEFAULT_ALIGNMENT
    dims: Mapping[str, int] = dataclasses.field(default_factory=dict)
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict)  #: inputs that become constants
    states: tuple[Tie, ...] = ()  #: outputs that are inputs of the next run, each with that input
    hop: int | None = None  #: hop size in input rows; None: each run gets a whole window
    streams: tuple[str, ...] = ()  #: inputs and outputs whose rows firmware moves during the run
    name: str | None = None  #: the model's name in C; None: the file's name
    backend: str = "auto"  #: the library whose kernels run on the board: auto, portable, esp-nn, cmsis-nn, pie or mve
    #: The board's chip, such as esp32s3. Its instructions decide between plans, and a backend's scratch is sized for
    #: it. Empty: a processor without DSP instructions and floating point, and scratch enough for any chip.
    chip: str = ""

    limits: Limits | Mapping[str, int] = dataclasses.field(default_factory=Limits)  #: or some numbers of it, by name
    cores: int = 1  #: processor cores of the board that share the rows of an operator, 1 or 2

    def __post_init__(self) -> None:
        fault = None if self.name is None else name_fault(self.name)
        if fault:
            raise UsageError(f"{option('name')}: {fault}")
        arguments.cores(self.cores)
        object.__setattr__(self, "limits", find_limits(self.limits))
        object.__setattr__(self, "chip", find_chip(self.chip))
        if self.xip and (self.compress == "lz4" or self.copy_weights):
            other = option("compress", "lz4") if self.compress == "lz4" else switch("copy_weights")
            raise UsageError(
                f"{switch('xip')} with {other}: the first promises that no weight is copied to RAM, the second copies "
                "weights there; leave one out"
            )

    def kernels(self) -> Backend | None:
        """The kernel library of the board; None: the portable kernels. Raises UsageError."""
        backend = find_backend(self.backend, self.chip)
        if backend is not None and self.alignment % backend.alignment:
            raise UsageError(
                f"{option('alignment', self.alignment)}: {backend.name} needs tensors at multiples of "
                f"{backend.alignment}; use {option('alignment', backend.alignment)}, or leave it out"
            )
        return None if backend is None else backend.for_cores(self.cores, self.alignment)

    def weights(self) -> WeightOptions:
        """The storage of weights in the plan, and whether they are copied. Raises UsageError."""
        if self.compress not in COMPRESSIONS:
            raise UsageError(
                f"{option('compress')}: '{self.compress}' is unknown; use one of {', '.join(COMPRESSIONS)}"
            )
        mode = COMPRESSIONS[self.compress]
        if mode is WeightMode.IN_PLACE and self.copy_weights:
            mode = WeightMode.COPY
        return WeightOptions(self.xip, mode)
