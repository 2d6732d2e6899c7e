"""Predicted instructions of networks meet the recorded counts; the table has a row for each kernel and chip."""

import dataclasses
import itertools
import json
from pathlib import Path

import pytest

from bench.float_twin import float_twin
from tests.networks.folders import OWN
from tigris_pio.compiler.backends.chips import CHIPS
from tigris_pio.compiler.cost.kernel import TERMS, TILED, Kernel, kernel_of
from tigris_pio.compiler.cost.model import (
    EXECUTOR,
    PROCESSORS,
    TABLE,
    CostModel,
    instructions,
    machines,
    nearest,
    price,
)
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front

#: Written by `python -m bench.calibrate --record`.
COUNTED = json.loads(Path(__file__).with_name("counted.json").read_text("utf-8"))
KERNELS = [Kernel(*fields) for fields in COUNTED["kernels"]]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_networks_are_within_a_tenth(processor: str) -> None:
    """And within 5 % on average."""
    model, errors = CostModel.of(processor), {}
    for run in COUNTED["runs"]:
        calls = ((KERNELS[kernel], int(rows), count) for kernel, made in run["ops"] for rows, count in made.items())
        guess = model.executor(run["walked"])
        guess += sum(count * model.portable(kernel, rows) for kernel, rows, count in calls)
        errors[run["name"], run["dtype"], run["budget"]] = abs(guess / run["counted"][processor] - 1)
    assert max(errors.values()) < 0.1, errors
    assert sum(errors.values()) / len(errors) < 0.05


@pytest.mark.parametrize("name", ["ad", "kws", "micro_speech", "sww"])
def test_operators_that_run_whole_are_the_recorded_ones(name: str) -> None:
    for dtype, model in (("int8", OWN / f"{name}_int8.onnx"), ("float32", float_twin(OWN / f"{name}_int8.onnx"))):
        program = front(model, CompileOptions()).program
        run = next(run for run in COUNTED["runs"] if (run["name"], run["dtype"]) == (name, dtype))
        assert {kernel_of(op, program.tensors) for op in program.ops} == {KERNELS[kernel] for kernel, _ in run["ops"]}
        for fpu, processor in ((False, "rv32imc"), (True, "cortex-m7" if dtype == "float32" else "rv32imc")):
            assert instructions(program, fpu=fpu) == pytest.approx(run["counted"][processor], rel=0.1)


def test_rows_in_one_call_take_fewer_instructions_than_in_several() -> None:
    program = front(OWN / "kws_int8.onnx", CompileOptions()).program
    for op, processor in itertools.product(program.ops, PROCESSORS):
        model = CostModel.of(processor)
        row, whole = (model.call(op, program.tensors, rows) for rows in (1, None))
        assert 0 < whole <= 1.001 * program.tensors[op.output].height * row


def test_amounts_are_rounded_up_to_tiles() -> None:
    kernel = Kernel("CONV_2D INT8", columns=5, channels=6, window=27, window_rows=3, read=27, weights=162)
    assert kernel.amounts(3, {}) == {
        "call": 1, "row": 3, "line": 18, "pixel": 15, "output": 90, "read": 405, "window row": 45, "weight": 162,
        "mac": 15 * 162, "odd mac": 162,
    }  # fmt: skip
    tiled = kernel.amounts(3, {"rows": 2, "pixels": 3, "channels": 4, "window": 16})
    assert (tiled["row"], tiled["pixel"], tiled["output"]) == (4, 21, 21 * 8)
    assert (tiled["mac"], tiled["read"], tiled["odd mac"]) == (21 * 8 * 32, 21 * 32, 0)
    assert price({"tile": {"rows": 2}, "call": 100, "row": 7}, kernel, 3) == 128


def test_a_kernel_without_a_row_takes_the_nearest() -> None:
    model = CostModel.of("rv32imc")
    rows = {name: model.rows[name] for name in ("CONV_2D INT8", "CONV_2D INT8 1x1", "FLOAT32")}
    model = dataclasses.replace(model, rows=rows)
    assert model.row("CONV_2D INT8 1x1 short") is model.rows["CONV_2D INT8 1x1"]
    assert model.row("CONV_2D INT8 deep") is model.rows["CONV_2D INT8"]
    assert model.row("TRANSPOSE_CONV FLOAT32") is model.rows["FLOAT32"]
    assert model.row("TRANSPOSE_CONV INT8") is model.estimates["TRANSPOSE_CONV INT8"]
    assert model.row("UNHEARD_OF INT16") is model.estimates["INT16"]
    assert model.row("UNHEARD_OF INT32") is model.estimates["INT8"]


def test_rows_have_known_terms() -> None:
    for name in TABLE["processors"]:
        model = CostModel.of(name)
        for rows in (model.rows, model.estimates, *model.libraries.values()):
            for kernel, row in rows.items():
                assert kernel == EXECUTOR or set(row) <= {"tile", *TERMS}, kernel
                assert set(row.get("tile", ())) <= set(TILED)
                assert all(value > 0 for term, value in row.items() if term != "tile")


def test_each_chip_has_a_processor_that_was_measured() -> None:
    assert {nearest(chip) for chip in (*CHIPS, "")} == set(PROCESSORS)
    assert nearest("") == nearest("esp32s3") == nearest("cortex-m3") == "rv32imc"
    assert (nearest("cortex-m33"), nearest("cortex-m7")) == ("cortex-m4", "cortex-m7")
    assert nearest("cortex-m52") == nearest("cortex-m55") == nearest("cortex-m85") == "cortex-m55"
    assert (nearest("", "cmsis-nn"), nearest("esp32c3", "cmsis-nn")) == ("cortex-m4", "rv32imc")
    assert (nearest("", "esp-nn"), nearest("esp32p4", "esp-nn"), nearest("esp32c3", "pie")) == (
        "esp32s3", "esp32p4", "rv32imc",
    )  # fmt: skip
    assert machines("pie") == ("esp32s3",) and "cortex-m7" in machines("cmsis-nn")
