"""Interrupted uploads: flash then holds the old plan, the new one, or bytes that firmware refuses as damaged. The steps
are those of -t uploadmodel and of the emulated boards. Flash is erased by sectors and written in order. The
firmware's tigris_model_open opens the plans, in this process."""

import ctypes
import functools
import itertools
import struct
import subprocess
import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import retrained
from tests.platformio.project import ROOT, board_process
from tigris_pio import compile_model
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.platformio import layout, partitions, upload

SECTOR, WRITTEN_AT_ONCE = 4096, 64
OK, ABSENT, DAMAGED = 0, -42, -46
FLASH_BYTES = 1 << 19
SLOT_0, SLOT_BYTES = layout.RECORDS_BYTES, 1 << 17


#: The record of a firmware that confirmed its first update, by slot_log.h.
HALF = struct.pack("<4sIBBH", b"TGSL", 256, 1, 1, 0)
HALF += zlib.crc32(HALF).to_bytes(4, "little")
RECORD_OF_SLOT_1 = HALF + bytes(255 - byte for byte in HALF)
OPENER = """
#include <tigris_models.h>
#include <tigris_update.h>
static uint8_t *flash;
const char *try_open(uint8_t *from, uint32_t offset, int in_slots, int *status, uint32_t *at);
tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data)
{
    (void)label;
    *data = flash + offset;
    return offset + bytes > FLASH_BYTES ? TIGRIS_ERR_PARTITION_TOO_SMALL : TIGRIS_OK;
}
tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes)
{
    const void *data = NULL;
    const tigris_status status = tigris_port_map(label, offset, bytes, &data);
    for (size_t i = 0; status == TIGRIS_OK && i < bytes; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)data)[i];
    return status;
}
static tigris_status used(const char *label, uint32_t offset, size_t bytes, int *erased)
{
    (void)label, (void)offset, (void)bytes;
    *erased = 0;
    return TIGRIS_OK;
}
static const tigris_flash read_only = {NULL, NULL, used};
static const tigris_slots slots = {tigris_slots_open, &read_only, SLOT_BYTES};
const char *try_open(uint8_t *from, uint32_t offset, int in_slots, int *status, uint32_t *at)
{
    tigris_model model = TIGRIS_MODEL_DIGITS;
    tigris_plan plan;
    flash = from;
    model.offset = offset;
    model.slots = in_slots ? &slots : NULL;
    *status = tigris_model_open(&model, &plan);
    *at = *status == 0 ? (uint32_t)(plan.base - from) : 0U;
    return tigris_status_text((tigris_status)*status);
}
"""


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """Two trainings of one model, and the header of the first."""
    folder = tmp_path_factory.mktemp("trainings")
    made = [compile_model(retrained.digits(folder / "digits.onnx", weights=n), fast="64K") for n in (0, 3)]
    return made[0].data, made[1].data, render_model_header(made[0].plan, made[0].data)


@pytest.fixture(scope="module")
def opened(plans, tmp_path_factory):
    """`opened(flash, offset)`: the status, its text and the opened plan's place, as firmware sees it."""
    folder = tmp_path_factory.mktemp("opener")
    (folder / "tigris_model_digits.h").write_text(plans[2], "utf-8")
    placed = {"model": layout.place([("digits", plans[0])], partitions.Partition("model", "data", "0x40", 0, 1 << 20))}
    (folder / "tigris_models.h").write_text(layout.models_header(placed), "utf-8")
    (folder / "open.c").write_text(OPENER, "utf-8")
    runtime = ROOT / "runtime"
    core = (runtime / "src" / f"{name}.c" for name in ("plan", "extents", "records", "band", "crc32", "status"))
    sources = [*(runtime / "port" / f"{name}.c" for name in ("model", "slots", "slot_log")), *core]
    command = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", "-Wl,--no-undefined", "-DTIGRIS_TENSOR_ALIGN=4",
               f"-DFLASH_BYTES={FLASH_BYTES}U", f"-DSLOT_BYTES={SLOT_BYTES}U"]  # fmt: skip
    options = [f"-I{runtime / 'include'}", f"-I{folder}", "-o", str(folder / "open.so")]
    subprocess.run([*command, *map(str, sources), str(folder / "open.c"), *options], check=True)
    library = ctypes.CDLL(str(folder / "open.so"))
    library.try_open.restype = ctypes.c_char_p
    status, place = ctypes.c_int(), ctypes.c_uint32()

    def opened(flash: bytearray, offset: int = 0, in_slots: bool = False) -> tuple[int, str, int]:
        memory = (ctypes.c_uint8 * len(flash)).from_buffer(flash)
        text = library.try_open(memory, ctypes.c_uint32(offset), int(in_slots), ctypes.byref(status),
                                ctypes.byref(place))  # fmt: skip
        return status.value, text.decode(), place.value

    return opened


def by_upload_program(images, at_once=1 << 30):
    """esptool's steps on the flash: it erases an image's sectors, then writes it; or some sectors at a time."""
    for call in upload.upload_calls(images):
        for offset, data in call:
            for start in range(0, len(data), at_once):
                part = data[start : start + at_once]
                for at in range(0, len(part), SECTOR):
                    yield offset + start + at, b"\xff" * SECTOR
                yield offset + start, part


def by_emulated_board(images):
    for offset, data in images:
        for at, sector in board_process.write_steps(offset, data):
            yield at, b"\xff" * SECTOR
            yield at, sector


def by_emulated_uploadmodel(images):
    for call in upload.upload_calls(images):
        yield from by_emulated_board(call)


WAYS = [by_upload_program, functools.partial(by_upload_program, at_once=SECTOR), by_emulated_board,
        by_emulated_uploadmodel]  # fmt: skip


def cut(flash: bytearray, steps):
    """The flash after each erased sector, and after every 64 written bytes."""
    for at, data in steps:
        if data == b"\xff" * SECTOR:
            flash[at : at + SECTOR] = data
            yield flash
            continue
        for start in range(0, len(data), WRITTEN_AT_ONCE):
            piece = data[start : start + WRITTEN_AT_ONCE]
            flash[at + start : at + start + len(piece)] = piece
            yield flash


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", ["erased", "old plan", "new plan", "larger plan"])
def test_a_cut_leaves_the_old_plan_the_new_one_or_damage(plans, opened, way, before):
    old, new, _ = plans
    flash = bytearray(b"\xff" * FLASH_BYTES)
    held = {"erased": b"", "old plan": old, "new plan": new, "larger plan": old + bytes(3 * SECTOR)}[before]
    flash[: len(held)] = held
    seen = Counter()
    for state in cut(flash, way([(0, new)])):
        status, text, _ = opened(state)
        seen[status] += 1
        if status == OK:
            assert state[: len(new)] in (old, new)
        elif status == DAMAGED:
            # Firmware that compares no checksums sees no complete header either.
            assert bytes(state[:SECTOR]) not in (old[:SECTOR], new[:SECTOR])
            assert "damaged, upload it again" in text
        else:
            # Nothing has been written yet.
            assert (status, before) == (ABSENT, "erased")
    assert opened(flash)[0] == OK
    assert flash[: len(new)] == new
    assert seen[DAMAGED] > len(new) // WRITTEN_AT_ONCE
    # It is complete only at the end, or if the old plan's bytes equal the new one's.
    assert seen[OK] <= SECTOR // WRITTEN_AT_ONCE


@pytest.mark.parametrize("way", WAYS)
def test_a_cut_leaves_the_plan_in_the_other_slot(plans, opened, way):
    """The board runs a plan of the second slot. An upload writes the first slot, and erases the records last."""
    old, new, _ = plans
    flash = bytearray(b"\xff" * FLASH_BYTES)
    flash[:SLOT_0] = RECORD_OF_SLOT_1.ljust(SLOT_0, b"\xff")
    flash[SLOT_0 : SLOT_0 + len(old)] = old
    flash[SLOT_0 + SLOT_BYTES : SLOT_0 + SLOT_BYTES + len(old)] = old
    image = layout.image([layout.Placed("digits", SLOT_0, new, SLOT_BYTES)])
    seen = Counter()
    for number, state in enumerate(cut(flash, way([(0, image)]))):
        if number % 5:
            continue
        status, _, at = opened(state, SLOT_0, in_slots=True)
        assert status == OK
        assert state[at : at + len(new)] in (old, new)
        seen[at] += 1
    assert opened(flash, SLOT_0, in_slots=True)[::2] == (OK, SLOT_0)
    assert flash[SLOT_0 : SLOT_0 + len(new)] == new
    assert seen[SLOT_0 + SLOT_BYTES] > 10


@given(st.lists(st.integers(20, 3 * SECTOR), min_size=1, max_size=4), st.integers(0, 3))
def test_an_image_is_written_once_with_its_headers_last(sizes, gap):
    image, starts = b"", []
    for number, size in enumerate(sizes):
        starts.append(len(image))
        plan = b"TGRS" + bytes(8) + size.to_bytes(4, "little") + bytes([number + 1]) * (size - 16)
        image += plan + b"\xff" * (-size % SECTOR) + b"\xff" * (SECTOR * gap)
    image = image[: starts[-1] + sizes[-1]]
    assert upload.plan_starts(image) == starts
    marks, written = upload.upload_calls([(0x110000, image)])
    assert marks == [(0x110000 + start, image[start : start + 16].ljust(SECTOR, b"\xff")) for start in starts]
    assert [at for at, _ in written[-len(starts) :]] == [0x110000 + start for start in starts]
    pieces = sorted(written)
    assert b"".join(data for _, data in pieces) == image
    assert all(at + len(data) == after for (at, data), (after, _) in itertools.pairwise(pieces))
    assert all(at % SECTOR == 0 for at, _ in written)
