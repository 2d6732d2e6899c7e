"""The examples as a user copies them: built, flashed by esptool, read back, run and checked. The stand-in platform
builds firmware for this computer: it finds its partition in the flash that was read back and serves the harness. The
emulated environment runs the same models as RISC-V code."""

import os

import numpy as np
import pytest

from tests.examples import wake_word
from tests.harness.core_dir import USERS_CORE_DIR
from tigris_pio import Session, compile_model
from tigris_pio.platformio import partitions

from .flashed import HOST, answers, chip_running, hil, read_back
from .mock_chip import mock_chip
from .project import ESPRESSIF_LIKE, ROOT

EXAMPLES = ROOT / "examples"
DIGITS = EXAMPLES / "digits" / "model" / "digits_test.npz"
VIBRATION = EXAMPLES / "two-models-esp32c3" / "model" / "vibration_test.npz"
#: Samples of the sound with the wake word.
SECONDS, SEED = 4, 6
# test_espressif.py has every framework with every platform; test_qemu.py builds the example for ESP-IDF.
FLASHED = [
    ("digits-esp32s3-arduino", "esp32s3", ["custom_like = pioarduino"], 0x610000, {"digits": DIGITS}),
    # The stand-in has no component manager, which would add the runtime.
    ("digits-esp32s3-espidf", "esp32s3", [f"lib_deps = tigris-pio=symlink://{ROOT}"], 0x110000, {"digits": DIGITS}),
    ("two-models-esp32c3", "esp32c3", [], 0x310000, {"digits": DIGITS, "vibration": VIBRATION}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("example", "chip", "options", "offset", "models"), FLASHED, ids=lambda value: str(value)[:22])
def test_flashed_firmware_answers(copied, tmp_path, example, chip, options, offset, models):
    project = copied(example, *options)
    with mock_chip(chip) as mock:
        project.run("-e", chip, "-t", "upload", "--upload-port", mock.port)
        flash, firmware, found = read_back(mock, project, chip, tmp_path)
    assert found == offset
    for name, data in models.items():
        with chip_running(flash, firmware) as port:
            plan = project.build(chip) / "tigris" / f"{name}.tgrs"
            assert "16/16 outputs equal to the host" in hil(plan, port, data, 16)


def test_the_shipped_autoencoder_detects_faults():
    """With the threshold of the example's README, set from healthy signals, in the board's arithmetic."""
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
    with mock_chip("esp32s3") as mock:
        text = project.run("-t", "upload", "--upload-port", mock.port, PLATFORMIO_CORE_DIR=str(USERS_CORE_DIR))
        assert "Model: [" in text
        plan = (project.build("esp32s3") / "tigris" / "digits.tgrs").read_bytes()
        table = partitions.parse_binary(mock.read(0x8000, partitions.TABLE_BYTES))
        assert mock.read(partitions.find(table, "model").offset, len(plan)) == plan


@pytest.mark.thorough
def test_a_wake_word_is_heard_on_an_emulated_board(copied, capsys, monkeypatch):
    """From sound to "heard", by the example's demo: features and network give the host's numbers in every step."""
    project = copied("wake-word")
    assert "Model: [" in project.run("-t", "upload")
    port = f"socket://{HOST}:{project.port('emu_rv32')}"
    demo, found = wake_word.demo(), []
    hear = demo.Listener.hear
    monkeypatch.setattr(demo.Listener, "hear", lambda *audio: found.extend(lines := hear(*audio)) or lines)
    assert demo.demo(port, 115200, SECONDS, SEED)
    audio, ends = wake_word.sounds().stream(SECONDS, SEED)
    assert found == wake_word.listen(audio, project.build("emu_rv32") / "tigris" / "wake.tgrs")
    assert len(ends) >= 2 and capsys.readouterr().out.endswith(f"{len(ends)}/{len(ends)} words heard, 0 false alarms\n")
    # The same again: the first recording has left no state.
    assert demo.Listener(port, 115200).hear(audio[:8000]) == found[:16]


@pytest.mark.thorough
def test_a_wake_word_is_heard_by_a_microphone(copied, tmp_path):
    """On the stand-in chip, whose I2S microphone receives the bytes of the line."""
    # ESP-IDF's own build finds the sources in src/CMakeLists.txt.
    project = copied("wake-word", "build_src_filter = +<*> -<main_emulated.c>")
    with mock_chip("esp32s3") as mock:
        project.run("-e", "esp32s3", "-t", "upload", "--upload-port", mock.port)
        flash, firmware, found = read_back(mock, project, "esp32s3", tmp_path)
    audio, ends = wake_word.sounds().stream(SECONDS, SEED)
    assert found == 0x110000
    assert answers(flash, firmware, audio.astype("<i2").tobytes()) == ["wake: ok", *["heard"] * len(ends)]
