"""The C header of a model: its constants are those on which firmware relies, and no others."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

from tests import retrained
from tests.networks.folders import OWN
from tests.runtime.build import INCLUDE
from tigris_pio import compile_model
from tigris_pio.compiler.emit.model_header import interface_crc32, render_model_header
from tigris_pio.format.records import Header
from tigris_pio.platformio import layout


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
