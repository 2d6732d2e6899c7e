"""Every family, float32 and int8, at every budget: right, within the budget, and the same bytes each time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantType

from tests.compiler.models import ort
from tests.families.catalogue import FAMILIES, QUANTISED, float_model, int8_model, scheme_of
from tests.families.measure import BUDGETS, Run, fits, run
from tests.families.quantised import SCHEMES, Scheme, sample_inputs
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import CompileOptions, Front, front
from tigris_pio.compiler.plan import Budget

#: Shares of the largest output by which an int8 network may miss onnxruntime's simulation of it in float32: roundings
#: differ by single steps, and the layers after them spread those out.
FARTHEST, MEAN = 0.06, 0.015
#: Asymmetric uint8 weights whose range without the zero point leaves int8 are rounded once more.
FARTHEST_ASYMMETRIC, MEAN_ASYMMETRIC = 0.15, 0.03


def close(got: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], farthest: float, mean: float) -> None:
    """Compares shapes, types and values; of integer outputs (ArgMax) one in fifty may differ by a tie."""
    assert list(got) == list(expected)
    for name, want in expected.items():
        assert got[name].shape == want.shape and got[name].dtype == want.dtype
        if want.dtype == np.int64:
            assert (got[name] != want).mean() <= (0.02 if farthest > 1e-3 else 0)
            continue
        missed = np.abs(got[name] - want) / np.abs(want).max()
        assert missed.max() <= farthest and missed.mean() <= mean, f"{name}: {missed.max()}, mean {missed.mean()}"


def close_int8(got: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], scheme: Scheme) -> None:
    symmetric = scheme.weights is QuantType.QInt8
    close(got, expected, *((FARTHEST, MEAN) if symmetric else (FARTHEST_ASYMMETRIC, MEAN_ASYMMETRIC)))


def same(first: Run, other: Run) -> None:
    for name, data in first.raw.items():
        np.testing.assert_array_equal(data, other.raw[name])


def at_every_budget(start: Front, inputs: Mapping[str, np.ndarray]) -> Run:
    """Runs at all budgets, with slow memory and, where the planner can, without it; returns the unlimited run."""
    whole = run(start, CompileOptions(BUDGETS["unlimited"]), inputs)
    for budget in list(BUDGETS.values())[1:]:
        if whole.compiled.plan.fast_bytes <= (budget.fast or 0):
            continue  # it would be the same plan
        same(whole, run(start, CompileOptions(budget), inputs))
        alone = CompileOptions(Budget(budget.fast))
        if fits(start, alone):
            same(whole, run(start, alone, inputs))
    for storage in ({"compress": "lz4"}, {"xip": True, "compress": "lz4"}):
        same(whole, run(start, CompileOptions(BUDGETS["32K"], **storage), inputs))
    return whole


@pytest.mark.parametrize("name", FAMILIES)
def test_float(name: str) -> None:
    model = float_model(name)
    inputs = sample_inputs(model, 100)
    whole = at_every_budget(front(model, CompileOptions()), inputs)
    close(whole.outputs, ort(model, inputs), 1e-4, 1e-5)


@pytest.mark.parametrize("name", QUANTISED)
def test_int8(name: str) -> None:
    model = int8_model(name)
    inputs = sample_inputs(model, 100)
    whole = at_every_budget(front(model, CompileOptions()), inputs)
    close_int8(whole.outputs, ort(model, inputs), scheme_of(name))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("name", ["mobilenet_v3", "shufflenet", "detector", "keras", "unet"])
def test_every_way_to_quantise(name: str, scheme: Scheme) -> None:
    model = int8_model(name, scheme)
    inputs = sample_inputs(model, 101)
    result = run(front(model, CompileOptions()), CompileOptions(BUDGETS["32K"]), inputs)
    close_int8(result.outputs, ort(model, inputs), scheme)


def test_external_data(tmp_path: Path) -> None:
    model = float_model("resnet")
    onnx.save_model(onnx.ModelProto.FromString(model.SerializeToString()), tmp_path / "m.onnx",
                    save_as_external_data=True, location="weights.bin", size_threshold=0)
    inputs = sample_inputs(model, 102)
    with Session(compile_model(tmp_path / "m.onnx", fast="64K", slow="1M")) as session:
        close(session.run(inputs), ort(model, inputs), 1e-4, 1e-5)
