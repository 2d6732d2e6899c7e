"""Live bytes at every step, by an event sweep.

A tensor dies after the operator that reads it last, so an operator's inputs and output are live together. The peak is
therefore the memory of a layer-by-layer run, and a lower bound for any placement of the same requests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.lifetimes import Lifetime


@dataclasses.dataclass(frozen=True)
class Timeline:
    """Live bytes per step; index 0 is step -1, before the first operator."""

    live: np.ndarray

    @property
    def peak(self) -> int:
        """Most bytes live at one step."""
        return int(self.live.max(initial=0))


def sweep(requests: Iterable[tuple[Lifetime, int]], steps: int) -> Timeline:
    """The timeline of (lifetime, bytes) requests over the steps -1 … steps."""
    events = np.zeros(steps + 3, dtype=np.int64)
    for life, size in requests:
        events[life.birth + 1] += size
        events[life.death + 2] -= size
    return Timeline(np.cumsum(events)[:-1])


def layer_by_layer(program: Program, lives: dict[str, Lifetime]) -> Timeline:
    """The timeline of the program run operator by operator, every activation whole."""
    requests = ((life, program.tensors[name].bytes) for name, life in lives.items())
    return sweep(requests, len(program.ops))
