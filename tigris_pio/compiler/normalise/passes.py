"""The interface of a pass."""

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
    """One pass. `requires` are facts that earlier passes provide; no later pass may undo a fact.

    A pass keeps every node behind the nodes that it reads. The planner chooses the execution order later.
    """

    name: str
    summary: str
    requires: frozenset[str]
    provides: frozenset[str]
    run: Callable[[Graph], PassResult]
