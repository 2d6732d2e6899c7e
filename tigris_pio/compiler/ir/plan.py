"""The execution plan: what the partitioner and the allocator decide, before it becomes bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import Home, OpKind, Strategy, WeightMode


@dataclasses.dataclass(frozen=True)
class Budget:
    """Bytes the caller grants; None: no limit. `slow` 0: there is no slow memory."""

    fast: int | None
    slow: int = 0
    flash: int | None = None


@dataclasses.dataclass(frozen=True)
class View:
    """How a stage sees one tensor; the fields of the plan's view record."""

    tensor: str
    window: bool
    capacity_rows: int
    pace: Pace | None = None
    load: bool = False
    store: bool = False
    keep: bool = False
    offset: int = 0
    parked: int | None = None  #: where kept rows lie from its last reader to its maker; None: at its start


@dataclasses.dataclass(frozen=True)
class Stage:
    """Operators [first_op, end_op) run over `bands` bands."""

    first_op: int
    end_op: int
    bands: int
    band_rows: int  #: rows a band makes of the tensor that advances fastest, or of the last one
    strategy: Strategy
    views: tuple[View, ...]
    fast_peak: int  #: highest fast byte used while it runs
    slow_read: int
    slow_written: int
    recomputed_macs: int
    weight_mode: WeightMode = WeightMode.IN_PLACE
    block_offset: int = 0  #: fast-arena offset of a copied or decompressed weight block
    compression_saves: float | None = None  #: share of its weights, used or not; None: not asked for, or no weights


@dataclasses.dataclass(frozen=True)
class Place:
    """Home and offset of a tensor that outlives a stage."""

    home: Home
    offset: int


@dataclasses.dataclass(frozen=True)
class Region:
    """Bytes [offset, offset + bytes) of the fast arena in use during the steps birth … death."""

    name: str
    offset: int
    bytes: int
    birth: int
    death: int


@dataclasses.dataclass(frozen=True)
class AllocationReport:
    """How the arena's peak compares with what any allocator could reach."""

    strategy: str
    peak: int
    lower_bound: int
    peaks: Mapping[str, int]
    proved_optimal: bool  #: no placement of these requests has a lower peak


@dataclasses.dataclass(frozen=True)
class BackendUse:
    """What a plan wants of a kernel library. `portable`: why the operators it does not run keep portable kernels, by
    name; `charged`: instructions that those count for, beside the plan's own, which want of scratch left portable
    although the library takes more (backends/balance.py)."""

    name: str
    symbol: str  #: what the C names of its kernels begin with
    chip: str
    scratch_bytes: int
    portable: Mapping[str, str]
    charged: float = 0.0

    def kernel_symbol(self, kind: OpKind) -> str:
        """The C name of its kernel for a plain operator."""
        return f"{self.symbol}_{kind.name.removeprefix('PLAIN_').lower()}_int8"


@dataclasses.dataclass(frozen=True)
class ExecutionPlan:
    """A program with every placement decided."""

    program: Program
    budget: Budget
    alignment: int
    stages: tuple[Stage, ...]
    homes: Mapping[str, Place]
    scratch: Mapping[int, int]  #: fast offset of an operator's scratch, by operator index
    state_bytes: int
    fast_bytes: int
    fast_reserved: int
    slow_bytes: int
    unscheduled_peak: int
    allocation: AllocationReport
    regions: tuple[Region, ...]
    warnings: tuple[str, ...] = ()
    backend: BackendUse | None = None  #: None: the portable kernels run everything
    split: frozenset[int] | None = None  #: the operators that two cores share; None: it is for one
    processor: str = ""  #: of `compiler/instructions`, whose instructions it was judged by; "": the default one
