"""Searches for the fewest layers in higher precision that meet a tolerance, within a number of trials (--auto)."""

import dataclasses
from collections.abc import Callable, Collection, Sequence

from tigris_pio.quantize.calibrate import Steps
from tigris_pio.quantize.prepare import LayerNodes

#: Measures the error of the outputs with these layers in higher precision.
Measure = Callable[[Collection[LayerNodes]], float]


@dataclasses.dataclass(frozen=True)
class Found:
    """The search's result. `met`: whether the tolerance is met. `complete`: the trials were enough."""

    kept: tuple[LayerNodes, ...]
    error: float
    trials: int
    met: bool
    complete: bool


class _OutOfTrialsError(Exception):
    pass


class _Trials:
    """Measures each set of layers once, counts them, and keeps the smallest set that met the tolerance."""

    def __init__(self, measure: Measure, tolerance: float, most: int, steps: Steps) -> None:
        self._measure, self._tolerance, self._most, self._steps = measure, tolerance, most, steps
        self._known: dict[frozenset[str], float] = {}
        self.best: tuple[tuple[LayerNodes, ...], float] | None = None
        self.nearest: tuple[tuple[LayerNodes, ...], float] | None = None

    @property
    def count(self) -> int:
        """Number of measured sets."""
        return len(self._known)

    def error(self, kept: Sequence[LayerNodes]) -> float:
        """Error of one set."""
        key = frozenset(layer.name for layer in kept)
        if key not in self._known:
            if self.count >= self._most:
                raise _OutOfTrialsError
            self._steps("searching", self.count, self._most)
            error = self._known[key] = self._measure(kept)
            if self.nearest is None or error < self.nearest[1]:
                self.nearest = (tuple(kept), error)
            if error <= self._tolerance and (self.best is None or len(kept) < len(self.best[0])):
                self.best = (tuple(kept), error)
        return self._known[key]

    def meets(self, kept: Sequence[LayerNodes]) -> bool:
        """Whether one set meets the tolerance."""
        return self.error(kept) <= self._tolerance


def search(candidates: Sequence[LayerNodes], measure: Measure, tolerance: float, most: int, steps: Steps) -> Found:
    """Chooses layers of `candidates` for higher precision.

    `candidates` are ordered by expected error, largest first. If half of the trials suffice, each is tried alone, and
    the order becomes that of the gain. Bisection finds the shortest prefix of the order that meets the tolerance. Then
    each layer of the prefix that is not needed is removed.
    """
    trials = _Trials(measure, tolerance, most, steps)
    complete = True
    try:
        if not trials.meets(()):
            _drop(_shortest(_ranked(candidates, trials, most), trials), trials)
    except _OutOfTrialsError:
        complete = False
    steps("searching", most, most)
    met = trials.best is not None
    kept, error = trials.best or trials.nearest or ((), float("inf"))
    return Found(kept, error, trials.count, met, complete)


def _ranked(candidates: Sequence[LayerNodes], trials: _Trials, most: int) -> list[LayerNodes]:
    tried = list(candidates[: max(0, most // 2 - trials.count)])
    errors = {layer.name: trials.error((layer,)) for layer in tried}
    return sorted(tried, key=lambda layer: errors[layer.name]) + list(candidates[len(tried) :])


def _shortest(ranked: Sequence[LayerNodes], trials: _Trials) -> list[LayerNodes]:
    low, high = 0, len(ranked)  # 0 layers fail; all may meet the tolerance
    if not trials.meets(ranked):
        return []
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trials.meets(ranked[:middle]) else (middle, high)
    return list(ranked[:high])


def _drop(kept: list[LayerNodes], trials: _Trials) -> None:
    for layer in reversed(list(kept)):
        fewer = [other for other in kept if other is not layer]
        if kept and trials.meets(fewer):
            kept = fewer
