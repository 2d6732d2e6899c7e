"""Power that fails at every flash operation of an update: what is opened is the old plan or the new one, whole."""

from __future__ import annotations

import re
from pathlib import Path

from tests.update.cuts import cut


def test_every_cut(tmp_path: Path) -> None:
    counted = re.findall(r"(\d+) cuts(?:, (\d+) pairs)?", cut(tmp_path, 32, 70))
    assert len(counted) == 14
    assert sum(int(cuts) for cuts, _ in counted) > 10_000
    assert sum(int(pairs or 0) for _, pairs in counted) > 20_000
