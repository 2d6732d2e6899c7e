"""Where a refusal is, and what is left of a plan that was refused."""

from __future__ import annotations

import pytest

from tests.runtime.loader import bind_status_of_a_refused_plan
from tests.runtime.plan_builder import changed
from tests.runtime.test_refusals import two_sines
from tigris_pio.errors import PlanError
from tigris_pio.format.records import ViewRecord
from tigris_pio.host import Session


def test_an_operator_whose_rows_are_not_there_is_named() -> None:
    early = changed(two_sines(2, windows=False), ViewRecord, 1, pace_numerator=6, pace_denominator=1)
    with pytest.raises(PlanError, match=r"at stage 0, operator 0 \(TRIGONOMETRIC [^)]+\), tensor 2 \(second\)"):
        Session(early)


@pytest.mark.parametrize("data", [b"\0" * 4096, b"TGRS" + b"\xff" * 4092], ids=["zeros", "a header alone"])
def test_a_plan_that_did_not_open_is_not_bound(data: bytes) -> None:
    assert bind_status_of_a_refused_plan(data) == -1
