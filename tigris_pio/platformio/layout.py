"""How the plans of a firmware share one partition, and the C header that tells the firmware so."""

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


# Two sectors of records before the first of two slots, see tigris_port.h, TIGRIS_SLOT_RECORDS_BYTES.
RECORDS_BYTES = 2 * SECTOR


@dataclass(frozen=True)
class Placed:
    """A plan at `offset` within its partition.

    `slot_bytes` above 0: that is slot 0 of two of this size, with sectors of records before it.
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
    def described(self) -> str:
        return f"{self.name} 2 slots of {self.slot_bytes}" if self.slot_bytes else f"{self.name} {len(self.plan)}"


@dataclass(frozen=True)
class Item:
    """A plan to place: `at` an offset, or behind the one before; in 1 or 2 `slots`, of `slot_bytes` or as it needs."""

    name: str
    plan: bytes
    at: int | None = None
    slots: int = 1
    slot_bytes: int | None = None


def arrange(items: Sequence[Item], space: int) -> tuple[Placed, ...]:
    """Every item at its offset, or else behind the one before; what is placed may end behind `space`.

    On MMU pages of their own where `space` has room for that, so that a plan that grows a little moves no other;
    otherwise on flash sectors of their own. Slots without a size have a quarter more than the plan in them, and no more
    than the plan where there is no room for that.
    """
    placed: list[Placed] = []
    for unit, parts in ((MMU_PAGE, 5), (SECTOR, 5), (SECTOR, 4)):
        placed, end = [], 0
        for item in items:
            start = align_up(end, unit) if item.at is None else item.at
            slot = align_up(item.slot_bytes or len(item.plan) * parts // 4, unit if not item.slot_bytes else SECTOR)
            twice = item.slots == 2
            placed.append(Placed(item.name, start + RECORDS_BYTES * twice, item.plan, slot * twice))
            end = placed[-1].end
        if end <= space:
            break
    return tuple(placed)


def place(
    plans: Sequence[tuple[str, bytes]],
    partition: Partition,
    slots: int = 1,
    slot_bytes: int | None = None,
    said: str = "the plans take",
) -> tuple[Placed, ...]:
    """Plans (name, bytes) in their partition, in one or two slots each. `said`: what the message calls them."""
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
            f"custom_tigris_partition = {partition.label}: {said} {used} bytes "
            f"({', '.join(item.described for item in placed)}), the partition at "
            f"0x{partition.offset:x} has {partition.size}. Raise custom_tigris_flash, give the partition "
            f"{align_up(used, 0x10000) >> 10}K in the partition table, or try custom_tigris_compress = lz4{fewer}"
        )
    return placed


def image(placed: Sequence[Placed]) -> bytes:
    """The partition's content; gaps are as erased flash, and so are records: they say that slot 0 counts."""
    data = b""
    for item in placed:
        data = data.ljust(item.offset, b"\xff") + item.plan
    return data


def weights_summary(item: Placed, partition: Partition) -> str:
    """Where the weights of a model that is C lie."""
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
    """tigris_models.h: each model's constants, written by the compiler, and one tigris_model. Keys are labels.

    Of the models in `exact` the firmware opens this plan only, of the others every plan that fits it; of those in
    `any_scale` also plans with other scales and zero points. Those in `unchecked` it opens without comparing the
    checksum.
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
    """The `Model:` lines under RAM and Flash; one a model of the partition: name, plan bytes, compile report.

    `slots`: bytes of a slot, of models that have two.
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
