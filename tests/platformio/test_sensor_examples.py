"""The examples with sensors: on a stand-in chip whose sensor measures the bytes of the line, and on an emulated board
that receives a sensor's data. Every answer must be the one computed on this computer."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.examples import sensors
from tests.examples.sensors import GESTURE, PERSON, VIBRATION, part
from tigris_pio import compile_model
from tigris_pio.hil.feed import Feed

from .flashed import HOST, answers, flash_with, model_offset, without_platformio
from .project import Project

Copy = Callable[..., Project]
#: An example's environment for the chip, and its firmware's options, which platformio.ini has too.
CHIPS = {VIBRATION: ("esp32c3", {"fast": "4K"}), GESTURE: ("esp32s3", {"fast": "4K"}),
         PERSON: ("esp32s3", {"fast": "9K", "stream": "picture"})}  # fmt: skip
#: For an example of two frameworks, ESP-IDF's own build finds the sources in src/CMakeLists.txt.
SOURCES = "build_src_filter = +<*> -<main_emulated.c>"


@pytest.fixture(params=["gcc", pytest.param("platformio", marks=pytest.mark.thorough)])
def by_the_chip(request: pytest.FixtureRequest, copied: Copy, tmp_path: Path) -> Callable[[Path, bytes], list[str]]:
    """`by_the_chip(example, sent)`: the output of its firmware while the sensor measures `sent`."""

    def run(example: Path, sent: bytes) -> list[str]:
        environment, options = CHIPS[example]
        if request.param == "gcc":
            (model,) = (example / "model").glob("*.tflite")
            return answers(*without_platformio(example, compile_model(model, **options), tmp_path), sent)
        project = copied(example.name, *[SOURCES] * (example != GESTURE))
        project.run("-e", environment)
        build = project.build(environment)
        table = (build / "partitions.bin").read_bytes()
        (plan,) = (build / "tigris").glob("*.tgrs")
        flash = flash_with({0x8000: table, model_offset(table): plan.read_bytes()}, tmp_path / "flash.bin")
        return answers(flash, build / "firmware.elf", sent)

    return run


def test_faults_are_found_by_an_accelerometer(by_the_chip: Callable[[Path, bytes], list[str]]) -> None:
    """Faults and normal data in turn: two rows above the threshold, two below, two above give no alarm. Then random
    int16, the ends of the range, which must not overflow a sum, and a fault that stays."""
    pump = part(VIBRATION, "machine").Pump(1_000_000)
    rough = np.random.default_rng(0).integers(-32768, 32768, (512, 3)).astype(np.int16)
    rough[256:] = np.where(np.arange(256)[:, None] % 32 < 16, -32768, 32767)
    samples = np.concatenate([*(pump.run(1.28, fault) for fault in ("bearing", None, "bearing")), rough,
                              pump.run(2.6, "bearing")])  # fmt: skip
    expected = sensors.vibration(samples, sensors.compiled(VIBRATION, "4K"))
    assert by_the_chip(VIBRATION, samples.astype("<i2").tobytes()) == ["vibration: ok", *expected]
    above = [int(line.split()[0]) > part(VIBRATION, "demo").THRESHOLD for line in expected]
    assert above[:6] == [True, True, False, False, True, True] and not any("alarm" in line for line in expected[:6])
    assert expected[-1].endswith("alarm")


def test_gestures_are_recognised_by_an_inertial_sensor(by_the_chip: Callable[[Path, bytes], list[str]]) -> None:
    """Each gesture once; then one so weak that rounding matters, and the ends of the range."""
    samples, gestures = part(GESTURE, "hand").stream(20, 0)
    rough = np.random.default_rng(0).choice([-32768, -32, -33, 31, 32, 32767], (100, 6)).astype(np.int16)
    names, every = part(GESTURE, "hand").NAMES, np.concatenate([samples, np.round(samples * 0.3), rough])
    said = by_the_chip(GESTURE, every.astype(">i2").tobytes())
    told = sensors.gesture(every, sensors.compiled(GESTURE, "4K"))
    assert said == ["gesture: ok", *(line for line in told if line != "none")]
    assert said[1 : len(gestures) + 1] == [names[name] for name, _, _ in gestures] and len(gestures) >= 3


def test_persons_are_detected_by_a_camera(by_the_chip: Callable[[Path, bytes], list[str]]) -> None:
    """Its pictures are twice as wide and high, and upside down unless its mounting is set."""
    pictures, _ = part(PERSON, "scenes").scenes(3, 11)
    frames = [part(PERSON, "camera").lines(np.kron(picture, np.ones((2, 2, 1), np.uint8))) for picture in pictures]
    said = by_the_chip(PERSON, b"".join(frame.tobytes() for frame in frames))
    expected = sensors.person([part(PERSON, "camera").lines(picture) for picture in pictures],
                              sensors.compiled(PERSON, "16K"))  # fmt: skip
    assert said == ["person: ok", *expected] and len(set(said)) == 4


# ---- on an emulated board, by the example's demo -----------------------------------------------------------------


def expected_of_vibration(plan: Path) -> list[str]:
    machine = part(VIBRATION, "machine")
    pump = machine.Pump(1_000_000)
    streams = [pump.run(2, fault) for fault in (None, *machine.FAULTS)]
    return [line for samples in streams for line in sensors.vibration(samples, plan)]


def expected_of_gestures(plan: Path) -> list[str]:
    return sensors.gesture(part(GESTURE, "hand").stream(20, 0)[0], plan)


def expected_of_persons(plan: Path) -> list[str]:
    pictures, persons = part(PERSON, "scenes").scenes(3, 1_000_001)
    expected = sensors.person([part(PERSON, "camera").lines(picture) for picture in pictures], plan)
    assert [line.endswith("person") for line in expected] == persons.tolist()
    return expected


DEMOS = [
    (VIBRATION, {"pumps": 1, "seconds": 2, "seed": 0}, expected_of_vibration, "4/4 faults found, 0 false alarms"),
    (GESTURE, {"seconds": 20, "seed": 0}, expected_of_gestures, " gestures told, 0 false"),
    (PERSON, {"pictures": 3, "seed": 1}, expected_of_persons, "3/3 pictures right"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("example", "words", "expected", "said"), DEMOS, ids=["vibration", "gesture", "person"])
def test_the_demo_works(
    copied: Copy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], example: Path,
    words: dict[str, int], expected: Callable[[Path], list[str]], said: str,
) -> None:  # fmt: skip
    project = copied(example.name)
    assert "Model: [" in project.run("-t", "upload")
    (plan,) = (project.build("emu_rv32") / "tigris").glob("*.tgrs")
    found: list[str] = []
    answer = Feed.answer
    monkeypatch.setattr(Feed, "answer", lambda feed: found.append(line := answer(feed)) or line)
    assert part(example, "demo").demo(f"socket://{HOST}:{project.port('emu_rv32')}", 115200, **words)
    assert capsys.readouterr().out.endswith(f"{said}\n")
    assert found == expected(plan)
