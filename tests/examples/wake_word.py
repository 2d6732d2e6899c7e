"""examples/wake-word on this machine: its front end in C, its plan, and what wake_word.c does with the answers."""

import functools
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.platformio.project import load_by_path
from tigris_pio import Compiled, Session, compile_model

from .front_end import EXAMPLE, features

ROWS, RATE = 3, 16000
#: Seconds around a word's end in which it is to be heard.
EARLY, LATE = 0.1, 0.3


@functools.cache
def sounds() -> ModuleType:
    return load_by_path("sounds", EXAMPLE / "train" / "sounds.py")


@functools.cache
def demo() -> ModuleType:
    assert sys.modules.setdefault("sounds", sounds())
    return load_by_path("wake_word_demo", EXAMPLE / "demo.py")


@functools.cache
def compiled() -> Compiled:
    return compile_model(EXAMPLE / "model" / "wake.onnx", fast="8K", state={"next_past": "past"})


@functools.cache
def constant(name: str) -> float:
    text = (EXAMPLE / "src" / "wake_word.h").read_text("utf-8")
    return float(re.findall(rf"#define WAKE_WORD_{name} ([0-9.]+)", text)[0])


def listen(
    audio: np.ndarray, plan: Compiled | Path, window: int | None = None, cutoff: float | None = None
) -> list[str]:
    """The lines of the emulated board for this audio, of whole chunks of 10 ms; window and cutoff are the example's."""
    _, rows = features(audio)
    window, lines, recent = window or int(constant("WINDOW")), [], [0]
    with Session(plan) as session:
        source, output = session.inputs[0], session.outputs[0]
        count = source.shape[1]
        most = int((cutoff or constant("CUTOFF")) * window / output.scale)
        for first in range(0, len(rows) - count + 1, count):
            step = rows[first : first + count].reshape(source.stored_shape)
            answer = int(session.run_raw({source.name: step})[output.name].item()) - output.zero_point
            recent = [*recent, answer][-window:]
            heard = sum(recent) > most
            lines.append(f"{answer} heard" if heard else f"{answer}")
            if heard:
                recent = [0]
                session.reset()
    return lines


def times(lines: list[str]) -> np.ndarray:
    """Seconds at which something was heard."""
    steps = [index for index, line in enumerate(lines) if line.endswith("heard")]
    return (np.array(steps, float) * ROWS + ROWS + 2) / 100


def right(heard: np.ndarray, ends: np.ndarray) -> tuple[int, int]:
    """How many words were missed, and how many alarms were false."""
    late = heard[:, None] - ends[None, :] / RATE
    near = (late > -EARLY) & (late < LATE)
    return int((~near.any(axis=0)).sum()), int((~near.any(axis=1)).sum())
