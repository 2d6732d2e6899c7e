"""The pass manager: runs passes over a graph or a program in order, and counts what they change.

Passes of graphs are listed in normalise/registry.py, passes of programs in lower/passes.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tigris_pio.compiler.internal import compiler_step
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.ir.program import Program

Form = TypeVar("Form", Graph, Program)


@dataclasses.dataclass(frozen=True)
class Pass(Generic[Form]):
    """One pass. `requires` are facts that earlier passes provide; no later pass may undo a fact.

    A pass keeps every node behind the nodes that it reads. The planner chooses the execution order later.

    run: returns the rewritten graph or program, and the number of nodes or operators that it removed or rewrote
    """

    name: str
    summary: str
    requires: frozenset[str]
    provides: frozenset[str]
    run: Callable[[Form], tuple[Form, int]]


#: Called after each pass, with the pass and its graph or program; tests set it.
Watch = Callable[[Pass[Any], Any], None]
watch: Watch | None = None


@dataclasses.dataclass(frozen=True)
class PassStatistics:
    """The nodes before and after one pass, or a program's operators, and the number that it removed or rewrote."""

    name: str
    nodes_in: int
    folded: int
    nodes_out: int


def run_passes(form: Form, passes: Sequence[Pass[Form]]) -> tuple[Form, tuple[PassStatistics, ...]]:
    """Runs passes in order: the result, and the statistics of each pass."""
    check_order(passes)
    statistics = []
    for step in passes:
        form, one = run_pass(form, step)
        statistics.append(one)
    return form, tuple(statistics)


def run_pass(form: Form, step: Pass[Form]) -> tuple[Form, PassStatistics]:
    """Runs one pass, whose requirements hold."""
    with compiler_step(step.name):
        result, folded = step.run(form)
    if watch is not None:
        watch(step, result)
    return result, PassStatistics(step.name, _size(form), folded, _size(result))


def _size(form: Graph | Program) -> int:
    return len(form.nodes if isinstance(form, Graph) else form.ops)


def check_order(passes: Sequence[Pass[Any]]) -> None:
    """Raises ValueError if a pass requires a fact that no pass before it provides."""
    facts: set[str] = set()
    for step in passes:
        missing = step.requires - facts
        if missing:
            names = ", ".join(sorted(missing))
            raise ValueError(f"pass {step.name} requires {names}, which no pass before it provides")
        facts |= step.provides
