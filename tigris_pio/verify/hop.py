"""Runs on overlapping windows against runs on whole ones, byte for byte."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UsageError
from tigris_pio.host import Session
from tigris_pio.verify.compare import random_inputs


@dataclasses.dataclass(frozen=True)
class HopComparison:
    """runs: how many were compared. first: the first of them, from 1 on, whose window is full and whose outputs are to
    be those of a whole window. different: runs whose outputs are not."""

    runs: int
    first: int
    different: tuple[int, ...]

    @property
    def passed(self) -> bool:
        """Whether all are the same."""
        return not self.different


def compare_hop(compiled: Compiled, whole: Compiled, runs: int, seed: int) -> HopComparison:
    """`compiled`, which is given the new rows of its input, beside `whole`, which is given each window, on a random
    signal; `runs` after the first whose window is full."""
    said = compiled.report["hop"]
    axis, rows, window = int(said["axis"]), int(said["rows"]), int(said["window"])
    first = max(int(said["exact_from"]), math.ceil(window / rows))
    with Session(compiled) as steps, Session(whole) as windows:
        if len(windows.inputs) != 1:
            raise UsageError(f"{compiled.report['model']} has {len(windows.inputs)} inputs; one is compared")
        (io,) = windows.inputs
        pieces = math.ceil((first + runs) * rows / window)
        signal = np.concatenate([random_inputs(windows, seed + piece)[io.name] for piece in range(pieces)], axis)
        different = []
        for run in range(1, first + runs):
            end = run * rows
            found = steps.run({io.name: np.take(signal, range(end - rows, end), axis)})
            if run >= first:
                expected = windows.run({io.name: np.take(signal, range(end - window, end), axis)})
                if any(found[name].tobytes() != value.tobytes() for name, value in expected.items()):
                    different.append(run)
    return HopComparison(runs, first, tuple(different))
