"""The examples with sensors as a user copies them: each on an emulated board, which is sent what a sensor measures, and
on a stand-in chip whose sensor measures what comes on the line. Every answer is the one computed on this machine."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.examples import sensors
from tests.examples.sensors import GESTURE, PERSON, VIBRATION, part
from tests.runtime import test_rows as rows
from tigris_pio import Compiled, Session, compile_model
from tigris_pio.hil.feed import Feed
from tigris_pio.platformio import partitions

from .flashed import FLASH_BYTES, chip_running
from .project import Project

HOST = "127.0.0.1"
Copy = Callable[..., Project]


def emulated(copied: Copy, example: Path) -> tuple[str, Path]:
    """(port of its emulated board, the plan that was flashed)"""
    project = copied(example.name)
    assert "Model: [" in project.run("-t", "upload")
    port = json.loads((project.state("emu_rv32") / "board.json").read_text("utf-8"))["port"]
    (plan,) = (project.build("emu_rv32") / "tigris").glob("*.tgrs")
    return f"socket://{HOST}:{port}", plan


def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every line that boards answer from now on."""
    answers, answer = [], Feed.answer

    def listen(feed: Feed) -> str:
        answers.append(answer(feed))
        return answers[-1]

    monkeypatch.setattr(Feed, "answer", listen)
    return answers


def said_by_the_chip(project: Project, environment: str, folder: Path, sent: bytes) -> list[str]:
    """What firmware prints on a stand-in chip with all that is in its flash, until its sensor has nothing more."""
    project.run("-e", environment)
    build, flash = project.build(environment), bytearray(b"\xff" * FLASH_BYTES)
    table = (build / "partitions.bin").read_bytes()
    place = partitions.find(partitions.parse_binary(table), "model")
    assert place is not None
    (plan,) = (build / "tigris").glob("*.tgrs")
    for offset, data in ((0x8000, table), (place.offset, plan.read_bytes())):
        flash[offset : offset + len(data)] = data
    (folder / "flash.bin").write_bytes(flash)
    with chip_running(folder / "flash.bin", build / "firmware.elf") as port, \
            socket.create_connection((HOST, int(port.rsplit(":", 1)[1])), timeout=60) as line:  # fmt: skip
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(4096), b"")).decode().splitlines()


# ---- vibration ---------------------------------------------------------------------------------------------------


def test_faults_are_found_on_an_emulated_board(
    copied: Copy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port, plan = emulated(copied, VIBRATION)
    demo, answers = part(VIBRATION, "demo"), heard(monkeypatch)
    assert demo.demo(port, 115200, pumps=1, seconds=2, seed=0)
    assert capsys.readouterr().out.endswith("demo: 4/4 faults found, 0 false alarms\n")
    pump = part(VIBRATION, "machine").Pump(1_000_000)
    streams = [pump.run(2, fault) for fault in (None, *part(VIBRATION, "machine").FAULTS)]
    assert answers == [line for samples in streams for line in sensors.vibration(samples, plan)]
    # Two rows above the threshold, two below, two above: no alarm.
    mixed = np.concatenate([pump.run(1.28, fault) for fault in ("bearing", None, "bearing")])
    found = demo.feel(port, 115200, mixed)
    assert found == sensors.vibration(mixed, plan) and not [line for line in found if "alarm" in line]
    assert [int(line) > demo.THRESHOLD for line in found] == [True, True, False, False, True, True]
    # Any int16, and the ends of the range, which no sum may leave behind.
    rough = np.random.default_rng(0).integers(-32768, 32768, (1024, 3)).astype(np.int16)
    rough[512:] = np.where(np.arange(512)[:, None] % 32 < 16, -32768, 32767)
    assert demo.feel(port, 115200, rough) == sensors.vibration(rough, plan)


def test_faults_are_found_by_an_accelerometer(copied: Copy, tmp_path: Path) -> None:
    project = copied(VIBRATION.name, "build_src_filter = +<*> -<main_emulated.c>")
    samples = part(VIBRATION, "machine").Pump(3).run(2.6, "bearing")
    said = said_by_the_chip(project, "esp32c3", tmp_path, samples.astype("<i2").tobytes())
    expected = sensors.vibration(samples, sensors.compiled(VIBRATION, "4K"))
    assert said == ["vibration: ok", *expected] and said[-1].endswith("alarm")


# ---- gestures ----------------------------------------------------------------------------------------------------


def test_gestures_are_told_on_an_emulated_board(
    copied: Copy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port, plan = emulated(copied, GESTURE)
    answers = heard(monkeypatch)
    assert part(GESTURE, "demo").demo(port, 115200, seconds=20, seed=0)
    samples, gestures = part(GESTURE, "hand").stream(20, 0)
    assert len(gestures) >= 3
    assert capsys.readouterr().out.endswith(f"demo: {len(gestures)}/{len(gestures)} gestures told, 0 false\n")
    assert answers == sensors.gesture(samples, plan)
    # Ends of the range too.
    rough = np.random.default_rng(0).choice([-32768, -32, -33, 31, 32, 32767], (100, 6)).astype(np.int16)
    answers.clear()
    part(GESTURE, "demo").feel(port, 115200, rough)
    assert answers == sensors.gesture(rough, plan)


def test_gestures_are_told_by_an_inertial_sensor(copied: Copy, tmp_path: Path) -> None:
    project = copied(GESTURE.name)
    samples, gestures = part(GESTURE, "hand").stream(20, 0)
    said = said_by_the_chip(project, "esp32s3", tmp_path, samples.astype(">i2").tobytes())
    names = part(GESTURE, "hand").NAMES
    assert said == ["gesture: ok", *(names[name] for name, _, _ in gestures)]


# ---- persons -----------------------------------------------------------------------------------------------------


def test_persons_are_seen_on_an_emulated_board(
    copied: Copy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port, plan = emulated(copied, PERSON)
    answers = heard(monkeypatch)
    assert part(PERSON, "demo").demo(port, 115200, pictures=3, seed=1)
    assert capsys.readouterr().out.endswith("demo: 3/3 pictures right\n")
    pictures, persons = part(PERSON, "scenes").scenes(3, 1_000_001)
    assert answers == sensors.person([part(PERSON, "camera").lines(picture) for picture in pictures], plan)
    assert [answer.endswith("person") for answer in answers] == persons.tolist()


def test_persons_are_seen_by_a_camera_and_another_network(copied: Copy, tmp_path: Path) -> None:
    """One of red, green and blue, as published person detectors are, by the lines that the README says; from a camera
    whose pictures are twice as wide and high, and head down unless it is told how it is mounted."""
    project = copied(PERSON.name, "build_src_filter = +<*> -<main_emulated.c>")
    ini, published = project.folder / "platformio.ini", rows.RUNTIME.parent / "networks" / "vww_int8.tflite"
    text = ini.read_text("utf-8").replace("model/person.tflite", f"person = {published}")
    text = text.replace("custom_tigris_stream = picture", "custom_tigris_stream = x")
    ini.write_text(text.replace("custom_tigris_mem = 9K", "custom_tigris_mem = 64K"), "utf-8")
    pictures, _ = part(PERSON, "scenes").scenes(3, 11)
    frames = [part(PERSON, "camera").lines(np.kron(picture, np.ones((2, 2, 1), np.uint8))) for picture in pictures]
    said = said_by_the_chip(project, "esp32s3", tmp_path, b"".join(frame.tobytes() for frame in frames))
    assert said == ["person: ok", *scores(compile_model(published, fast="64K"), frames)]
    assert len(set(said)) == 4


def scores(plan: Compiled, frames: list[np.ndarray]) -> list[str]:
    """The lines of a board whose network takes colours, by the definition that the row adapter is tested with."""
    config, lines = rows.Config(2, rows.AREA, rows.INT8, 3, 320, 240, 40, 0, 240, 240, 96, 96), []
    with Session(plan) as session:
        source, output = session.inputs[0], session.outputs[0]
        for frame in frames:
            stored = rows.expected(config, frame, np.tile(np.arange(-128, 128).astype(np.int8), (3, 1)))
            made = session.run_raw({source.name: stored.reshape(source.stored_shape)})[output.name].reshape(-1)
            score = int(made[1]) - output.zero_point
            lines.append(f"{score} person" if score > 128 else f"{score}")
    return lines
