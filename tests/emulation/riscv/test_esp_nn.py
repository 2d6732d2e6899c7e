"""ESP-NN's functions for the ESP32-P4 give TensorFlow Lite's bytes under the interpreter, and stay where they may; what
they do otherwise is known, and asked of them neither by the compiler nor by the adapter."""

import os
from pathlib import Path

import pytest

from bench.riscv import pie
from bench.riscv.esp_nn import own_files, program
from bench.riscv.esp_nn_cases import CASES, FAULTS, run

VARIABLE = "TIGRIS_ESP_NN"
pytestmark = pytest.mark.vendor(VARIABLE)

SHAPES = range(12)
#: Bytes behind an operand that are read and not used: what is left of a vector.
READ_AHEAD = 32


@pytest.fixture(scope="module")
def checkout() -> Path:
    return Path(os.environ[VARIABLE])


@pytest.mark.parametrize("name", CASES)
def test_bytes_and_addresses(name: str, checkout: Path) -> None:
    row = run(name, CASES[name], checkout, SHAPES)
    assert (row.wrong, row.outside) == (0, 0)
    assert row.most < READ_AHEAD
    assert row.shapes == len(SHAPES) <= row.outputs


@pytest.mark.parametrize("name", FAULTS)
def test_what_it_does_otherwise(name: str, checkout: Path) -> None:
    """Where a later version does as TensorFlow Lite does, this says so."""
    row = run(name, FAULTS[name], checkout, SHAPES)
    assert row.wrong or row.outside


def test_every_function_is_run(checkout: Path) -> None:
    """But for those that keep scratch and say how much: they are called with the others."""
    run_too = {"esp_nn_get_conv_scratch_size_esp32p4", "esp_nn_set_conv_scratch_buf_esp32p4",
               "esp_nn_set_softmax_scratch_buf_esp32p4"}  # fmt: skip
    nothing = {"esp_nn_get_depthwise_conv_scratch_size_esp32p4", "esp_nn_set_depthwise_conv_scratch_buf_esp32p4",
               "esp_nn_get_softmax_scratch_size_esp32p4"}  # fmt: skip
    functions = {run(name, make, checkout, (0,)).function for name, make in {**CASES, **FAULTS}.items()}
    there = {name for name in program(checkout).labels if name.endswith("_esp32p4") and "@" not in name}
    assert functions | run_too | nothing == there
    assert len(own_files(checkout)) == 12


def test_vector_instructions_are_those_that_are_tested(checkout: Path) -> None:
    used = {one.name for one in program(checkout).code if one.name.startswith("esp.")}
    assert used <= set(pie.BUILDERS)
    assert len(used) == 18
