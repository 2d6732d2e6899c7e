"""Where the plans of a firmware lie in flash: their partitions' contents, and the C header that says so.

The build with `idf.py` ends here; the extra script for PlatformIO does the same with the same functions for the
header. Offsets and sizes are bytes.
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
class Wanted:
    """A plan, or weights, for the partition `label`: at `offset` in it, or behind what was placed before.

    `exact`: the firmware opens this very plan only. `any_scale`: also plans of other scales. `unchecked`: without
    comparing its checksum. `slots`: 1, or 2 of `slot_bytes`, which `offset` is the start of; None: as large as the plan
    needs.
    """

    name: str
    plan: bytes
    label: str
    offset: int | None
    exact: bool = False
    any_scale: bool = False
    unchecked: bool = False
    slots: int = 1
    slot_bytes: int | None = None
    is_plan: bool = True  #: or weights of a model that is C


def read_table(path: Path) -> tuple[Partition, ...]:
    """A partition table in binary or CSV form."""
    try:
        data = path.read_bytes()
        if data.startswith(ENTRY_MAGIC):
            return parse_binary(data)
        return parse_csv(data.decode("utf-8-sig"), str(path))
    except OSError as error:
        raise UsageError(f"{option('table')}: {path}: {error.strerror}; give the project's partition table") from error
    except (PartitionError, UnicodeDecodeError) as error:
        raise UsageError(f"{option('table')}: {path} is no partition table: {error}") from error


def place(wanted: Sequence[Wanted], partition: Partition) -> tuple[layout.Placed, ...]:
    """Offsets within the partition, in the order given; BudgetError when they do not fit."""
    items = [layout.Item(item.name, item.plan, item.offset, item.slots, item.slot_bytes) for item in wanted]
    placed = layout.arrange(items, partition.size)
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
        sizes = ", ".join(f"{item.described} at 0x{item.start:x}" for item in placed)
        what = " and ".join(word for word, is_plan in (("plans", True), ("weights", False))
                            if any(item.is_plan is is_plan for item in wanted))  # fmt: skip
        raise BudgetError(
            f"partition `{partition.label}` is too small: the {what} end at {used} bytes ({sizes}), the partition at "
            f"0x{partition.offset:x} has {partition.size}. Give it {align_up(used, MMU_PAGE) >> 10}K in the "
            f"partition table, or try {option('compress', 'lz4')}"
        )
    return placed


def partition_of(table: Sequence[Partition], label: str) -> Partition:
    """The data partition `label`; UsageError when there is none."""
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


def write(wanted: Sequence[Wanted], table: Sequence[Partition], folder: Path) -> list[str]:
    """Writes `<partition>.bin` for each partition, `tigris_models.h` for plans and `tigris_weights.h` for weights.

    Returns lines that say what was taken.
    Files whose content would be the same are left alone, so that nothing is built again for them.
    """
    partitions: dict[str, list[Wanted]] = {}
    for item in wanted:
        partitions.setdefault(item.label, []).append(item)
    placed = {label: place(items, partition_of(table, label)) for label, items in partitions.items()}
    for label, items in placed.items():
        write_if_changed(folder / f"{label}.bin", layout.image(items))
    exact, unchecked, any_scale = (
        {item.name for item in wanted if getattr(item, field)} for field in ("exact", "unchecked", "any_scale")
    )
    plans = {item.name for item in wanted if item.is_plan}
    if plans:
        text = layout.models_header(_those(placed, plans), exact, unchecked, any_scale)
        write_if_changed(folder / "tigris_models.h", text.encode())
    others = {item.name for item in wanted} - plans
    if others:
        write_if_changed(folder / weights.FILE, weights.header(_those(placed, others)).encode())
    return [
        _summary(item, partition_of(table, label), item.name in plans)
        for label, items in placed.items()
        for item in items
    ]


def _those(
    partitions: Mapping[str, Sequence[layout.Placed]], names: Collection[str]
) -> dict[str, tuple[layout.Placed, ...]]:
    """Of these names, in partitions that have any."""
    found = {label: tuple(item for item in items if item.name in names) for label, items in partitions.items()}
    return {label: items for label, items in found.items() if items}


def _summary(item: layout.Placed, partition: Partition, is_plan: bool) -> str:
    if not is_plan:
        return layout.weights_summary(item, partition)
    header = Header.unpack(item.plan)
    memory: dict[str, object] = {"fast_peak": header.fast_bytes, "slow_peak": header.slow_bytes}
    slots = {item.name: item.slot_bytes}
    return layout.summary([(item.name, len(item.plan), {"memory": memory})], partition, slots)[0]


def read_weights(path: Path) -> bytes:
    """A file of weights; it says of itself nothing that could be checked."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the file of weights that tigris codegen wrote") from error


def read_plan(path: Path) -> bytes:
    """A plan file; its header is checked no further than that it is one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a plan that tigris compile wrote") from error
    if len(data) < Header.size() or not data.startswith(b"TGRS"):
        raise PlanError(f"{path} is no plan; compile the model with: tigris compile MODEL -m SIZE -o {path.stem}.tgrs")
    return data
