"""Lines of flash that bands fetch again: what they count for, and that plans avoid them."""

import pytest

from bench.networks import smallest
from tests.harness.tiers import sampled
from tests.networks.folders import OWN
from tests.tflite.test_memory import Lstm
from tigris_pio import compile_model
from tigris_pio.compiler.cost.flash import ALL, CODE, FIRST, FLASHES, Flash
from tigris_pio.compiler.cost.model import DEFAULT
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.compiler.plan.prediction import predict_stage

SMALL = Flash(1 << 20, 32, 100)


def test_a_stage_beyond_the_cache_fetches_its_lines_in_each_band() -> None:
    ops = front(OWN / "kws_int8.onnx", CompileOptions()).program.ops[:3]
    weights = sum(blob.nbytes for op in ops for blob in op.blobs.values())
    once = (weights + len(ops) * CODE) / 32
    for cache, share in ((1, 1.0), (once * 32 / ALL, 1.0), (once * 64 / (FIRST + ALL), 0.5), (once * 33 / FIRST, 0.0)):
        assert Flash(int(cache), 32, 100).again(ops, [9, 9, 9], 9) == pytest.approx(share * 8 * once, rel=0.01)
    assert SMALL.again(ops, [9, 9, 9], 9) == 0.0
    assert Flash(1, 32, 100).again(ops, [9, 9, 1], 9, weights=False) == pytest.approx(8 * 2 * CODE / 32)


@pytest.mark.parametrize(("inputs", "units", "steps", "cycles"), [(32, 64, 49, 9.0e6), (64, 128, 25, 20.0e6)])
def test_steps_of_a_recurrent_layer_fetch_its_weights_again(inputs: int, units: int, steps: int, cycles: float) -> None:
    """`python -m bench.cycles` counted the cycles."""
    compiled = compile_model(Lstm(inputs=inputs, units=units, steps=steps).file(), fast="256K")
    assert compiled.report["predicted_cycles"][DEFAULT] == pytest.approx(cycles, rel=0.1)


@pytest.mark.parametrize("name", sampled(["kws", "sww"], ["sww"]))
def test_plans_have_no_more_cycles_than_plans_without_the_price(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, least = OWN / f"{name}_int8.onnx", smallest(OWN / f"{name}_int8.onnx")
    budgets = [round(least * share) // 16 * 16 for share in (1, 1.15, 1.4, 2.3)]
    priced = [compile_model(model, fast=fast).report["predicted_cycles"][DEFAULT] for fast in budgets]
    with monkeypatch.context() as changed:
        changed.setitem(FLASHES, DEFAULT, Flash(1 << 30, 32, 160))
        plans = [compile_model(model, fast=fast) for fast in budgets]
    free = [sum(predict_stage(one.plan, stage).cycles[DEFAULT] for stage in one.plan.stages) for one in plans]
    assert all(with_price <= 1.01 * without for with_price, without in zip(priced, free, strict=True))
    assert min(with_price / without for with_price, without in zip(priced, free, strict=True)) < 0.99


def test_copied_weights_are_fetched_once() -> None:
    plans = [compile_model(OWN / "sww_int8.onnx", fast="64K", copy_weights=copied) for copied in (False, True)]
    in_place, copied = (plan.report["predicted_cycles"][DEFAULT] for plan in plans)
    assert 1.0 < copied / in_place < 1.05
