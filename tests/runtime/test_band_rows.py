"""The row arithmetic of band.c by itself, against its definition: floors of negative terms, paces, padding."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

from tests.runtime.bands import View, input_rows
from tests.runtime.build import SANITIZERS, compile_program
from tigris_pio.compiler.ir.program import RowMap

SOURCE = r"""
#include <stdio.h>
#include "band.h"
int main(void)
{
    int c[7];
    while (scanf("%d %d %d %d %d %d %d", &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6]) == 7) {
        const tigris_operand_record operand = {0, (uint16_t)c[0], (uint16_t)c[1], 0, c[2], c[3]};
        const tigris_view_record view = {.pace_numerator = (uint32_t)c[0], .pace_denominator = (uint32_t)c[1],
                                         .pace_offset = c[2]};
        tigris_band band = {0};
        if (c[6] == 0)
            tigris_operand_rows(&operand, c[4], c[5], c[5] + 2, &band);
        else
            band.rows = tigris_paced_rows(&view, (uint32_t)c[3], c[4]);
        printf("%d %d %d %d\n", band.first, band.rows, band.pad_top, band.pad_bottom);
    }
    return 0;
}
"""


def operand_line(rows: RowMap, height: int, first: int) -> str:
    """Rows that output rows first and first + 1 read, and those above and below the tensor."""
    low, high = input_rows(rows, height, first, first + 2)
    asked_low = (first * rows.numerator + rows.first) // rows.denominator
    asked_high = ((first + 1) * rows.numerator + rows.last) // rows.denominator + 1
    outside = asked_high - asked_low - (high - low)
    above = outside if high == low else low - asked_low
    return f"{low} {high - low} {above} {outside - above}"


def test_rows_are_those_of_the_definition(tmp_path: Path) -> None:
    every = itertools.product((0, 1, 2, 3), (1, 2, 3, 5), range(-9, 10, 2), (0, 1, 4), (1, 4, 7), (0, 1, 5))
    cases = [(*scale, first, first + size, height, row, 0) for *scale, first, size, height, row in every]
    expected = [operand_line(RowMap(*case[:4]), *case[4:6]) for case in cases]
    paces = list(itertools.product((1, 2, 7), (1, 2, 3), range(-9, 10), range(5), (1, 6, 40)))
    cases += [(*pace, 0, 1) for pace in paces]
    expected += [f"0 {View(height, pace=pace).rows_after(bands)} 0 0" for *pace, bands, height in paces]
    (tmp_path / "band.c").write_text(SOURCE)
    program = compile_program(tmp_path / "band", [tmp_path / "band.c"], *SANITIZERS)
    text = "\n".join(" ".join(map(str, case)) for case in cases)
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == expected
