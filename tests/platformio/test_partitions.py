"""Partition tables: both formats, and the place of the model's partition."""

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tigris_pio.platformio import frameworks, partitions
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


def test_offsets_and_sizes_are_read_in_all_spellings(monkeypatch):
    """A blank first offset is after the table; a negative size is an end; environment variables are expanded."""
    monkeypatch.setenv("MODEL_SIZE", "0x20000")
    table = parse("nvs, data, nvs, , 24K\nfactory, app, factory, , 1M, encrypted\nlast, 0x40, 0x01, , 4096\n"
                  "end, data, fat, , -0x120000\nm, data, 0x40, , $MODEL_SIZE")  # fmt: skip
    assert table == (
        Partition("nvs", "data", "nvs", 0x9000, 0x6000),
        Partition("factory", "app", "factory", 0x10000, MB, "encrypted"),
        Partition("last", "0x40", "0x01", 0x110000, 4096),
        Partition("end", "data", "fat", 0x111000, 0xF000),
        Partition("m", "data", "0x40", 0x120000, 0x20000),
    )


@pytest.mark.parametrize(("more", "least", "most", "offset", "size"), [
    ("", 0x10000, None, 0x110000, 4 * MB - 0x110000),  # the rest of the chip
    ("", 100_000, 100_000, 0x110000, 0x20000),  # whole pages
    ("storage, data, fat, 0x200000, 0x1000\n", 1, None, 0x210000, 4 * MB - 0x210000),  # after the last, on 64 KB
])  # fmt: skip
def test_the_model_has_a_partition_after_the_others(more, least, most, offset, size):
    table, model = partitions.add_model_partition(parse(SINGLE_APP + more), "model", 4 * MB, least, most)
    assert model == Partition("model", "data", "0x40", offset, size)
    assert table == (*parse(SINGLE_APP + more), model)


def test_an_existing_partition_is_not_changed():
    text = SINGLE_APP + "weights, data, 0x99, 0x301000, 0x2000\n"
    table, model = partitions.add_model_partition(parse(text), "weights", 4 * MB, least=MB, most=MB)
    assert model == Partition("weights", "data", "0x99", 0x301000, 0x2000)
    assert table == parse(text)
    with pytest.raises(PartitionError, match=r"custom_tigris_partition = factory: .*application"):
        partitions.add_model_partition(parse(SINGLE_APP), "factory", 4 * MB, least=1, most=None)


def test_several_new_partitions_share_the_rest_of_the_chip():
    wanted = {"a": (0x10000, None), "b": (0x10000, None), "c": (0x20000, 0x20000), "d": (0x10000, None)}
    table, found = partitions.add_model_partitions(parse(SINGLE_APP), 4 * MB, wanted)
    assert list(table[3:]) == list(found.values())
    assert [(p.label, p.offset, p.size) for p in found.values()] == [
        ("a", 0x110000, 0xB0000), ("b", 0x1C0000, 0xC0000), ("c", 0x280000, 0x20000), ("d", 0x2A0000, 0x160000),
    ]  # fmt: skip
    assert partitions.add_model_partitions(table, 4 * MB, wanted) == (table, found)
    # One of two partitions needs more than half.
    _, found = partitions.add_model_partitions(parse(SINGLE_APP), 4 * MB, {"a": (2 * MB, None), "b": (0x10000, None)})
    assert found["a"].size == 2 * MB and (found["b"].offset, found["b"].end) == (found["a"].end, 4 * MB)
    with pytest.raises(PartitionError, match=r"custom_tigris_partition = b: no room for the model\. It needs 3 MB"):
        partitions.add_model_partitions(parse(SINGLE_APP), 4 * MB, {"a": (0x10000, 0x10000), "b": (3 * MB, 3 * MB)})


def test_partitions_lie_after_a_table_at_another_offset():
    blank = re.sub(r"0x\w+, +", ",", re.sub(r"0x6000", "24K", SINGLE_APP).replace("0x1000,", "4K,"))
    rows = partitions.parse_csv(blank, "t", 0, 0x10000)
    assert [p.offset for p in rows] == [0x11000, 0x17000, 0x20000]
    _, found = partitions.add_model_partitions(rows, 4 * MB, {"model": (0x10000, None)}, 0x10000)
    assert found["model"].offset == 0x120000
    nvs = "nvs, data, nvs, 0x9000, 0x1000\n"
    for table_at in (0x9000, 0x10000):
        overlaps = f"`nvs` at 0x9000 overlaps the partition table itself, which ends at 0x{table_at + 4096:x}"
        with pytest.raises(PartitionError, match=overlaps):
            partitions.parse_csv(nvs, "t", 0, table_at)
        with pytest.raises(PartitionError, match=overlaps):
            partitions.add_model_partition(parse(nvs), "m", 4 * MB, 1, None, table_at)
    assert partitions.parse_csv("nvs, data, nvs, , 0x1000\n", "t", 0, 0x7000)[0].offset == 0x8000


class Env(dict):
    """The part of SCons's environment that determines the table's offset."""

    def __init__(self, project: Path, frameworks: list[str], custom: str, board: dict[str, str]) -> None:
        super().__init__(PIOENV="board", PIOFRAMEWORK=frameworks)
        self.project, self.custom, self.board = project, custom, board

    def BoardConfig(self) -> dict[str, str]:
        return self.board

    def GetProjectOption(self, name: str, default: str) -> str:
        assert name == "custom_sdkconfig"
        return self.custom or default

    def subst(self, text: str) -> str:
        assert text == "$PROJECT_DIR"
        return str(self.project)


IN_DEFAULTS = {"sdkconfig.defaults": "A=y\nCONFIG_PARTITION_TABLE_OFFSET=0xA000\n"}
MADE = {"sdkconfig.board": "CONFIG_PARTITION_TABLE_OFFSET=0x9000\n", **IN_DEFAULTS}
OF_CHIP = {"sdkconfig.defaults.esp32": "CONFIG_PARTITION_TABLE_OFFSET=0xB000", **IN_DEFAULTS}


@pytest.mark.parametrize(("framework", "files", "board", "custom", "expected"), [
    ("espidf", {}, {}, "", (0x8000, "")), ("arduino", IN_DEFAULTS, {}, "", (0x8000, "")),
    ("espidf", IN_DEFAULTS, {}, "", (0xA000, "CONFIG_PARTITION_TABLE_OFFSET = 0xA000")),
    ("espidf", MADE, {}, "", (0x9000, "CONFIG_PARTITION_TABLE_OFFSET = 0x9000")),
    ("espidf", OF_CHIP, {}, "", (0xB000, "CONFIG_PARTITION_TABLE_OFFSET = 0xB000")),
    ("arduino", {}, {}, IN_DEFAULTS["sdkconfig.defaults"], (0xA000, "CONFIG_PARTITION_TABLE_OFFSET = 0xA000")),
    ("arduino", {}, {"upload.partition_table_offset": "0x10000"}, "",
     (0x10000, "board_upload.partition_table_offset = 0x10000")),
    ("arduino", {}, {"build.partition_table_offset": "36864"}, "",
     (0x9000, "board_build.partition_table_offset = 36864")),
    ("espidf", MADE, {"upload.partition_table_offset": "0xA000"}, "",
     "board_upload.partition_table_offset = 0xA000: but CONFIG_PARTITION_TABLE_OFFSET = 0x9000; the partition table"),
    ("espidf", {}, {"upload.partition_table_offset": "32K"}, "", "32K: is no offset in flash; give one such as 0x8000"),
])  # fmt: skip
def test_the_tables_offset_is_the_frameworks(tmp_path, framework, files, board, custom, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    env = Env(tmp_path, [framework], custom, board)
    if isinstance(expected, str):
        with pytest.raises(PartitionError, match=expected):
            frameworks.table_offset(env)
        return
    assert frameworks.table_offset(env) == expected
    frameworks.check_table_offset(expected, expected[0])
    remedy = f"{expected[1]}: but the framework flashes .* at 0x7000; leave it out" if expected[1] else \
        "laid out for one at 0x8000; set board_upload.partition_table_offset = 0x7000"  # fmt: skip
    with pytest.raises(PartitionError, match=remedy):
        frameworks.check_table_offset(expected, 0x7000)


def refusal(table: str, flash_bytes: int, least: int) -> str:
    with pytest.raises(PartitionError) as error:
        partitions.add_model_partition(parse(table), "model", flash_bytes, least=least, most=None)
    return str(error.value)


def advised(text: str) -> tuple[Partition, ...]:
    """The table in a refusal."""
    lines = text.splitlines()
    return parse("\n".join(line for line in lines[1:] if line.count(",") >= 4))


@pytest.mark.parametrize(("table", "least", "parts", "kept"), [
    (FULL, 512 << 10, ["512 KB", "`coredump`", "0x400000", "4 MB", "0 KB left", "`app0` (1280 KB) and `app1` (1280 KB)",
                       "Shrinking `spiffs` from 1408 KB to 896 KB and moving `coredump` down would make room"], None),
    ("factory, app, factory, 0x10000, 0x3E0000\ncoredump, data, coredump, 0x3F0000, 0x10000", 1,
     ["Removing `coredump` would make room"], ["factory", "model"]),
    (FULL, 2 * MB, ["Shrinking one of `spiffs` (1408 KB), `coredump` (64 KB) is not enough",
                    "one application instead of two"], []),
    # Partitions before an application do not move.
    ("spiffs, data, spiffs, 0x10000, 0x100000\nfactory, app, factory, 0x110000, 0x2F0000", 1, ["no room"], []),
])  # fmt: skip
def test_a_full_table_is_refused_with_numbers_and_a_remedy(table, least, parts, kept):
    text = refusal(table, 4 * MB, least)
    assert [part for part in parts if part not in text] == []
    assert ("would make room" in text) == (kept != [])
    assert not kept or [p.label for p in advised(text)] == kept


@given(least=st.integers(1, 1_300_000))
def test_the_advised_table_has_room_and_moves_no_application(least):
    table = advised(refusal(FULL, 4 * MB, least))
    partitions.check(table, 4 * MB)
    assert partitions.find(table, "model").size >= least
    assert [p for p in table if p.is_app] == [p for p in parse(FULL) if p.is_app]
    assert [p.label for p in table] == [p.label for p in parse(FULL)] + ["model"]


@pytest.mark.parametrize(("rows", "message"), [
    ([("x", "fat", 0x9000, 0x3000), ("y", "fat", 0xB000, 0x2000)], "`y` at 0xb000 overlaps `x`, which ends at 0xc000"),
    ([("x", "fat", 0x8000, 0x1000)], "`x` at 0x8000 overlaps the partition table itself"),
    ([("x", "fat", 0x3FF000, 0x2000)], "`x` ends at 0x401000, beyond the flash chip of 4 MB"),
    ([("x", "factory", 0x11000, 0x1000)], "`x` at 0x11000 must start on a 64 KB boundary"),
    ([("x", "fat", 0x9000, 0x1000), ("x", "fat", 0xA000, 0x1000)], "two partitions are named `x`"),
])  # fmt: skip
def test_bad_layouts_are_refused_with_numbers(rows, message):
    table = [Partition(name, {"factory": "app"}.get(kind, "data"), kind, at, size) for name, kind, at, size in rows]
    with pytest.raises(PartitionError, match=message):
        partitions.check(table, 4 * MB)


# ---- the rules of gen_esp32part.py -------------------------------------------------------------------------------


@pytest.mark.parametrize(("row", "message"), [
    ("a, data, fat, 0100000, 64K", r"`0100000` is no size; column Offset .*without leading zeros"),
    ("a, data, fat, -4096, 64K", "`-4096` is no size; column Offset"),
    ("a, data, fat, 0x100000, ", "`` is no size; column Size"),
    ("a, data, fat, 0x100000, 64K # comment", "`64K # comment` .* a comment needs a line of its own"),
    ("a, data, fat, 0x110001, 64K", "`a` at 0x110001 must start on a flash sector .* column Offset: 0x111000"),
    ("a, app, ota_0, 0x111000, 64K", "`a` at 0x111000 must start on a 64 KB boundary; column Offset: 0x120000"),
    ("a, data, fat, , 0", "has 0 bytes"),
    ("a, data, fat, , 100", "`a` has 100 bytes, which are no whole flash sectors of 4 KB; column Size: 0x1000"),
    ("a, app, ota_0, , 0x10001, readonly", "has 65537 bytes, .* column Size: 0x11000"),
    ("a, data, fat, , 64K, encrypted:Readonly", "column Flags: `Readonly` is no flag; known are encrypted, readonly"),
    ("a, dta, fat, , 64K", "column Type: `dta` is no partition type.*known are app, data, bootloader"),
    ("a, 0x100, fat, , 64K", "column Type: `0x100` is no partition type.*from 0x00 to 0xFE"),
    ("a, data, 010, , 64K", "column SubType: `010` is no"),
    ("a, bootloader, factory, , 64K", "column SubType: `factory` is no.*known are primary, ota, recovery"),
    ("a, app, , , 64K", "column SubType is blank"),
    ("a, data, ota, , 64K", "`a` of subtype ota has 0x10000 bytes; column Size: 0x2000"),
    ("a, data, fat, 0x10000, 64K", "`a` at 0x10000 overlaps `factory`, which ends at 0x110000; sort the rows"),
    ("a123456789abcdef, data", "is no partition; a row is name"),
    ("ä23456789abcdefg, data, fat, , 64K", "`ä23456789abcdefg` must have 1 to 16 bytes"),
])  # fmt: skip
def test_what_gen_esp32part_refuses_is_refused_with_row_and_column(row, message):
    with pytest.raises(PartitionError, match="table.csv:6: .*" + message):
        parse(SINGLE_APP + row)


def test_rows_of_esp_idf_5_4_and_later():
    """The binary's type, subtype, offset, size and flags of each."""
    rows = {
        "boot, bootloader, primary, N/A, N/A": ("0x02", "0x00", 0x2000, 0x6000, ""),
        "table, partition_table, primary, , ": ("0x03", "0x00", 0x8000, 0x1000, ""),
        "nvs, DATA, NVS, , 0x6000": ("0x01", "0x02", 0x9000, 0x6000, ""),
        "otadata, data, ota, , 8k": ("0x01", "0x00", 0xF000, 0x2000, ""),
        "tee_otadata, data, tee_ota, , 0x2000": ("0x01", "0x90", 0x11000, 0x2000, ""),
        "tee_0, app, tee_0, , 0b1_0000000000000000": ("0x00", "0x30", 0x20000, 0x10000, ""),
        "tee_1, app, tee_1, , 64K": ("0x00", "0x31", 0x30000, 0x10000, ""),
        "boot2, bootloader, ota, , ": ("0x02", "0x01", 0x40000, 0x6000, ""),
        "table2, partition_table, ota, , ": ("0x03", "0x01", 0x46000, 0x1000, ""),
        "a#b, data, , , 100, encrypted:readonly": ("0x01", "0x06", 0x47000, 100, "0x3"),
        "own, 0x40, , 0x100000, 0X1000": ("0x40", "0x06", 0x100000, 0x1000, ""),
        "seventeen_b_yte, app, ota_15, , 1M, :encrypted:": ("0x00", "0x1f", 0x110000, MB, "0x1"),
    }
    table = partitions.parse_csv("# comment\r\n" + "\n".join(rows) + "\n", "t", bootloader=0x2000)
    partitions.check(table, 4 * MB)
    found = partitions.parse_binary(partitions.to_binary(table))
    assert [(p.type, p.subtype, p.offset, p.size, p.flags) for p in found] == list(rows.values())
    assert found[9].label == "a#b"
    again = partitions.parse_csv(partitions.to_csv(table), "again", bootloader=0x2000)
    assert partitions.to_binary(again) == partitions.to_binary(table)


@given(st.text(max_size=80), st.lists(st.sampled_from(["a", "app", "data", "0x10", "ota", "4K", "-1", "", "#", "$"])))
def test_any_text_is_a_table_or_a_named_row(text, words):
    with pytest.raises(PartitionError, match="is empty"):
        parse("# nothing")
    for csv in (text, ",".join(words), f"a,data,{text}", "x,app,factory,,64K\n" + ", ".join(words)):
        try:
            partitions.to_binary(parse(csv))
        except PartitionError as error:
            assert "table.csv" in str(error) or "partition type or subtype" in str(error)


@pytest.mark.parametrize(("rows", "fits"), [(94, True), (95, False)])
def test_a_table_has_room_for_its_checksum_and_an_end(rows, fits):
    """The chip's bootloader reads 96 entries: the last two are the checksum and the end of the table."""
    table = parse("\n".join(f"p{i}, data, fat, , 4K" for i in range(rows)))
    if not fits:
        with pytest.raises(PartitionError, match=f"{rows} partitions are too many; a table holds 94"):
            partitions.to_binary(table)
        return
    binary = partitions.to_binary(table)
    assert len(binary) == 0xC00 and partitions.parse_binary(b"\xff" * 0xC00) == ()
    assert binary[:32] == bytes.fromhex("aa50 01 81 00900000 00100000") + b"p0".ljust(16, b"\0") + bytes(4)
    assert binary[32 * rows : 32 * rows + 2] == b"\xeb\xeb"
    assert binary[32 * rows + 16 : 32 * rows + 32] == hashlib.md5(binary[: 32 * rows]).digest()
    assert set(binary[32 * rows + 32 :]) == {0xFF}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.data())
def test_shares_hold_what_each_needs_and_overlap_nothing(least, data):
    limits = [data.draw(st.none() | st.integers(n, 40)) for n in least]
    wanted = {f"m{i}": (n << 16, m and m << 16) for i, (n, m) in enumerate(zip(least, limits, strict=True))}
    try:
        table, found = partitions.add_model_partitions(parse(SINGLE_APP), 8 * MB, wanted)
    except PartitionError as error:
        assert "no room for the model" in str(error)
        return
    partitions.check(table, 8 * MB)
    assert all(found[label].size >= needed for label, (needed, _) in wanted.items())
