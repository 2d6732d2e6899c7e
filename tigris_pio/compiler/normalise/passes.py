"""What a pass is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

from tigris_pio.compiler.ir.graph import Graph

Schedule = Literal["least_peak", "depth_first", "least_alive", "as_given"]


@dataclasses.dataclass(frozen=True)
class Parameters:
    """What a retry may change about compilation."""

    #: The order of the operators, see order.py. `least_peak`: the one that needs least memory run layer by layer.
    schedule: Schedule = "least_peak"
    #: Absorb Relu and Clip into the operator before them.
    fuse_activations: bool = True


@dataclasses.dataclass(frozen=True)
class PassResult:
    """The rewritten graph and the number of nodes the pass removed or rewrote."""

    graph: Graph
    folded: int


@dataclasses.dataclass(frozen=True)
class Retry:
    """Asks for normalisation to start again with other parameters; `reason` goes into the report."""

    parameters: Parameters
    reason: str


@dataclasses.dataclass(frozen=True)
class Pass:
    """One pass. Requirements are facts that passes before it establish and none after removes."""

    name: str
    summary: str
    requires: frozenset[str]
    provides: frozenset[str]
    run: Callable[[Graph, Parameters], PassResult | Retry]
