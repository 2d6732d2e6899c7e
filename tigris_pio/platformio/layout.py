"""Places the plans of a firmware in their partition, and writes the C header with their places."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .partitions import MMU_PAGE, SECTOR, Partition, align_up

# Offset in a plan, see SPEC.md, header_record.
_CRC32 = 16


class LayoutError(Exception):
    """The plans do not fit their partition."""


# Two sectors of records before the first of two slots: TIGRIS_SLOT_RECORDS_BYTES in tigris_port.h.
RECORDS_BYTES = 2 * SECTOR


@dataclass(frozen=True)
class Placed:
    """A plan at `offset` in its partition.

    If `slot_bytes` is above 0, the offset is that of slot 0 of two slots of this size, after their records.
    """

    name: str
    offset: int
    plan: bytes
    slot_bytes: int = 0

    @property
    def start(self) -> int:
        return self.offset - RECORDS_BYTES if self.slot_bytes else self.offset

    @property
    def end(self) -> int:
        return self.offset + (2 * self.slot_bytes or len(self.plan))

    @property
    def description(self) -> str:
        return f"{self.name} 2 slots of {self.slot_bytes}" if self.slot_bytes else f"{self.name} {len(self.plan)}"


@dataclass(frozen=True)
class Item:
    """A plan to place: at offset `at` or after the previous one, in 1 or 2 `slots` of `slot_bytes` (None: fitting)."""

    name: str
    plan: bytes
    at: int | None = None
    slots: int = 1
    slot_bytes: int | None = None


def arrange(items: Sequence[Item], space: int) -> tuple[Placed, ...]:
    """Places every item at its offset, or after the previous item; the last may end beyond `space` bytes.

    Each item starts on its own MMU page if `space` suffices, so that a plan can grow without moving others; otherwise
    on its own flash sector. A slot without a size is a quarter larger than its plan if `space` suffices.
    """
    placed: list[Placed] = []
    for unit, parts in ((MMU_PAGE, 5), (SECTOR, 5), (SECTOR, 4)):
        placed, end = [], 0
        for item in items:
            start = align_up(end, unit) if item.at is None else item.at
            slot = align_up(item.slot_bytes or len(item.plan) * parts // 4, unit if not item.slot_bytes else SECTOR)
            has_two = item.slots == 2
            placed.append(Placed(item.name, start + RECORDS_BYTES * has_two, item.plan, slot * has_two))
            end = placed[-1].end
        if end <= space:
            break
    return tuple(placed)


def place(
    plans: Sequence[tuple[str, bytes]],
    partition: Partition,
    slots: int = 1,
    slot_bytes: int | None = None,
    subject: str = "the plans take",
) -> tuple[Placed, ...]:
    """Places plans (name, bytes) in their partition, in one or two slots each; LayoutError if they do not fit.

    `subject` begins the message.
    """
    placed = arrange([Item(name, plan, None, slots, slot_bytes) for name, plan in plans], partition.size)
    for item in placed:
        if item.slot_bytes and len(item.plan) > item.slot_bytes:
            raise LayoutError(
                f"custom_tigris_slot_size = {item.slot_bytes}: the plan of model {item.name} takes {len(item.plan)} "
                f"bytes; give {align_up(len(item.plan), SECTOR) >> 10}K or more, or leave the option out"
            )
    used = placed[-1].end
    if used > partition.size:
        fewer = ", custom_tigris_slots = 1" if any(item.slot_bytes for item in placed) else ""
        raise LayoutError(
            f"custom_tigris_partition = {partition.label}: {subject} {used} bytes "
            f"({', '.join(item.description for item in placed)}), the partition at "
            f"0x{partition.offset:x} has {partition.size}. Raise custom_tigris_flash, give the partition "
            f"{align_up(used, 0x10000) >> 10}K in the partition table, or try custom_tigris_compress = lz4{fewer}"
        )
    return placed


def image(placed: Sequence[Placed]) -> bytes:
    """The partition's content. Gaps and slot records are erased flash; erased records select slot 0."""
    data = b""
    for item in placed:
        data = data.ljust(item.offset, b"\xff") + item.plan
    return data


def weights_summary(item: Placed, partition: Partition) -> str:
    """A line with the place of the weights of a model compiled as C."""
    return (
        f"Weights of {item.name}: {len(item.plan)} bytes at 0x{item.offset:x} of partition {partition.label}, "
        f"which has {partition.size}"
    )


def c_constant(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def models_header(
    partitions: Mapping[str, Sequence[Placed]],
    exact: Collection[str] = (),
    unchecked: Collection[str] = (),
    any_scale: Collection[str] = (),
) -> str:
    """The text of tigris_models.h: a tigris_model for each model. Keys of `partitions` are labels.

    The firmware opens every plan with the same interface. It opens only this plan of the models in `exact`, and also
    plans with other scales and zero points of those in `any_scale`. It does not compare the checksum of those in
    `unchecked`.
    """
    lines = [
        "/* The models of this firmware, written by the build. Do not edit. */",
        "#ifndef TIGRIS_MODELS_H",
        "#define TIGRIS_MODELS_H",
        "",
        '#include "tigris_port.h"',
    ]
    if any(item.slot_bytes for placed in partitions.values() for item in placed):
        lines.append('#include "tigris_update.h"')
    for label, placed in partitions.items():
        for item in placed:
            named = (item.name in names for names in (exact, unchecked, any_scale))
            lines += ["", *_model_lines(item, label, *named)]
    lists = [f"TIGRIS_MODEL_{c_constant(item.name)}_KERNELS" for placed in partitions.values() for item in placed]
    lines += ["", "/* The kernels of all models: what tigris_models_backend links. */"]
    lines.append("#define TIGRIS_MODELS_KERNELS " + ", ".join(lists))
    return "\n".join([*lines, "", "#endif", ""])


def _model_lines(item: Placed, label: str, exact: bool, unchecked: bool, any_scale: bool) -> list[str]:
    accepted, crc = "every plan that fits", "0u"
    if exact:
        accepted, crc = "this plan only", f"0x{struct.unpack_from('<I', item.plan, _CRC32)[0]:08x}u"
    constant = f"TIGRIS_MODEL_{c_constant(item.name)}"
    return [
        *([
            "/* Scales and zero points are each plan's own: plan.tensors[plan.io[0].tensor].scale and .zero_point. */",
            f"#define {constant}_ANY_SCALE 1",
        ] if any_scale else ()),
        f'#include "tigris_model_{item.name}.h"',
        "",
        *([
            f"static const tigris_slots {constant}_SLOTS = {{",
            "    tigris_slots_open,",
            "    &tigris_port_flash,",
            f"    0x{item.slot_bytes:x}u, /* bytes of each slot */",
            "};",
            "",
        ] if item.slot_bytes else ()),
        f"static const tigris_model {constant} = {{",
        f'    "{item.name}",',
        f'    "{label}",',
        f"    0x{item.offset:x}u, /* offset in the partition */",
        f"    {constant}_FAST_BYTES,",
        f"    {constant}_SLOW_BYTES,",
        f"    {constant}_{'SHAPE' if any_scale else 'INTERFACE'}_CRC32,",
        f"    {crc}, /* {accepted} */",
        f"    {int(unchecked)}, /* the checksum is {'not ' if unchecked else ''}compared */",
        f"    {f'&{constant}_SLOTS' if item.slot_bytes else 'TIGRIS_NULL'},",
        "};",
    ]


def summary(
    placed: Sequence[tuple[str, int, dict[str, object]]], partition: Partition, slots: Mapping[str, int] | None = None
) -> list[str]:
    """The `Model:` lines below RAM and Flash, one for each (name, plan bytes, compile report).

    `slots`: bytes of each slot, by model; 0 or absent for a model with one.
    """
    lines = []
    for name, size, report in placed:
        slot = (slots or {}).get(name, 0)
        in_slot = f", in 2 slots of {slot} bytes" if slot else ""
        memory = report.get("memory")
        memory = memory if isinstance(memory, dict) else {}
        share = size / partition.size
        bar = "=" * min(round(share * 10), 10)
        lines.append(
            f"Model: [{bar:10}] {share:6.1%} (used {size} bytes from {partition.size} bytes) "
            f"{name}: fast {memory.get('fast_peak', '?')}, slow {memory.get('slow_peak', '?')} bytes{in_slot}"
        )
    return lines
