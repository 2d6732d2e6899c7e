"""Checkouts of other projects that some tests need; environment variables name them.

`@pytest.mark.vendor("TIGRIS_ESP_NN")` skips a test where the variable is not set; with `optional=True` it runs anyway,
with a stand-in. `make test-vendor` runs them all.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Vendor:
    """`sign`: a file that every checkout has; empty where the variable names no folder. `get`: how to come by it."""

    variable: str
    what: str
    sign: str
    get: str

    def value(self) -> str:
        return os.environ.get(self.variable, "")

    def problem(self) -> str:
        """Why what is named cannot be it, or nothing."""
        folder = self.value()
        if not folder or not self.sign or (Path(folder) / self.sign).is_file():
            return ""
        return f"{self.variable} = {folder}: no checkout of {self.what}, it has no {self.sign}; {self.get}"


VENDORS = {
    vendor.variable: vendor
    for vendor in (
        Vendor("TIGRIS_ESP_NN", "ESP-NN", "include/esp_nn.h", "git clone https://github.com/espressif/esp-nn"),
        Vendor("TIGRIS_CMSIS_NN", "CMSIS-NN", "Include/arm_nnfunctions.h",
               "git clone https://github.com/ARM-software/CMSIS-NN"),
        Vendor("IDF_PATH", "ESP-IDF", "tools/cmake/project.cmake", "see docs/esp-idf.md, \"Testing without hardware\""),
        Vendor("TIGRIS_ESPRESSIF32", "PlatformIO's platform espressif32", "",
               "a `platform =` value, such as espressif32@6.13.0; PlatformIO downloads it"),
        Vendor("TIGRIS_XTENSA_CONFIG", "espressif/xtensa-dynconfig, its xtensa_esp32s3.so", "",
               "see bench/xtensa/assembler.py; the assembler is Debian's binutils-xtensa-lx106"),
        Vendor("TIGRIS_CV32E40P", "CV32E40P, with Verilator 5 in PATH", "rtl/cv32e40p_top.sv",
               "git clone https://github.com/openhwgroup/cv32e40p; apt install verilator"),
        Vendor("TIGRIS_ESPHOME", "ESPHome, in a virtual environment", "bin/esphome",
               "python3 -m venv DIR && DIR/bin/pip install esphome"),
        Vendor("TIGRIS_LABGRID", "labgrid, in a virtual environment", "bin/labgrid-coordinator",
               "python3 -m venv DIR && DIR/bin/pip install labgrid"),
    )
}  # fmt: skip


def variables_of(item: pytest.Item, needed_only: bool = False) -> tuple[str, ...]:
    """The variables that a test's marks name."""
    marks = item.iter_markers("vendor")
    names = [mark.args[0] for mark in marks if not (needed_only and mark.kwargs.get("optional"))]
    return tuple(sorted(set(names)))


def skip_reason(item: pytest.Item) -> str:
    """Why a test cannot run here, or nothing."""
    missing = [name for name in variables_of(item, needed_only=True) if not VENDORS[name].value()]
    if not missing:
        return ""
    named = " and ".join(f"{name} (a checkout of {VENDORS[name].what})" for name in missing)
    return f"set {named}, then make test-vendor"
