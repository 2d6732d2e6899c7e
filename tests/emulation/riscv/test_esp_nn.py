"""ESP-NN's convolutions and fully connected layers for the ESP32-P4 give TensorFlow Lite's bytes under the interpreter,
and stay where they may; what they do otherwise is known, and asked of them neither by the compiler nor by the
adapter."""

import re
from pathlib import Path

import pytest

from bench.riscv import pie, whole
from bench.riscv.esp_nn import program
from bench.riscv.esp_nn_cases import CASES, FAULTS, run

pytestmark = pytest.mark.vendor("TIGRIS_ESP_NN")

SHAPES = range(12)


@pytest.mark.parametrize("name", CASES)
def test_bytes_and_addresses(name: str, checkout: Path) -> None:
    row = run(name, CASES[name], checkout, SHAPES)
    assert (row.wrong, row.outside) == (0, 0)
    assert row.most < whole.READ_AHEAD
    assert row.shapes == len(SHAPES) <= row.outputs


@pytest.mark.parametrize("name", FAULTS)
def test_what_it_does_otherwise(name: str, checkout: Path) -> None:
    """Where a later version does as TensorFlow Lite does, this says so."""
    row = run(name, FAULTS[name], checkout, SHAPES)
    assert row.wrong or row.outside


def test_every_function_that_the_adapter_calls_is_run(checkout: Path) -> None:
    """But for those that keep scratch and say how much: they are called with the others."""
    functions = {run(name, make, checkout, (0,)).function for name, make in CASES.items()}
    asked = re.findall(r"esp_nn_\w+_esp32p4", Path(whole.__file__).with_name("by_pipe.c").read_text())
    assert functions == {name for name in asked if "scratch" not in name}


def test_vector_instructions_are_those_that_are_tested(checkout: Path) -> None:
    assert {one.name for one in program(checkout).code if one.name.startswith("esp.")} == set(pie.BUILDERS)
