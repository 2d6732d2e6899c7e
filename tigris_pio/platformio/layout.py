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


@dataclass(frozen=True)
class Placed:
    """A plan at `offset` within its partition."""

    name: str
    offset: int
    plan: bytes


def offsets(sizes: Sequence[int], space: int, fixed: Sequence[int | None] | None = None) -> list[int]:
    """Where plans of these sizes start: at their `fixed` offset, or else behind the one before.

    On MMU pages of their own where `space` has room for that, so that a plan that grows a little moves no other;
    otherwise on flash sectors of their own.
    """
    fixed = fixed or [None] * len(sizes)
    starts: list[int] = []
    for page in (MMU_PAGE, SECTOR):
        starts, end = [], 0
        for size, offset in zip(sizes, fixed, strict=True):
            starts.append(align_up(end, page) if offset is None else offset)
            end = starts[-1] + size
        if end <= space:
            break
    return starts


def place(plans: Sequence[tuple[str, bytes]], partition: Partition) -> tuple[Placed, ...]:
    """Plans (name, bytes) in their partition."""
    starts = offsets([len(plan) for _, plan in plans], partition.size)
    placed = tuple(Placed(name, start, plan) for start, (name, plan) in zip(starts, plans, strict=True))
    used = placed[-1].offset + len(placed[-1].plan)
    if used > partition.size:
        sizes = ", ".join(f"{item.name} {len(item.plan)}" for item in placed)
        raise LayoutError(
            f"custom_tigris_partition = {partition.label}: the plans take {used} bytes ({sizes}), the partition at "
            f"0x{partition.offset:x} has {partition.size}. Raise custom_tigris_flash, give the partition "
            f"{align_up(used, 0x10000) >> 10}K in the partition table, or try custom_tigris_compress = lz4"
        )
    return placed


def image(placed: Sequence[Placed]) -> bytes:
    """The partition's content; gaps are as erased flash."""
    data = b""
    for item in placed:
        data = data.ljust(item.offset, b"\xff") + item.plan
    return data


def c_constant(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def models_header(
    partitions: Mapping[str, Sequence[Placed]], exact: Collection[str] = (), unchecked: Collection[str] = ()
) -> str:
    """tigris_models.h: each model's constants, written by the compiler, and one tigris_model. Keys are labels.

    Of the models in `exact` the firmware opens this plan only, of the others every plan that fits it. Those in
    `unchecked` it opens without comparing the checksum.
    """
    lines = [
        "/* The models of this firmware, written by the build. Do not edit. */",
        "#ifndef TIGRIS_MODELS_H",
        "#define TIGRIS_MODELS_H",
        "",
        '#include "tigris_port.h"',
    ]
    for label, placed in partitions.items():
        for item in placed:
            lines += ["", *_model_lines(item, label, item.name in exact, item.name in unchecked)]
    lists = [f"TIGRIS_MODEL_{c_constant(item.name)}_KERNELS" for placed in partitions.values() for item in placed]
    lines += ["", "/* The kernels of all models: what tigris_models_backend links. */"]
    lines.append("#define TIGRIS_MODELS_KERNELS " + ", ".join(lists))
    return "\n".join([*lines, "", "#endif", ""])


def _model_lines(item: Placed, label: str, exact: bool, unchecked: bool) -> list[str]:
    accepted, crc = "every plan that fits", "0u"
    if exact:
        accepted, crc = "this plan only", f"0x{struct.unpack_from('<I', item.plan, _CRC32)[0]:08x}u"
    constant = f"TIGRIS_MODEL_{c_constant(item.name)}"
    return [
        f'#include "tigris_model_{item.name}.h"',
        "",
        f"static const tigris_model {constant} = {{",
        f'    "{item.name}",',
        f'    "{label}",',
        f"    0x{item.offset:x}u, /* offset in the partition */",
        f"    {constant}_FAST_BYTES,",
        f"    {constant}_SLOW_BYTES,",
        f"    {constant}_INTERFACE_CRC32,",
        f"    {crc}, /* {accepted} */",
        f"    {int(unchecked)}, /* the checksum is {'not ' if unchecked else ''}compared */",
        "};",
    ]


def summary(placed: Sequence[tuple[str, int, dict[str, object]]], partition: Partition) -> list[str]:
    """The `Model:` lines under RAM and Flash; one a model of the partition: name, plan bytes, compile report."""
    lines = []
    for name, size, report in placed:
        memory = report.get("memory")
        memory = memory if isinstance(memory, dict) else {}
        share = size / partition.size
        bar = "=" * min(round(share * 10), 10)
        lines.append(
            f"Model: [{bar:10}] {share:6.1%} (used {size} bytes from {partition.size} bytes) "
            f"{name}: fast {memory.get('fast_peak', '?')}, slow {memory.get('slow_peak', '?')} bytes"
        )
    return lines
