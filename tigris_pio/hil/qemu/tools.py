"""External programs: Espressif's QEMU, and esptool, which merges a build's images or uploads them."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tigris_pio.errors import ToolError, UsageError
from tigris_pio.hil.qemu.build import Build
from tigris_pio.hil.qemu.chips import FLASH_SIZES, Chip, flash_bytes

_HELP_SECONDS = 30.0


def find_qemu(chip: Chip) -> str:
    """Finds the QEMU with the chip's machine, in PATH or among ESP-IDF's tools. ToolError says how to install it."""
    found = [path for path in (shutil.which(chip.command), *_installed(chip)) if path is not None]
    for path in found:
        if has_machine(path, chip):
            return path
    remedy = f"Install it: python $IDF_PATH/tools/idf_tools.py install {chip.package}"
    if found:
        raise ToolError(f"{found[0]} has no machine {chip.name}: it is not Espressif's QEMU. {remedy}")
    raise ToolError(f"{chip.command}, Espressif's QEMU, is not installed. {remedy}")


def has_machine(command: str, chip: Chip) -> bool:
    """True if a QEMU has the chip's machine; only Espressif's has."""
    try:
        done = subprocess.run(
            [command, "-machine", "help"], capture_output=True, text=True, timeout=_HELP_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return any(line.split()[:1] == [chip.name] for line in done.stdout.splitlines())


def _installed(chip: Chip) -> list[str]:
    """The QEMUs that idf_tools.py has installed, the newest first."""
    root = Path(os.environ.get("IDF_TOOLS_PATH") or Path.home() / ".espressif")
    name = chip.command + (".exe" if os.name == "nt" else "")
    return sorted((str(path) for path in root.glob(f"tools/{chip.package}/*/qemu/bin/{name}")), reverse=True)


def merge(build: Build, target: Path) -> None:
    """Merges the build's images into one file of the size of a flash chip, as esptool would flash them."""
    size = flash_bytes(max(build.end, build.flash_bytes))
    if size is None:
        most = FLASH_SIZES[-1] >> 20
        raise UsageError(f"--qemu: the images end at 0x{build.end:x}; Espressif's QEMU has at most {most} MB of flash")
    _esptool("--chip", build.chip.name, "merge_bin", "-o", str(target), *_image_arguments(build, size))
    with target.open("ab") as file:
        file.write(b"\xff" * (size - target.stat().st_size))


def write_flash(build: Build, url: str, size: int) -> None:
    """Uploads the build's images to a ROM in download mode at `url`; esptool verifies them."""
    how = ["--no-stub", "--before", "no_reset", "--after", "no_reset"]  # the line has no reset wires
    _esptool("--chip", build.chip.name, "--port", url, *how, "write_flash", *_image_arguments(build, size))


def _image_arguments(build: Build, size: int) -> list[str]:
    settings = ["-fm", "dio", "-ff", "keep", "-fs", f"{size >> 20}MB"]
    return [*settings, *(word for offset, path in build.images for word in (f"0x{offset:x}", str(path)))]


def _esptool(*arguments: str) -> None:
    """Runs esptool; its output goes to stderr. Arguments have underscores, which versions 4 (ESP-IDF 5) and 5 take."""
    command = [*_esptool_command(), *arguments]
    output = sys.stderr if "write_flash" in arguments else subprocess.PIPE  # an upload shows its progress
    done = subprocess.run(command, stdout=output, check=False)
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip() if done.stdout else "see its messages above"
        raise ToolError(f"{' '.join(command)} failed with status {done.returncode}: {said}")


def _esptool_command() -> list[str]:
    if importlib.util.find_spec("esptool") is not None:
        return [sys.executable, "-m", "esptool"]
    path = shutil.which("esptool") or shutil.which("esptool.py")
    if path is None:
        raise ToolError("--qemu needs esptool: pip install esptool")
    return [path]
