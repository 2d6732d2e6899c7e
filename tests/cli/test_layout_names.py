"""Names that `tigris layout` puts into C: parts of identifiers, and no two the same."""

from __future__ import annotations

import pytest

from tigris_pio import flash_layout
from tigris_pio.cli.layout import layout
from tigris_pio.errors import UsageError
from tigris_pio.platformio.partitions import Partition


def lay_out(*names: str) -> None:
    words = [word for name in names for word in ("--model", name, "missing.tgrs", "model", "auto")]
    layout.main([*words, "--table", "t", "-o", "o"], standalone_mode=False)


@pytest.mark.parametrize("name", ["kws-1", 'k"', "a b", "x\nint pwned;", "é", ""])
def test_a_name_is_a_c_name(name):
    with pytest.raises(UsageError, match=r"cannot be part of a C name \(letters, digits and underscores"):
        lay_out(name)


@pytest.mark.parametrize(("names", "message"), [
    (("kws", "kws"), "two models are named kws; names"), (("kws", "ad", "KWS"), "named kws and KWS, which is the same"),
    (("a_1", "A_1"), "named a_1 and A_1"),
])  # fmt: skip
def test_names_differ_as_constants(names, message):
    with pytest.raises(UsageError, match=message):
        lay_out(*names)


def test_a_partition_s_label_is_plain():
    table = (Partition('a"b', "data", "0x40", 0x10000, 0x10000),)
    with pytest.raises(UsageError, match="its name becomes a text in C"):
        flash_layout.partition_of(table, 'a"b')


@pytest.mark.parametrize(("words", "message"), [
    (["--slots", "other"], "--slots: no model is named other, only kws"),
    (["--slot-size", "kws", "64K"], "--slot-size kws: the model has one slot; add --slots kws"),
    (["--slots", "kws", "--exact", "kws"], "--slots kws: --exact kws opens no plan but this one; leave one out"),
])  # fmt: skip
def test_slots_that_make_no_sense_are_refused(tmp_path, words, message):
    (tmp_path / "kws.tgrs").write_bytes(b"TGRS" + bytes(400))
    with pytest.raises(UsageError, match=message):
        layout.main(["--model", "kws", str(tmp_path / "kws.tgrs"), "model", "auto", *words, "--table", "t", "-o", "o"],
                    standalone_mode=False)  # fmt: skip
