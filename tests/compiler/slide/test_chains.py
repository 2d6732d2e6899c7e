"""Random networks on overlapping windows: what runs on whole windows give, from the first run on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.slide.signals import Signal, wrong_runs
from tests.harness.tiers import counted, examples
from tigris_pio import BudgetError, compile_model
from tigris_pio.errors import UsageError


@pytest.mark.fuzzed
@pytest.mark.parametrize("quantised", [False, True], ids=["float32", "int8"])
def test_every_run_gives_what_its_whole_window_gives(quantised: bool) -> None:
    @counted(kept=examples(2, 15), apart=examples(0, 2), edges=examples(0, 5), halted=examples(0, 5),
             fewer=examples(1, 10), small=examples(0, 5))  # fmt: skip
    @settings(max_examples=examples(8, 60, 600), deadline=None)
    @given(seed=st.integers(0, 10**6), hop=st.integers(1, 6), share=st.integers(50, 100))
    def check(seen: dict[str, int], seed: int, hop: int, share: int) -> None:
        model = Signal(seed, quantised).model()
        try:
            compiled = compile_model(model, hop=hop)
        except UsageError as error:  # a perceptron, whose slowest axis is the channels'
            assert "rows; a hop has 1 to" in str(error)
            return
        report = compiled.report["hop"]
        try:
            fast = compiled.report["memory"]["fast_peak"] * share // 100
            small = compile_model(model, hop=hop, fast=fast)
            seen["small"] += 1
        except BudgetError:
            small = compiled
        assert report["exact_from"] == 1
        assert wrong_runs(model, small) == []
        assert report["macs"] <= report["whole_macs"]
        names = [state["name"] for state in compiled.report["states"]]
        seen["kept"] += any(name != "x/kept" for name in names)
        seen["edges"] += bool(report["edges"])
        seen["halted"] += bool(report["all_rows"])
        seen["fewer"] += report["macs"] < report["whole_macs"]
        seen["apart"] += any("/earlier" in name for name in compiled.plan.program.tensors)

    check()
