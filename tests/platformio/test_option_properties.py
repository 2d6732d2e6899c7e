"""Whatever is written into platformio.ini, options are read or refused by name; what is read is what was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tigris_pio.errors import UsageError
from tigris_pio.platformio import options
from tigris_pio.platformio.options import NAMES, PREFIX, OptionError
from tigris_pio.sizes import parse_memory, parse_size

#: What options are made of, and what numbers and paths fail on.
PIECES = st.sampled_from(
    ["models", "kws.onnx", "a = kws.onnx", "64K", "1.5M", "0", "00", "-1", "1e400", "9" * 320, "9" * 5000, "٣", "²",
     "K", "+", "=", "n=5", "~", "~nobody/x", "\0", "\n", " ", ",", "yes", "no", "lz4", "model", "esp-nn", "a" * 300,
     "\ud800"]
)  # fmt: skip
VALUES = st.lists(PIECES, max_size=4).map("".join) | st.text(max_size=20)
GOOD = {"models": "kws.onnx", "mem": "64K"}
AS_THEY_ARE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60, 300))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kws.onnx").write_bytes(b"model")
    return tmp_path


def parse(folder: Path, values: dict[str, str]) -> options.Settings:
    return options.parse({PREFIX + name: value for name, value in values.items()}, folder)


@AS_THEY_ARE
@given(values=st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=12), VALUES, max_size=5))
def test_any_options_are_read_or_refused(folder: Path, values: dict[str, str]) -> None:
    """By the option's name."""
    try:
        parse(folder, {**GOOD, **values})
    except OptionError as error:
        assert str(error).startswith(PREFIX), error


SIZES = st.tuples(st.integers(1, 1 << 20), st.sampled_from(["", "b", "k", "K", "KB", "KiB", "m", "M", "mb", "MiB"]))


def in_bytes(size: tuple[int, str]) -> int:
    """What a number with a unit means."""
    return size[0] << {"": 0, "B": 0, "K": 10, "M": 20}[size[1][:1].upper()]


@AS_THEY_ARE
@given(fast=SIZES, slow=SIZES, flash=SIZES, space=st.sampled_from(["", " "]))
def test_sizes_are_read_as_written(
    folder: Path, fast: tuple[int, str], slow: tuple[int, str], flash: tuple[int, str], space: str
) -> None:
    fast_text, slow_text, flash_text = (f"{number}{space}{unit}".strip() for number, unit in (fast, slow, flash))
    read = parse(folder, {**GOOD, "mem": f"{fast_text}{space}+{space}{slow_text}", "flash": flash_text})
    assert read.flash_bytes == in_bytes(flash)
    # As the compiler reads what the hook hands on.
    assert parse_memory(read.mem, "-m") == (in_bytes(fast), in_bytes(slow))
    assert read.flash is not None and parse_size(read.flash, "-f") == in_bytes(flash)


@settings(max_examples=examples(60, 300))
@given(VALUES)
def test_the_compiler_reads_any_size_or_refuses_it(text: str) -> None:
    for read in (parse_size, parse_memory):
        try:
            read(text, "-m")
        except UsageError as error:
            assert "-m" in str(error)
