"""The front end of examples/wake-word gives every number of TensorFlow's, by the package pymicro-features."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.platformio.project import load_by_path
from tests.runtime.build import C99, compiler

from .front_end import CHANNELS, SOURCES, features

RATE = 16000
TIME = np.arange(2 * RATE) / RATE
SWEEP = np.sin(2 * np.pi * (50 * TIME + 1950 * TIME**2))


def vowels() -> np.ndarray:
    """A buzz of 130 Hz through two resonances that move, with pauses: speech as far as a front end can tell."""
    total = np.zeros(len(TIME))
    for harmonic in range(1, 50):
        near = sum(1 / (1 + ((130 * harmonic - place) / 90) ** 2)
                   for place in (500 + 250 * np.sin(4 * TIME), 1500 + 900 * np.cos(7 * TIME)))
        total += near * np.sin(2 * np.pi * 130 * harmonic * TIME + harmonic)
    return 6000 * total * (np.sin(2 * np.pi * 1.7 * TIME) > -0.3)


def clicks(rng: np.random.Generator) -> np.ndarray:
    """Single samples of both ends of the range in silence. The lower end has no opposite in 16 bits."""
    audio = np.zeros(len(TIME))
    audio[rng.integers(0, len(audio), 80)] = -32768
    audio[rng.integers(0, len(audio), 40)] = 32767
    audio[RATE:] += rng.normal(0, 3, len(audio) - RATE)
    return audio


def sounds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, len(TIME))
    tones = [level * np.sin(2 * np.pi * hertz * TIME[:2400]) for level in (1, 40, 9000, 32767)
             for hertz in (60, 125, 440, 1000, 3999, 4000, 7499, 7900)]
    made = {
        "silence": 0 * TIME, "below the range": 0 * TIME - 32768, "fastest": 32768 * (-1) ** np.arange(len(TIME)),
        **{f"noise of {level}": level * noise for level in (0.5, 3, 50, 1000, 8000)},
        "sweep": 20000 * SWEEP, "clipped sweep": 90000 * SWEEP, "square sweep": 40000 * np.sign(SWEEP),
        "any samples": rng.integers(-32768, 32768, len(TIME)), "ends": rng.choice([-32768, 32767], len(TIME)),
        "tones": np.concatenate(tones), "vowels": vowels(), "vowels in noise": vowels() + 700 * noise,
        "clicks": clicks(rng), "loud, quiet": 30000 * SWEEP * (TIME % 0.5 < 0.2) + 5 * noise,
    }  # fmt: skip
    return {name: np.clip(np.rint(audio), -32768, 32767).astype(np.int16) for name, audio in made.items()}


def reference(audio: np.ndarray) -> np.ndarray:
    from pymicro_features import MicroFrontend

    front, data, rows = MicroFrontend(), audio.astype("<i2").tobytes(), []
    while len(data) >= 320:
        made = front.process_samples(data[:320])
        data = data[2 * made.samples_read :]
        rows += [made.features] if made.features else []
    return np.rint(np.array(rows) / 0.0390625).astype(np.uint16)


def test_every_number_is_the_references() -> None:
    """The sounds reach all levels, else they would not look at every part of the front end."""
    levels = []
    for name, audio in sounds().items():
        found, quantised = features(audio)  # no row before a window is complete
        assert found.shape == (len(audio) // 160 - 2, CHANNELS), name
        assert np.array_equal(found, reference(audio)), name
        assert np.array_equal(quantised, np.minimum((found.astype(int) * 256 + 333) // 666, 255) - 128), name
        levels.append(found.reshape(-1))
    all_levels = np.concatenate(levels)
    assert all_levels.min() == 0 and all_levels.max() > 660
    assert len(np.unique(all_levels)) > 300


def test_tables_are_as_written() -> None:
    module = load_by_path("make_tables", SOURCES.parent / "make_tables.py")
    assert module.source() == (SOURCES / "tables.c").read_text("utf-8")


@pytest.mark.parametrize("machine", ["clang", "cortex-m4", "lx106", "rv32imc"])
def test_no_warnings(machine: str, tmp_path: Path) -> None:
    """By compilers beside the one that the other tests use. Neither heap nor floating point nor globals are needed."""
    command = [*compiler(machine), *C99, "-Os", "-c", *map(str, sorted(SOURCES.glob("*.c")))]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    if machine != "rv32imc":
        return
    listing = subprocess.run(["riscv64-unknown-elf-nm", *(path.name for path in tmp_path.glob("*.o"))], cwd=tmp_path,
                             capture_output=True, text=True, check=True).stdout
    names = {tuple(line.split()[-2:]) for line in listing.splitlines() if line and not line.endswith(":")}
    assert {name for kind, name in names if kind == "U" and not name.startswith("speech_")} <= {
        "memcpy", "memmove", "memset"}  # fmt: skip
    assert not [name for kind, name in names if kind in "bBdDC"]
