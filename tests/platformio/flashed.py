"""What was flashed to a stand-in chip, run as a program of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.harness.command import tigris
from tigris_pio.platformio import partitions

from .mock_chip import MockChip
from .project import ROOT, Project, load_by_path

esp_image = load_by_path("like_esp_image", ROOT / "tests" / "platformio" / "espressif_like" / "tools" / "esp_image.py")
FLASH_BYTES = 16 << 20


def hil(plan: Path, port: str, data: Path, samples: int) -> str:
    """What `tigris hil` prints."""
    return tigris("hil", plan, "--port", port, "--data", data, "--samples", samples).stdout


@contextlib.contextmanager
def chip_running(flash: Path, firmware: Path) -> Iterator[str]:
    """Runs the firmware that was flashed; its serial port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([firmware], env={**os.environ, "CHIP_FLASH": str(flash), "CHIP_PORT": str(port)})
    try:
        time.sleep(0.3)
        assert process.poll() is None
        yield f"socket://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def read_back(mock: MockChip, project: Project, environment: str, folder: Path) -> tuple[Path, Path, int]:
    """(flash file, firmware, offset of the model partition), all as esptool reads them from the chip."""
    result = project.pio("project", "metadata", "-e", environment, "--json-output").text
    extra = json.loads(result[result.index("{") :])[environment]["extra"]
    files = [(int(item["offset"], 0), Path(item["path"])) for item in extra["flash_images"]]
    files += [(0x10000, project.build(environment) / "firmware.bin")]
    chip = bytearray(b"\xff" * FLASH_BYTES)
    for offset, path in files:
        size = path.stat().st_size
        chip[offset : offset + size] = mock.read(offset, size)
    flash, firmware = folder / "flash.bin", folder / "firmware"
    flash.write_bytes(chip)
    firmware.write_bytes(esp_image.payload(bytes(chip[0x10000 : 0x10000 + size])))
    firmware.chmod(0o755)
    table = partitions.parse_binary(bytes(chip[0x8000:0x8C00]))
    model = partitions.find(table, "model")
    assert model is not None
    return flash, firmware, model.offset
