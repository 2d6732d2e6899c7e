"""Expected answers of the sensor examples' boards: their plans on this machine, and their C code again in Python."""

import functools
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.platformio.project import load_by_path
from tigris_pio import Compiled, Session, compile_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
VIBRATION, GESTURE = EXAMPLES / "vibration-anomaly", EXAMPLES / "gesture-1d"
PERSON = EXAMPLES / "person-detection-esp32s3-camera"


@functools.cache
def part(example: Path, name: str) -> ModuleType:
    """`name`.py of the example's folder train, which finds the others there; or its demo."""
    folder = str(example / "train")
    if folder not in sys.path:
        sys.path.append(folder)
    path = example / "demo.py" if name == "demo" else example / "train" / f"{name}.py"
    return load_by_path(f"{example.name} demo" if name == "demo" else name, path)


@functools.cache
def compiled(example: Path, memory: str) -> Compiled:
    (model,) = (example / "model").glob("*.tflite")
    return compile_model(model, fast=memory)


def vibration(samples: np.ndarray, plan: Compiled | Path) -> list[str]:
    """The lines of the board for a stream of samples."""
    text = (VIBRATION / "src" / "threshold.h").read_text("utf-8")
    threshold, alarm_rows = (int(re.findall(rf"#define {name} (\d+)", text)[0]) for name in ("THRESHOLD", "ALARM_ROWS"))
    lines, suspects = [], 0
    with Session(plan) as session:
        source, output = session.inputs[0], session.outputs[0]
        step = int(output.scale * 255 * 16 * 65536 + 0.5)
        for row in part(VIBRATION, "spectrum").rows(samples).astype(np.int64):
            made = session.run_raw({source.name: (row - 128).astype(np.int8)[np.newaxis]})[output.name]
            steps = (made.reshape(-1).astype(np.int64) - output.zero_point) * step
            missed = np.sign(steps) * (np.abs(steps) // 65536) - 16 * row
            score = int((missed**2).sum()) // len(row)
            suspects = suspects + 1 if score > threshold else 0
            lines.append(f"{score} alarm" if suspects >= alarm_rows else f"{score}")
    return lines


def gesture(samples: np.ndarray, plan: Compiled | Path) -> list[str]:
    """The lines of the board for a stream of samples: a name for each answer of the network."""
    names, lines, recent, rest = part(GESTURE, "hand").NAMES, [], np.zeros((0, 4), np.int64), 0
    steps = np.clip(np.floor((samples.astype(np.float64) + 32) / 64), -128, 127).astype(np.int8)
    with Session(plan) as session:
        source, output = session.inputs[0], session.outputs[0]
        cutoff = int(0.7 * 3 / output.scale)
        for end in range(64, len(samples) + 1, 5):
            made = session.run_raw({source.name: steps[end - 64 : end][np.newaxis]})[output.name]
            recent = np.concatenate([recent, made.reshape(1, -1).astype(np.int64) - output.zero_point])[-3:]
            above = np.flatnonzero(recent.sum(axis=0)[1:] > cutoff)
            told = int(above[-1]) + 1 if len(above) else 0
            if rest > 0:
                told, rest = 0, rest - 1
            elif told:
                rest = 10
            lines.append(names[told])
    return lines


def person(pictures: list[np.ndarray], plan: Compiled | Path) -> list[str]:
    """The lines of the board for pictures' lines, uint8 [height, 2 width] each."""
    lines = []
    with Session(plan) as session:
        source, output = session.inputs[0], session.outputs[0]
        for sent in pictures:
            real = part(PERSON, "camera").grey(sent).astype(np.float32) / np.float32(255)
            stored = np.clip(np.rint(real / np.float32(source.scale)) + source.zero_point, -128, 127).astype(np.int8)
            made = session.run_raw({source.name: stored.reshape(source.stored_shape)})[output.name].reshape(-1)
            likely = np.float32(int(made[1]) - output.zero_point) * np.float32(output.scale)
            score = int(likely * np.float32(256) + np.float32(0.5))
            lines.append(f"{score} person" if score > 128 else f"{score}")
    return lines
