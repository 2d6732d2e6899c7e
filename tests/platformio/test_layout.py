"""Plans in one partition, and the header that says where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tigris_pio import compile_model
from tigris_pio.format.records import Header
from tigris_pio.platformio import layout
from tigris_pio.platformio.partitions import Partition

from .project import ROOT

PARTITION = Partition("model", "data", "0x40", 0x110000, 0x4000)


def test_each_plan_has_sectors_of_its_own():
    placed = layout.place([("a", b"x" * 4097), ("b", b"y" * 10)], PARTITION)
    assert [(item.name, item.offset) for item in placed] == [("a", 0), ("b", 0x2000)]
    assert layout.image(placed) == b"x" * 4097 + b"\xff" * 4095 + b"y" * 10


def test_a_plan_may_fill_the_partition_but_no_more():
    layout.place([("a", bytes(0x4000))], PARTITION)
    with pytest.raises(layout.LayoutError) as error:
        layout.place([("a", bytes(0x3000)), ("b", bytes(0x1001))], PARTITION)
    for part in ("custom_tigris_partition = model", "16385 bytes", "a 12288, b 4097", "0x110000", "16384", "64K"):
        assert part in str(error.value)


def test_the_header_names_partition_and_offset():
    text = layout.models_header(layout.place([("a", b"x"), ("b", b"y")], PARTITION), "model")
    assert '#include "tigris_model_b.h"' in text
    assert "static const tigris_model TIGRIS_MODEL_B = {" in text
    assert "0x1000u" in text


def test_plans_to_be_exchanged_have_pages_of_their_own():
    placed = layout.place(
        [("a", bytes(10)), ("b", bytes(10))], replace(PARTITION, size=0x20000), layout.page_of("interface")
    )
    assert [item.offset for item in placed] == [0, 0x10000]


def test_only_what_firmware_relies_on_changes_the_interface():
    model = ROOT / "examples" / "digits" / "model" / "digits.onnx"
    plain, packed = (compile_model(model, fast="64K", compress=how).data for how in ("none", "lz4"))
    assert plain != packed
    assert layout.interface_crc32(plain) == layout.interface_crc32(packed)
    header = Header.unpack(plain)
    for at in (header.io + 6, header.io + 12, header.tensors + 28):
        other = plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :]
        assert layout.interface_crc32(other) != layout.interface_crc32(plain), at
    assert "0u, /* this plan only */" in layout.models_header([layout.Placed("a", 0, plain)], "model")
    text = layout.models_header([layout.Placed("a", 0, plain)], "model", "interface")
    assert f"0x{layout.interface_crc32(plain):08x}u" in text


def test_the_summary_shows_share_and_memory():
    (line,) = layout.summary([("kws", 0x2000, {"memory": {"fast_peak": 100, "slow_peak": 7}})], PARTITION)
    assert line == "Model: [=====     ]  50.0% (used 8192 bytes from 16384 bytes) kws: fast 100, slow 7 bytes"
