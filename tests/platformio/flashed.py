"""Runs what was flashed to a stand-in chip, as a program of this computer."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.harness.command import tigris
from tests.runtime.build import PLAIN, RUNTIME, compile_each, core_objects
from tigris_pio import Compiled
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.platformio import layout, partitions

from .mock_chip import MockChip
from .project import ROOT, Project, load_by_path

LIKE = ROOT / "tests" / "platformio" / "espressif_like"
esp_image = load_by_path("like_esp_image", LIKE / "tools" / "esp_image.py")
FLASH_BYTES = 16 << 20
HOST = "127.0.0.1"


def hil(plan: Path, port: str, data: Path, samples: int) -> str:
    """The output of `tigris hil`."""
    return tigris("hil", plan, "--port", port, "--data", data, "--samples", samples).stdout


@contextlib.contextmanager
def chip_running(flash: Path, firmware: Path) -> Iterator[str]:
    """Runs the flashed firmware; yields its serial port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([firmware], env={**os.environ, "CHIP_FLASH": str(flash), "CHIP_PORT": str(port)})
    try:
        time.sleep(0.3)
        assert process.poll() is None
        yield f"socket://{HOST}:{port}"
    finally:
        process.kill()
        process.wait()


def answers(flash: Path, firmware: Path, sent: bytes) -> list[str]:
    """The lines of a firmware whose sensor measures `sent`, until nothing is left."""
    with chip_running(flash, firmware) as port, \
            socket.create_connection((HOST, int(port.rsplit(":", 1)[1])), timeout=60) as line:  # fmt: skip
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(4096), b"")).decode().splitlines()


def flash_with(images: dict[int, bytes], path: Path) -> Path:
    """A chip's flash as a file, erased except for these images."""
    flash = bytearray(b"\xff" * FLASH_BYTES)
    for offset, data in images.items():
        flash[offset : offset + len(data)] = data
    path.write_bytes(flash)
    return path


def model_offset(table: bytes) -> int:
    """The model's offset in a binary partition table."""
    place = partitions.find(partitions.parse_binary(table), "model")
    assert place is not None
    return place.offset


def read_back(mock: MockChip, project: Project, environment: str, folder: Path) -> tuple[Path, Path, int]:
    """(flash file, firmware, offset of the model partition), as esptool reads them from the chip."""
    files = [*project.images(environment), (0x10000, project.build(environment) / "firmware.bin")]
    read = {offset: mock.read(offset, path.stat().st_size) for offset, path in files}
    firmware = folder / "firmware"
    firmware.write_bytes(esp_image.payload(read[0x10000]))
    firmware.chmod(0o755)
    return flash_with(read, folder / "flash.bin"), firmware, model_offset(read[0x8000])


def without_platformio(example: Path, compiled: Compiled, folder: Path) -> tuple[Path, Path]:
    """(flash file, firmware) of an example for the stand-in chip, built by this computer's compiler alone."""
    name, place = compiled.plan.program.name, partitions.Partition("model", "data", "0x40", 0x110000, 1 << 20)
    header = layout.models_header({"model": layout.place([(name, compiled.data)], place)})
    (folder / "tigris_models.h").write_text(header, "utf-8")
    (folder / f"tigris_model_{name}.h").write_text(render_model_header(compiled.plan, compiled.data), "utf-8")
    sources = [path for path in sorted((example / "src").glob("*.c*")) if path.name != "main_emulated.c"]
    core = LIKE / "packages" / "framework-arduinoespressif32" / "cores" / "esp32"
    includes = [folder, RUNTIME / "include", LIKE / "chip", ROOT / "tests" / "esp_idf" / "stubs", core]
    flags = [*PLAIN, "-Wall", "-DESP_PLATFORM", "-D_GNU_SOURCE", "-DTIGRIS_TENSOR_ALIGN=4",
             '-DCONFIG_IDF_TARGET="esp32s3"', *(f"-I{path}" for path in includes)]  # fmt: skip
    if any(path.suffix == ".cpp" for path in sources):
        sources += core.glob("*.cpp")
        flags.append("-DARDUINO_ARCH_ESP32")
    else:
        flags.append("-DLIKE_ESPIDF")
    c = [path for path in sources if path.suffix == ".c"]
    objects = compile_each(["gcc", *flags], [*c, *(RUNTIME / "port" / f"{part}.c" for part in ("esp_idf", "model"))],
                           folder)  # fmt: skip
    objects += compile_each(["g++", *flags], [path for path in sources if path.suffix == ".cpp"], folder)
    (folder / "chip").mkdir()
    chip = [*(LIKE / "chip").glob("*.c"), ROOT / "tests/esp_idf/stubs/flash.c"]
    objects += compile_each(["gcc", *flags], chip, folder / "chip")
    firmware = folder / "firmware"
    subprocess.run(["g++", *objects, *core_objects(*PLAIN), "-lm", "-o", firmware], check=True)
    table = partitions.to_binary([place])
    return flash_with({0x8000: table, place.offset: compiled.data}, folder / "flash.bin"), firmware
