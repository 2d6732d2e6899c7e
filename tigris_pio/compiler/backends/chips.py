"""The chips and cores whose names --chip takes, by which a backend's scratch is sized."""

from __future__ import annotations

import difflib
import re

from tigris_pio.errors import UsageError
from tigris_pio.spelling import option

ESPRESSIF = (
    "esp8266", "esp32", "esp32s2", "esp32s3", "esp32s31", "esp32c2", "esp32c3", "esp32c5", "esp32c6", "esp32c61",
    "esp32h2", "esp32h21", "esp32h4", "esp32p4",
)  # fmt: skip
CORTEX_M = tuple(
    f"cortex-{core}"
    for core in ("m0", "m0plus", "m1", "m3", "m4", "m7", "m23", "m33", "m35p", "m52", "m55", "m85")
)
CHIPS = (*ESPRESSIF, *CORTEX_M)


def _folded(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower().replace("+", "plus")


_BY_SPELLING = {_folded(name): name for name in CHIPS} | {
    _folded(name) + "f": name for name in ("cortex-m4", "cortex-m7", "cortex-m33")  # with their floating-point unit
}


def find_chip(name: str) -> str:
    """The chip's own name, however `name` spells it (ESP32-S3, esp32_s3); "" stays: any chip."""
    spelling = _folded(name)
    if not spelling:
        return ""
    if spelling in _BY_SPELLING:
        return _BY_SPELLING[spelling]
    close = difflib.get_close_matches(spelling, _BY_SPELLING, n=1)
    nearest = f"did you mean {_BY_SPELLING[close[0]]}? " if close else ""
    raise UsageError(
        f"{option('chip')}: '{name}' is unknown; {nearest}Known are {', '.join(CHIPS)}; "
        "without a name, scratch is enough for any"
    )
