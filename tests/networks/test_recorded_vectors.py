"""Networks through compiler, plan and C runtime; outputs as TensorFlow Lite Micro recorded them.

The project's own, and those that TIGRIS_MODELS names.
"""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from bench.float_twin import float_twin
from tests.networks.folders import OWN, Network, networks, pruned
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

NETWORKS = networks()
FLOAT = ("ad", "kws", "resnet", "vww")
#: (fast, slow): whole, tight without slow memory, and down to where every layer needs bands.
BUDGETS = ((None, 0), ("64K", 0), ("42K", 0), ("16K", "64K"), ("8K", "64K"), ("4K", "64K"))


def check_usage(compiled: Compiled, session: Session) -> None:
    """What the runtime measured is what the plan promised."""
    report = compiled.report
    assert session.memory.fast_peak <= report["memory"]["fast_peak"]
    assert session.memory.slow_peak <= report["memory"]["slow_peak"]
    assert session.memory.slow_read == report["traffic"]["slow_read"]
    assert session.memory.slow_written == report["traffic"]["slow_written"]


@pytest.mark.parametrize("fast,slow", BUDGETS)
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_every_recorded_output_comes_out_byte_for_byte(network: Network, fast, slow):
    compiled = compile_model(network.path, fast=fast, slow=slow)
    if fast is not None:
        assert compiled.report["memory"]["fast_peak"] <= compiled.report["budget"]["fast"]
    compared = 0
    with Session(compiled) as session:
        (source,), (result,) = session.inputs, session.outputs
        for data in network.recorded():
            for stored, expected in zip(data["input_q"], data["output_tflm_q"], strict=True):
                outputs = session.run_raw({source.name: stored.reshape(source.stored_shape)})
                assert outputs[result.name].ravel().tolist() == expected.ravel().tolist()
                compared += 1
        check_usage(compiled, session)
    assert compared >= 16


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_smallest_arena_changes_no_byte(network: Network):
    """Every map in as few bytes as the planner knows, outputs growing over inputs where that helps."""
    with pytest.raises(BudgetError) as refusal:
        compile_model(network.path, fast="64")
    smallest = str(refusal.value).split("works is ")[1].split(" bytes")[0]
    with Session(compile_model(network.path, fast=smallest)) as session:
        (source,) = session.inputs
        for data in network.recorded():
            for stored, expected in zip(data["input_q"][::2], data["output_tflm_q"][::2], strict=True):
                outputs = session.run_raw({source.name: stored.reshape(source.stored_shape)})
                assert outputs["output"].ravel().tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_float_interface_quantises_like_the_model(network: Network):
    data = network.recorded()[0]
    with Session(compile_model(network.path, fast="64K", slow="64K")) as session:
        for i in range(3):
            y = session.run({"input": data["input_f32"][i][np.newaxis]})["output"]
            expected = (data["output_tflm_q"][i].astype(np.float32) - data["output_zero_point"]) * data["output_scale"]
            np.testing.assert_array_equal(y.ravel(), expected.ravel().astype(np.float32))


@pytest.mark.parametrize("fast,slow", ((None, 0), ("64K", "1M"), ("24K", "1M")))
@pytest.mark.parametrize("network", [network for network in NETWORKS if network.name in FLOAT], ids=str)
def test_float_networks_agree_with_onnxruntime(network: Network, fast, slow):
    twin = float_twin(network.path)
    reference = onnxruntime.InferenceSession(twin.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = compile_model(twin, fast=fast, slow=slow)
    with Session(compiled) as session:
        for x in network.recorded()[0]["input_f32"][::3]:
            y = session.run({"input": x[np.newaxis]})["output"]
            (expected,) = reference.run(None, {"input": x[np.newaxis]})
            np.testing.assert_allclose(y.ravel(), expected.ravel(), rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        check_usage(compiled, session)


STORAGE = ({}, {"xip": True}, {"compress": "lz4"}, {"copy_weights": True})


def first_output(compiled: Compiled, stored: np.ndarray) -> list[int]:
    assert compiled.report["memory"]["fast_peak"] <= compiled.report["budget"]["fast"]
    with Session(compiled) as session:
        (source,), (result,) = session.inputs, session.outputs
        return session.run_raw({source.name: stored.reshape(source.stored_shape)})[result.name].ravel().tolist()


@pytest.mark.parametrize("fast,slow", (("64K", 0), ("16K", "64K")))
@pytest.mark.parametrize("name", ("kws", "resnet", "vww"))
def test_storage_options_change_no_byte(name, fast, slow):
    network = Network(OWN, name)
    (data,) = network.recorded()
    for options in STORAGE:
        compiled = compile_model(network.path, fast=fast, slow=slow, **options)
        assert first_output(compiled, data["input_q"][-1]) == data["output_tflm_q"][-1].tolist(), options


@pytest.mark.parametrize("name", ("kws", "resnet", "vww"))
def test_weights_of_which_half_are_zero_are_compressed(name):
    network = Network(OWN, name)
    model, x = pruned(network.path), network.recorded()[0]["input_q"][-1]
    plain = compile_model(model, fast="300K")
    expected = first_output(plain, x)
    assert expected != network.recorded()[0]["output_tflm_q"][-1].tolist()
    packed = compile_model(model, fast="300K", compress="lz4")
    assert {stage["weights"] for stage in packed.report["stages"]} == {"lz4"}
    assert len(packed.data) < 0.9 * len(plain.data)
    for compiled in (packed, compile_model(model, fast="24K", slow="64K", compress="lz4")):
        assert first_output(compiled, x) == expected


def test_compilation_is_reproducible(models_dir):
    first = compile_model(models_dir / "vww_int8.onnx", fast="16K", slow="64K")
    assert first.data == compile_model(models_dir / "vww_int8.onnx", fast="16K", slow="64K").data
