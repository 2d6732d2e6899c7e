"""Every family, float32 and int8, at every budget: right, within it, and the same bytes; tokens in little memory."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from bench.networks import named_smallest
from tests.compiler.models import ort
from tests.families.catalogue import FAMILIES, float_model, int8_model
from tests.families.layers import check_layers, output_steps
from tests.families.measure import BUDGETS, Run, fits, run
from tests.families.quantised import SCHEMES, Scheme, sample_inputs
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back, front
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.search import find_arrangement
from tigris_pio.errors import BudgetError

#: Shares of the largest output by which a float32 network may miss onnxruntime, at most and on average.
FARTHEST, MEAN = 1e-4, 1e-5
#: An int8 network and onnxruntime's float32 simulation of it round halves differently, and the layers behind spread
#: that out: by so many of the output's steps. Each layer by itself is held to its rounding by check_layers.
STEPS, COSINE = 4.5, 0.999
#: ArgMax may choose the other of two values a step apart.
OTHER_LABELS = 0.02


def close(got: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    """Float32: shapes, types and values."""
    assert list(got) == list(expected)
    for name, want in expected.items():
        assert got[name].shape == want.shape and got[name].dtype == want.dtype
        if want.dtype == np.int64:
            np.testing.assert_array_equal(got[name], want)
            continue
        missed = np.abs(got[name] - want) / np.abs(want).max()
        assert missed.max() <= FARTHEST and missed.mean() <= MEAN, f"{name}: {missed.max()}, mean {missed.mean()}"


def close_int8(model: onnx.ModelProto, got: Run, inputs: Mapping[str, np.ndarray]) -> None:
    """Layer by layer to the rounding; the outputs to a few of their own steps."""
    check_layers(model, got.compiled, inputs)
    expected = ort(model, inputs)
    assert list(got.outputs) == list(expected)
    steps = output_steps(got.compiled.plan.program)
    for name, want in expected.items():
        ours = got.outputs[name]
        assert ours.shape == want.shape and ours.dtype == want.dtype
        if want.dtype == np.int64:
            assert (ours != want).mean() <= OTHER_LABELS
            continue
        a, b = ours.astype(np.float64).ravel(), want.astype(np.float64).ravel()
        missed, cosine = np.abs(a - b).max() / steps[name], a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        assert missed <= STEPS and cosine >= COSINE, f"{name}: {missed} steps, cosine {cosine}"


def same(first: Run, other: Run) -> None:
    for name, data in first.raw.items():
        np.testing.assert_array_equal(data, other.raw[name])


def at_every_budget(start: Front, inputs: Mapping[str, np.ndarray]) -> Run:
    """Runs at all budgets, with slow memory and, where the planner can, without it; returns the unlimited run.

    With weights read in place and compressed ones at the smallest, where most stages have bands.
    """
    whole = run(start, CompileOptions(BUDGETS["unlimited"]), inputs)
    *_, smallest = BUDGETS.values()
    for budget in list(BUDGETS.values())[1:]:
        if whole.compiled.plan.fast_bytes <= (budget.fast or 0):
            continue  # it would be the same plan
        same(whole, run(start, CompileOptions(budget), inputs))
        alone = CompileOptions(Budget(budget.fast))
        if fits(start, alone):
            same(whole, run(start, alone, inputs))
    for options in (CompileOptions(smallest, xip=True), CompileOptions(smallest, compress="lz4")):
        same(whole, run(start, options, inputs))
    return whole


@pytest.mark.parametrize("name", sampled(FAMILIES, ["opset_9", "pooling_variants", "sensor_cnn", "super_resolution"]))
def test_float(name: str) -> None:
    model = float_model(name)
    inputs = sample_inputs(model, 100)
    whole = at_every_budget(front(model, CompileOptions()), inputs)
    close(whole.outputs, ort(model, inputs))


@pytest.mark.parametrize("name", sampled(FAMILIES, ["decoder", "detector", "keras_unet", "mobilenet_v3"]))
def test_int8(name: str) -> None:
    model = int8_model(name)
    inputs = sample_inputs(model, 100)
    whole = at_every_budget(front(model, CompileOptions()), inputs)
    close_int8(model, whole, inputs)


@pytest.mark.parametrize("scheme", sampled(SCHEMES, 2), ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("name", sampled(["mobilenet_v3", "shufflenet", "detector", "keras"], 1))
def test_every_way_to_quantise(name: str, scheme: Scheme) -> None:
    model = int8_model(name, scheme)
    inputs = sample_inputs(model, 101)
    result = run(front(model, CompileOptions()), CompileOptions(BUDGETS["32K"]), inputs)
    close_int8(model, result, inputs)


def test_external_data(tmp_path: Path) -> None:
    model = float_model("resnet")
    onnx.save_model(onnx.ModelProto.FromString(model.SerializeToString()), tmp_path / "m.onnx",
                    save_as_external_data=True, location="weights.bin", size_threshold=0)
    inputs = sample_inputs(model, 102)
    with Session(compile_model(tmp_path / "m.onnx", fast="64K", slow="1M")) as session:
        close(session.run(inputs), ort(model, inputs))


# Little fast memory for networks of tokens: what takes it, with nothing computed again, and how exact refusals are.

#: Bytes that are enough without slow memory.
ENOUGH = {float_model: {"mlp_mixer": 38_000, "tiny_vit": 152_500}, int8_model: {"mlp_mixer": 9_600, "tiny_vit": 38_500}}


CASES = [(kind, name) for kind, names in ENOUGH.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), sampled(CASES, 1))
def test_little_memory_is_enough(kind: Callable[[str], onnx.ModelProto], name: str) -> None:
    model = kind(name)
    start, inputs = front(model, CompileOptions()), sample_inputs(model, 100)
    tight = run(start, CompileOptions(Budget(ENOUGH[kind][name])), inputs)
    assert tight.recomputed_macs == tight.slow_traffic == 0
    same(run(start, CompileOptions(), inputs), tight)


@pytest.mark.thorough
def test_a_refusal_is_exact() -> None:
    """The outputs at what it names are those of any run; in an alignment less no order works, or where the search took
    too long to end in a fiftieth less."""
    model = int8_model("mlp_mixer")
    start, inputs = front(model, CompileOptions()), sample_inputs(model, 100)
    with pytest.raises(BudgetError) as refused:
        back(start, CompileOptions(Budget(64)))
    least = named_smallest(refused.value)
    same(run(start, CompileOptions(), inputs), run(start, CompileOptions(Budget(least)), inputs))
    less = CompileOptions(Budget(least - (least // 50 if "of the sizes tried" in str(refused.value) else 16)))
    for program in orders(start.program):
        assert find_arrangement(ProgramIndex.of(program), less.budget, less.alignment, less.weights()) is None
