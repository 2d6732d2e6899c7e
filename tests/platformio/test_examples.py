"""The examples as a user copies them: built, flashed by esptool, read back, and what was flashed runs and is checked.

On the stand-in platform firmware is made for this machine: it finds its partition in the flash that was read back and
serves the harness. The emulated environment runs the same models as RISC-V code.
"""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import pytest

from tests.examples import wake_word
from tests.harness.core_dir import USERS_CORE_DIR
from tigris_pio import Session, compile_model
from tigris_pio.platformio import partitions

from .flashed import chip_running, hil, read_back
from .mock_chip import mock_chip
from .project import ESPRESSIF_LIKE, ROOT

EXAMPLES = ROOT / "examples"
DIGITS = EXAMPLES / "digits" / "model" / "digits_test.npz"
VIBRATION = EXAMPLES / "two-models-esp32c3" / "model" / "vibration_test.npz"
HOST = "127.0.0.1"
#: Of the sound that the wake word is in.
SECONDS, SEED = 4, 6


@pytest.mark.parametrize(
    ("example", "chip", "like", "offset"),
    [
        # Every framework with every platform is in test_espressif.py.
        ("digits-esp32s3-arduino", "esp32s3", "pioarduino", 0x610000),
        ("digits-esp32s3-espidf", "esp32s3", "espressif32", 0x110000),
    ],
)
def test_digits_are_recognised_by_what_was_flashed(copied, tmp_path, example, chip, like, offset):
    # The stand-in has no component manager, through which the runtime would come.
    library = [f"lib_deps = tigris-pio=symlink://{ROOT}"] if "espidf" in example else []
    project = copied(example, f"custom_like = {like}", *library)
    with mock_chip(chip, "socket") as mock:
        project.run("-t", "upload", "--upload-port", mock.port)
        flash, firmware, found = read_back(mock, project, chip, tmp_path)
    assert found == offset
    plan = project.build(chip) / "tigris" / "digits.tgrs"
    with chip_running(flash, firmware) as port:
        assert "16/16 outputs equal to the host" in hil(plan, port, DIGITS, 16)


def test_two_models_answer_by_what_was_flashed(copied, tmp_path):
    project = copied("two-models-esp32c3")
    with mock_chip("esp32c3", "socket") as mock:
        project.run("-e", "esp32c3", "-t", "upload", "--upload-port", mock.port)
        flash, firmware, _ = read_back(mock, project, "esp32c3", tmp_path)
    plans = project.build("esp32c3") / "tigris"
    for name, data in (("digits", DIGITS), ("vibration", VIBRATION)):
        with chip_running(flash, firmware) as port:
            assert "16/16 outputs equal to the host" in hil(plans / f"{name}.tgrs", port, data, 16)


def test_two_models_answer_on_an_emulated_board(copied):
    project = copied("two-models-esp32c3")
    text = project.run("-t", "upload")
    assert text.count("Model: [") == 2
    assert "vibration: fast" in text
    port = json.loads((project.state("emu_rv32") / "board.json").read_text("utf-8"))["port"]
    for name, data in (("digits", DIGITS), ("vibration", VIBRATION)):
        plan = project.build("emu_rv32") / "tigris" / f"{name}.tgrs"
        assert "8/8 outputs equal to the host" in hil(plan, f"socket://127.0.0.1:{port}", data, 8)
    header = (project.build("emu_rv32") / "tigris" / "tigris_model_vibration.h").read_text("utf-8")
    for constant in ("INPUT0_SHAPE", "INPUT0_SCALE", "OUTPUT0_SHAPE", "FAST_BYTES"):
        assert f"TIGRIS_MODEL_VIBRATION_{constant}" in header


def test_the_shipped_autoencoder_tells_faults():
    """With the threshold of the example's README, set from healthy signals; in the board's arithmetic."""
    spectra, faulty = np.load(VIBRATION)["spectrum"], np.load(VIBRATION.with_name("vibration_faulty.npy"))
    with Session(compile_model(VIBRATION.with_name("vibration.onnx"), fast="16K")) as session:
        made = np.array([session.run({"spectrum": row[np.newaxis]})["reconstruction"][0] for row in spectra])
    error = ((made - spectra) ** 2).mean(axis=1)
    assert (error[faulty][:, np.newaxis] > error[~faulty]).mean() > 0.95
    assert (error[faulty] > 0.0072).mean() > 0.8
    assert (error[~faulty] > 0.0072).mean() < 0.05


@pytest.mark.vendor("TIGRIS_ESPRESSIF32")
@pytest.mark.parametrize("example", ["digits-esp32s3-arduino", "digits-esp32s3-espidf"])
def test_the_real_platform_builds_and_flashes(copied, example):
    """The platform's own builders, toolchain and frameworks, in the user's PlatformIO core folder."""
    project = copied(example)
    ini = project.folder / "platformio.ini"
    real = f"platform = {os.environ['TIGRIS_ESPRESSIF32']}"
    ini.write_text(ini.read_text("utf-8").replace(f"platform = {ESPRESSIF_LIKE}", real), "utf-8")
    with mock_chip("esp32s3", "pty") as mock:
        text = project.run("-t", "upload", "--upload-port", mock.port, PLATFORMIO_CORE_DIR=str(USERS_CORE_DIR))
        assert "Model: [" in text
        plan = (project.build("esp32s3") / "tigris" / "digits.tgrs").read_bytes()
        table = partitions.parse_binary(mock.read(0x8000, partitions.TABLE_BYTES))
        assert mock.read(partitions.find(table, "model").offset, len(plan)) == plan


@pytest.mark.parametrize("board", ["emu_rv32"])
def test_a_wake_word_is_heard_on_an_emulated_board(copied, board, capsys, monkeypatch):
    """From sound to "heard", by the example's demo: features and network give the host's numbers in every step."""
    project = copied("wake-word")
    assert "Model: [" in project.run("-e", board, "-t", "upload")
    port = json.loads((project.state(board) / "board.json").read_text("utf-8"))["port"]
    demo, answers = wake_word.demo(), []
    hear = demo.Listener.hear
    monkeypatch.setattr(demo.Listener, "hear", lambda *audio: answers.extend(lines := hear(*audio)) or lines)
    assert demo.demo(f"socket://127.0.0.1:{port}", 115200, SECONDS, SEED)
    audio, ends = wake_word.sounds().stream(SECONDS, SEED)
    assert answers == wake_word.listen(audio, project.build(board) / "tigris" / "wake.tgrs")
    assert len(ends) >= 2 and capsys.readouterr().out.endswith(f"{len(ends)}/{len(ends)} words heard, 0 false alarms\n")
    # The same again: what the first stream left behind is gone.
    assert demo.Listener(f"socket://127.0.0.1:{port}", 115200).hear(audio[:8000]) == answers[:16]


def test_a_wake_word_is_heard_by_a_microphone(copied, tmp_path):
    """On the stand-in chip, whose I2S microphone hears what comes on the line."""
    # ESP-IDF's own build takes the sources from src/CMakeLists.txt.
    project = copied("wake-word", "build_src_filter = +<*> -<main_emulated.c>")
    with mock_chip("esp32s3", "socket") as mock:
        project.run("-e", "esp32s3", "-t", "upload", "--upload-port", mock.port)
        flash, firmware, found = read_back(mock, project, "esp32s3", tmp_path)
    assert found == 0x110000
    audio, ends = wake_word.sounds().stream(SECONDS, SEED)
    with chip_running(flash, firmware) as port, socket.create_connection((HOST, int(port.rsplit(":", 1)[1]))) as line:
        line.sendall(audio.astype("<i2").tobytes())
        line.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: line.recv(4096), b"")).decode().splitlines()
    assert said == ["wake: ok", *["heard"] * len(ends)]
