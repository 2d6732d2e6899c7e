"""Names that `tigris layout` puts into C: parts of identifiers, and no two the same."""

from __future__ import annotations

import pytest

from tigris_pio.cli.layout import layout
from tigris_pio.errors import UsageError


def lay_out(*names: str) -> None:
    words = [word for name in names for word in ("--model", name, "missing.tgrs", "model", "auto")]
    layout.main([*words, "--table", "t", "-o", "o"], standalone_mode=False)


@pytest.mark.parametrize(("names", "message"), [
    (("kws", "kws"), "two models are named kws; rename"), (("kws", "ad", "KWS"), "named kws and KWS, which give"),
    (("a_1", "A_1"), "named a_1 and A_1"),
])  # fmt: skip
def test_names_differ_as_constants(names, message):
    with pytest.raises(UsageError, match=message):
        lay_out(*names)


@pytest.mark.parametrize(("words", "message"), [
    (["--slots", "other"], "--slots other: no --model has this name; there are kws"),
    (["--slot-size", "kws", "64K"], "--slot-size kws: the model has only one slot; add --slots kws"),
    (["--slots", "kws", "--exact", "kws"], "--slots kws: an update is refused with --exact kws; leave out one"),
])  # fmt: skip
def test_slots_that_make_no_sense_are_refused(tmp_path, words, message):
    (tmp_path / "kws.tgrs").write_bytes(b"TGRS" + bytes(400))
    with pytest.raises(UsageError, match=message):
        layout.main(["--model", "kws", str(tmp_path / "kws.tgrs"), "model", "auto", *words, "--table", "t", "-o", "o"],
                    standalone_mode=False)  # fmt: skip
