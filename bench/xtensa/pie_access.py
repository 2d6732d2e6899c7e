"""Loads and stores that vector instructions combine with arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from bench.assembly.engine import in_range
from bench.assembly.lanes import BITS
from bench.assembly.program import Step
from bench.xtensa.base import WORD, Operands
from bench.xtensa.state import State


def ride(state: State, given: Operands, suffix: str) -> Callable[[], None] | None:
    """The access that rides along: operands 0, 1 (and 2) of a name that ends in `suffix`. What is stored is read first,
    what is loaded is written when called."""
    if not suffix:
        return None
    a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
    if suffix in ("ld.ip", "ld.incp", "st.incp"):
        advance = in_range(given.number(2), -512, 496, 16) if suffix == "ld.ip" else 16
        register = None
    else:
        advance, register = 0, given.address(2)

    def load() -> None:
        q[u] = memory.block(a[s] & ~15)
        a[s] = (a[s] + (advance if register is None else a[register])) & WORD

    def store() -> None:
        memory.store_block(a[s] & ~15, q[u])
        a[s] = (a[s] + (advance if register is None else a[register])) & WORD

    return store if suffix == "st.incp" else load


def behind(suffix: str) -> int:
    """The number of operands of the access."""
    return {"": 0, "ld.incp": 2, "st.incp": 2, "ldbc.incp": 2}.get(suffix, 3)


def broadcast(state: State, given: Operands, kind: str, advance: Callable[[], int] | None = None) -> Step:
    """qu = one number from memory in all lanes."""
    a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
    size = BITS[kind] // 8
    step_of = size if advance is None else 0

    def step() -> None:
        q[u] = memory.block(a[s] & ~(size - 1), size) * (16 // size)
        a[s] = (a[s] + (step_of if advance is None else advance())) & WORD

    return step
