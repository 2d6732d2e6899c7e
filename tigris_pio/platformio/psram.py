"""Whether a board of Espressif's has the PSRAM that plans with slow memory need.

By what firmware can use: Arduino's core takes PSRAM when BOARD_HAS_PSRAM is defined, ESP-IDF when CONFIG_SPIRAM is set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SET = re.compile(r"^CONFIG_SPIRAM=y\s*$", re.MULTILINE)


def lacking(frameworks: Sequence[str], flags: str, settings: Sequence[str]) -> str | None:
    """How firmware would get PSRAM that it has not now; None: it has. `settings`: texts of ESP-IDF's sdkconfig."""
    if any(_SET.search(text) for text in settings):
        return None
    if "espidf" in frameworks:
        return "set CONFIG_SPIRAM=y in sdkconfig.defaults"
    return None if "BOARD_HAS_PSRAM" in flags else "build_flags = -DBOARD_HAS_PSRAM"


def warning(env: Any, chip: str, slow_bytes: Mapping[str, int]) -> str | None:
    """What to say of plans (slow bytes by name) that want PSRAM which the firmware cannot use; None: nothing."""
    wanted = {name: size for name, size in slow_bytes.items() if size}
    if not wanted or not chip.startswith("esp32"):
        return None
    project = Path(env.subst("$PROJECT_DIR"))
    settings = [path.read_text("utf-8", "replace") for path in project.glob("sdkconfig*") if path.is_file()]
    flags = f"{env.BoardConfig().get('build.extra_flags', '')} {env.GetProjectOption('build_flags', '')}"
    remedy = lacking(list(env.get("PIOFRAMEWORK") or []), flags, settings)
    if remedy is None:
        return None
    plans = ", ".join(f"{name} {size} bytes" for name, size in wanted.items())
    return (
        f"slow memory is PSRAM, and this firmware has none: {plans}. The plan will be refused on the board. If the "
        f"board has PSRAM, {remedy}; if not, leave out what stands behind the plus in custom_tigris_mem"
    )
