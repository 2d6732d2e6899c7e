"""`pio run -t tigris_table`: writes a partition table with room for the models into the project. Runs inside SCons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import layout, partitions

TARGET = "tigris_table"
FILE = "partitions.csv"
#: Bytes for a plan that was not compiled yet.
UNKNOWN_PLAN = 256 << 10


def is_requested() -> bool:
    """True if this run writes the table and nothing else."""
    from SCons.Script import COMMAND_LINE_TARGETS  # noqa: PLC0415  (only there within SCons)

    return TARGET in map(str, COMMAND_LINE_TARGETS)


def slots_bytes(slots: int, slot_bytes: int) -> int:
    """Bytes of a model's one slot, or of its two slots and their records."""
    return slot_bytes if slots == 1 else layout.RECORDS_BYTES + 2 * partitions.align_up(slot_bytes, partitions.SECTOR)


def room_bytes(limit: int | None, plan_bytes: Sequence[int | None], slots: int = 1) -> int:
    """Bytes of a partition for plans of these sizes, None: unknown. Each gets `limit`, or twice its current size."""
    wanted = [slots_bytes(slots, limit or (UNKNOWN_PLAN if size is None else 2 * size)) for size in plan_bytes]
    return sum(partitions.align_up(size, partitions.MMU_PAGE) for size in wanted)


def make_room(
    table: Sequence[partitions.Partition],
    flash_bytes: int,
    wanted: Mapping[str, int],
    table_at: int = partitions.TABLE_OFFSET,
) -> tuple[partitions.Partition, ...]:
    """`table` with a partition of at least the wanted bytes for each label; data partitions shrink or move if needed.

    An existing partition stays as it is. PartitionError if no data partition can shrink enough.
    """
    result = tuple(table)
    for label, needed in wanted.items():
        try:
            result, _ = partitions.add_model_partition(result, label, flash_bytes, needed, needed, table_at)
        except partitions.PartitionError:
            victims = sorted((p for p in result if p.subtype in partitions.RESIZABLE), key=lambda p: -p.size)
            changed = (partitions.shrink(result, victim, label, needed, flash_bytes) for victim in victims)
            found = next((rows for rows in changed if rows is not None), None)
            if found is None:
                raise
            result = found
    return result


def write(env: Any, rows: Sequence[partitions.Partition]) -> None:
    """Writes the project's partitions.csv and prints the option for it; PartitionError if another one exists."""
    path = Path(env.subst("$PROJECT_DIR"), FILE)
    text = partitions.to_csv(rows)
    if path.is_file() and path.read_text("utf-8") != text:
        raise partitions.PartitionError(
            f"{FILE}: the project already has this file, with another table; rename it, or give it this content:\n"
            f"{text}"
        )
    path.write_text(text, "utf-8")
    print(f"Wrote {FILE}:\n{text}")
    named = str(env.GetProjectOption("board_build.partitions", "") or "")
    if named != FILE:
        print(f"Name it in platformio.ini, [env:{env['PIOENV']}]:\nboard_build.partitions = {FILE}")
    print("Partitions that moved or shrank lose their content with the next upload.")


def add_target(env: Any) -> None:
    """Adds the target to `pio run --list-targets`. configure() in scons.py writes the table before the build."""
    env.AddPlatformTarget(
        TARGET, None, None, "Partition Table", f"Write {FILE}, a partition table with room for the models"
    )
