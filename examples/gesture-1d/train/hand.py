"""What an MPU-6050 in a hand measures, synthesised: accelerations and turning rates of three axes, 50 times a second.

The board lies flat in the hand, x to the right, y ahead, z up, but for some tilt that changes slowly. A gesture moves
it along a path, whose second derivative the accelerometer feels beside gravity, and turns it as a wrist does. Between
gestures the hand rests, shakes, walks, or moves somewhere else.
"""

from __future__ import annotations

import numpy as np

RATE = 50  #: samples a second
G = 4096  #: steps to a g, in the range of 8 g
DEGREE = 32.8  #: steps to a degree a second, in the range of 1000 degrees a second
NAMES = ("none", "circle", "swing", "tap")
_GRAVITY = 9.81
_FINE = 4  #: points of a path to a sample


def _ease(points: int) -> np.ndarray:
    """0 to 1 with rest at both ends."""
    way = np.linspace(0, 1, points)
    eased: np.ndarray = way**3 * (10 - 15 * way + 6 * way**2)
    return eased


def _felt(path: np.ndarray) -> np.ndarray:
    """Accelerations in g of a path in metres, [points, 3] to [samples, 3]."""
    second = np.gradient(np.gradient(path, axis=0), axis=0) * (RATE * _FINE) ** 2
    samples: np.ndarray = second[::_FINE] / _GRAVITY
    return samples


def circle(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One turn or a little more in the plane of the hand, either way round. Accelerations in g, degrees a second."""
    points = int(rng.uniform(0.7, 1.1) * RATE) * _FINE
    angle = rng.uniform(0, 2 * np.pi) + rng.choice([-1, 1]) * rng.uniform(1, 1.25) * 2 * np.pi * _ease(points)
    radius = rng.uniform(0.07, 0.14)
    flat = np.stack([np.cos(angle), rng.uniform(0.8, 1.2) * np.sin(angle), 0.1 * np.sin(angle)], axis=1)
    turning = rng.uniform(-40, 40, 3) * np.sin(np.pi * np.linspace(0, 1, points // _FINE))[:, None]
    return _felt(radius * flat), turning


def swing(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """To one side and back, turning with the wrist about y."""
    points = int(rng.uniform(0.5, 0.9) * RATE) * _FINE
    way = np.sin(2 * np.pi * _ease(points) - np.pi / 2) + 1
    side = rng.choice([-1, 1]) * rng.uniform(0.08, 0.16)
    path = np.stack([side * way, 0.1 * side * way, 0.15 * abs(side) * way], axis=1)
    roll = rng.uniform(60, 100) * np.sign(side) * way / 2
    rate = np.gradient(roll, 1 / (RATE * _FINE))[::_FINE]
    return _felt(path), np.stack([0.1 * rate, rate, 0.2 * rate], axis=1)


def tap(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two knocks on the board from above, each over in some samples, ringing a little."""
    samples, gap = int(0.5 * RATE), rng.uniform(0.18, 0.28)
    since = np.arange(samples) / RATE - 0.04
    knocks = np.zeros(samples)
    for first in (0.0, gap):
        late = np.maximum(since - first, 0)
        knocks += (since >= first) * np.exp(-late * 45) * np.cos(2 * np.pi * rng.uniform(10, 16) * late)
    strength = rng.uniform(0.8, 2.2)
    felt = -strength * knocks[:, None] * np.array([rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2), 1])
    return felt, strength * 20 * knocks[:, None] * rng.uniform(-1, 1, 3)


def other(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A move that is no gesture: to somewhere else, a single knock, a turn of the wrist, or steps."""
    kind, samples = rng.integers(4), int(rng.uniform(0.5, 1.2) * RATE)
    way = _ease(samples * _FINE)
    if kind == 0:
        return _felt(way[:, None] * rng.uniform(-0.3, 0.3, 3)), rng.uniform(-30, 30, (1, 3)) * np.ones((samples, 1))
    if kind == 1:
        felt = np.zeros((samples, 3))
        felt[5:8, 2] = -rng.uniform(0.8, 2.2) * np.array([1, 0.3, -0.2])
        return felt, np.zeros((samples, 3))
    if kind == 2:
        rate = np.gradient(rng.uniform(-90, 90) * way, 1 / (RATE * _FINE))[::_FINE]
        return np.zeros((samples, 3)), rate[:, None] * rng.dirichlet(np.ones(3))
    time = np.arange(samples) / RATE
    steps = rng.uniform(0.1, 0.35) * np.sin(2 * np.pi * rng.uniform(1.6, 2.2) * time + rng.uniform(0, 6))
    swaying = rng.uniform(10, 30) * np.cos(2 * np.pi * time)
    return steps[:, None] * np.array([0.2, 0.3, 1]), swaying[:, None] * np.ones(3)


_MOVES = {1: circle, 2: swing, 3: tap}


def stream(seconds: float, seed: int, share: float = 0.6) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """int16 [samples, 6] as the sensor gives them, and the gestures: (name's index, first sample, end).

    Moves are one to two seconds apart; `share` of them are gestures.
    """
    rng = np.random.default_rng(seed)
    samples = int(seconds * RATE)
    felt, rates, gestures = np.zeros((samples, 3)), np.zeros((samples, 3)), []
    at = int(rng.uniform(0.8, 1.6) * RATE)
    while True:
        name = int(rng.integers(1, 4)) if rng.random() < share else 0
        acceleration, turning = (_MOVES[name] if name else other)(rng)
        end = at + len(acceleration)
        if end + RATE > samples:
            break
        felt[at:end] += acceleration
        rates[at:end] += turning[: len(acceleration)]
        if name:
            gestures.append((name, at, end))
        at = end + int(rng.uniform(1.0, 2.0) * RATE)
    return _measured(felt, rates, rng), gestures


def _measured(felt: np.ndarray, rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """With gravity in a hand that is not level, an unsteady one, and the sensor's noise, offsets and steps."""
    time = np.arange(len(felt)) / RATE
    tilt = rng.uniform(-0.25, 0.25, 2) + 0.1 * np.sin(0.7 * time[:, None] + rng.uniform(0, 6, 2))
    up = np.stack([np.sin(tilt[:, 0]), np.sin(tilt[:, 1]), np.cos(tilt[:, 0]) * np.cos(tilt[:, 1])], axis=1)
    shaking = rng.normal(0, 0.01, felt.shape) + 0.015 * np.sin(2 * np.pi * 9 * time)[:, None] * rng.normal(size=3)
    accelerations = (felt + up + shaking + rng.normal(0, 0.02, 3)) * G
    turns = (rates + rng.normal(0, 2, rates.shape) + rng.normal(0, 3, 3)) * DEGREE
    both = np.concatenate([accelerations, turns], axis=1)
    samples: np.ndarray = np.clip(np.rint(both), -32768, 32767).astype(np.int16)
    return samples
