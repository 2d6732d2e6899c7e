"""The execution plan: stages, bands, homes and offsets. The planner makes it; emit/ and codegen/ write it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import Home, OpKind, Strategy, WeightMode


@dataclasses.dataclass(frozen=True)
class Budget:
    """Memory that the caller grants, in bytes; None: no limit. `slow` 0: no slow memory."""

    fast: int | None
    slow: int = 0
    flash: int | None = None


@dataclasses.dataclass(frozen=True)
class View:
    """A stage's view of one tensor, with the fields of ViewRecord in format/records.py."""

    tensor: str
    window: bool
    capacity_rows: int
    pace: Pace | None = None
    load: bool = False
    store: bool = False
    keep: bool = False
    offset: int = 0
    parked: int | None = None  #: offset of kept rows from the last reader to the next band; None: not moved


@dataclasses.dataclass(frozen=True)
class Stage:
    """Operators [first_op, end_op), which run together over `bands` bands."""

    first_op: int
    end_op: int
    bands: int
    band_rows: int  #: rows that a band makes of the tensor that advances fastest, or of the last one
    strategy: Strategy
    views: tuple[View, ...]
    fast_peak: int  #: highest byte of fast memory that is used while the stage runs
    slow_read: int
    slow_written: int
    recomputed_macs: int
    weight_mode: WeightMode = WeightMode.IN_PLACE
    block_offset: int = 0  #: fast-arena offset of a copied or decompressed weight block
    compression_saves: float | None = None  #: share of its weights, even if it is not used; None: not requested


@dataclasses.dataclass(frozen=True)
class Location:
    """Home and offset of a tensor that outlives a stage."""

    home: Home
    offset: int


@dataclasses.dataclass(frozen=True)
class Region:
    """Bytes [offset, offset + bytes) of the fast arena, in use from operator `birth` to operator `death`."""

    name: str
    offset: int
    bytes: int
    birth: int
    death: int


@dataclasses.dataclass(frozen=True)
class AllocationReport:
    """The arena's peak in bytes, and a lower bound of any allocator's."""

    strategy: str
    peak: int
    lower_bound: int
    peaks: Mapping[str, int]
    proved_optimal: bool  #: no placement of the same buffers has a lower peak


@dataclasses.dataclass(frozen=True)
class BackendUse:
    """A plan's use of a kernel library.

    portable: the reasons why operators keep portable kernels, by operator
    charged: a penalty in instructions, for operators that are portable only for lack of scratch (backends/balance.py)
    """

    name: str
    symbol: str  #: prefix of its kernels' C names
    chip: str
    scratch_bytes: int
    portable: Mapping[str, str]
    charged: float = 0.0

    def kernel_symbol(self, kind: OpKind) -> str:
        """The C name of the library's kernel for a plain kind."""
        return f"{self.symbol}_{kind.name.removeprefix('PLAIN_').lower()}_int8"


@dataclasses.dataclass(frozen=True)
class ExecutionPlan:
    """A program with its stages, and the home and offset of every tensor. Sizes are in bytes."""

    program: Program
    budget: Budget
    alignment: int
    stages: tuple[Stage, ...]
    homes: Mapping[str, Location]
    scratch: Mapping[int, int]  #: offset of an operator's scratch in fast memory, by operator index
    state_bytes: int
    fast_bytes: int
    fast_reserved: int
    slow_bytes: int
    unscheduled_peak: int
    allocation: AllocationReport
    regions: tuple[Region, ...]
    warnings: tuple[str, ...] = ()
    backend: BackendUse | None = None  #: None: portable kernels alone
    split: frozenset[int] | None = None  #: indices of the operators that two cores share; None: for one core
    processor: str = ""  #: a processor of `compiler/cost`, for which the cost is predicted; "": the default
