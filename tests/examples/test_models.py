"""The examples' models and sensors."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.examples import sensors
from tests.examples.sensors import EXAMPLES, GESTURE, PERSON, VIBRATION, part
from tests.runtime.build import C99
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.format.enums import DType, OpKind

from .wake_word import compiled, listen, right, sounds, times

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "model"


def test_accuracy_on_the_test_split() -> None:
    import onnxruntime

    data = np.load(MODEL / "digits_test.npz")
    session = onnxruntime.InferenceSession(MODEL / "digits.onnx", providers=["CPUExecutionProvider"])
    scores = [session.run(["probability"], {"image": image[np.newaxis]})[0] for image in data["images"]]
    best = np.concatenate(scores).argmax(axis=1)
    assert len(best) == 450
    assert (best == data["labels"]).mean() >= 0.97


# The model that examples/wake-word ships hears its word in sound, and nothing else.


def test_every_word_is_heard_and_nothing_else() -> None:
    """As loud as it is trained on, and louder and quieter."""
    words = 0
    for seed, scale in ((0, 1), (1, 0.25), (1, 2), (2, 1)):
        audio, ends = sounds().stream(20, seed)
        louder = np.clip(audio * scale, -32768, 32767).astype(np.int16)
        assert right(times(listen(louder, compiled())), ends) == (0, 0), (seed, scale)
        words += len(ends)
    assert words > 18


def test_it_runs_in_int8_and_its_past_is_a_ring() -> None:
    program, report = compiled().plan.program, compiled().report
    assert {op.dtype for op in program.ops} == {DType.INT8} and not report["warnings"]
    assert [op.kind for op in program.ops if op.kind in (OpKind.SELECT, OpKind.COPY)] == []
    assert report["memory"]["states"] == 57 * 40
    assert report["memory"]["fast_peak"] < 5120


# The models that the examples with sensors ship do what their READMEs say; and what all examples keep to.

EXAMPLES_OF_C = ((VIBRATION, "4K"), (GESTURE, "4K"), (PERSON, "16K"))


def test_pumps_in_order_give_no_alarm_and_faults_do() -> None:
    plan, found, suspect = sensors.compiled(VIBRATION, "4K"), 0, 0
    machine, total = part(VIBRATION, "machine"), 0
    for seed in range(2000, 2012):
        pump = machine.Pump(seed)
        in_order = sensors.vibration(pump.run(5), plan)
        assert not [line for line in in_order if line.endswith("alarm")], seed
        suspect, total = suspect + sum(int(line) > 5580 for line in in_order), total + len(in_order)
        found += sum(sensors.vibration(pump.run(5, fault), plan)[-1].endswith("alarm") for fault in machine.FAULTS)
    assert found >= 0.9 * 12 * 4
    assert suspect <= 0.02 * total


def test_every_gesture_is_told_once() -> None:
    hand, plan = part(GESTURE, "hand"), sensors.compiled(GESTURE, "4K")
    for seed in range(500, 503):
        samples, gestures = hand.stream(40, seed)
        told = [line for line in sensors.gesture(samples, plan) if line != "none"]
        assert told == [hand.NAMES[name] for name, _, _ in gestures], seed


def test_most_pictures_are_told_rightly() -> None:
    pictures, persons = part(PERSON, "scenes").scenes(24, 77)
    sent = [part(PERSON, "camera").lines(picture) for picture in pictures]
    seen = [line.endswith("person") for line in sensors.person(sent, sensors.compiled(PERSON, "16K"))]
    assert (np.array(seen) == persons).mean() >= 0.85


#: With what their headers are found: the runtime's, the emulated boards', and stand-ins of the frameworks.
INCLUDES = ("runtime/include", "tigris_pio/platformio/emulated/support/include",
            "tests/platformio/espressif_like/chip", "tests/esp_idf/stubs")  # fmt: skip


@pytest.mark.parametrize(("example", "memory"), EXAMPLES_OF_C, ids=lambda value: str(value)[-9:])
def test_networks_run_in_int8_and_firmware_compiles(example: Path, memory: str, tmp_path: Path) -> None:
    """Without warnings of either compiler."""
    compiled = sensors.compiled(example, memory)
    assert {op.dtype for op in compiled.plan.program.ops} == {DType.INT8} and not compiled.report["warnings"]
    header, name = render_model_header(compiled.plan, compiled.data), compiled.plan.program.name.upper()
    text = f"#include <tigris_port.h>\n{header}\nextern const tigris_model TIGRIS_MODEL_{name};\n"
    (tmp_path / "tigris_models.h").write_text(text, "utf-8")
    sources = sorted((example / "src").glob("*.c"))
    assert len(sources) >= 2
    folders = [f"-I{EXAMPLES.parent / folder}" for folder in INCLUDES]
    command = ["gcc", *C99, "-fsyntax-only", f"-I{tmp_path}", *folders, *map(str, sources)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_every_example_is_in_the_index() -> None:
    index = (EXAMPLES / "README.md").read_text("utf-8")
    folders = {path.parent.name for path in EXAMPLES.glob("*/platformio.ini")}
    assert {name for name in folders if f"]({name}/README.md)" not in index} == set()
