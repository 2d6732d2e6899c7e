"""Plans and weights in one partition, and the headers with their places."""

import subprocess
from dataclasses import replace

import pytest

from tigris_pio.cli.layout import layout as command
from tigris_pio.errors import BudgetError, UsageError
from tigris_pio.platformio import layout, table, upload, weights
from tigris_pio.platformio.partitions import Partition

PARTITION = Partition("model", "data", "0x40", 0x110000, 0x4000)


def test_each_plan_has_its_own_sectors():
    placed = layout.place([("a", b"x" * 4097), ("b", b"y" * 10)], PARTITION)
    assert [(item.name, item.offset) for item in placed] == [("a", 0), ("b", 0x2000)]
    assert layout.image(placed) == b"x" * 4097 + b"\xff" * 4095 + b"y" * 10
    # Their own MMU pages if the partition is large enough.
    for size, second in ((0x1000A, 0x10000), (0x10009, 0x2000)):
        placed = layout.place([("a", bytes(0x1001)), ("b", bytes(10))], replace(PARTITION, size=size))
        assert [item.offset for item in placed] == [0, second]


def test_a_plan_may_fill_the_partition_but_no_more():
    layout.place([("a", bytes(0x4000))], PARTITION)
    with pytest.raises(layout.LayoutError) as error:
        layout.place([("a", bytes(0x3000)), ("b", bytes(0x1001))], PARTITION)
    for part in ("custom_tigris_partition = model", "16385 bytes", "a 12288, b 4097", "0x110000", "16384", "64K"):
        assert part in str(error.value)


def test_two_slots_lie_after_their_records():
    plan = b"TGRS" + bytes(0x1500)
    placed = layout.place([("a", plan), ("b", b"y" * 10)], replace(PARTITION, size=0x10000), slots=2)
    assert [(item.start, item.offset, item.slot_bytes, item.end) for item in placed] == [
        (0, 0x2000, 0x2000, 0x6000), (0x6000, 0x8000, 0x1000, 0xA000),
    ]  # fmt: skip
    assert layout.image(placed) == b"\xff" * 0x2000 + plan.ljust(0x6000, b"\xff") + b"y" * 10
    roomy = layout.place([("a", plan), ("b", b"y")], replace(PARTITION, size=0x200000), slots=2)
    assert [(item.offset, item.slot_bytes) for item in roomy] == [(0x2000, 0x10000), (0x32000, 0x10000)]
    assert (table.room_bytes(None, [20_000], 1), table.room_bytes(0x10000, [20_000, None], 2)) == (0x10000, 0x60000)
    assert table.room_bytes(None, [60_000], 2) == 0x40000  # two slots of 120,000 bytes and the records
    (sized,) = layout.place([("a", plan)], replace(PARTITION, size=0x10000), 2, 0x3000)
    assert (sized.offset, sized.slot_bytes, sized.end) == (0x2000, 0x3000, 0x8000)
    text = layout.models_header({"model": placed})
    assert '#include "tigris_update.h"' in text
    assert [line for line in text.splitlines() if "_SLOTS," in line] == ["    &TIGRIS_MODEL_A_SLOTS,",
                                                                         "    &TIGRIS_MODEL_B_SLOTS,"]
    assert "tigris_update.h" not in layout.models_header({"model": layout.place([("a", plan)], PARTITION)})


@pytest.mark.parametrize(("size", "slot_bytes", "parts"), [
    (0x4000, None, ["the plans take 24576 bytes (a 2 slots of 8192)", "lz4, custom_tigris_slots = 1"]),
    (0x10000, 0x1000, ["custom_tigris_slot_size = 4096: the plan of model a takes 5380 bytes", "give 8K or more"]),
])  # fmt: skip
def test_slots_that_are_too_small_are_refused(size, slot_bytes, parts):
    with pytest.raises(layout.LayoutError) as error:
        layout.place([("a", b"TGRS" + bytes(0x1500))], replace(PARTITION, size=size), 2, slot_bytes)
    for part in parts:
        assert part in str(error.value)


def test_the_header_names_partition_offset_and_accepted_plans():
    plan = bytes(16) + b"\x78\x56\x34\x12"
    placed = layout.place([("a", b"x"), ("b", plan)], PARTITION)
    more = [layout.Placed("c", 0, b"z")]
    text = layout.models_header({"model": placed, "more": more}, exact=["b"], unchecked=["a"], any_scale=["c"])
    assert text.index("#define TIGRIS_MODEL_C_ANY_SCALE 1") < text.index('#include "tigris_model_c.h"')
    assert "TIGRIS_MODEL_C_SHAPE_CRC32," in text and "TIGRIS_MODEL_A_INTERFACE_CRC32," in text
    assert '#include "tigris_model_b.h"' in text
    models = text.split("static const tigris_model ")[1:]
    assert [model.split(" ", 1)[0] for model in models] == ["TIGRIS_MODEL_A", "TIGRIS_MODEL_B", "TIGRIS_MODEL_C"]
    parts = ("0x1000u", "0x12345678u", '"more"', "0, /* the checksum is comp", "1, /* the checksum is not compared */")
    assert [[part in model for part in parts] for model in models] == [
        [False, False, False, False, True], [True, True, False, True, False], [False, False, True, True, False],
    ]  # fmt: skip


def test_the_summary_shows_share_and_memory():
    (line,) = layout.summary([("kws", 0x2000, {"memory": {"fast_peak": 100, "slow_peak": 7}})], PARTITION)
    assert line == "Model: [=====     ]  50.0% (used 8192 bytes from 16384 bytes) kws: fast 100, slow 7 bytes"


# Weights of models compiled as C: tigris_weights.h, `tigris layout --weights`, and the upload of weights alone.

TABLE = "factory, app, factory, 0x10000, 0x100000\nmodel, data, 0x40, 0x110000, 0x5000\n"
PROGRAM = """
#include "tigris_weights.h"
int main(void)
{
    static const uint8_t right[] = {%s};
    uint8_t wrong[sizeof right];
    for (unsigned at = 0; at < sizeof right; at++) {
        for (unsigned i = 0; i < sizeof right; i++)
            wrong[i] = (uint8_t)(right[i] ^ (i == at));
        if (tigris_weights_match(wrong, sizeof wrong, A_1_WEIGHTS_CRC32))
            return 1;
    }
    return tigris_weights_match(right, sizeof right, A_1_WEIGHTS_CRC32) ? 0 : 2;
}
"""


@pytest.mark.parametrize("compiler", [["gcc", "-std=c99", "-x", "c"], ["g++", "-std=c++11", "-x", "c++"]])
def test_the_header_distinguishes_weights(tmp_path, compiler):
    data = bytes(range(0, 250, 7))
    (tmp_path / weights.FILE).write_text(weights.header({"nn": (layout.Placed("a_1", 0x1000, data),)}), "utf-8")
    (tmp_path / "main.c").write_text(PROGRAM % ", ".join(map(str, data)), "utf-8")
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-pedantic", "-Werror"]
    subprocess.run([*compiler, *strict, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def lay_out(folder, *words):
    (folder / "table.csv").write_text(TABLE, "utf-8")
    command.main([*words, "--table", str(folder / "table.csv"), "-o", str(folder)], standalone_mode=False)


def file_of(folder, data):
    (folder / "w.bin").write_bytes(data)
    return str(folder / "w.bin")


def test_weights_that_cannot_be_placed_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no plan and no weights: give --model"):
        lay_out(tmp_path)
    with pytest.raises(UsageError, match=r"none\.bin: No such file .*; give the file of weights that tigris codegen"):
        lay_out(tmp_path, "--weights", "a", str(tmp_path / "none.bin"), "model", "auto")
    one = ("--weights", "a", file_of(tmp_path, bytes(0x5001)), "model", "auto")
    with pytest.raises(BudgetError, match="`model` is too small: the weights end at 20481 bytes"):
        lay_out(tmp_path, *one)
    with pytest.raises(UsageError, match="two models are named a; rename one of them"):
        lay_out(tmp_path, *one, *one)


def test_weights_alone_are_uploaded_whole():
    data = bytes(range(256)) * 40
    assert upload.upload_calls([(0x110000, data), (0x120000, data[:100])]) == [
        [], [(0x110000, data), (0x120000, data[:100])],
    ]  # fmt: skip
