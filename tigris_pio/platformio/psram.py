"""Warns if plans need slow memory but the firmware of an Espressif board has no PSRAM enabled.

Arduino's core uses PSRAM if BOARD_HAS_PSRAM is defined, ESP-IDF if CONFIG_SPIRAM is set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SET = re.compile(r"^CONFIG_SPIRAM=y\s*$", re.MULTILINE)


def missing_setting(frameworks: Sequence[str], flags: str, settings: Sequence[str]) -> str | None:
    """The setting that would enable PSRAM; None if it is enabled. `settings`: texts of ESP-IDF's sdkconfig files."""
    if any(_SET.search(text) for text in settings):
        return None
    if "espidf" in frameworks:
        return "set CONFIG_SPIRAM=y in sdkconfig.defaults"
    return None if "BOARD_HAS_PSRAM" in flags else "build_flags = -DBOARD_HAS_PSRAM"


def warning(env: Any, chip: str, slow_bytes: Mapping[str, int]) -> str | None:
    """The warning about plans (slow bytes by name) that need PSRAM which the firmware cannot use, or None."""
    needed = {name: size for name, size in slow_bytes.items() if size}
    if not needed or not chip.startswith("esp32"):
        return None
    project = Path(env.subst("$PROJECT_DIR"))
    settings = [path.read_text("utf-8", "replace") for path in project.glob("sdkconfig*") if path.is_file()]
    flags = f"{env.BoardConfig().get('build.extra_flags', '')} {env.GetProjectOption('build_flags', '')}"
    remedy = missing_setting(list(env.get("PIOFRAMEWORK") or []), flags, settings)
    if remedy is None:
        return None
    plans = ", ".join(f"{name} {size} bytes" for name, size in needed.items())
    return (
        f"slow memory is PSRAM, but this firmware has none: {plans}. The board will refuse the plan. If the board has "
        f"PSRAM, {remedy}; if not, leave out the plus and the size after it in custom_tigris_mem"
    )
