"""What may be chosen for a compilation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler import arguments
from tigris_pio.compiler.backends import Backend, find_backend
from tigris_pio.compiler.backends.chips import find_chip
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.limits import Limits, find_limits
from tigris_pio.compiler.load.states import Tie
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import WeightMode
from tigris_pio.platformio.options import name_fault
from tigris_pio.spelling import option, switch

#: Serves every architecture the runtime knows but x86-64, which the host library overrides.
DEFAULT_ALIGNMENT = 16
COMPRESSIONS = {"none": WeightMode.IN_PLACE, "lz4": WeightMode.LZ4}

UNLIMITED = Budget(None)


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    """What the user may choose. Sizes in bytes; None: no limit."""

    budget: Budget = UNLIMITED
    xip: bool = False
    compress: str = "none"
    copy_weights: bool = False
    alignment: int = DEFAULT_ALIGNMENT
    dims: Mapping[str, int] = dataclasses.field(default_factory=dict)
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict)  #: inputs that become constants
    states: tuple[Tie, ...] = ()  #: outputs that are inputs of the next run, each with that input
    hop: int | None = None  #: input rows by which windows are apart; None: a run is given whole windows
    streams: tuple[str, ...] = ()  #: inputs and outputs whose rows come and go during the run
    name: str | None = None
    backend: str = "auto"  #: whose kernels run on the board: auto, portable, esp-nn, cmsis-nn or pie
    #: The board's, such as esp32s3: whose instructions plans are judged by, and for which a backend's scratch is sized;
    #: empty: those of a processor with neither DSP instructions nor floating point, and enough for any.
    chip: str = ""

    #: What the file may ask for: limits.py, or some of its numbers by name.
    limits: Limits | Mapping[str, int] = dataclasses.field(default_factory=Limits)
    cores: int = 1  #: that share the rows of an operator on the board: 1 or 2

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
                f"{switch('xip')} with {other}: the one promises that no weight is copied to RAM, the other brings "
                "weights there; leave one out"
            )

    def kernels(self) -> Backend | None:
        """Whose kernels run on the board; None: the portable ones."""
        backend = find_backend(self.backend, self.chip)
        if backend is not None and self.alignment % backend.alignment:
            raise UsageError(
                f"{option('alignment', self.alignment)}: {backend.name} needs tensors at multiples of "
                f"{backend.alignment}; use {option('alignment', backend.alignment)}, or leave it out"
            )
        return None if backend is None else backend.of_cores(self.cores, self.alignment)

    def weights(self) -> WeightOptions:
        """How weights are stored and read."""
        if self.compress not in COMPRESSIONS:
            raise UsageError(
                f"{option('compress')}: '{self.compress}' is unknown; use one of {', '.join(COMPRESSIONS)}"
            )
        mode = COMPRESSIONS[self.compress]
        if mode is WeightMode.IN_PLACE and self.copy_weights:
            mode = WeightMode.COPY
        return WeightOptions(self.xip, mode)
