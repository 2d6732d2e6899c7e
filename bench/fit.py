"""Coefficients of a linear model from measurements: least squares of the relative errors, none below zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

#: Operators from which all coefficients of a kernel are fitted; with fewer, those of a call and of its main work.
ENOUGH = 4
_SWEEPS, _CLOSE = 20_000, 1e-9
#: Coefficients below this are rounding errors.
_NOTHING = 1e-6


def fit(work: Sequence[Mapping[str, float]], measured: Sequence[float], names: Sequence[str]) -> dict[str, float]:
    """The coefficient of each of `names`, from the amounts of work and the total counts; coefficients of 0 left out."""
    rows = np.array([[amounts.get(name, 0.0) for name in names] for amounts in work]) / np.array(measured)[:, None]
    found = _nonnegative(rows, np.ones(len(measured)))
    return {name: float(f"{value:.4g}") for name, value in zip(names, found, strict=True) if value > _NOTHING}


def _nonnegative(rows: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The x >= 0 of the least |rows x - goal|^2, one coordinate after the other until none changes."""
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    scaled = rows / scale
    gram, against = scaled.T @ scaled, scaled.T @ goal
    x = np.zeros(len(scale))
    for _ in range(_SWEEPS):
        before = x.copy()
        for place in range(len(x)):
            if gram[place, place] > 0:
                x[place] = max(0.0, x[place] + (against[place] - gram[place] @ x) / gram[place, place])
        if np.abs(x - before).max() <= _CLOSE * max(1.0, np.abs(x).max()):
            break
    return x / scale
