"""What src/spectrum.c makes of samples, in the same integers."""

from __future__ import annotations

import numpy as np

WINDOW = 128  #: samples, 160 ms: frequencies are 6.25 Hz apart
WINDOWS = 4  #: to a row
ROW = WINDOW * WINDOWS
FIRST, BANDS = 2, 62  #: frequencies 2 to 63; gravity is in 0 and, by the window, in 1
COSINES = np.rint(2**14 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.int64)
LEAST = 8 * 14  #: eighths of an octave of power that count as nothing


def _toward_zero(sums: np.ndarray) -> np.ndarray:
    return np.sign(sums) * (np.abs(sums) >> 12)


def _powers(windows: np.ndarray) -> np.ndarray:
    """Of windows [N, WINDOW, 3]: int64 [N, BANDS], the axes added up.

    The window of Hann is applied to the transform: each frequency twice, less its neighbours.
    """
    turns = np.arange(FIRST - 1, FIRST + BANDS + 1)[:, None] * np.arange(WINDOW) % WINDOW
    total = np.zeros((len(windows), BANDS), np.int64)
    for table in (COSINES[turns], COSINES[(turns - WINDOW // 4) % WINDOW]):
        plain = np.einsum("fn,wna->wfa", table, windows.astype(np.int64))
        seen = _toward_zero(2 * plain[:, 1:-1] - plain[:, :-2] - plain[:, 2:])
        total += (seen**2).sum(axis=2)
    return total


def rows(samples: np.ndarray) -> np.ndarray:
    """uint8 [N, BANDS] of whole rows of samples: logarithms of the power of WINDOWS windows, 8 steps an octave."""
    powers = _powers(samples[: len(samples) // ROW * ROW].reshape(-1, WINDOW, 3))
    power = powers.reshape(-1, WINDOWS, BANDS).sum(axis=1) + 8
    octave = np.floor(np.log2(power.astype(np.float64))).astype(np.int64)
    eighths = 8 * octave + ((power >> (octave - 3)) & 7)
    return np.clip(eighths - LEAST, 0, 255).astype(np.uint8)
