"""Writes `tigris_weights.h`: for models compiled as C, the place of their weights in flash, and a check of them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from .layout import Placed, c_constant

FILE = "tigris_weights.h"

_HEAD = """\
/* Weights of this firmware's models in partitions, written by the build. Do not edit. */
#ifndef TIGRIS_WEIGHTS_H
#define TIGRIS_WEIGHTS_H

#include <stdint.h>

/* 1 if the `bytes` bytes of weights have this CRC-32 (of zlib): the C code computes nonsense with other weights. Reads
 * them once. */
static inline int tigris_weights_match(const void *weights, uint32_t bytes, uint32_t crc32)
{
    const uint8_t *at = (const uint8_t *)weights;
    uint32_t crc = 0xFFFFFFFFU;
    for (uint32_t i = 0U; i < bytes; i++) {
        crc ^= at[i];
        for (unsigned bit = 0U; bit < 8U; bit++) {
            crc = (crc >> 1) ^ ((crc & 1U) != 0U ? 0xEDB88320U : 0U);
        }
    }
    return (crc ^ 0xFFFFFFFFU) == crc32;
}
"""


def header(partitions: Mapping[str, Sequence[Placed]]) -> str:
    """The text of the file. Keys are the partitions' labels; an item's name begins its C constants."""
    lines = [_HEAD]
    for label, placed in partitions.items():
        for item in placed:
            constant = f"{c_constant(item.name)}_WEIGHTS"
            lines += [
                f'#define {constant}_PARTITION "{label}"',
                f"#define {constant}_OFFSET 0x{item.offset:x}U /* in the partition */",
                f"#define {constant}_CRC32 0x{zlib.crc32(item.plan):08x}U",
                "",
            ]
    return "\n".join([*lines, "#endif", ""])
