"""The decompressor against the format's definition, into memory of exactly the requested size."""

import random
import struct
import subprocess
import zlib
from pathlib import Path

import lz4.block
import pytest

from tests.runtime.build import SANITIZERS, compile_program

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include "crc32.h"
#include "lz4.h"
int main(void)
{
    uint32_t sizes[2];
    while (fread(sizes, sizeof sizes, 1, stdin) == 1) {
        uint8_t *block = malloc(sizes[0] + (sizes[0] == 0)), *output = malloc(sizes[1] + (sizes[1] == 0));
        if (block == NULL || output == NULL || fread(block, 1, sizes[0], stdin) != sizes[0])
            return 2;
        const int accepted = tigris_lz4_decompress(block, sizes[0], output, sizes[1]);
        printf("%d %u\n", accepted, accepted ? (unsigned)tigris_crc32(output, sizes[1]) : 0U);
        free(block);
        free(output);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lz4")
    (folder / "lz4.c").write_text(SOURCE)
    return compile_program(folder / "lz4", [folder / "lz4.c"], *SANITIZERS)


def length(block: bytes, at: int, field: int) -> tuple[int, int]:
    """A length whose bits in the token are `field`, and where the next byte is."""
    if field == 15:
        while block[at] == 255:
            field, at = field + 255, at + 1
        field, at = field + block[at], at + 1
    return field, at


def decompressed(block: bytes, size: int) -> bytes | None:
    """The block decompressed by the format's definition; None if it is damaged or has another size."""
    output, at = bytearray(), 0
    try:
        while True:
            token, at = block[at], at + 1
            literals, at = length(block, at, token >> 4)
            if literals > len(block) - at or literals > size - len(output):
                return None
            output += block[at : at + literals]
            at += literals
            if at == len(block):
                return bytes(output) if len(output) == size else None
            distance, at = block[at] | block[at + 1] << 8, at + 2
            match, at = length(block, at, token & 15)
            if not 1 <= distance <= len(output) or match + 4 > size - len(output):
                return None
            for _ in range(match + 4):
                output.append(output[-distance])
    except IndexError:
        return None


def contents(choose: random.Random) -> bytes:
    """Bytes that compress well, badly, or not at all."""
    size = choose.choice((1, 4, 13, 17, 40, 300, 700))
    return bytes(choose.choices(range(choose.choice((1, 3, 256))), k=size))


def damaged(choose: random.Random, block: bytes) -> bytes:
    """The block as it is, or with bytes changed, left out or added."""
    copy = bytearray(block)
    for _ in range(choose.choice((0, 1, 1, 2))):
        at = choose.randrange(len(copy) or 1)
        kind = choose.randrange(4)
        if kind == 0 and len(copy) > 1:
            del copy[at:]
        elif kind == 1:
            copy.insert(at, choose.randrange(256))
        elif copy:
            copy[at] = choose.choice((0, 1, 15, 16, 31, 127, 240, 255, copy[at] ^ 1 << choose.randrange(8)))
    return bytes(copy) or b"\0"


def test_every_block_is_unpacked_or_refused_as_the_format_says(program: Path) -> None:
    choose = random.Random(4)
    cases = []
    for _ in range(4000):
        data = contents(choose)
        block = damaged(choose, lz4.block.compress(data, store_size=False))
        cases.append((block, max(0, len(data) + choose.choice((0, 0, 0, -1, 1, -len(data) // 2, 300)))))
    # The longest sequence that is unpacked without a look at what is left: 14 literals, a match of 18 bytes.
    sequence = b"\xee" + bytes(range(14)) + b"\x05\0"
    cases += [(sequence * count, size) for count in (1, 2, 3) for size in range(30, 100)]
    stream = b"".join(struct.pack("<II", len(block), size) + block for block, size in cases)
    result = subprocess.run([str(program)], input=stream, capture_output=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr.decode(errors="replace")[-2000:]
    expected = [decompressed(block, size) for block, size in cases]
    assert 500 < sum(data is not None for data in expected) < 3500
    lines = [f"{int(data is not None)} {zlib.crc32(data) if data is not None else 0}" for data in expected]
    assert result.stdout.decode().splitlines() == lines
