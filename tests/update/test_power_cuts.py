"""Power failures at every flash operation of an update: the next open finds the old plan or the new one, complete."""

import re
from pathlib import Path

from tests.harness.tiers import examples
from tests.update.cuts import cut


def test_every_cut(tmp_path: Path) -> None:
    every, cuts_of = examples(64, 8), examples(7, 1)
    counted = re.findall(r"(\d+) cuts(?:, (\d+) pairs)?", cut(tmp_path, every, 70, cuts_of))
    assert len(counted) == 11
    assert sum(int(cuts) for cuts, _ in counted) > 1700 + 9000 // cuts_of
    assert sum(int(pairs or 0) for _, pairs in counted) > 137_000 // every
