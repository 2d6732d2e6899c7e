"""The collector of reference cycles rests during a search, and only then."""

from __future__ import annotations

import gc

import pytest

from tigris_pio.compiler.plan.uncollected import uncollected


@uncollected
def search(fails: bool) -> bool:
    if fails:
        raise ValueError("no")
    return gc.isenabled()


@pytest.mark.parametrize("active", (True, False))
def test_the_collector_is_as_it_was_afterwards(active: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if active else gc.disable)()
        assert not search(False)
        assert gc.isenabled() == active
        with pytest.raises(ValueError):
            search(True)
        assert gc.isenabled() == active
    finally:
        (gc.enable if before else gc.disable)()
