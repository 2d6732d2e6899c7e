"""Names of chips and cores for `--chip`, and the backend that `auto` selects for each.

The choices rest on instruction counts by `python -m bench.instructions`, `bench.libraries` and `bench.p4`, and on the
ESP32-S3 on whole firmware in Espressif's emulator; docs/backends.md has the tables. A chip without counts gets the
portable kernels, whose DSP and MVE instructions depend on the C compiler's macros.
"""

from __future__ import annotations

import dataclasses
import difflib
import re

from tigris_pio.compiler.backends import mve
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
_XTENSA = ("esp8266", "esp32", "esp32s2", "esp32s3")
_DSP = ("cortex-m4", "cortex-m7", *mve.CHIPS)
_OPTIONAL_DSP = ("cortex-m33", "cortex-m35p")


@dataclasses.dataclass(frozen=True)
class AutoChoice:
    """The backend that `auto` selects on a chip. why: the count, for reports; lost: the cost of doing without it"""

    backend: str
    why: str
    lost: str = ""


_PIE = "its vector kernels take 0.17 to 0.78 of the instructions of ESP-NN in whole networks (emulated), and no library"
_P4 = "ESP-NN, and portable C where it takes less, take 0.16 to 0.69 of the instructions of portable C alone"
_MVE = "its vector kernels and the portable ones take 0.36 to 0.74 of the instructions of CMSIS-NN with MVE"
_PORTABLE = AutoChoice("portable", "the portable kernels take fewer instructions than any library in C")
_CHOICES = {
    "esp32s3": AutoChoice("pie", _PIE, "networks take 3 to 34 times the instructions"),
    "esp32p4": AutoChoice("esp-nn", _P4, "networks take 1.4 to 6 times the instructions"),
    "esp32s31": AutoChoice("portable", "no kernel library was counted on this chip"),
    **dict.fromkeys(mve.CHIPS, AutoChoice("mve", _MVE, "networks take 1.03 to 1.24 times the instructions")),
    **dict.fromkeys(
        ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p"),
        AutoChoice("portable", "the portable kernels take 0.56 to 0.75 of the instructions of CMSIS-NN"),
    ),
}


def auto_choice(chip: str) -> AutoChoice:
    """The choice for a chip of CHIPS; "" for any chip."""
    return _CHOICES.get(chip, _PORTABLE)


def kernel_macros(chip: str) -> dict[str, bool]:
    """Whether the kernels' macros for instruction sets are defined on a chip of CHIPS; "" and undecided: left out."""
    if not chip:
        return {}
    dsp = {} if chip in _OPTIONAL_DSP else {"TIGRIS_DSP": chip in _DSP}
    return dsp | {"TIGRIS_PIXELS4": chip in ESPRESSIF and chip not in _XTENSA}


def _folded(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower().replace("+", "plus")


_BY_SPELLING = {_folded(name): name for name in CHIPS} | {
    _folded(name) + "f": name for name in ("cortex-m4", "cortex-m7", "cortex-m33")  # with their floating-point unit
}


def find_chip(name: str) -> str:
    """The name of a chip from any spelling of it, such as ESP32-S3 or esp32_s3; "" stands for any chip.

    Raises UsageError for an unknown chip.
    """
    spelling = _folded(name)
    if not spelling:
        return ""
    if spelling in _BY_SPELLING:
        return _BY_SPELLING[spelling]
    close = difflib.get_close_matches(spelling, _BY_SPELLING, n=1)
    nearest = f"did you mean {_BY_SPELLING[close[0]]}? " if close else ""
    raise UsageError(
        f"{option('chip')}: '{name}' is unknown; {nearest}Known are {', '.join(CHIPS)}; "
        "leave it out to plan scratch for any chip"
    )
