"""Audio of made-up speech, 16 kHz: a word of two syllables, other sounds, noise.

A syllable is a buzz, as vocal cords make it, through two resonances that move together, as a mouth makes them. In the
word the resonances climb and then fall. All else is syllables that climb or fall alone, in the wrong order or with too
long a pause between them, vowels that stay, hisses and clicks.

    python sounds.py word.wav [SEED]    20 s of it, for a loudspeaker; says when the words end
"""

from __future__ import annotations

import sys
import wave

import numpy as np

RATE = 16000


def syllable(seconds: float, low: float, change: float, rng: np.random.Generator) -> np.ndarray:
    """Its resonances begin at `low` hertz and at about three times that, and end `change` times as high."""
    samples = int(seconds * RATE)
    way = (np.arange(samples) + 0.5) / samples
    pitch = rng.uniform(90, 220) * (1 + rng.uniform(-0.15, 0.15) * way)
    first = low * change**way
    second = first * rng.uniform(2.7, 3.1)
    turns = 2 * np.pi * np.cumsum(pitch) / RATE
    sound = np.zeros(samples)
    for harmonic in range(1, int(5000 / pitch.max())):
        near = (1 / (1 + ((harmonic * pitch - place) / (0.12 * place + 40)) ** 2) for place in (first, second))
        sound += sum(near) * np.sin(harmonic * turns + rng.uniform(0, 2 * np.pi))
    sound *= np.sqrt(np.sin(np.pi * way))
    loud: np.ndarray = sound / np.abs(sound).max()
    return loud


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE))


def climbing(rng: np.random.Generator) -> np.ndarray:
    return syllable(rng.uniform(0.18, 0.22), rng.uniform(330, 420), rng.uniform(1.8, 2.2), rng)


def falling(rng: np.random.Generator) -> np.ndarray:
    return syllable(rng.uniform(0.18, 0.22), rng.uniform(680, 800), rng.uniform(0.45, 0.55), rng)


def word(rng: np.random.Generator) -> np.ndarray:
    """The word, said a little differently each time."""
    return np.concatenate([climbing(rng), silence(rng.uniform(0.02, 0.06)), falling(rng) * rng.uniform(0.7, 1.2)])


def other(rng: np.random.Generator) -> np.ndarray:
    """About as long, and not the word."""
    steady = syllable(rng.uniform(0.1, 0.4), rng.uniform(300, 900), 1, rng)
    return (
        lambda: np.concatenate([falling(rng), silence(rng.uniform(0.02, 0.06)), climbing(rng)]),
        lambda: np.concatenate([climbing(rng), silence(rng.uniform(0.2, 0.35)), falling(rng)]),
        lambda: climbing(rng),
        lambda: falling(rng),
        lambda: np.concatenate([climbing(rng), silence(0.04), climbing(rng)]),
        lambda: np.concatenate([falling(rng), silence(0.04), falling(rng)]),
        lambda: np.concatenate([climbing(rng), silence(0.04), steady]),
        lambda: np.concatenate([steady, silence(0.04), falling(rng)]),
        lambda: rng.normal(0, 0.3, int(rng.uniform(0.05, 0.4) * RATE)),
        lambda: np.concatenate([[1.0], silence(rng.uniform(0.05, 0.2)), [-1.0]]),
    )[rng.integers(10)]()


def stream(seconds: float, seed: int, share: float = 0.35) -> tuple[np.ndarray, np.ndarray]:
    """Audio, int16, and the samples where its words end; `share` of what is heard in it are words.

    Sounds come about a second apart, their peaks 14 to 38 dB above the noise.
    """
    rng = np.random.default_rng(seed)
    noise = 10 ** rng.uniform(1, 2.3)
    audio, ends, at = rng.normal(0, noise, int(seconds * RATE)), [], int(0.6 * RATE)
    while at < len(audio) - 1.2 * RATE:
        said = rng.random() < share
        sound = word(rng) if said else other(rng)
        audio[at : at + len(sound)] += sound * noise * 10 ** rng.uniform(0.7, 1.9)
        at += len(sound)
        if said:
            ends.append(at)
        at += int(rng.uniform(0.4, 1.0) * RATE)
    return np.clip(np.rint(audio), -32768, 32767).astype(np.int16), np.array(ends)


def main(path: str, seed: str = "0") -> None:
    audio, ends = stream(20, int(seed))
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((audio / np.abs(audio).max() * 32000).astype("<i2").tobytes())
    print("words end at", ", ".join(f"{end / RATE:.2f} s" for end in ends))


if __name__ == "__main__":
    main(*sys.argv[1:])
