"""What a pass is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tigris_pio.compiler.ir.graph import Graph


@dataclasses.dataclass(frozen=True)
class PassResult:
    """The rewritten graph and the number of nodes the pass removed or rewrote."""

    graph: Graph
    folded: int


@dataclasses.dataclass(frozen=True)
class Pass:
    """One pass. Requirements are facts that passes before it establish and none after removes.

    It leaves every node behind those it reads; which of such orders the operators run in is for the planner to say.
    """

    name: str
    summary: str
    requires: frozenset[str]
    provides: frozenset[str]
    run: Callable[[Graph], PassResult]
