"""Compares runs on overlapping windows with runs on whole windows, byte for byte; for `tigris verify --hop`."""

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UsageError
from tigris_pio.host import Session
from tigris_pio.verify.compare import random_inputs


@dataclasses.dataclass(frozen=True)
class HopComparison:
    """runs: number of compared runs. first: number of the first one, whose window is full; runs count from 1.
    different: numbers of the runs whose outputs differ from those of a whole window."""

    runs: int
    first: int
    different: tuple[int, ...]

    @property
    def passed(self) -> bool:
        """Whether no run differs."""
        return not self.different


def compare_hop(compiled: Compiled, whole: Compiled, runs: int, seed: int) -> HopComparison:
    """Runs both plans on one random signal: `compiled` gets the new rows of each hop, `whole` the whole window.

    Compares `runs` runs, beginning with the first one whose window is full.
    """
    hop = compiled.report["hop"]
    axis, rows, window = int(hop["axis"]), int(hop["rows"]), int(hop["window"])
    first = max(int(hop["exact_from"]), math.ceil(window / rows))
    with Session(compiled) as steps, Session(whole) as windows:
        if len(windows.inputs) != 1:
            raise UsageError(f"{compiled.report['model']} has {len(windows.inputs)} inputs; verify --hop needs one")
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
