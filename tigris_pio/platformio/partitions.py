"""Partition tables in ESP-IDF's CSV and binary forms.

Source of both formats: ESP-IDF programming guide, "Partition Tables". A table takes one 4 KB sector at flash offset
0x8000 or CONFIG_PARTITION_TABLE_OFFSET. It has 0xC00 bytes of 32-byte entries; the last has the MD5 sum of those before
it. Offsets and sizes are bytes. Standard library only: the emulated boards' platform loads this file alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

TABLE_OFFSET = 0x8000
TABLE_SECTOR = 0x1000
TABLE_BYTES = 0xC00
ENTRY_BYTES = 32
ENTRY_MAGIC = b"\xaa\x50"
LABEL_BYTES = 16
SECTOR = 0x1000
# The MMU maps flash in pages of 64 KB; ESP-IDF needs applications on such a boundary.
MMU_PAGE = 0x10000

APP, DATA, BOOTLOADER, TABLE = 0x00, 0x01, 0x02, 0x03
TYPES = {"app": APP, "data": DATA, "bootloader": BOOTLOADER, "partition_table": TABLE}
SUBTYPES = {
    APP: {"factory": 0x00, "test": 0x20, **{f"ota_{i}": 0x10 + i for i in range(16)}, "tee_0": 0x30, "tee_1": 0x31},
    DATA: {
        **{"ota": 0x00, "phy": 0x01, "nvs": 0x02, "coredump": 0x03, "nvs_keys": 0x04, "efuse": 0x05},
        **{"undefined": 0x06, "esphttpd": 0x80, "fat": 0x81, "spiffs": 0x82, "littlefs": 0x83, "tee_ota": 0x90},
    },
    BOOTLOADER: {"primary": 0x00, "ota": 0x01, "recovery": 0x02},
    TABLE: {"primary": 0x00, "ota": 0x01},
}
# The data partitions that select the application to boot.
OTA_DATA_BYTES = 0x2000
OTA_DATA = (0x00, 0x90)
FLAGS = {"encrypted": 1, "readonly": 2}
MODEL_SUBTYPE = "0x40"
RESIZABLE = ("spiffs", "littlefs", "fat", "coredump")


class PartitionError(Exception):
    """A table cannot be used; the message names the partition, the numbers and the remedy."""


@dataclass(frozen=True)
class Partition:
    """One row; `type`, `subtype` and `flags` are spelled as in the CSV."""

    label: str
    type: str
    subtype: str
    offset: int
    size: int
    flags: str = ""

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def is_app(self) -> bool:
        return _number(self.type, TYPES) == APP

    @property
    def is_data(self) -> bool:
        return _number(self.type, TYPES) == DATA

    @property
    def is_fixed(self) -> bool:
        """True for the primary bootloader and table, which lie before all other partitions."""
        return _number(self.type, TYPES) in (BOOTLOADER, TABLE) and self.subtype in ("primary", "0", "0x0", "0x00")


def read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except FileNotFoundError:
        raise PartitionError(
            f"board_build.partitions: the partition table {path} does not exist; give a CSV file's path relative to "
            "the project, or a table that the framework ships"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PartitionError(f"board_build.partitions: the partition table {path} cannot be read: {error}") from None


# ---- CSV ---------------------------------------------------------------------------------------------------------


def parse_csv(text: str, source: str, bootloader: int = 0, table_at: int = TABLE_OFFSET) -> tuple[Partition, ...]:
    """Parses rows in the file's order, and fills in blank offsets, like ESP-IDF's gen_esp32part.py.

    `source` is for messages. `bootloader` and `table_at` are the offsets of the chip's bootloader and table.
    """
    rows: list[Partition] = []
    previous, end = "the partition table itself", table_at + TABLE_SECTOR
    for number, line in enumerate(text.splitlines(), 1):
        content = os.path.expandvars(line).strip()
        if not content or content.startswith("#"):
            continue
        where = f"{source}:{number}"
        row = _parse_row(content, end, (bootloader, table_at), where)
        rows.append(row)
        if row.is_fixed:
            continue
        if row.offset < end:
            raise PartitionError(
                f"{where}: partition `{row.label}` at 0x{row.offset:x} overlaps {previous}, which ends at 0x{end:x}; "
                "sort the rows by offset, or leave column Offset blank"
            )
        previous, end = f"`{row.label}`", row.end
    if not rows:
        raise PartitionError(f"{source}: the partition table is empty")
    return tuple(rows)


def _parse_row(content: str, previous_end: int, fixed: tuple[int, int], where: str) -> Partition:
    bootloader, table_at = fixed
    fields = [field.strip() for field in content.split(",")]
    if len(fields) < 5:
        raise PartitionError(
            f"{where}: `{content}` is no partition; a row is name, type, subtype, offset, size[, flags]"
        )
    label, kind, subtype, offset_text, size_text = fields[:5]
    if not label or len(label.encode("utf-8")) > LABEL_BYTES:
        raise PartitionError(f"{where}: the name `{label}` must have 1 to {LABEL_BYTES} bytes")
    kind, subtype = kind.lower(), subtype.lower()
    number = _column_number("Type", kind, TYPES, where)
    flags = _flags(fields[5] if len(fields) > 5 else "", where)
    if not subtype:
        if number == APP:
            raise PartitionError(f"{where}: column SubType is blank; an application has factory, test, ota_0 …")
        subtype = "undefined" if number == DATA else "0x06"
    # ESP-IDF projects may define further subtypes of applications and data.
    if number in (BOOTLOADER, TABLE) or not subtype.isidentifier():
        _column_number("SubType", subtype, SUBTYPES.get(number, {}), where)
    row = Partition(label, kind, subtype, 0, 0, flags)
    if row.is_fixed:
        at, size = (table_at, TABLE_SECTOR) if number == TABLE else (bootloader, table_at - bootloader)
        return replace(row, offset=at, size=size)
    alignment = MMU_PAGE if number == APP else SECTOR
    offset = align_up(previous_end, alignment) if not offset_text else _parse_size(offset_text, "Offset", where)
    if number in (BOOTLOADER, TABLE):
        size = TABLE_SECTOR if number == TABLE else table_at - bootloader
    else:
        size = _parse_size(size_text, "Size", where)
    if size < 0:
        # ESP-IDF: a negative size is the offset at which the partition ends.
        size = -size - offset
    row = replace(row, offset=offset, size=size)
    _check_row(row, alignment, where)
    return row


def _check_row(row: Partition, alignment: int, where: str) -> None:
    if row.size <= 0:
        raise PartitionError(f"{where}: partition `{row.label}` has {row.size} bytes; give a size above 0")
    if row.offset % alignment:
        nearest = align_up(row.offset, alignment)
        what = "must start on a 64 KB boundary" if alignment == MMU_PAGE else "must start on a flash sector of 4 KB"
        raise PartitionError(
            f"{where}: {'application' if row.is_app else 'partition'} `{row.label}` at 0x{row.offset:x} {what}; "
            f"column Offset: 0x{nearest:x}, or blank"
        )
    if row.size % SECTOR and (row.is_app or "readonly" not in row.flags.split(":")):
        raise PartitionError(
            f"{where}: partition `{row.label}` has {row.size} bytes, which are no whole flash sectors of 4 KB; "
            f"column Size: 0x{align_up(row.size, SECTOR):x}"
        )
    is_ota_data = row.is_data and _known(row.subtype, SUBTYPES[DATA]) in OTA_DATA
    if is_ota_data and row.size != OTA_DATA_BYTES:
        raise PartitionError(
            f"{where}: partition `{row.label}` of subtype {row.subtype} has 0x{row.size:x} bytes; "
            f"column Size: 0x{OTA_DATA_BYTES:x}"
        )


def _flags(text: str, where: str) -> str:
    names = [name for name in text.split(":") if name]
    for name in names:
        if name not in FLAGS:
            raise PartitionError(f"{where}: column Flags: `{name}` is no flag; known are {', '.join(FLAGS)}")
    return ":".join(names)


def _column_number(column: str, text: str, names: dict[str, int], where: str) -> int:
    try:
        return _number(text, names)
    except PartitionError as error:
        raise PartitionError(f"{where}: column {column}: {error}") from None


def _parse_size(text: str, column: str, where: str) -> int:
    value = _integer(text)
    if value is None or (column == "Offset" and value < 0):
        hint = ", without leading zeros" if re.match(r"-?0[0-9]", text) else ""
        hint = "; a comment needs a line of its own" if "#" in text else hint
        raise PartitionError(
            f"{where}: `{text}` is no size; column {column} takes bytes (0x10000, 65536) or 64K, 1M{hint}"
        )
    return value


def _integer(text: str) -> int | None:
    """Parses a Python integer with an optional suffix K or M."""
    digits = text.rstrip("kKmM")
    shift = sum({"k": 10, "m": 20}[letter] for letter in text[len(digits) :].lower())
    try:
        return int(digits, 0) << min(shift, 64)
    except ValueError:
        return None


def to_csv(table: Sequence[Partition]) -> str:
    """The table as CSV, with explicit offsets, so that every framework's generator gives the same layout."""
    rows = ["# Name, Type, SubType, Offset, Size, Flags"]
    rows += [f"{p.label}, {p.type}, {p.subtype}, 0x{p.offset:x}, 0x{p.size:x}, {p.flags}".rstrip(", ") for p in table]
    return "\n".join(rows) + "\n"


# ---- binary ------------------------------------------------------------------------------------------------------


def to_binary(table: Sequence[Partition]) -> bytes:
    """The table as stored in flash, padded with 0xFF to 0xC00 bytes."""
    entries = b"".join(_entry(p) for p in table)
    if len(entries) > TABLE_BYTES - 2 * ENTRY_BYTES:
        raise PartitionError(f"{len(table)} partitions are too many; a table holds {TABLE_BYTES // ENTRY_BYTES - 2}")
    checksum = b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(entries).digest()
    return (entries + checksum).ljust(TABLE_BYTES, b"\xff")


def _entry(p: Partition) -> bytes:
    kind = _number(p.type, TYPES)
    subtype = _number(p.subtype or "0", SUBTYPES.get(kind, {}))
    flags = sum(FLAGS.get(name.strip(), 0) for name in p.flags.split(":"))
    label = p.label.encode("utf-8").ljust(LABEL_BYTES, b"\0")
    return struct.pack("<2sBBII16sI", ENTRY_MAGIC, kind, subtype, p.offset, p.size, label, flags)


def parse_binary(data: bytes) -> tuple[Partition, ...]:
    """Parses the rows of a table in flash, up to the checksum or erased flash."""
    rows = []
    for at in range(0, len(data) - ENTRY_BYTES + 1, ENTRY_BYTES):
        if data[at : at + 2] != ENTRY_MAGIC:
            break
        kind, subtype, offset, size, label, flags = struct.unpack_from("<2xBBII16sI", data, at)
        text = label.split(b"\0", 1)[0].decode("utf-8", "replace")
        rows.append(Partition(text, f"0x{kind:02x}", f"0x{subtype:02x}", offset, size, f"0x{flags:x}" if flags else ""))
    return tuple(rows)


def _number(text: str, names: dict[str, int]) -> int:
    value = _known(text, names)
    if value is None:
        raise PartitionError(f"`{text}` is no partition type or subtype; known are {', '.join(names)}, or 0x00-0xFE")
    if not 0 <= value <= 0xFE:
        raise PartitionError(f"`{text}` is no partition type or subtype; numbers reach from 0x00 to 0xFE")
    return value


def _known(text: str, names: dict[str, int]) -> int | None:
    return names[text] if text in names else _integer(text)


# ---- layout ------------------------------------------------------------------------------------------------------


def align_up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def find(table: Sequence[Partition], label: str) -> Partition | None:
    return next((p for p in table if p.label == label), None)


def application(table: Sequence[Partition]) -> Partition:
    """The partition that a fresh board boots: the first application."""
    first = next((p for p in table if p.is_app), None)
    if first is None:
        raise PartitionError("the partition table has no application partition (type app)")
    return first


def check(table: Sequence[Partition], flash_bytes: int, table_at: int = TABLE_OFFSET) -> None:
    """Raises PartitionError if partitions overlap each other or the table, or exceed the flash chip."""
    for subtype in OTA_DATA:
        twice = [p.label for p in table if p.is_data and _known(p.subtype, SUBTYPES[DATA]) == subtype]
        if len(twice) > 1:
            raise PartitionError(f"partitions `{twice[0]}` and `{twice[1]}` both select the application; keep one")
    labels = [p.label for p in table]
    for label in labels:
        if labels.count(label) > 1:
            raise PartitionError(f"two partitions are named `{label}`; names must differ")
    end, previous = table_at + TABLE_SECTOR, "the partition table itself"
    for p in sorted((p for p in table if not p.is_fixed), key=lambda item: item.offset):
        if p.offset < end:
            raise PartitionError(
                f"partition `{p.label}` at 0x{p.offset:x} overlaps {previous}, which ends at 0x{end:x}"
            )
        if p.is_app and p.offset % MMU_PAGE:
            raise PartitionError(f"application `{p.label}` at 0x{p.offset:x} must start on a 64 KB boundary (0x10000)")
        if p.end > flash_bytes:
            raise PartitionError(
                f"partition `{p.label}` ends at 0x{p.end:x}, beyond the flash chip of {_size(flash_bytes)} "
                f"(0x{flash_bytes:x}); correct the table, or board_upload.flash_size if the chip is larger"
            )
        end, previous = p.end, f"`{p.label}`"


def add_model_partition(
    table: Sequence[Partition],
    label: str,
    flash_bytes: int,
    least: int,
    most: int | None,
    table_at: int = TABLE_OFFSET,
) -> tuple[tuple[Partition, ...], Partition]:
    """Returns the table with a data partition `label`, and that partition.

    An existing partition of this label stays as it is. A new one starts after the last partition on a 64 KB boundary
    and takes the rest of the chip, up to `most` bytes; `least` bytes must fit. Both are rounded up to 64 KB. No other
    partition moves.
    """
    check(table, flash_bytes, table_at)
    existing = find(table, label)
    if existing is not None:
        if existing.is_app:
            raise PartitionError(f"custom_tigris_partition = {label}: the table uses this name for an application")
        return tuple(table), existing
    last = max(table, key=lambda p: p.end)
    offset = align_up(last.end, MMU_PAGE)
    free = max(flash_bytes - offset, 0) // MMU_PAGE * MMU_PAGE
    if free < align_up(least, MMU_PAGE):
        raise PartitionError(_no_room(table, label, last, free, align_up(least, MMU_PAGE), flash_bytes))
    size = free if most is None else min(free, align_up(most, MMU_PAGE))
    model = Partition(label, "data", MODEL_SUBTYPE, offset, size)
    return (*table, model), model


def add_model_partitions(
    table: Sequence[Partition],
    flash_bytes: int,
    wanted: Mapping[str, tuple[int, int | None]],
    table_at: int = TABLE_OFFSET,
) -> tuple[tuple[Partition, ...], dict[str, Partition]]:
    """Returns the table with a data partition for each label of `wanted`, and these partitions by label.

    Values of `wanted` are (least, most) of add_model_partition. New partitions without a limit share the rest of the
    chip evenly.
    """
    result, found = tuple(table), {}
    missing = [label for label in wanted if find(table, label) is None]
    for label, (least, limit) in wanted.items():
        most = limit
        if label in missing and limit is None and len(missing) > 1:
            last = max(p.end for p in result)
            share = (flash_bytes - align_up(last, MMU_PAGE)) // len(missing) // MMU_PAGE * MMU_PAGE
            most = max(share, least)
        result, found[label] = add_model_partition(result, label, flash_bytes, least, most, table_at)
        missing = [other for other in missing if other != label]
    return result, found


def _no_room(table: Sequence[Partition], label: str, last: Partition, free: int, needed: int, flash_bytes: int) -> str:
    message = (
        f"custom_tigris_partition = {label}: no room for the model. It needs {_size(needed)} on a 64 KB boundary, but "
        f"after the last partition `{last.label}`, which ends at 0x{last.end:x}, the flash chip of "
        f"{_size(flash_bytes)} has {_size(free)} left"
    )
    apps = [p for p in table if p.is_app]
    if len(apps) > 1:
        shares = " and ".join(f"`{p.label}` ({_size(p.size)})" for p in apps)
        total = _size(sum(p.size for p in apps))
        message += f"; the {len(apps)} applications for updates over the air, {shares}, take {total}"
    return f"{message}. {_remedies(table, label, needed, flash_bytes)}"


def _remedies(table: Sequence[Partition], label: str, needed: int, flash_bytes: int) -> str:
    alternative = "set board_upload.flash_size if the chip is larger"
    for victim in sorted((p for p in table if p.subtype in RESIZABLE), key=lambda p: -p.size):
        changed = shrink(table, victim, label, needed, flash_bytes)
        if changed is not None:
            what = _describe_change(table, changed, victim)
            return (
                f"{what} would make room, in a table of your own (pio run -t tigris_table writes it; "
                f"board_build.partitions = FILE.csv names it):\n"
                f"{to_csv(changed)}Partitions that move or shrink lose their content. Or {alternative}"
            )
    if any(p.is_app for p in table) and not any(p.subtype in RESIZABLE for p in table):
        return f"Shrink partitions in a table of your own (board_build.partitions = FILE.csv), or {alternative}"
    names = ", ".join(f"`{p.label}` ({_size(p.size)})" for p in table if p.subtype in RESIZABLE)
    apps = sum(p.is_app for p in table)
    fewer = " or one application instead of two" if apps > 1 else ""
    return (
        f"Shrinking one of {names} is not enough: a table of your own (board_build.partitions = FILE.csv) needs "
        f"smaller applications{fewer}; or {alternative}, or ask for less by custom_tigris_flash"
    )


def _describe_change(table: Sequence[Partition], changed: Sequence[Partition], victim: Partition) -> str:
    now = find(changed, victim.label)
    what = (
        f"Shrinking `{victim.label}` from {_size(victim.size)} to {_size(now.size)}"
        if now
        else f"Removing `{victim.label}`"
    )
    moved = [p.label for p in changed for old in table if old.label == p.label and old.offset != p.offset]
    return what + (f" and moving {', '.join(f'`{name}`' for name in moved)} down" if moved else "")


def shrink(
    table: Sequence[Partition], victim: Partition, label: str, needed: int, flash_bytes: int
) -> tuple[Partition, ...] | None:
    """Returns the table with a partition `label` of `needed` bytes, `victim` shrunk and the data after it moved down.

    None if that is not possible: `victim` would have less than 64 KB, or an application lies after it. A core dump is
    removed instead, because a partial one is useless.
    """
    behind = [p for p in table if p.offset > victim.offset]
    last = max(table, key=lambda p: p.end)
    lacking = align_up(last.end, MMU_PAGE) + needed - flash_bytes
    rest = 0 if victim.subtype == "coredump" else victim.size - align_up(lacking, MMU_PAGE)
    if any(p.is_app for p in behind) or 0 < rest < MMU_PAGE or rest < 0 or victim.size - rest < lacking:
        return None
    by = victim.size - rest
    kept = [replace(p, offset=p.offset - by) if p in behind else p for p in table if p is not victim or rest]
    kept = [replace(p, size=rest) if p.label == victim.label else p for p in kept]
    offset = align_up(max(p.end for p in kept), MMU_PAGE)
    if offset + needed > flash_bytes:
        return None
    return (*kept, Partition(label, "data", MODEL_SUBTYPE, offset, needed))


def _size(value: int) -> str:
    if value and value % (1 << 20) == 0:
        return f"{value >> 20} MB"
    return f"{value >> 10} KB" if value % 1024 == 0 else f"{value} bytes"
