"""The files that emission writes: a plan's header with fields at their limits, a C header, one copy of weights."""

import dataclasses
import re
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
import pytest

from tests import retrained
from tests.compiler.models import make, node
from tests.networks.folders import OWN
from tests.runtime.build import INCLUDE
from tigris_pio import Session, compile_model
from tigris_pio.compiler.emit.model_header import interface_crc32, render_model_header
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, back, front
from tigris_pio.format.reader import read_plan
from tigris_pio.format.records import Header
from tigris_pio.platformio import layout

#: Bytes of the header's field for the name, of which the last one is zero (SPEC.md).
FIELD = 48


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_model(retrained.DIGITS, fast="64K")


@pytest.mark.parametrize("name", [
    *("n" * length for length in range(FIELD - 2, FIELD + 2)), "x" * 500,
    *("n" * length + "é名" for length in range(42, 49)), "\U0001f600" * 13, "a\0b",
])  # fmt: skip
def test_the_runtime_accepts_a_name_of_any_length(compiled, name):
    program = dataclasses.replace(compiled.plan.program, name=name)
    data = write_plan(dataclasses.replace(compiled.plan, program=program), xip=False)
    kept = read_plan(data).header.name.rstrip(b"\0")
    assert len(kept) < FIELD and name.replace("\0", "?").startswith(kept.decode())
    assert len(kept) == len(name.encode()) or FIELD - len(kept) <= 4
    with Session(data) as session:
        assert session.name == kept.decode()


@pytest.mark.parametrize("macs", [0, 1, (1 << 32) - 1, 1 << 32, (5 << 32) + 7, (1 << 60) + 1])
def test_macs_are_counted_in_64_bits(compiled, macs):
    first, *others = compiled.plan.program.ops
    ops = (dataclasses.replace(first, macs=macs), *(dataclasses.replace(op, macs=0) for op in others))
    plan = dataclasses.replace(compiled.plan, program=dataclasses.replace(compiled.plan.program, ops=ops))
    low, high = read_plan(write_plan(plan, xip=False)).header.macs
    assert (high << 32) + low == macs


@pytest.mark.parametrize("xip", [False, True])
def test_the_xip_flag_needs_the_option(compiled, xip):
    assert read_plan(write_plan(compiled.plan, xip)).header.flags == int(xip)


# The C header of a model: its constants are those on which firmware relies, and no others.


@pytest.fixture(scope="module")
def first():
    return compile_model(retrained.DIGITS, fast="64K")


def header(compiled):
    return render_model_header(compiled.plan, compiled.data)


@pytest.mark.parametrize(("retraining", "fast", "changed"), [
    ({"weights": 3}, "64K", ()), ({"input_scale": 2.0}, "64K", ("INPUT0_SCALE", "INTERFACE_CRC32")),
    ({}, "3K", ("FAST_BYTES",))])
def test_which_constants_change_with_weights_scales_and_arenas(first, tmp_path, retraining, fast, changed):
    again = compile_model(retrained.digits(tmp_path / "digits.onnx", **retraining), fast=fast)
    assert again.data != first.data
    lines = set(header(again).splitlines()) - set(header(first).splitlines())
    assert sorted(line.split()[1].removeprefix("TIGRIS_MODEL_DIGITS_") for line in lines) == sorted(changed)


def test_a_comment_names_states_and_their_reset(first):
    model = Path(__file__).resolve().parents[3] / "examples" / "wake-word" / "model" / "wake.onnx"
    lines = header(compile_model(model, fast="8K", state={"next_past": "past"})).splitlines()
    at = next(index for index, line in enumerate(lines) if "tigris_session_reset(&session)" in line)
    assert lines[at].startswith("/*") and lines[at + 1] == " *   past */"
    assert "#define TIGRIS_MODEL_WAKE_STATES_BYTES 2280u" in {" ".join(line.split()) for line in lines}
    without = header(first)
    assert "tigris_session_reset" not in without and re.search(r"_STATES_BYTES +0u\n", without)


def test_the_interface_is_types_shapes_scales_and_zero_points(first):
    plan, fields = first.data, Header.unpack(first.data)
    packed = compile_model(retrained.DIGITS, fast="64K", copy_weights=True).data
    assert packed != plan
    assert interface_crc32(packed) == interface_crc32(plan)
    for at in (fields.io + 6, fields.io + 12, fields.io + 44, fields.tensors + 4, fields.tensors + 28):
        other = plan[:at] + bytes([plan[at] ^ 1]) + plan[at + 1 :]
        assert interface_crc32(other) != interface_crc32(plan), at
        same = interface_crc32(other, any_scale=True) == interface_crc32(plan, any_scale=True)
        assert same == (at == fields.tensors + 28), at
    # Firmware built for a model without scales refuses a plan with scales.
    without = plan[: fields.tensors + 28] + bytes(8) + plan[fields.tensors + 36 :]
    assert interface_crc32(without) not in (interface_crc32(plan), interface_crc32(plan, any_scale=True))
    fewer = dataclasses.replace(fields, output_count=0).pack() + plan[Header.size() :]
    assert interface_crc32(fewer) != interface_crc32(plan)


def test_firmware_for_any_scale_gets_no_scales(first, tmp_path):
    (tmp_path / "tigris_model_digits.h").write_text(header(first), "utf-8")
    placed = {"model": [layout.Placed("digits", 0, first.data)]}
    seen = []
    for any_scale in ([], ["digits"]):
        (tmp_path / "tigris_models.h").write_text(layout.models_header(placed, any_scale=any_scale), "utf-8")
        command = ["gcc", "-E", "-dM", "-I", str(tmp_path), "-I", str(INCLUDE), str(tmp_path / "tigris_models.h")]
        macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seen.append([f"TIGRIS_MODEL_DIGITS_{name} " in macros for name in (
            "INPUT0_SCALE", "INPUT0_ZERO_POINT", "OUTPUT0_SCALE", "OUTPUT0_BYTES", "INPUT0_DTYPE", "SHAPE_CRC32")])
    assert seen == [[True] * 6, [False] * 3 + [True] * 3]


def test_rows_of_streamed_tensors() -> None:
    compiled = compile_model(OWN / "vww_int8.onnx", fast="64K", stream="input")
    header = render_model_header(compiled.plan, compiled.data)
    assert re.findall(r"INPUT0_(ROWS|ROW_BYTES) +(\d+)u", header) == [("ROWS", "96"), ("ROW_BYTES", "288")]
    assert "OUTPUT0_ROWS" not in header


# Lowering and emission keep one copy of the weights in the graph and one in the plan.

SHAPE, OUTPUTS = (1, 64, 8, 8), 1024
MATRIX_BYTES = 4 * 64 * 8 * 8 * OUTPUTS
T = TypeVar("T")


def large_model() -> onnx.ModelProto:
    """A convolution, and a matrix of 16 MiB whose columns the plan stores in another order."""
    weights = {"w": np.ones((64, 64, 3, 3), np.float32), "m": np.ones((OUTPUTS, 64 * 8 * 8), np.float32)}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4), node("Flatten", "c", "f"), node("Gemm", "f m", "y", transB=1)]
    return make(nodes, {"x": SHAPE}, ["y"], weights)


def peak_of(work: Callable[[], T]) -> tuple[T, int]:
    """The result, and the peak of allocated bytes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_lowering_and_emitting_copy_no_weights() -> None:
    model = large_model()
    start, lowering = peak_of(lambda: front(model, CompileOptions()))
    compiled, emitting = peak_of(lambda: back(start, CompileOptions()))
    assert len(compiled.data) > MATRIX_BYTES
    assert lowering < 1.5 * MATRIX_BYTES, "the array read from the protobuf"
    assert emitting < 1.5 * MATRIX_BYTES, "the plan and one piece of the matrix"
