"""Finds a board's platform, chip, flash size and PSRAM for a new project.

The package contains the emulated boards' manifests. Other boards' manifests are read from an installed PlatformIO
platform; without one, the table COMMON is used, which comes from the manifests of espressif32 6.13.
"""

import dataclasses
import difflib
import json
import os
from pathlib import Path
from typing import Any

from tigris_pio.compiler.backends.chips import ESPRESSIF as CHIPS
from tigris_pio.errors import UsageError

EMULATED_PLATFORM = Path(__file__).parent.parent / "platformio" / "emulated"
ESPRESSIF = "espressif32"
FRAMEWORKS = {"emulated": ("baremetal",), ESPRESSIF: ("arduino", "espidf")}
MEGABYTE = 1 << 20
#: Board to (chip, flash in MB, has PSRAM).
COMMON = {
    "esp32dev": ("esp32", 4, False),
    "esp32cam": ("esp32", 4, True),
    "esp-wrover-kit": ("esp32", 4, True),
    "esp32-s2-saola-1": ("esp32s2", 4, False),
    "esp32-s3-devkitc-1": ("esp32s3", 8, False),
    "esp32-s3-devkitm-1": ("esp32s3", 8, False),
    "esp32s3box": ("esp32s3", 16, True),
    "lolin_s3": ("esp32s3", 16, True),
    "seeed_xiao_esp32s3": ("esp32s3", 8, True),
    "esp32-c3-devkitm-1": ("esp32c3", 4, False),
    "esp32-c3-devkitc-02": ("esp32c3", 4, False),
    "seeed_xiao_esp32c3": ("esp32c3", 4, False),
    "esp32-c6-devkitc-1": ("esp32c6", 8, False),
}


@dataclasses.dataclass(frozen=True)
class NewBoard:
    """A board; `name` is its name in platformio.ini."""

    name: str
    platform: str  #: `emulated`, or the platform's name in platformio.ini
    chip: str
    flash_bytes: int
    has_psram: bool

    @property
    def is_emulated(self) -> bool:
        return self.platform == "emulated"


def emulated_boards() -> tuple[str, ...]:
    """Names of the emulated boards."""
    return tuple(sorted(path.stem for path in (EMULATED_PLATFORM / "boards").glob("*.json")))


def find_board(name: str, flash_bytes: int | None = None, psram: bool | None = None) -> NewBoard:
    """Finds a board; `flash_bytes` and `psram` override its manifest. UsageError if it is unknown."""
    manifest = _manifest(name)
    if name in emulated_boards():
        assert manifest is not None
        return NewBoard(name, "emulated", name, _flash_bytes(manifest), True)
    if manifest is not None:
        chip, flash = str(manifest["build"]["mcu"]), _flash_bytes(manifest)
        has_psram = "BOARD_HAS_PSRAM" in json.dumps(manifest)
    elif name in COMMON:
        chip, megabytes, has_psram = COMMON[name]
        flash = megabytes * MEGABYTE
    elif flash_bytes is not None and name.startswith(("esp32", "esp-")) and _plain(name) not in CHIPS:
        chip, flash, has_psram = "", flash_bytes, False
    else:
        raise UsageError(_unknown(name))
    if not chip.startswith("esp32") and chip:
        raise UsageError(f"--board {name}: has the chip {chip}; tigris new supports Espressif's chips and the boards "
                         f"{', '.join(emulated_boards())}")  # fmt: skip
    return NewBoard(name, ESPRESSIF, chip, flash_bytes or flash, has_psram if psram is None else psram)


def _unknown(name: str) -> str:
    known = (*emulated_boards(), *sorted(COMMON))
    plain = {_plain(board): board for board in known}
    close = [plain[item] for item in difflib.get_close_matches(_plain(name), plain, n=3)]
    of_chip = [board for board in sorted(COMMON) if COMMON[board][0] == _plain(name)]
    if of_chip:
        what = f"is a chip; boards with it: {', '.join(of_chip)}."
    elif _plain(name) in CHIPS:
        what = "is a chip; give a board's name."
    elif close:
        what = f"is unknown. Did you mean {' or '.join(close)}?"
    else:
        what = f"is unknown. Known boards: {', '.join(sorted(COMMON))}."
    return (
        f"--board {name}: {what} Emulated boards: {', '.join(emulated_boards())}. For another ESP32 board install its "
        "platform (pio pkg install -g -p espressif32) or give its flash size (--flash-size 4M). For other chips see "
        "docs/boards.md"
    )


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _manifest(name: str) -> dict[str, Any] | None:
    """The board's manifest in the package or in an installed platform; None if there is none."""
    core = Path(os.environ.get("PLATFORMIO_CORE_DIR") or Path.home() / ".platformio")
    folders = [EMULATED_PLATFORM / "boards", *sorted((core / "platforms").glob("espressif32*/boards"), reverse=True)]
    for folder in folders:
        try:
            manifest: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        return manifest
    return None


def _flash_bytes(manifest: dict[str, Any]) -> int:
    text = str(manifest.get("upload", {}).get("flash_size", "4MB")).upper()
    number = int("".join(filter(str.isdigit, text)) or 4)
    return number << (10 if text.endswith("KB") else 20)
