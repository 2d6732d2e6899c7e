"""`platform: tigris` of sensor in ESPHome itself: rows of other sensors, and digits in a camera's picture."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.platformio.project import ROOT
from tigris_pio import Session, compile_model

from .project import build, configure, esphome, generate

pytestmark = [pytest.mark.vendor("TIGRIS_ESPHOME"), pytest.mark.thorough, pytest.mark.timeout(600)]

GESTURE = ROOT / "examples" / "gesture-1d" / "model" / "gesture.tflite"
DIGITS = ROOT / "examples" / "digits" / "model" / "digits.onnx"


def test_a_program_reads_its_rows_and_pictures(tmp_path: Path) -> None:
    """Six sensors give 3 windows of 64 rows, or 12 that overlap. A row without all states does not count. Pictures
    have three digits of twice the model's size, at odd places; the second is cut short, and is left out."""
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 40, (3 * 64, 6)).astype(np.float32)
    images = np.load(DIGITS.with_name("digits_test.npz"))["images"][:9].reshape(3, 3, 8, 8)
    pixels = np.rint(images * 255).astype(np.uint8)
    pictures = rng.integers(0, 256, (3, 30, 70), dtype=np.uint8)
    for picture, digits in zip(pictures, pixels, strict=True):
        for place, digit in enumerate(digits):
            picture[7:23, 3 + 22 * place : 19 + 22 * place] = np.kron(digit, np.ones((2, 2), np.uint8))
    (tmp_path / "rows.raw").write_bytes(rows.tobytes())
    (tmp_path / "pictures.raw").write_bytes(pictures.tobytes())
    names = "abcdef"
    templates = "".join(f"  - {{platform: template, id: {name}, update_interval: never}}\n" for name in names)
    publish = " ".join(f"id({name}).publish_state(row[{place}]);" for place, name in enumerate(names))
    update = " ".join(f"id({name}).update();" for name in ("kind", "still", "sliding"))
    gesture = f"platform: tigris, model: {GESTURE}, sources: [{', '.join(names)}]"
    printed = "on_value: [lambda: 'printf(\"{} %.9g\\n\", x);']"
    crops = ", ".join(f"{{x: {3 + 22 * place}, y: 7, width: 16, height: 16}}" for place in range(3))
    configure(tmp_path, f"""\
  on_boot:
    - lambda: |-
        FILE *file = fopen("rows.raw", "rb");
        float row[6];
        id(a).publish_state(0); {update}
        while (fread(row, sizeof row, 1, file) == 1) {{ {publish} {update} }}
        file = fopen("pictures.raw", "rb");
        uint8_t picture[30 * 70];
        for (int number = 0; fread(picture, sizeof picture, 1, file) == 1; number++)
          id(meter).feed(picture, number == 1 ? sizeof picture - 1 : sizeof picture);
        exit(0);
host:""", f"""
sensor:
{templates}
  - {{{gesture}, id: kind, memory: 4K, {printed.format("kind")}}}
  - {{{gesture}, id: still, output: 0, {printed.format("still")}}}
  - {{{gesture}, id: sliding, hop: 16, {printed.format("sliding")}}}
  - platform: tigris
    id: meter
    model: {DIGITS}
    camera: {{format: grayscale, width: 70, height: 30, deviation: 255, crops: [{crops}]}}
    {printed.format("meter")}
""")
    done = subprocess.run([build(generate(tmp_path))], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "A picture has 2099 bytes, which are too few" in done.stdout
    found = {name: [float(value) for value in re.findall(rf"(?m)^{name} (\S+)$", done.stdout)]
             for name in ("kind", "still", "sliding", "meter")}  # fmt: skip
    gestures = answers(GESTURE, rows.reshape(3, 1, 64, 6))
    assert found["kind"] == gestures.argmax(axis=1).tolist()
    windows = np.concatenate([np.zeros((64, 6), np.float32), rows])
    overlapping = np.stack([windows[end - 64 : end] for end in range(80, len(windows) + 1, 16)])
    assert found["sliding"] == answers(GESTURE, overlapping[:, None]).argmax(axis=1).tolist()
    assert np.allclose(found["still"], gestures[:, 0], atol=1e-6)
    digits = answers(DIGITS, pixels.reshape(9, 1, 1, 8, 8) / np.float32(255)).argmax(axis=1).reshape(3, 3)
    assert found["meter"] == (digits @ [100, 10, 1])[[0, 2]].tolist() and len(set(found["meter"])) == 2


def answers(model: Path, inputs: np.ndarray) -> np.ndarray:
    """The model's outputs by the runtime, a row for each input."""
    with Session(compile_model(model)) as session:
        (source,), (output,) = session.inputs, session.outputs
        steps = inputs.reshape(-1, *source.stored_shape) / np.float32(source.scale)
        away = np.copysign(np.floor(np.abs(steps) + np.float32(0.5)), steps)
        rounded = away if model.suffix == ".tflite" else np.rint(steps)
        stored = np.clip(rounded + source.zero_point, -128, 127).astype(np.int8)
        raw = np.stack([session.run_raw({source.name: x})[output.name].reshape(-1) for x in stored])
        return (raw - float(output.zero_point)) * output.scale


@pytest.mark.parametrize(
    ("options", "command", "message"),
    [
        ("sources: [a], camera: {width: 8, height: 8, format: RGB565, crops: {width: 8, height: 8}}", "config",
         "Cannot specify more than one of"),
        ("camera: {width: 8, height: 8, format: JPEG, crops: {width: 8, height: 8}}", "config", "Unknown value 'JPEG'"),
        ("camera: {width: 8, height: 8, format: RGB565, crops: {x: 1, width: 8, height: 8}}", "config",
         "a crop ends at x = 9, beyond 8"),
        ("output: 10", "compile", "digits.onnx: has 10 numbers as output; give an `output` below that"),
        ("sources: [a, a, a]", "compile", "digits.onnx: its input [1, 1, 8, 8] is no number of rows of these sources"),
    ],
)  # fmt: skip
def test_options_are_checked(options: str, command: str, message: str, tmp_path: Path) -> None:
    configure(tmp_path, "host:", f"""
sensor:
  - {{platform: template, id: a}}
  - {{platform: tigris, name: digit, model: {DIGITS}, {options}}}
""")
    status, flags = (2, ()) if command == "config" else (1, ("--only-generate",))
    said = " ".join(esphome(tmp_path, command, *flags, status=status).split())
    assert message in said and "Traceback" not in said
