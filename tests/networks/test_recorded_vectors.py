"""Real networks through compiler, plan and C runtime; outputs as TensorFlow Lite Micro recorded them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

INT8 = ("ad", "kws", "micro_speech", "person_detect", "resnet", "sww", "vww")
FLOAT = ("ad", "kws", "resnet", "vww")
#: (fast, slow): whole, tight without slow memory, and down to where every layer needs bands.
BUDGETS = ((None, 0), ("64K", 0), ("42K", 0), ("16K", "64K"), ("8K", "64K"), ("4K", "64K"))


def recorded(models_dir: Path, name: str) -> list[dict[str, np.ndarray]]:
    paths = [models_dir / f"{name}_{kind}.npz" for kind in ("vectors", "real")]
    return [dict(np.load(path)) for path in paths if path.exists()]


def check_usage(compiled: Compiled, session: Session) -> None:
    """What the runtime measured is what the plan promised."""
    report = compiled.report
    assert session.memory.fast_peak <= report["memory"]["fast_peak"]
    assert session.memory.slow_peak <= report["memory"]["slow_peak"]
    assert session.memory.slow_read == report["traffic"]["slow_read"]
    assert session.memory.slow_written == report["traffic"]["slow_written"]


@pytest.mark.parametrize("fast,slow", BUDGETS)
@pytest.mark.parametrize("name", INT8)
def test_every_recorded_output_comes_out_byte_for_byte(models_dir, name, fast, slow):
    compiled = compile_model(models_dir / f"{name}_int8.onnx", fast=fast, slow=slow)
    if fast is not None:
        assert compiled.report["memory"]["fast_peak"] <= compiled.report["budget"]["fast"]
    compared = 0
    with Session(compiled) as session:
        (source,), (result,) = session.inputs, session.outputs
        for data in recorded(models_dir, name):
            for stored, expected in zip(data["input_q"], data["output_tflm_q"], strict=True):
                outputs = session.run_raw({source.name: stored.reshape(source.stored_shape)})
                assert outputs[result.name].ravel().tolist() == expected.ravel().tolist()
                compared += 1
        check_usage(compiled, session)
    assert compared >= 32


@pytest.mark.parametrize("name", INT8)
def test_the_smallest_arena_changes_no_byte(models_dir, name):
    """Every map in as few bytes as the planner knows, outputs growing over inputs where that helps."""
    model = models_dir / f"{name}_int8.onnx"
    with pytest.raises(BudgetError) as refusal:
        compile_model(model, fast="64")
    smallest = str(refusal.value).split("works is ")[1].split(" bytes")[0]
    with Session(compile_model(model, fast=smallest)) as session:
        (source,) = session.inputs
        for data in recorded(models_dir, name):
            for stored, expected in zip(data["input_q"][:16], data["output_tflm_q"][:16], strict=True):
                outputs = session.run_raw({source.name: stored.reshape(source.stored_shape)})
                assert outputs["output"].ravel().tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("name", INT8)
def test_the_float_interface_quantises_like_the_model(models_dir, name):
    data = recorded(models_dir, name)[0]
    with Session(compile_model(models_dir / f"{name}_int8.onnx", fast="64K", slow="64K")) as session:
        for i in range(3):
            y = session.run({"input": data["input_f32"][i][np.newaxis]})["output"]
            expected = (data["output_tflm_q"][i].astype(np.float32) - data["output_zero_point"]) * data["output_scale"]
            np.testing.assert_array_equal(y.ravel(), expected.ravel().astype(np.float32))


@pytest.mark.parametrize("fast,slow", ((None, 0), ("64K", "1M"), ("24K", "1M")))
@pytest.mark.parametrize("name", FLOAT)
def test_float_networks_agree_with_onnxruntime(models_dir, name, fast, slow):
    data = recorded(models_dir, name)[0]
    compiled = compile_model(models_dir / f"{name}_fp32.onnx", fast=fast, slow=slow)
    with Session(compiled) as session:
        for x, expected in list(zip(data["input_f32"], data["output_fp32_ort"], strict=True))[:6]:
            y = session.run({"input": x[np.newaxis]})["output"]
            np.testing.assert_allclose(y.ravel(), expected.ravel(), rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        check_usage(compiled, session)


@pytest.mark.parametrize("name", ("kws", "resnet", "vww"))
def test_storage_options_change_no_byte(models_dir, name):
    data = recorded(models_dir, name)[0]
    for fast, slow in (("64K", 0), ("16K", "64K")):
        for options in ({}, {"xip": True}, {"compress": "lz4"}, {"copy_weights": True}):
            compiled = compile_model(models_dir / f"{name}_int8.onnx", fast=fast, slow=slow, **options)
            assert compiled.report["memory"]["fast_peak"] <= compiled.report["budget"]["fast"]
            with Session(compiled) as session:
                (source,) = session.inputs
                outputs = session.run_raw({source.name: data["input_q"][0].reshape(source.stored_shape)})
            assert outputs["output"].ravel().tolist() == data["output_tflm_q"][0].ravel().tolist(), options


def test_compression_makes_a_smaller_plan(models_dir):
    plain = compile_model(models_dir / "vww_int8.onnx", fast="300K")
    packed = compile_model(models_dir / "vww_int8.onnx", fast="300K", compress="lz4")
    assert len(packed.data) < len(plain.data) / 2
    assert {stage["weights"] for stage in packed.report["stages"]} == {"lz4"}


def test_weights_that_do_not_get_smaller_stay_as_they_are(models_dir):
    plain = compile_model(models_dir / "resnet_int8.onnx", fast="256K")
    packed = compile_model(models_dir / "resnet_int8.onnx", fast="256K", compress="lz4")
    assert len(packed.data) == len(plain.data)
    assert any("saves nothing" in warning for warning in packed.report["warnings"])


def test_compilation_is_reproducible(models_dir):
    first = compile_model(models_dir / "vww_int8.onnx", fast="16K", slow="64K")
    assert first.data == compile_model(models_dir / "vww_int8.onnx", fast="16K", slow="64K").data
