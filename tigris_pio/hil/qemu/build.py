"""Finds a build's images for flash: by ESP-IDF's flasher_args.json, or by PlatformIO's metadata."""

import dataclasses
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tigris_pio.errors import ToolError, UsageError
from tigris_pio.hil.project import Project, platformio_command
from tigris_pio.hil.qemu.chips import CHIPS, Chip, chip_of_image

_HEADER_BYTES = 24
_APPLICATION = "0x10000"


@dataclasses.dataclass(frozen=True)
class Build:
    """Images for flash, by offset, and their chip."""

    chip: Chip
    images: tuple[tuple[int, Path], ...]
    flash_bytes: int  #: size of the flash chip in the build's settings; 0: not known
    octal_psram: bool

    @property
    def end(self) -> int:
        """First byte behind all images."""
        return max(offset + path.stat().st_size for offset, path in self.images)


def read_idf(folder: Path) -> Build:
    """Reads the build in ESP-IDF's folder `build`; UsageError if there is none, or QEMU does not have its chip."""
    file = folder / "flasher_args.json"
    try:
        document = json.loads(file.read_text("utf-8"))
        files = {int(offset, 0): folder / name for offset, name in document["flash_files"].items()}
        size, name = str(document["flash_settings"]["flash_size"]), str(document["extra_esptool_args"]["chip"])
    except OSError:
        raise UsageError(f"{file}: no such file; build the project first: idf.py build") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{file}: is not a file of ESP-IDF ({error!r}); build again: idf.py build") from None
    _check_files(files.values(), "idf.py build")
    chip = CHIPS.get(name)
    if chip is None:
        raise _no_machine_error(name)
    return Build(chip, tuple(sorted(files.items())), _size(size), _is_octal(_idf_settings(folder)))


def read_platformio(project: Project) -> Build:
    """Reads the build of an environment; UsageError if there is none, or QEMU does not have its chip."""
    data = _metadata(project)
    extra = data.get("extra", {})
    files = {int(str(item["offset"]), 0): Path(item["path"]) for item in extra.get("flash_images", [])}
    firmware = Path(data["prog_path"]).with_suffix(".bin")
    files[int(str(extra.get("application_offset") or _APPLICATION), 0)] = firmware
    again = f"pio run -e {project.environment}"
    _check_files(files.values(), again)
    with firmware.open("rb") as file:
        chip = chip_of_image(file.read(_HEADER_BYTES))
    if chip is None:
        raise _no_machine_error(f"the chip of {firmware}")
    settings = project.directory / f"sdkconfig.{project.environment}"
    return Build(chip, tuple(sorted(files.items())), 0, _is_octal(settings))


def _metadata(project: Project) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "metadata.json")
        where = ["-d", str(project.directory), "-e", project.environment, "--json-output-path", str(file)]
        command = [*platformio_command(), "project", "metadata", *where, "--json-output"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found: dict[str, Any] = json.loads(file.read_text("utf-8"))[project.environment]
        except (OSError, ValueError, KeyError):
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ToolError(f"{project.directory}: pio project metadata failed: {reason}") from None
    return found


def _check_files(files: Any, command: str) -> None:
    for path in files:
        if not path.is_file():
            raise UsageError(f"{path}: no such file; build the project first: {command}")


def _no_machine_error(name: str) -> UsageError:
    return UsageError(f"--qemu: Espressif's QEMU has machines for {', '.join(CHIPS)}, not for {name}")


def _size(text: str) -> int:
    """`4MB` in bytes; 0 for `detect` and `keep`."""
    match = re.fullmatch(r"(\d+)MB", text)
    return int(match[1]) << 20 if match else 0


def _idf_settings(folder: Path) -> Path:
    """The path of the project's sdkconfig, from the build's description."""
    try:
        return Path(json.loads((folder / "project_description.json").read_text("utf-8"))["config_file"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.parent / "sdkconfig"


def _is_octal(settings: Path) -> bool:
    try:
        return "CONFIG_SPIRAM_MODE_OCT=y" in settings.read_text("utf-8").splitlines()
    except OSError:
        return False
