"""Features of made-up sounds: 40 channels every 10 ms, 0 to 26, as microWakeWord's front end gives them for speech.

The word is two syllables: a pair of peaks that climbs through the channels, then one that falls. All else is syllables
that climb or fall alone, in the wrong order or with too long a pause, over noise.
"""

from __future__ import annotations

import numpy as np

CHANNELS, ROWS = 40, 3  #: of one step, which is 30 ms
LOUDEST = 26.0
WORD_ROWS = 60


def _syllable(rows: int, begin: float, slope: float, loudness: float, rng: np.random.Generator) -> np.ndarray:
    t, channel = np.arange(rows)[:, None], np.arange(CHANNELS)[None, :]
    place = begin + slope * t
    envelope = np.sin(np.pi * (t + 0.5) / rows)
    peaks = np.exp(-(((channel - place) / 2.5) ** 2)) + 0.7 * np.exp(-(((channel - place - 11) / 3.0) ** 2))
    sound: np.ndarray = loudness * envelope * peaks * (1 + 0.1 * rng.standard_normal())
    return sound


def word(rng: np.random.Generator) -> np.ndarray:
    """[WORD_ROWS, CHANNELS]: the word, said a little differently each time."""
    rows, pause = int(rng.integers(22, 27)), int(rng.integers(2, 6))
    loudness, begin = rng.uniform(13, 24), rng.uniform(5, 8)
    rise = _syllable(rows, begin, rng.uniform(0.3, 0.4), loudness, rng)
    fall = _syllable(rows, begin + 9, -rng.uniform(0.3, 0.4), loudness * rng.uniform(0.8, 1.1), rng)
    sound = np.concatenate([rise, np.zeros((pause, CHANNELS)), fall])
    return np.concatenate([sound, np.zeros((WORD_ROWS - len(sound), CHANNELS))])


def other(rng: np.random.Generator) -> np.ndarray:
    """The same length of something else."""
    sound = np.zeros((WORD_ROWS, CHANNELS))
    for _ in range(int(rng.integers(0, 3))):
        rows, first = int(rng.integers(14, 32)), int(rng.integers(0, 40))
        slope = rng.choice([-1, 1]) * rng.uniform(0.0, 0.6)
        part = _syllable(rows, rng.uniform(3, 30), slope, rng.uniform(8, 24), rng)[: WORD_ROWS - first]
        sound[first : first + len(part)] += part
    if rng.random() < 0.3:  # the word's syllables in the wrong order
        said = word(rng)
        sound = np.concatenate([said[30:], said[:30]])
    return sound


def with_noise(sound: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What a microphone hears, in whole steps of LOUDEST / 255."""
    heard = np.clip(sound + np.abs(rng.normal(0, rng.uniform(0.5, 2.0), sound.shape)), 0, LOUDEST)
    features: np.ndarray = (np.rint(heard / LOUDEST * 255) / 255 * LOUDEST).astype(np.float32)
    return features


def stream(seconds: float, words: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps [steps, ROWS, CHANNELS] with `words` words in them, and the step in which each word ends."""
    rng = np.random.default_rng(seed)
    steps = int(seconds * 100) // ROWS
    sound, ends = np.zeros((steps * ROWS, CHANNELS)), []
    slots = steps * ROWS // (2 * WORD_ROWS)
    said = set(rng.choice(slots, words, replace=False).tolist())
    for slot in range(slots):
        first = slot * 2 * WORD_ROWS + int(rng.integers(0, WORD_ROWS))
        sound[first : first + WORD_ROWS] = word(rng) if slot in said else other(rng)
        if slot in said:
            ends.append((first + WORD_ROWS - 1) // ROWS)
    return with_noise(sound, rng).reshape(steps, ROWS, CHANNELS), np.array(ends)
