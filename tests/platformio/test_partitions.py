"""Partition tables: both formats, and where the model's partition goes."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tigris_pio.platformio import partitions
from tigris_pio.platformio.partitions import Partition, PartitionError

MB = 1 << 20
SINGLE_APP = """
# Name, Type, SubType, Offset, Size
nvs,      data, nvs,     0x9000,  0x6000,
phy_init, data, phy,     0xf000,  0x1000,
factory,  app,  factory, 0x10000, 1M,
"""
# Layout of Arduino-ESP32's default table: it fills a 4 MB chip.
FULL = """
nvs,      data, nvs,      0x9000,   0x5000,
otadata,  data, ota,      0xe000,   0x2000,
app0,     app,  ota_0,    0x10000,  0x140000,
app1,     app,  ota_1,    0x150000, 0x140000,
spiffs,   data, spiffs,   0x290000, 0x160000,
coredump, data, coredump, 0x3F0000, 0x10000,
"""


def parse(text: str) -> tuple[Partition, ...]:
    return partitions.parse_csv(text, "table.csv")


def test_offsets_and_sizes_are_read_in_all_spellings():
    table = parse("nvs, data, nvs, 0x9000, 24K\nfactory, app, factory, , 1M, encrypted\nlast, 0x40, 0x01, , 4096")
    assert table == (
        Partition("nvs", "data", "nvs", 0x9000, 0x6000),
        Partition("factory", "app", "factory", 0x10000, MB, "encrypted"),
        Partition("last", "0x40", "0x01", 0x110000, 4096),
    )


def test_a_blank_first_offset_is_behind_the_table():
    assert parse("nvs, data, nvs, , 0x4000")[0].offset == 0x9000


def test_a_negative_size_is_an_end():
    assert parse("nvs, data, nvs, 0x9000, -0xf000")[0].size == 0x6000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nvs, data, nvs", "table.csv:1: `nvs, data, nvs` is no partition"),
        ("a, data, nvs, 0x9000, many", "table.csv:1: `many` is no size"),
        ("a, data, nvs, 0x9000, 0", "has 0 bytes"),
        ("seventeen_letters, data, nvs, 0x9000, 1K", "must have 1 to 16 bytes"),
        ("# nothing", "is empty"),
    ],
)
def test_bad_rows_are_named(text, message):
    with pytest.raises(PartitionError, match=message):
        parse(text)


def test_csv_text_reads_back_equal():
    table = parse(SINGLE_APP)
    assert partitions.parse_csv(partitions.to_csv(table), "again") == table


def test_binary_entries_are_those_of_esp_idf():
    binary = partitions.to_binary(parse(SINGLE_APP))
    assert len(binary) == 0xC00
    assert binary[:32] == bytes.fromhex("aa50 01 02 00900000 00600000") + b"nvs".ljust(16, b"\0") + bytes(4)
    assert binary[64:76] == bytes.fromhex("aa50 00 00 00000100 00001000")
    assert binary[96:112] == b"\xeb\xeb" + b"\xff" * 14
    assert binary[112:128] == hashlib.md5(binary[:96]).digest()
    assert set(binary[128:]) == {0xFF}


def test_flags_and_numeric_subtypes_reach_the_binary():
    entry = partitions.to_binary(parse("m, data, 0x40, 0x10000, 64K, encrypted:readonly"))[:32]
    assert entry[2:4] == b"\x01\x40"
    assert struct.unpack("<I", entry[28:])[0] == 3


def test_an_unknown_subtype_is_refused():
    with pytest.raises(PartitionError, match=r"`spifs` is no partition type or subtype; known are .*spiffs"):
        partitions.to_binary(parse("a, data, spifs, 0x10000, 64K"))


def test_the_model_takes_the_rest_of_the_chip():
    table, model = partitions.with_model(parse(SINGLE_APP), "model", 4 * MB, least=0x10000, most=None)
    assert model == Partition("model", "data", "0x40", 0x110000, 4 * MB - 0x110000)
    assert table[:-1] == parse(SINGLE_APP)


def test_the_model_takes_what_is_asked_for_in_whole_pages():
    _, model = partitions.with_model(parse(SINGLE_APP), "model", 4 * MB, least=100_000, most=100_000)
    assert model.size == 0x20000


def test_the_model_starts_on_a_64_kb_boundary_behind_the_last_partition():
    text = SINGLE_APP + "storage, data, fat, 0x200000, 0x1000\n"
    _, model = partitions.with_model(parse(text), "model", 4 * MB, least=1, most=None)
    assert model.offset == 0x210000


def test_a_partition_that_the_table_names_is_used_as_it_is():
    text = SINGLE_APP + "weights, data, 0x99, 0x301000, 0x2000\n"
    table, model = partitions.with_model(parse(text), "weights", 4 * MB, least=MB, most=MB)
    assert model == Partition("weights", "data", "0x99", 0x301000, 0x2000)
    assert table == parse(text)


def test_an_application_is_no_model_partition():
    with pytest.raises(PartitionError, match=r"custom_tigris_partition = factory: .*application"):
        partitions.with_model(parse(SINGLE_APP), "factory", 4 * MB, least=1, most=None)


def test_several_new_partitions_share_the_rest_of_the_chip():
    wanted = {"a": (0x10000, None), "b": (0x10000, None), "c": (0x20000, 0x20000), "d": (0x10000, None)}
    table, found = partitions.with_models(parse(SINGLE_APP), 4 * MB, wanted)
    assert list(table[3:]) == list(found.values())
    assert [(p.label, p.offset, p.size) for p in found.values()] == [
        ("a", 0x110000, 0xB0000),
        ("b", 0x1C0000, 0xC0000),
        ("c", 0x280000, 0x20000),
        ("d", 0x2A0000, 0x160000),
    ]
    again, same = partitions.with_models(table, 4 * MB, wanted)
    assert (again, same) == (table, found)


def test_the_second_partition_that_has_no_room_is_named():
    with pytest.raises(PartitionError, match=r"custom_tigris_partition = b: no room for the model\. It needs 3 MB"):
        partitions.with_models(parse(SINGLE_APP), 4 * MB, {"a": (0x10000, 0x10000), "b": (3 * MB, 3 * MB)})


def refusal(table: str, flash_bytes: int, least: int) -> str:
    with pytest.raises(PartitionError) as error:
        partitions.with_model(parse(table), "model", flash_bytes, least=least, most=None)
    return str(error.value)


def advised(text: str) -> tuple[Partition, ...]:
    """The table that a refusal shows."""
    lines = text.splitlines()
    return parse("\n".join(line for line in lines[1:] if line.count(",") >= 4))


def test_no_room_beside_two_applications_says_the_numbers_and_what_could_shrink():
    text = refusal(FULL, 4 * MB, 512 << 10)
    for part in ("512 KB", "`coredump`", "0x400000", "4 MB", "0 KB left", "`app0` (1280 KB) and `app1` (1280 KB)"):
        assert part in text
    assert "Shrinking `spiffs` from 1408 KB to 896 KB and moving `coredump` down would make room" in text


@given(least=st.integers(1, 1_300_000))
def test_the_advised_table_has_room_and_moves_no_application(least):
    table = advised(refusal(FULL, 4 * MB, least))
    partitions.check(table, 4 * MB)
    assert partitions.find(table, "model").size >= least
    assert [p for p in table if p.is_app] == [p for p in parse(FULL) if p.is_app]
    assert [p.label for p in table] == [p.label for p in parse(FULL)] + ["model"]


def test_a_core_dump_is_removed_not_shrunk():
    table = "factory, app, factory, 0x10000, 0x3E0000\ncoredump, data, coredump, 0x3F0000, 0x10000"
    text = refusal(table, 4 * MB, 1)
    assert "Removing `coredump` would make room" in text
    assert [p.label for p in advised(text)] == ["factory", "model"]


def test_where_nothing_can_shrink_enough_that_is_said():
    text = refusal(FULL, 4 * MB, 2 * MB)
    assert "Shrinking one of `spiffs` (1408 KB), `coredump` (64 KB) is not enough" in text
    assert "one application instead of two" in text
    assert "would make room" not in text


def test_data_before_an_application_is_not_advised_to_shrink():
    table = "spiffs, data, spiffs, 0x10000, 0x100000\nfactory, app, factory, 0x110000, 0x2F0000"
    assert "would make room" not in refusal(table, 4 * MB, 1)


def test_a_binary_table_reads_back():
    table = parse("nvs, data, nvs, 0x9000, 24K\nfactory, app, factory, , 1M, encrypted")
    rows = partitions.parse_binary(partitions.to_binary(table))
    assert rows == (
        Partition("nvs", "0x01", "0x02", 0x9000, 0x6000),
        Partition("factory", "0x00", "0x00", 0x10000, MB, "0x1"),
    )
    assert partitions.parse_binary(b"\xff" * 0xC00) == ()


def test_the_same_table_has_room_on_a_larger_chip():
    _, model = partitions.with_model(parse(FULL), "model", 16 * MB, least=512 << 10, most=None)
    assert (model.offset, model.end) == (4 * MB, 16 * MB)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SINGLE_APP + "x, data, fat, 0x10f000, 0x2000", "`x` at 0x10f000 overlaps `factory`, which ends at 0x110000"),
        ("x, data, fat, 0x8000, 0x1000", "`x` at 0x8000 overlaps the partition table itself"),
        ("x, data, fat, 0x3ff000, 0x2000", "`x` ends at 0x401000, beyond the flash chip of 4 MB"),
        ("x, app, factory, 0x11000, 0x1000", "`x` at 0x11000 must start on a 64 KB boundary"),
        ("x, data, fat, 0x9000, 0x1000\nx, data, fat, 0xa000, 0x1000", "two partitions are named `x`"),
    ],
)
def test_bad_layouts_are_refused_with_numbers(text, message):
    with pytest.raises(PartitionError, match=message):
        partitions.check(parse(text), 4 * MB)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(1, 64), st.integers(1, 64))
def test_any_table_stays_valid_with_a_model(sectors, least, chip_mb):
    rows = [f"p{i}, data, fat, , {count * 4}K" for i, count in enumerate(sectors)]
    table = parse("\n".join(rows))
    try:
        result, model = partitions.with_model(table, "model", chip_mb * MB, least * 0x10000, None)
    except PartitionError:
        last = partitions.align_up(table[-1].end, 0x10000)
        assert last + least * 0x10000 > chip_mb * MB
        return
    partitions.check(result, chip_mb * MB)
    assert result[:-1] == table
    assert model.offset % 0x10000 == 0
    assert model.size >= least * 0x10000
