"""Assignment of operators to a library: their packing, and the budget left by its scratch."""

from pathlib import Path

import numpy as np
import pytest

from tests.harness.tiers import sampled
from tigris_pio import compile_model
from tigris_pio.compiler.backends import BACKENDS, Assignment, find_backend
from tigris_pio.compiler.emit.model_header import fast_bytes, kernel_symbols
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import PLAIN_KINDS
from tigris_pio.format.params import ConvInt8Params


@pytest.fixture(params=["cmsis-nn", "esp-nn"])
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=sorted(BACKENDS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_constants_are_those_of_the_model_again(library: str, models_dir: Path) -> None:
    """Taking each zero point out of the bias and putting it in again changes nothing; weights are left alone."""
    program = front(models_dir / "person_detect_int8.onnx", CompileOptions()).program
    assigned = Assignment(BACKENDS[library], "").apply(program)
    changed = 0
    for before, after in zip(program.ops, assigned.ops, strict=True):
        if after.kind not in PLAIN_KINDS.values():
            assert after is before
            continue
        changed += 1
        assert after.kind is PLAIN_KINDS[before.kind]
        assert after.params == before.params
        np.testing.assert_array_equal(after.blobs["weights"], before.blobs["weights"])
        np.testing.assert_array_equal(after.blobs["shift"], before.blobs["shift"])
        assert after.blobs["shift"].dtype == after.blobs["bias"].dtype == np.int32
        weights = after.blobs["weights"].astype(np.int64)
        zero_point = after.params.input_zero_point if isinstance(after.params, ConvInt8Params) else 0
        axes = (0, 1) if after.kind is OpKind.PLAIN_DEPTHWISE_CONV_2D else tuple(range(1, weights.ndim))
        folded = after.blobs["bias"] - zero_point * weights.sum(axes)
        np.testing.assert_array_equal(folded, before.blobs["bias"])
    assert changed == 28


def test_what_stays_portable_is_named_with_its_reason(name: str, models_dir: Path) -> None:
    report = compile_model(models_dir / "kws_int8.onnx", fast="256K", backend=name).report
    assert report["backend"]["name"] == name
    depthwise = 4 if name == "mve" else 0  # its depthwise kernels read portable weights
    assert report["backend"]["ops"] == 10 - depthwise
    reasons = {entry["op"]: entry["reason"] for entry in report["backend"]["portable"]}
    assert len(reasons) == 3 + depthwise
    assert {"pool0/AveragePool/part", "pool0/AveragePool", "softmax0/Softmax"} <= set(reasons)
    assert reasons["softmax0/Softmax"] == f"{name} is not used for SOFTMAX in int8"
    portable = compile_model(models_dir / "kws_int8.onnx").report["backend"]
    assert portable == {"name": "portable", "ops": 13, "portable": []}


@pytest.mark.parametrize("fast", sampled(["256K", "96K", "48K", "32K"], 1))
def test_plan_and_scratch_fit_the_budget_together(name: str, fast: str, models_dir: Path) -> None:
    compiled = compile_model(models_dir / "resnet_int8.onnx", fast=fast, slow="1M", backend=name)
    memory = compiled.report["memory"]
    assert memory["fast_peak"] + memory["backend_scratch"] <= fast_bytes(compiled.plan) <= int(fast[:-1]) * 1024
    assert memory["total_ram"] == memory["fast_peak"] + memory["backend_scratch"] + memory["slow_peak"]
    for entry in compiled.report["backend"]["portable"]:
        reasons = ("not used for", "does not fit beside the activations", "run the loops of its portable kernel")
        assert any(reason in entry["reason"] for reason in reasons)


def test_a_chip_without_need_for_scratch_gets_none(models_dir: Path) -> None:
    model = models_dir / "vww_int8.onnx"
    memory = compile_model(model, fast="64K", backend="esp-nn", chip="esp32c3").report["memory"]
    assert memory["backend_scratch"] == 0
    assert compile_model(model, fast="256K", backend="esp-nn", chip="esp32s3").report["memory"]["backend_scratch"] > 0


def test_auto_is_the_fastest_backend_of_the_chip(models_dir: Path) -> None:
    """The report says which kernel each operator has, and why."""
    model = models_dir / "kws_int8.onnx"
    expected = {"esp32s3": "pie", "cortex-m55": "mve", "cortex-m4": "portable", "": "portable"}
    for chip, backend in expected.items():
        compiled = compile_model(model, fast="256K", chip=chip)
        kernels = compiled.report["kernels"]
        assert (kernels["backend"], kernels["chip"]) == (backend, chip)
        assert [entry["op"] for entry in kernels["ops"]] == [op.name for op in compiled.plan.program.ops]
        assert {"&" + entry["kernel"] for entry in kernels["ops"]} == set(kernel_symbols(compiled.plan))
        assert bool(kernels["lost"]) is (backend != "portable")
        asked = compile_model(model, fast="256K", chip=chip, backend=backend)
        assert asked.data == compiled.data
        assert asked.report["kernels"]["why"] == f"{backend} was requested"
    instructions = compile_model(model, fast="256K", chip="esp32s3").report["kernels"]
    assert "instructions" in instructions["why"]
    assert instructions["ops"][-1]["why"] == "pie is not used for SOFTMAX in int8"


def test_an_unknown_backend_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="'gpu' is unknown; use one of auto, portable, esp-nn, cmsis-nn, pie, mve"):
        find_backend("gpu")
