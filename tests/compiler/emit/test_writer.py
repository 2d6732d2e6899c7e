"""The header that the writer makes, with fields at their limits."""

from __future__ import annotations

import dataclasses

import pytest

from tests import retrained
from tigris_pio import Session, compile_model
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.reader import read_plan

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
