"""How the plans of a firmware share one partition, and the C header that tells the firmware so."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .partitions import MMU_PAGE, SECTOR, Partition, align_up

# Offsets in a plan, see SPEC.md: header_record, tensor_record and io_record.
_TENSORS, _IO, _IO_COUNTS = 48, 56, 60
_TENSOR_BYTES, _IO_BYTES = 36, 84


class LayoutError(Exception):
    """The plans do not fit their partition."""


@dataclass(frozen=True)
class Placed:
    """A plan at `offset` within its partition."""

    name: str
    offset: int
    plan: bytes


def place(plans: Sequence[tuple[str, bytes]], partition: Partition, page: int = SECTOR) -> tuple[Placed, ...]:
    """Plans (name, bytes) one behind the other, each on `page` bytes of its own; at least a flash sector."""
    placed: list[Placed] = []
    end = 0
    for name, plan in plans:
        placed.append(Placed(name, end, plan))
        end = align_up(end + len(plan), page)
    used = placed[-1].offset + len(placed[-1].plan)
    if used > partition.size:
        sizes = ", ".join(f"{item.name} {len(item.plan)}" for item in placed)
        raise LayoutError(
            f"custom_tigris_partition = {partition.label}: the plans take {used} bytes ({sizes}), the partition at "
            f"0x{partition.offset:x} has {partition.size}. Raise custom_tigris_flash, give the partition "
            f"{align_up(used, 0x10000) >> 10}K in the partition table, or try custom_tigris_compress = lz4"
        )
    return tuple(placed)


def image(placed: Sequence[Placed]) -> bytes:
    """The partition's content; gaps are as erased flash."""
    data = b""
    for item in placed:
        data = data.ljust(item.offset, b"\xff") + item.plan
    return data


def c_constant(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def page_of(match: str) -> int:
    """Plans that are exchanged one by one have whole pages, so that a slightly larger one moves no other."""
    return MMU_PAGE if match == "interface" else SECTOR


def interface_crc32(plan: bytes) -> int:
    """CRC-32 of what firmware relies on; tigris_model_open computes the same.

    For each input and output: the digest so far, its io_record but for name and tensor, and its tensor's shape, type,
    scale and zero point.
    """
    tensors, io = (struct.unpack_from("<I", plan, at)[0] for at in (_TENSORS, _IO))
    crc = 0
    for index in range(sum(struct.unpack_from("<2H", plan, _IO_COUNTS))):
        record = plan[io + index * _IO_BYTES :][:_IO_BYTES]
        tensor = plan[tensors + struct.unpack_from("<H", record, 4)[0] * _TENSOR_BYTES :][:_TENSOR_BYTES]
        crc = zlib.crc32(struct.pack("<I", crc) + record[6:] + tensor[4:21] + tensor[28:])
    return crc


def models_header(placed: Sequence[Placed], label: str, match: str = "exact") -> str:
    """tigris_models.h of a firmware whose models share one partition."""
    return header_of_partitions({label: placed}, match)


def header_of_partitions(partitions: Mapping[str, Sequence[Placed]], match: str = "exact") -> str:
    """tigris_models.h: each model's constants, written by the compiler, and one tigris_model. Keys are labels.

    `match` says which plans the firmware opens: `exact` this one only, `interface` any with its inputs and outputs.
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
            lines += ["", *_model_lines(item, label, match)]
    return "\n".join([*lines, "", "#endif", ""])


def _model_lines(item: Placed, label: str, match: str) -> list[str]:
    accepts, interface = "this plan only", "0u"
    if match == "interface":
        accepts, interface = "any plan with these inputs and outputs", f"0x{interface_crc32(item.plan):08x}u"
    constant = f"TIGRIS_MODEL_{c_constant(item.name)}"
    return [
        f'#include "tigris_model_{item.name}.h"',
        "",
        f"static const tigris_model {constant} = {{",
        f'    "{item.name}",',
        f'    "{label}",',
        f"    0x{item.offset:x}u, /* offset in the partition */",
        f"    {constant}_PLAN_BYTES,",
        f"    {constant}_PLAN_CRC32,",
        f"    {constant}_FAST_BYTES,",
        f"    {constant}_SLOW_BYTES,",
        f"    {interface}, /* {accepts} */",
        "};",
    ]


def summary(placed: Sequence[tuple[str, int, dict[str, object]]], partition: Partition) -> list[str]:
    """The `Model:` lines under RAM and Flash; one a model: name, plan bytes, compile report."""
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
