"""The wake word's front end in C, built for this machine with the sanitizers."""

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.runtime.build import C99, SANITIZERS

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "wake-word"
SOURCES = EXAMPLE / "lib" / "speech_features" / "src"
CHANNELS = 40


@functools.cache
def program() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tigris-front-end-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sources = [Path(__file__).with_suffix(".c"), *sorted(SOURCES.glob("*.c"))]
    command = ["gcc", *C99, *SANITIZERS, f"-I{SOURCES}", *map(str, sources), "-o", str(folder / "front_end")]
    subprocess.run(command, check=True)
    return folder / "front_end"


def features(audio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the audio, int16 at 16 kHz: uint16 and int8 [rows, 40]."""
    written = subprocess.run([program()], input=audio.astype("<i2").tobytes(), capture_output=True, check=True).stdout
    rows = np.frombuffer(written, np.uint8).reshape(-1, 3 * CHANNELS)
    return rows[:, : 2 * CHANNELS].copy().view("<u2"), rows[:, 2 * CHANNELS :].copy().view(np.int8)
