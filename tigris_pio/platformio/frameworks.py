"""Where a build finds its partition table, by framework. Runs inside SCons.

Sources: espressif32's and pioarduino's builder/frameworks/espidf.py, Arduino-ESP32's tools/platformio-build.py and
tools/pioarduino-build.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def table_file(env: Any) -> Path:
    """The table that the framework's script will choose; it may not exist."""
    frameworks = list(env.get("PIOFRAMEWORK") or [])
    if "espidf" in frameworks:
        return _of_esp_idf(env)
    if "arduino" in frameworks and env.PioPlatform().get_package_dir("framework-arduinoespressif32"):
        return _of_arduino(env)
    shipped = Path(env.PioPlatform().get_dir(), "partitions")
    return _shipped_or_own(env, [shipped], env.BoardConfig().get("build.partitions", "default.csv"))


def _of_esp_idf(env: Any) -> Path:
    package = env.PioPlatform().get_package_dir("framework-espidf") or ""
    named = env.BoardConfig().get("build.partitions", "partitions_singleapp.csv")
    return _shipped_or_own(env, [Path(package, "components", "partition_table")], named)


def _of_arduino(env: Any) -> Path:
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
