"""Arranges plans in flash partitions, and writes the partitions' contents and the C header with the offsets.

`tigris layout` calls it, the last step of a build with `idf.py`. PlatformIO's extra script writes the same header by
the same functions of platformio/layout.py. Offsets and sizes are in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tigris_pio.errors import BudgetError, PlanError, UsageError
from tigris_pio.files import write_if_changed
from tigris_pio.format.records import Header
from tigris_pio.platformio import layout, weights
from tigris_pio.platformio.partitions import (
    ENTRY_MAGIC,
    MMU_PAGE,
    SECTOR,
    Partition,
    PartitionError,
    align_up,
    find,
    parse_binary,
    parse_csv,
)
from tigris_pio.spelling import option


@dataclass(frozen=True)
class PartitionItem(layout.Item):
    """A plan, or the weights of a model that is plain C, for the partition `label`."""

    label: str = ""
    is_plan: bool = True


def read_table(path: Path) -> tuple[Partition, ...]:
    """Reads a partition table in binary or CSV form. Raises UsageError."""
    try:
        data = path.read_bytes()
        if data.startswith(ENTRY_MAGIC):
            return parse_binary(data)
        return parse_csv(data.decode("utf-8-sig"), str(path))
    except OSError as error:
        raise UsageError(f"{option('table')}: {path}: {error.strerror}; give the project's partition table") from error
    except (PartitionError, UnicodeDecodeError) as error:
        raise UsageError(f"{option('table')}: {path} is no partition table: {error}") from error


def place_items(given: Sequence[PartitionItem], partition: Partition) -> tuple[layout.Placed, ...]:
    """The items with their offsets in the partition, in the order given. Raises BudgetError if they do not fit."""
    placed = layout.arrange(given, partition.size)
    end = 0
    for number, item in enumerate(placed):
        if item.start % SECTOR:
            raise UsageError(f"{item.name}: OFFSET 0x{item.start:x} is no multiple of a flash sector, 0x{SECTOR:x}")
        if item.start < end:
            raise UsageError(
                f"{item.name}: OFFSET 0x{item.start:x} lies within {placed[number - 1].name}, which ends at 0x{end:x} "
                f"of partition `{partition.label}`; give 0x{end:x} or more, or leave OFFSET out"
            )
        if item.slot_bytes and len(item.plan) > item.slot_bytes:
            raise BudgetError(
                f"{item.name}: the plan takes {len(item.plan)} bytes, {option('slot_size', str(item.slot_bytes))}; "
                f"give {align_up(len(item.plan), SECTOR) >> 10}K or more"
            )
        end = align_up(item.end, SECTOR)
    used = placed[-1].end
    if used > partition.size:
        sizes = ", ".join(f"{item.description} at 0x{item.start:x}" for item in placed)
        what = " and ".join(word for word, is_plan in (("plans", True), ("weights", False))
                            if any(item.is_plan is is_plan for item in given))  # fmt: skip
        raise BudgetError(
            f"partition `{partition.label}` is too small: the {what} end at {used} bytes ({sizes}), the partition at "
            f"0x{partition.offset:x} has {partition.size}. Give it {align_up(used, MMU_PAGE) >> 10}K in the "
            f"partition table, or try {option('compress', 'lz4')}"
        )
    return placed


def partition_of(table: Sequence[Partition], label: str) -> Partition:
    """The data partition `label`. Raises UsageError if there is none."""
    found = find(table, label)
    if found is None:
        names = ", ".join(row.label for row in table)
        raise UsageError(
            f"the partition table has no partition `{label}`, only {names}; "
            f"add a line such as `{label}, data, 0x40, , 1M`"
        )
    if not re.fullmatch(r"[\w.-]+", label, re.ASCII):
        raise UsageError(f"partition `{label}`: its name becomes a text in C; use letters, digits, dots and dashes")
    if found.is_app:
        raise UsageError(f"partition `{label}` is for an application; a model needs one of type data")
    return found


def write_partitions(
    given: Sequence[PartitionItem],
    table: Sequence[Partition],
    folder: Path,
    exact: Collection[str] = (),
    unchecked: Collection[str] = (),
    any_scale: Collection[str] = (),
) -> list[str]:
    """Writes `<partition>.bin` for each partition, `tigris_models.h` for plans and `tigris_weights.h` for weights.

    `exact`, `unchecked` and `any_scale` name models, as in `layout.models_header`. A file that has its content already
    is not touched. Returns a line for each item: its partition, offset and size.
    """
    partitions: dict[str, list[PartitionItem]] = {}
    for item in given:
        partitions.setdefault(item.label, []).append(item)
    placed = {label: place_items(items, partition_of(table, label)) for label, items in partitions.items()}
    for label, items in placed.items():
        write_if_changed(folder / f"{label}.bin", layout.image(items))
    plans = {item.name for item in given if item.is_plan}
    if plans:
        text = layout.models_header(_select(placed, plans), exact, unchecked, any_scale)
        write_if_changed(folder / "tigris_models.h", text.encode())
    weight_files = {item.name for item in given} - plans
    if weight_files:
        write_if_changed(folder / weights.FILE, weights.header(_select(placed, weight_files)).encode())
    return [
        _summary(item, partition_of(table, label), item.name in plans)
        for label, items in placed.items()
        for item in items
    ]


def _select(
    partitions: Mapping[str, Sequence[layout.Placed]], names: Collection[str]
) -> dict[str, tuple[layout.Placed, ...]]:
    """The items with these names, by partition; no entry for a partition without any."""
    found = {label: tuple(item for item in items if item.name in names) for label, items in partitions.items()}
    return {label: items for label, items in found.items() if items}


def _summary(item: layout.Placed, partition: Partition, is_plan: bool) -> str:
    if not is_plan:
        return layout.weights_summary(item, partition)
    header = Header.unpack(item.plan)
    memory: dict[str, object] = {"fast_peak": header.fast_bytes, "slow_peak": header.slow_bytes}
    slots = {item.name: item.slot_bytes}
    return layout.summary([(item.name, len(item.plan), {"memory": memory})], partition, slots)[0]


def read_input(path: Path, what: str) -> bytes:
    """Reads a file of weights, which has no header to check, or a plan. Raises UsageError that asks for `what`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give {what}") from error


def read_plan(path: Path) -> bytes:
    """Reads a plan file, and checks its size and its magic number alone. Raises UsageError or PlanError."""
    data = read_input(path, "a plan that tigris compile wrote")
    if len(data) < Header.size() or not data.startswith(b"TGRS"):
        raise PlanError(f"{path} is no plan; compile the model with: tigris compile MODEL -m SIZE -o {path.stem}.tgrs")
    return data
