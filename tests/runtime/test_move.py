"""Moves by words against moves byte by byte: in memory of exactly their size, and on an emulated Cortex-M4."""

import random
import subprocess
from pathlib import Path

import pytest

from bench.emulator import MACHINES, emulate, link
from tests.runtime.build import RUNTIME, SANITIZERS, compile_program

#: Three builds of move.c: this machine's, RISC-V's at -O2, and RISC-V's at -Os.
SOURCE = rf"""
#include <stdio.h>
#include <stdlib.h>
#include "move.h"
#define tigris_copy_forward riscv_copy_forward
#define tigris_move riscv_move
#define move_word riscv_word
#define move_words riscv_move_words
#define move_shifted riscv_move_shifted
#define move_up riscv_move_up
#define __riscv 1
#include "{RUNTIME}/src/move.c"
#undef tigris_copy_forward
#undef tigris_move
#undef STEP
#undef SLOW_LIBRARY
#undef MAY_USE_LIBRARY
#define tigris_copy_forward small_copy_forward
#define tigris_move small_move
#undef move_up
#define move_up small_move_up
#undef move_word
#define move_word small_word
#define __OPTIMIZE_SIZE__ 1
#undef TIGRIS_MOVE_H
#include "{RUNTIME}/src/move.c"
#undef tigris_copy_forward
#undef tigris_move
int main(void)
{{
    static void (*const moves[])(uint8_t *, const uint8_t *, uint32_t) = {{
        tigris_copy_forward, riscv_copy_forward, small_copy_forward, tigris_move, riscv_move, small_move}};
    uint32_t numbers[5];
    while (fread(numbers, sizeof numbers, 1, stdin) == 1) {{
        const uint32_t size = numbers[0], ahead = numbers[4];
        uint8_t *block = malloc(size + ahead); /* the last byte moved is the last one, `ahead` bytes into a word */
        if (block == NULL || fread(block + ahead, 1, size, stdin) != size)
            return 2;
        const uint32_t which = numbers[1] >> 24, bytes = numbers[1] & 0xFFFFFFU;
        moves[which](block + ahead + numbers[2], block + ahead + numbers[3], bytes);
        fwrite(block + ahead, 1, size, stdout);
        free(block);
    }}
    return 0;
}}
"""
MOVES = 6


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("move")
    (folder / "move.c").write_text(SOURCE)
    return compile_program(folder / "move", [folder / "move.c"], *SANITIZERS)


def moved(block: bytes, to: int, start: int, count: int, on: bool) -> bytes:
    """The block when `count` bytes have moved. on: one after the other, from the first to the last."""
    result = bytearray(block)
    for at in range(count):
        result[to + at] = (result if on else block)[start + at]
    return bytes(result)


def test_bytes_move_as_one_after_the_other(program: Path) -> None:
    choose = random.Random(6)
    stream, expected = bytearray(), bytearray()
    for _ in range(6000):
        count = choose.choice((0, 1, 3, 4, 5, 8, 15, 16, 17, 31, 40, 67))
        apart = choose.choice((0, 1, 2, 3, 4, 5, 8, 12, 16, 20, count, count + 3))
        low = choose.randrange(5)
        to, start = choose.choice(((low, low + apart), (low + apart, low)))
        block = choose.randbytes(max(to, start) + count)
        which, ahead = choose.randrange(MOVES), choose.randrange(4)
        for number in (len(block), which << 24 | count, to, start, ahead):
            stream += number.to_bytes(4, "little")
        stream += block
        expected += moved(block, to, start, count, which < 3)
    result = subprocess.run([str(program)], input=bytes(stream), capture_output=True, check=False, timeout=60)
    assert (result.returncode, result.stderr.decode(errors="replace")[-2000:]) == (0, "")
    assert result.stdout == bytes(expected)


# Moves with instructions that no host has: on an emulated Cortex-M4, where they fault at odd addresses.

MACHINE = MACHINES["cortex-m4"]


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
def test_moves_on_a_cortex_m4(tmp_path: Path, optimise: str) -> None:
    source = RUNTIME / "src"
    program = link(MACHINE, tmp_path / "move.elf", Path(__file__).with_name("move_on_board.c"), source / "move.c",
                   f"-I{source}", optimise=optimise)  # fmt: skip
    assert emulate(MACHINE, program) == "right\n"
