"""Accelerations of a pump, synthesised as an ADXL345 on its housing gives them: 800 samples a second, three axes, 256
steps to a g.

In order, the pump shows its rotation (25 Hz, a little more or less as its load is) and harmonics, its blades, noise.
The four faults and their marks are those of textbooks on machine diagnosis: imbalance raises the rotation itself,
misalignment twice of it, looseness adds halves of it, and a damaged bearing rings at each hit of a rolling element.
"""

from __future__ import annotations

import numpy as np

RATE = 800  #: samples a second
G = 256  #: steps to a g, an ADXL345's in full resolution
FAULTS = ("imbalance", "misalignment", "looseness", "bearing")


def _direction(rng: np.random.Generator) -> np.ndarray:
    """Any direction in space, [3]."""
    way = rng.normal(size=3)
    unit: np.ndarray = way / np.linalg.norm(way)
    return unit


def _hits(time: np.ndarray, speed: float, rng: np.random.Generator) -> np.ndarray:
    """A rolling element over a pit, 3.6 times a turn with a little slip; each hit rings for some milliseconds."""
    ring, resonance = np.zeros(len(time)), rng.uniform(240, 330)
    at = rng.uniform(0, 1 / (3.6 * speed))
    while at < time[-1]:
        first = np.searchsorted(time, at)
        since = time[first : first + RATE // 20] - at
        ring[first : first + len(since)] += np.exp(-since * 180) * np.sin(2 * np.pi * resonance * since)
        at += rng.normal(1, 0.01) / (3.6 * speed)
    return ring


class Pump:
    """One pump: where its sensor sits, how it is mounted. All of them are alike, none is the same."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        rng = self._rng
        self._gravity = G * _direction(rng)
        self._parts = [(order, level * rng.uniform(0.8, 1.25), _direction(rng)) for order, level in
                       ((1, 0.20), (2, 0.07), (3, 0.05), (5, 0.12), (10, 0.05))]  # fmt: skip

    def run(self, seconds: float, fault: str | None = None) -> np.ndarray:
        """int16 [samples, 3]; every call under another load."""
        rng, time = self._rng, np.arange(int(seconds * RATE)) / RATE
        speed, load = rng.uniform(23.5, 26.5), rng.uniform(0.8, 1.25)
        drift = np.cumsum(rng.normal(0, 0.002, len(time)))  # of the phase: no mains is steady
        turns = speed * time + drift
        strength = rng.uniform(0.5, 1.5)
        x = np.zeros((len(time), 3))
        for order, level, way in self._parts:
            more = {("imbalance", 1): 2 * strength, ("misalignment", 2): 3 * strength}.get((fault or "", order), 0)
            wave = np.sin(2 * np.pi * (order * turns + rng.random()))
            x += level * load * (1 + more) * wave[:, None] * way
        if fault == "looseness":
            for order in (0.5, 1.5, 2.5):
                wave = np.sin(2 * np.pi * (order * turns + rng.random()))
                x += 0.04 * strength * wave[:, None] * _direction(rng)
        if fault == "bearing":
            x += 0.12 * strength * _hits(time, speed, rng)[:, None] * _direction(rng)
        x += rng.normal(0, 0.015 * load, x.shape)
        steps = np.rint(x * G + self._gravity + rng.normal(0, 1, x.shape))
        samples: np.ndarray = np.clip(steps, -4096, 4095).astype(np.int16)
        return samples
