"""Ratios of bytes moved beside another compiler's."""

from __future__ import annotations

from bench.planner import ratios


def test_ratios_are_of_budgets_at_which_both_move_bytes() -> None:
    ours = ["1,000 2.5 %", "0", "refused", "30", "50"]
    theirs = ["4,000 (3)", "10 (0)", "10 (0)", "refused", "50 (1)"]
    assert ratios(ours, theirs) == [0.25, 1.0]
