"""Inputs that the networks are trained on and tried with, all drawn from formulas: sounds, pictures and machines.

Every function takes a count and a random generator, and gives float32 inputs as the TensorFlow network takes them
(channels last) with a label each. The same seed gives the same samples.
"""

from __future__ import annotations

import numpy as np

Samples = tuple[np.ndarray, np.ndarray]
_SILENCE, _UNKNOWN = 0, 1


def _ridges(word: np.random.Generator) -> np.ndarray:
    """Three formants of a word: height at its begin and end, bend, begin, end and strength."""
    low, high = [0.05, 0.35, 0.6, 0.0, 0.6, 0.7], [0.45, 0.7, 0.95, 0.35, 1.0, 1.0]
    table = word.uniform([low[0], low[0], -0.2, *low[3:]], [high[0], high[0], 0.2, *high[3:]], (3, 6))
    table[1, :2], table[2, :2] = word.uniform(low[1], high[1], 2), word.uniform(low[2], high[2], 2)
    return table


def _utterance(table: np.ndarray, frames: int, bands: int, rng: np.random.Generator) -> np.ndarray:
    """One way to say the word: later or sooner, slower or faster, higher or lower."""
    time = (np.linspace(0, 1, frames) - rng.uniform(-0.1, 0.1)) * rng.uniform(0.9, 1.1)
    band = np.linspace(0, 1, bands)
    width, pitch = max(0.05, 0.6 / bands), rng.uniform(-0.03, 0.03)
    sound = np.zeros((frames, bands))
    for begin, end, bend, start, stop, strength in table:
        inside = np.clip((time - start) / (stop - start), 0, 1)
        height = begin + (end - begin) * inside + bend * np.sin(np.pi * inside) + pitch
        envelope = 1 / (1 + np.exp(-30 * (time - start))) / (1 + np.exp(30 * (time - stop)))
        ridge = np.exp(-(((band - height[:, np.newaxis]) / width) ** 2) / 2)
        sound += strength * rng.uniform(0.7, 1.3) * envelope[:, np.newaxis] * ridge
    return sound


def words(count: int, rng: np.random.Generator, *, classes: int, frames: int, bands: int) -> Samples:
    """Spectrograms of made-up words [N, frames, bands]: class 0 is noise alone, 1 any other word, the rest one each."""
    known = [_ridges(np.random.default_rng(1000 + index)) for index in range(classes)]
    labels = np.arange(count) % classes
    rng.shuffle(labels)
    sounds = np.empty((count, frames, bands))
    for index, label in enumerate(labels):
        noise = rng.standard_normal((frames, bands)) * rng.uniform(0.05, 0.2)
        if label == _SILENCE:
            sounds[index] = noise * rng.uniform(1, 3)
        else:
            table = _ridges(rng) if label == _UNKNOWN else known[label]
            sounds[index] = _utterance(table, frames, bands, rng) + noise
    return (sounds * 8).astype(np.float32), labels.astype(np.int32)


def _waves(count: int, size: int, channels: int, rng: np.random.Generator) -> np.ndarray:
    """Smooth backgrounds: a few slow waves in each channel."""
    v, u = np.mgrid[0:size, 0:size] / size
    pictures = rng.uniform(0.2, 0.8, (count, 1, 1, channels)) * np.ones((1, size, size, 1))
    for _ in range(3):
        fu, fv, phase = (rng.uniform(low, high, (count, 1, 1, 1)) for low, high in ((-9, 9), (-9, 9), (0, 6.3)))
        wave = np.sin(fu * u[..., np.newaxis] + fv * v[..., np.newaxis] + phase)
        pictures += rng.uniform(0, 0.12, (count, 1, 1, channels)) * wave
    return pictures


def _paint(picture: np.ndarray, inside: np.ndarray, rng: np.random.Generator) -> None:
    """Fills a shape with a colour that differs from what is there."""
    centre = picture.mean(axis=(0, 1))
    away = rng.uniform(0.25, 0.5, picture.shape[2]) * np.where(centre > 0.5, -1, 1)
    picture += np.clip(inside, 0, 1)[..., np.newaxis] * (centre + away - picture)


def _coordinates(
    size: int, rng: np.random.Generator, least: float, most: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Coordinates in which a shape of -1 … 1 lies somewhere in the picture, upright but for a little; its half size."""
    half = rng.uniform(least, most)
    row, column = (rng.uniform(half, 1 - half) for _ in range(2))
    v, u = np.mgrid[0:size, 0:size] / size
    u, v, turn = (u - column) / half, (v - row) / half, rng.uniform(-0.25, 0.25)
    return u * np.cos(turn) + v * np.sin(turn), v * np.cos(turn) - u * np.sin(turn), half


def _soft(distance: np.ndarray, size: int, half: float) -> np.ndarray:
    """1 where the distance to the edge is positive, with an edge one pixel wide."""
    soft: np.ndarray = np.clip(distance * half * size + 0.5, 0, 1)
    return soft


def _shape(label: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Distance to the edge of one of ten shapes, positive inside."""
    r, s = np.hypot(u, v), np.maximum(abs(u), abs(v))
    bar_u, bar_v = np.minimum(1 - abs(u), 0.28 - abs(v)), np.minimum(1 - abs(v), 0.28 - abs(u))
    shapes = (
        1 - r,
        np.minimum(1 - r, r - 0.55),
        0.85 - s,
        np.minimum(0.9 - s, s - 0.5),
        np.minimum(0.8 - v, (v + 1) / 2.2 - abs(u)),
        np.maximum(bar_u, bar_v),
        bar_u,
        np.minimum(0.9 - s, np.where(u * v > 0, 1.0, -1.0)),
        np.minimum(0.9 - s, np.sin(8 * v)),
        np.minimum(1 - r, np.hypot(u - 0.6, v) - 0.75),
    )
    return shapes[label]


def shapes(count: int, rng: np.random.Generator) -> Samples:
    """Pictures [N, 32, 32, 3] in 0 … 1 of ten kinds of shapes."""
    size = 32
    labels = np.arange(count) % 10
    rng.shuffle(labels)
    pictures = _waves(count, size, 3, rng)
    for picture, label in zip(pictures, labels, strict=True):
        u, v, half = _coordinates(size, rng, 0.28, 0.45)
        _paint(picture, _soft(_shape(int(label), u, v), size, half), rng)
    pictures += rng.normal(0, 0.02, pictures.shape)
    return np.clip(pictures, 0, 1).astype(np.float32), labels.astype(np.int32)


def _figure(u: np.ndarray, v: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """A standing figure: head, trunk with arms, legs; distances to their edges."""
    arms, legs = rng.uniform(0.35, 0.7), rng.uniform(0.1, 0.35)
    head = 0.2 - np.hypot(u, v + 0.76)
    trunk = np.minimum(0.24 - abs(u), 0.34 - abs(v + 0.2))
    arm = np.minimum(0.1 - abs(abs(u) - 0.24 - arms * (v + 0.5)), 0.32 - abs(v + 0.2))
    leg = np.minimum(0.11 - abs(abs(u) - 0.1 - legs * (v - 0.1)), 0.42 - abs(v - 0.55))
    return [head, np.maximum(trunk, arm), leg]


def persons(count: int, rng: np.random.Generator, *, channels: int) -> Samples:
    """Pictures [N, 96, 96, channels] in 0 … 1 of shapes (label 0), or of a standing figure among them (1)."""
    size = 96
    labels = np.arange(count) % 2
    rng.shuffle(labels)
    pictures = _waves(count, size, channels, rng)
    for picture, label in zip(pictures, labels, strict=True):
        for _ in range(rng.integers(1, 4)):
            u, v, half = _coordinates(size, rng, 0.08, 0.2)
            _paint(picture, _soft(_shape(int(rng.integers(10)), u, v), size, half), rng)
        if label:
            u, v, half = _coordinates(size, rng, 0.25, 0.45)
            for part in _figure(u, v, rng):
                _paint(picture, _soft(part, size, half), rng)
    return np.clip(pictures, 0, 1).astype(np.float32), labels.astype(np.int32)


def machines(count: int, rng: np.random.Generator) -> Samples:
    """Five frames of 128 bands [N, 640] of a machine that hums in order (label 0) or with a foreign tone (1)."""
    frames, bands = 5, 128
    band, frame = np.arange(bands) / bands, np.arange(frames)[:, np.newaxis]
    labels = np.arange(count) % 2
    rng.shuffle(labels)
    spectra = np.empty((count, frames, bands))
    for index, label in enumerate(labels):
        speed, load, phase = rng.uniform(0.06, 0.09), rng.uniform(0.3, 1), rng.uniform(0, 6.3)
        beat = 1 + 0.3 * load * np.sin(phase + 1.2 * frame)
        spectrum = -2 * band * (2 - load) * np.ones((frames, 1))
        for harmonic in range(1, 8):
            spectrum += 1.5 * load ** (harmonic / 3) * beat * np.exp(-(((band - speed * harmonic) / 0.015) ** 2))
        if label:
            spectrum += rng.uniform(1, 2) * np.exp(-(((band - rng.uniform(0.6, 0.95)) / 0.04) ** 2))
        spectra[index] = spectrum + rng.normal(0, 0.15, (frames, bands))
    return spectra.reshape(count, -1).astype(np.float32), labels.astype(np.int32)
