"""Constants for C: what firmware relies on is in them, and nothing else."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tests import retrained
from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.compiler.emit.model_header import interface_crc32, render_model_header
from tigris_pio.format.records import Header


@pytest.fixture(scope="module")
def first():
    return compile_model(retrained.DIGITS, fast="64K")


def header(compiled):
    return render_model_header(compiled.plan, compiled.data)


@pytest.mark.parametrize(("retraining", "fast", "changed"), [
    ({"weights": 3}, "64K", ()), ({"input_scale": 2.0}, "64K", ("INPUT0_SCALE", "INTERFACE_CRC32")),
    ({}, "3K", ("FAST_BYTES",))])
def test_what_changes_with_weights_scales_and_arenas(first, tmp_path, retraining, fast, changed):
    again = compile_model(retrained.digits(tmp_path / "digits.onnx", **retraining), fast=fast)
    assert again.data != first.data
    lines = set(header(again).splitlines()) - set(header(first).splitlines())
    assert sorted(line.split()[1].removeprefix("TIGRIS_MODEL_DIGITS_") for line in lines) == sorted(changed)


def test_states_are_named_and_what_resets_them(first):
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
    fewer = dataclasses.replace(fields, output_count=0).pack() + plan[Header.size() :]
    assert interface_crc32(fewer) != interface_crc32(plan)


def test_rows_of_what_is_streamed() -> None:
    compiled = compile_model(OWN / "vww_int8.onnx", fast="64K", stream="input")
    header = render_model_header(compiled.plan, compiled.data)
    assert re.findall(r"INPUT0_(ROWS|ROW_BYTES) +(\d+)u", header) == [("ROWS", "96"), ("ROW_BYTES", "288")]
    assert "OUTPUT0_ROWS" not in header
