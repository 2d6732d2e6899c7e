"""--chip: every spelling of a known name, and nothing else."""

from __future__ import annotations

import pytest

from tigris_pio.compiler.backends.chips import CHIPS, find_chip
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.errors import UsageError
from tigris_pio.platformio import backend

SPELLINGS = (str.upper, str.title, lambda name: name.replace("esp32", "ESP32-"), lambda name: name.replace("-", "_"),
             lambda name: name.replace("-", " "), lambda name: f" {name} ", lambda name: name.replace("plus", "+"))


@pytest.mark.parametrize("name", CHIPS)
def test_every_spelling_is_the_same_chip(name):
    assert find_chip(name) == name
    for spelling in SPELLINGS:
        assert find_chip(spelling(name)) == name, spelling(name)
        assert CompileOptions(chip=spelling(name)).chip == name


@pytest.mark.parametrize(("name", "nearest"), [
    ("esp32s9", "esp32s"), ("esp32-s", "esp32s"), ("esp23s3", "esp32s3"), ("cortex-m44", "cortex-m4"),
    ("cortexm", "cortex-m"), ("esp3s3", "esp32s3"),
])
def test_an_unknown_chip_is_refused_with_the_nearest(name, nearest):
    with pytest.raises(UsageError, match=f"chip: '{name}' is unknown; did you mean {nearest}.*Known are .*esp32c61"):
        find_chip(name)


class Board:
    def __init__(self, **build):
        self.build = build

    def BoardConfig(self):
        return self

    def get(self, key, default):
        return self.build.get(key.removeprefix("build."), default)


@pytest.mark.parametrize(("board", "chip"), [
    ({"mcu": "esp32s3"}, "esp32s3"), ({"mcu": "esp32", "cpu": "xtensa"}, "esp32"), ({"mcu": "ESP32C6"}, "esp32c6"),
    ({"cpu": "cortex-m4", "mcu": "stm32f407vgt6"}, "cortex-m4"), ({"cpu": "cortex-m0plus"}, "cortex-m0plus"),
    ({"mcu": "stm32h747"}, ""), ({"mcu": "rv32imc"}, ""), ({}, ""),
])
def test_boards_name_chips_that_the_compiler_knows(board, chip):
    assert backend.chip(Board(**board)) == chip == find_chip(chip)
