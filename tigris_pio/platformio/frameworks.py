"""Finds a build's partition table and the table's offset, by framework. Runs inside SCons.

Sources: espressif32's and pioarduino's builder/frameworks/espidf.py, Arduino-ESP32's tools/platformio-build.py and
tools/pioarduino-build.py.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .partitions import TABLE_OFFSET, PartitionError

#: Board options with the table's offset in flash; for ESP-IDF, espressif32 and pioarduino read the first.
_OFFSET_OPTIONS = ("upload.partition_table_offset", "build.partition_table_offset")
_SETTING = "CONFIG_PARTITION_TABLE_OFFSET"


def table_file(env: Any) -> Path:
    """The path of the table that the framework's script will choose; it may not exist."""
    frameworks = list(env.get("PIOFRAMEWORK") or [])
    if "espidf" in frameworks:
        return _espidf_table(env)
    if "arduino" in frameworks and env.PioPlatform().get_package_dir("framework-arduinoespressif32"):
        return _arduino_table(env)
    shipped = Path(env.PioPlatform().get_dir(), "partitions")
    return _shipped_or_own(env, [shipped], env.BoardConfig().get("build.partitions", "default.csv"))


def table_offset(env: Any) -> tuple[int, str]:
    """The table's offset in flash, and the setting that names it; an empty text for the default."""
    found = [(str(env.BoardConfig().get(name, "")), f"board_{name}") for name in _OFFSET_OPTIONS]
    for text in _settings(env):
        values = re.findall(rf"^\s*{_SETTING}=(\w+)\s*$", text, re.MULTILINE)
        if values:
            found.append((values[-1], _SETTING))
            break
    known = [(_integer(value, name), f"{name} = {value}") for value, name in found if value]
    for at, name in known[1:]:
        if at != known[0][0]:
            raise PartitionError(f"{known[0][1]}: but {name}; the partition table has one offset: give the same")
    return known[0] if known else (TABLE_OFFSET, "")


def _integer(value: str, name: str) -> int:
    try:
        return int(value, 0)
    except ValueError:
        raise PartitionError(f"{name} = {value}: is no offset in flash; give one such as 0x8000") from None


def _settings(env: Any) -> list[str]:
    """Texts of ESP-IDF's settings, in the order of precedence: generated settings of the project, then its defaults."""
    custom = str(env.GetProjectOption("custom_sdkconfig", "") or "")  # pioarduino's
    if "espidf" not in list(env.get("PIOFRAMEWORK") or []):
        return [custom]
    board, project = env.BoardConfig(), _project(env)
    made = project / os.path.expandvars(board.get("build.esp-idf.sdkconfig_path", f"sdkconfig.{env['PIOENV']}"))
    defaults = [project / f"sdkconfig.defaults.{board.get('build.mcu', 'esp32')}", project / "sdkconfig.defaults"]
    return [custom, *(path.read_text("utf-8", "replace") for path in (made, *defaults) if path.is_file())]


def check_table_offset(expected: tuple[int, str], flashed_at: int) -> None:
    """Raises PartitionError if the framework flashes the table at another offset than `expected`, of table_offset."""
    at, source = expected
    if at == flashed_at:
        return
    if source:
        where = f"the framework flashes the partition table at 0x{flashed_at:x}"
        raise PartitionError(f"{source}: but {where}; leave it out")
    raise PartitionError(
        f"the framework flashes the partition table at 0x{flashed_at:x}, but partitions were laid out for one at "
        f"0x{at:x}; set board_upload.partition_table_offset = 0x{flashed_at:x}"
    )


def _espidf_table(env: Any) -> Path:
    package = env.PioPlatform().get_package_dir("framework-espidf") or ""
    named = env.BoardConfig().get("build.partitions", "partitions_singleapp.csv")
    return _shipped_or_own(env, [Path(package, "components", "partition_table")], named)


def _arduino_table(env: Any) -> Path:
    board, package = env.BoardConfig(), env.PioPlatform().get_package_dir("framework-arduinoespressif32")
    variants = Path(package, "variants")
    if "build.variants_dir" in board:
        variants = _project(env) / str(board.get("build.variants_dir"))
    folders = [variants / str(board.get("build.variant", "")), Path(package, "tools", "partitions")]
    named = board.get("build.partitions", board.get("build.arduino.partitions", ""))
    if named:
        return _shipped_or_own(env, folders, named)
    own = folders[0] / "partitions.csv"
    return own if own.is_file() else folders[1] / "default.csv"


def _shipped_or_own(env: Any, folders: list[Path], named: str) -> Path:
    shipped = [folder / named for folder in folders if (folder / named).is_file()]
    return shipped[0] if shipped else _project(env) / os.path.expanduser(named)


def _project(env: Any) -> Path:
    return Path(str(env.subst("$PROJECT_DIR")))
