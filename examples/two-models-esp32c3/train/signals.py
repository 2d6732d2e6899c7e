"""Accelerometer signals of a motor, synthesised, and the spectra that the network sees.

A healthy motor shows its rotation and two harmonics, its blade passing and noise; a faulty one has impacts in
addition, each ringing at the bearing's resonance, as a damaged race gives (the usual model of bearing faults: R. B.
Randall and J. Antoni, "Rolling element bearing diagnostics - A tutorial", 2011).
"""

from __future__ import annotations

import numpy as np

RATE = 4096  # samples a second
SAMPLES = 256
BINS = 64  # each the mean of two neighbouring frequencies, 16 Hz apart


def signal(faulty: bool, generator: np.random.Generator) -> np.ndarray:
    """SAMPLES accelerations in g."""
    time = np.arange(SAMPLES) / RATE
    speed = generator.uniform(45, 55)
    x = generator.normal(0, 0.05, SAMPLES)
    for order, amplitude in ((1, 1.0), (2, 0.4), (3, 0.2), (7, 0.3)):
        phase, scale = generator.uniform(0, 2 * np.pi), generator.uniform(0.8, 1.2)
        x += amplitude * scale * np.sin(2 * np.pi * order * speed * time + phase)
    if faulty:
        strength, resonance = generator.uniform(0.08, 0.5), generator.uniform(1200, 1700)
        first, period = generator.uniform(0, 1 / (3.6 * speed)), 1 / (3.6 * speed)
        for start in np.arange(first, time[-1], period):
            since = np.maximum(time - start, 0)
            x += strength * (time >= start) * np.exp(-since * 400) * np.sin(2 * np.pi * resonance * since)
    return x


def spectrum(x: np.ndarray) -> np.ndarray:
    """BINS features in 0 … 1: logarithms of magnitudes under a Hann window, from 1e-3 to 1 g."""
    magnitude = np.abs(np.fft.rfft(x * np.hanning(SAMPLES)))[1:] * 4 / SAMPLES
    pooled = magnitude.reshape(BINS, -1).mean(axis=1)
    return np.clip(np.log10(np.maximum(pooled, 1e-3)) / 3 + 1, 0, 1).astype(np.float32)


def spectra(count: int, share: float, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """float32 [count, BINS], and bool [count]: which are faulty, `share` of them on average."""
    faulty = generator.random(count) < share
    return np.array([spectrum(signal(bool(flag), generator)) for flag in faulty]), faulty
