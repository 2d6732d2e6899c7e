"""Plans with damaged words: each word with awkward values, or random words."""

import random
import struct
from collections.abc import Iterator

from tests.runtime.plan_builder import SECTIONS, with_crc
from tigris_pio.format.record import Record
from tigris_pio.format.records import Header

WORDS = {1: "<B", 2: "<H", 4: "<I"}


def sections(plan: bytes) -> list[tuple[type[Record], int, int]]:
    """(record, offset, count) of every record section."""
    header = Header.unpack(plan)
    counts = {"io": header.input_count + header.output_count}
    return [(Header, 0, 1), *((record, getattr(header, name), counts.get(name) or getattr(header, f"{name[:-1]}_count"))
                              for record, name in SECTIONS.items())]  # fmt: skip


def words(plan: bytes) -> Iterator[tuple[int, int]]:
    """(offset, bytes) of every word of every record, and of parameters, which have no fixed layout."""
    for record, start, count in sections(plan):
        for index in range(count):
            for field in record.layout():
                size = {"u": 4, "i": 4, "f": 4, "c": 1}[field.c_type[0]]
                size = {"uint8_t": 1, "uint16_t": 2}.get(field.c_type, size)
                for item in range(min(field.count, 8)):
                    yield start + index * record.size() + field.offset + item * size, size
    header = Header.unpack(plan)
    for offset in range(header.params, header.params + header.params_bytes, 4):
        yield offset, 4
        yield offset, 2
        yield offset + 2, 2


def values_for(old: int, size: int) -> set[int]:
    """Values that tend to break checks: neighbours, limits, sign bits, powers of two."""
    limit = 1 << 8 * size
    values = {0, 1, 2, 3, 16, 64, old + 1, old - 1, old + 16, old - 16, old * 2, old * 1024, limit - 1, limit // 2}
    values |= {limit // 2 - 1, limit - 16, ~old}
    return {value % limit for value in values} - {old}


def damaged(plan: bytes) -> Iterator[bytes]:
    """The plan with one word overwritten, for each word and awkward value."""
    for offset, size in words(plan):
        (old,) = struct.unpack_from(WORDS[size], plan, offset)
        for value in sorted(values_for(old, size)):
            copy = bytearray(plan)
            struct.pack_into(WORDS[size], copy, offset, value)
            yield bytes(copy)


def overwritten(choose: random.Random, plan: bytes, count: int, most: int = 1) -> Iterator[bytes]:
    """`count` copies of the plan, each with one to `most` words overwritten; with a valid checksum if `most` > 1."""
    candidates = list(words(plan))
    for _ in range(count):
        copy = bytearray(plan)
        for _ in range(choose.randint(1, most)):
            offset, size = choose.choice(candidates)
            (old,) = struct.unpack_from(WORDS[size], copy, offset)
            struct.pack_into(WORDS[size], copy, offset, choose.choice(sorted(values_for(old, size))))
        yield bytes(copy) if most == 1 else with_crc(bytes(copy))
