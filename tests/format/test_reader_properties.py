"""Whatever bytes are given for a plan, the reader gives its records or a PlanError, and so does its description."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import counted
from tigris_pio import compile_model
from tigris_pio.errors import PlanError
from tigris_pio.format.describe import describe_plan
from tigris_pio.format.reader import PlanFile, read_plan
from tigris_pio.format.records import CRC_COVERS_FROM, MAGIC, Header

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "model" / "digits.onnx"
PLAN = compile_model(DIGITS, fast="4K", slow="64K").data
TABLES = Header.unpack(PLAN).strings + Header.unpack(PLAN).strings_bytes
#: Words that checks of offsets and counts are likely to get wrong.
EDGES = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
WORDS = st.sampled_from(EDGES) | st.integers(0, 2**32 - 1)


def sealed(data: bytes) -> bytes:
    """With the size and checksum that the bytes have."""
    data = data[:12] + struct.pack("<I", len(data)) + data[16:]
    return data[: CRC_COVERS_FROM - 4] + struct.pack("<I", zlib.crc32(data[CRC_COVERS_FROM:])) + data[CRC_COVERS_FROM:]


def everything(plan: PlanFile) -> None:
    """All that users of the reader ask of it."""
    describe_plan(plan)
    for op in plan.ops:
        plan.params(op)


def test_the_plan_itself_is_read() -> None:
    assert sealed(PLAN) == PLAN
    everything(read_plan(PLAN))


@settings(max_examples=300)
@given(st.binary(max_size=600), st.booleans(), st.booleans())
def test_any_bytes_are_a_plan_or_refused(data: bytes, magic: bool, seal: bool) -> None:
    data = MAGIC + data if magic else data
    data = sealed(data) if seal and len(data) >= Header.size() else data
    with pytest.raises(PlanError):
        read_plan(data)


@settings(max_examples=100)
@given(st.integers(0, len(PLAN) - 1))
def test_a_plan_cut_short_is_refused(size: int) -> None:
    """With a header that admits it, when its tables are cut; weights the reader does not look at."""
    with pytest.raises(PlanError):
        read_plan(PLAN[:size])
    if Header.size() <= size < TABLES:
        with pytest.raises(PlanError):
            everything(read_plan(sealed(PLAN[:size])))


@counted(read=20, refused=50)
@settings(max_examples=400)
@given(changes=st.lists(st.tuples(st.integers(0, TABLES // 4 - 1), WORDS), min_size=1, max_size=3))
def test_changed_words_are_read_or_refused(seen: Counter[str], changes: list[tuple[int, int]]) -> None:
    """Of the header, the tables or the names, below a checksum that is right."""
    data = bytearray(PLAN)
    for word, value in changes:
        struct.pack_into("<I", data, 4 * word, value)
    try:
        everything(read_plan(sealed(bytes(data))))
        seen["read"] += 1
    except PlanError:
        seen["refused"] += 1
