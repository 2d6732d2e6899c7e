"""Weights of models that are C: tigris_weights.h, `tigris layout --weights`, and the upload of weights alone."""

from __future__ import annotations

import subprocess

import pytest

from tigris_pio.cli.layout import layout as command
from tigris_pio.errors import BudgetError, UsageError
from tigris_pio.platformio import layout, upload, weights

TABLE = "factory, app, factory, 0x10000, 0x100000\nmodel, data, 0x40, 0x110000, 0x5000\n"
PROGRAM = """
#include "tigris_weights.h"
int main(void)
{
    static const uint8_t right[] = {%s};
    uint8_t wrong[sizeof right];
    for (unsigned at = 0; at < sizeof right; at++) {
        for (unsigned i = 0; i < sizeof right; i++)
            wrong[i] = (uint8_t)(right[i] ^ (i == at));
        if (tigris_weights_match(wrong, sizeof wrong, A_1_WEIGHTS_CRC32))
            return 1;
    }
    return tigris_weights_match(right, sizeof right, A_1_WEIGHTS_CRC32) ? 0 : 2;
}
"""


@pytest.mark.parametrize("compiler", [["gcc", "-std=c99", "-x", "c"], ["g++", "-std=c++11", "-x", "c++"]])
def test_the_header_tells_weights_from_others(tmp_path, compiler):
    data = bytes(range(0, 250, 7))
    (tmp_path / weights.FILE).write_text(weights.header({"nn": (layout.Placed("a_1", 0x1000, data),)}), "utf-8")
    (tmp_path / "main.c").write_text(PROGRAM % ", ".join(map(str, data)), "utf-8")
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-pedantic", "-Werror"]
    subprocess.run([*compiler, *strict, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def lay_out(folder, *words):
    (folder / "table.csv").write_text(TABLE, "utf-8")
    command.main([*words, "--table", str(folder / "table.csv"), "-o", str(folder)], standalone_mode=False)


def file_of(folder, data):
    (folder / "w.bin").write_bytes(data)
    return str(folder / "w.bin")


def test_what_cannot_be_laid_out_is_told(tmp_path):
    with pytest.raises(UsageError, match="no plan and no weights: give --model"):
        lay_out(tmp_path)
    with pytest.raises(UsageError, match=r"none\.bin: No such file .*; give the file of weights that tigris codegen"):
        lay_out(tmp_path, "--weights", "a", str(tmp_path / "none.bin"), "model", "auto")
    one = ("--weights", "a", file_of(tmp_path, bytes(0x5001)), "model", "auto")
    with pytest.raises(BudgetError, match="`model` is too small: the weights end at 20481 bytes"):
        lay_out(tmp_path, *one)
    with pytest.raises(UsageError, match="two models are named a; rename one of them"):
        lay_out(tmp_path, *one, *one)


def test_weights_alone_are_uploaded_whole():
    data = bytes(range(256)) * 40
    assert upload.calls([(0x110000, data), (0x120000, data[:100])]) == [
        [], [(0x110000, data), (0x120000, data[:100])],
    ]  # fmt: skip
