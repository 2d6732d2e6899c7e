"""Ways to run a stage, by what finds them."""

from __future__ import annotations

import pytest

from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan import search
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.cut import edges
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.search import find_arrangement

MAP = 8 * 64


def twice_read(readers: int) -> Program:
    """Two maps as inputs, which do not fit together; all of the second is read by each of `readers` operators."""
    builder = Builder()
    first, second = builder.input(8, 64), builder.input(8, 64)
    made = [builder.whole(first, 1, 32), *(builder.whole(second, 1, 32) for _ in range(readers))]
    return builder.program(*made)


def planned(program: Program, fast: int) -> tuple[Arrangement, float]:
    index = ProgramIndex.of(program)
    found = find_arrangement(index, Budget(fast, 4 * MAP), 16, WeightOptions())
    assert found is not None
    return found, plan_cost(index, found.drafts)


@pytest.mark.parametrize("readers", [2, 3, 4])
def test_operators_that_run_whole_load_what_they_share_once(readers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that a stage in bands may keep what it loads, for more."""
    monkeypatch.setattr(search, "cheapest_of_every_cut", lambda _index, _aim, _most: None)
    program, fast = twice_read(readers), MAP + 512
    found, cost = planned(program, fast)
    (touching,) = (draft for draft in found.drafts if draft.slow_read)
    assert touching.slow_read == MAP and not touching.segment.banded
    assert touching.segment.end - touching.segment.first >= readers
    monkeypatch.setattr(edges.Edges, "_whole", lambda *_: iter(()))
    apart, dearer = planned(program, fast)
    assert all(draft.segment.banded or draft.segment.end == draft.segment.first + 1
               for draft in apart.drafts if draft.slow_read)  # fmt: skip
    assert dearer > cost * 1.001
