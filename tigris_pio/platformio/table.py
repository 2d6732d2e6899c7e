"""`pio run -t tigris_table`: writes a partition table with room for the models into the project. Runs inside SCons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import layout, partitions

TARGET = "tigris_table"
FILE = "partitions.csv"
#: Room for a plan that was not compiled yet.
UNKNOWN_PLAN = 256 << 10


def is_asked_for() -> bool:
    """Whether this run is to write the table, and nothing else."""
    from SCons.Script import COMMAND_LINE_TARGETS  # noqa: PLC0415  (only there within SCons)

    return TARGET in map(str, COMMAND_LINE_TARGETS)


def slots_room(slots: int, slot_bytes: int) -> int:
    """Bytes of a model's one slot, or of its two with their records, on MMU pages of their own."""
    return slot_bytes if slots == 1 else layout.RECORDS_BYTES + 2 * partitions.align_up(slot_bytes, partitions.SECTOR)


def room(limit: int | None, plan_bytes: Sequence[int | None], slots: int = 1) -> int:
    """Bytes to set aside for plans of these sizes, None: unknown. Their limit each, or twice what each takes now."""
    wanted = [slots_room(slots, limit or (UNKNOWN_PLAN if size is None else 2 * size)) for size in plan_bytes]
    return sum(partitions.align_up(size, partitions.MMU_PAGE) for size in wanted)


def with_room(
    table: Sequence[partitions.Partition],
    flash_bytes: int,
    wanted: Mapping[str, int],
    table_at: int = partitions.TABLE_OFFSET,
) -> tuple[partitions.Partition, ...]:
    """`table` with a partition of at least the bytes wanted for each label; others shrink or move where they must.

    A partition that is there already stays as it is; PartitionError when nothing that holds data alone can give way.
    """
    result = tuple(table)
    for label, needed in wanted.items():
        try:
            result, _ = partitions.with_model(result, label, flash_bytes, needed, needed, table_at)
        except partitions.PartitionError:
            victims = sorted((p for p in result if p.subtype in partitions.RESIZABLE), key=lambda p: -p.size)
            changed = (partitions.shrunk(result, victim, label, needed, flash_bytes) for victim in victims)
            found = next((rows for rows in changed if rows is not None), None)
            if found is None:
                raise
            result = found
    return result


def write(env: Any, rows: Sequence[partitions.Partition]) -> None:
    """Writes the project's partitions.csv, and says what names it; PartitionError when another table is there."""
    path = Path(env.subst("$PROJECT_DIR"), FILE)
    text = partitions.to_csv(rows)
    if path.is_file() and path.read_text("utf-8") != text:
        raise partitions.PartitionError(
            f"{FILE}: the project has this file already, with another table; rename it, or give it this content:\n"
            f"{text}"
        )
    path.write_text(text, "utf-8")
    print(f"Wrote {FILE}:\n{text}")
    named = str(env.GetProjectOption("board_build.partitions", "") or "")
    if named != FILE:
        print(f"Name it in platformio.ini, [env:{env['PIOENV']}]:\nboard_build.partitions = {FILE}")
    print("Partitions that moved or shrank lose their content with the next upload.")


def add_target(env: Any) -> None:
    """For `pio run --list-targets`; the table is written before anything is built."""
    env.AddPlatformTarget(
        TARGET, None, None, "Partition Table", f"Write {FILE}, a partition table with room for the models"
    )
