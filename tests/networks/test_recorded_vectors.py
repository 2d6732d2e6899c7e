"""Networks through compiler, plan and C runtime; outputs as TensorFlow Lite Micro recorded them.

The project's own, as ONNX and as TensorFlow Lite files, and those that TIGRIS_MODELS names.
"""

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from bench.float_twin import float_twin
from bench.networks import smallest
from tests.harness.command import tigris
from tests.harness.tiers import sampled
from tests.networks.folders import INT8, OWN, Network, networks, pruned
from tests.networks.plans import compiled
from tigris_pio import BudgetError, Session, UnsupportedError, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import OpKind

NETWORKS = {str(network): network for network in networks()}
#: (fast, slow): tight without slow memory, and down to where every layer needs bands.
BUDGETS = (("64K", 0), ("42K", 0), ("16K", "64K"), ("8K", "64K"), ("4K", "64K"))
FAST_BUDGETS = ("kws 8K", "micro_speech 4K", "ad 16K", "vww 42K", "resnet 42K")
SWEEP = [(f"{name} {fast}", fast, slow) for name in NETWORKS for fast, slow in BUDGETS]


def check_usage(plan: Compiled, session: Session) -> None:
    """What the runtime measured is what the plan promised."""
    report = plan.report
    assert session.memory.fast_peak <= report["memory"]["fast_peak"]
    assert session.memory.slow_peak <= report["memory"]["slow_peak"]
    assert session.memory.slow_read == report["traffic"]["slow_read"]
    assert session.memory.slow_written == report["traffic"]["slow_written"]


def check_recorded(network: Network, plan: Compiled) -> None:
    """Every recorded output comes out byte for byte."""
    compared = 0
    with Session(plan) as session:
        (source,), (result,) = session.inputs, session.outputs
        for data in network.recorded():
            for stored, expected in zip(data["input_q"], data["output_tflm_q"], strict=True):
                outputs = session.run_raw({source.name: stored.reshape(source.stored_shape)})
                assert outputs[result.name].ravel().tolist() == expected.ravel().tolist()
                compared += 1
        check_usage(plan, session)
    assert compared >= 16


@pytest.mark.parametrize("network", NETWORKS.values(), ids=str)
def test_recorded_outputs(network: Network) -> None:
    check_recorded(network, compile_model(network.path))


@pytest.mark.parametrize(("case", "fast", "slow"), sampled(SWEEP, FAST_BUDGETS))
def test_recorded_outputs_at_a_budget(case: str, fast: str, slow: Any) -> None:
    network = NETWORKS[case.split(maxsplit=1)[0]]
    plan = compile_model(network.path, fast=fast, slow=slow)
    assert plan.report["memory"]["fast_peak"] <= plan.report["budget"]["fast"]
    check_recorded(network, plan)


@pytest.mark.parametrize("name", sampled(NETWORKS, ("micro_speech", "kws")))
def test_the_smallest_arena_changes_no_byte(name: str) -> None:
    """Every map in as few bytes as the planner knows, outputs growing over inputs where that helps."""
    path = NETWORKS[name].path
    check_recorded(NETWORKS[name], compile_model(path, fast=smallest(path)))


@pytest.mark.parametrize("name", INT8)
def test_a_tflite_file_is_its_twin(name: str) -> None:
    """The recorded bytes, and the memory of the ONNX file; nothing but the network's own operators runs."""
    plan = compile_model(OWN / f"{name}_int8.tflite")
    check_recorded(Network(OWN, name), plan)
    twin = compiled(name)
    moves = {OpKind.COPY, OpKind.TRANSPOSE, OpKind.QUANTIZE, OpKind.DEQUANTIZE, OpKind.LOOKUP}
    assert not {op.kind for op in twin.plan.program.ops} & moves
    assert plan.report["memory"] == twin.report["memory"] and plan.report["traffic"] == twin.report["traffic"]


@pytest.mark.parametrize("name", ("kws", "vww"))
def test_a_tflite_files_inputs_and_outputs_are_its_own(name: str) -> None:
    """Images as the file has them, [N, H, W, C], in integers; from the path and from bytes."""
    (data,) = Network(OWN, name).recorded()
    with Session(compile_model((OWN / f"{name}_int8.tflite").read_bytes())) as session:
        (source,), (result,) = session.inputs, session.outputs
        assert (source.dtype, result.dtype) == ("int8", "int8")
        assert source.shape == {"kws": (1, 49, 10, 1), "vww": (1, 96, 96, 3)}[name]
        y = session.run({source.name: data["input_q"][0].reshape(source.stored_shape)})[result.name]
        assert y.dtype == np.int8 and y.ravel().tolist() == data["output_tflm_q"][0].ravel().tolist()


@pytest.mark.parametrize("name", sampled(NETWORKS, ("kws", "vww")))
def test_the_float_interface_quantises_like_the_model(name: str) -> None:
    data = NETWORKS[name].recorded()[0]
    with Session(compile_model(NETWORKS[name].path)) as session:
        for i in range(3):
            y = session.run({"input": data["input_f32"][i][np.newaxis]})["output"]
            expected = (data["output_tflm_q"][i].astype(np.float32) - data["output_zero_point"]) * data["output_scale"]
            np.testing.assert_array_equal(y.ravel(), expected.ravel().astype(np.float32))


FLOAT = [(f"{name} {fast}", fast, slow) for name in ("ad", "kws", "resnet", "vww")
         for fast, slow in ((None, 0), ("64K", "1M"), ("24K", "1M"))]  # fmt: skip


@pytest.mark.parametrize(("case", "fast", "slow"), sampled(FLOAT, ("ad None", "kws 24K", "resnet None")))
def test_float_networks_agree_with_onnxruntime(case: str, fast: str | None, slow: Any) -> None:
    network = NETWORKS[case.split(maxsplit=1)[0]]
    twin = float_twin(network.path)
    reference = onnxruntime.InferenceSession(twin.SerializeToString(), providers=["CPUExecutionProvider"])
    plan = compile_model(twin, fast=fast, slow=slow)
    with Session(plan) as session:
        for x in network.recorded()[0]["input_f32"][::3]:
            y = session.run({"input": x[np.newaxis]})["output"]
            (expected,) = reference.run(None, {"input": x[np.newaxis]})
            np.testing.assert_allclose(y.ravel(), expected.ravel(), rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        check_usage(plan, session)


def first_output(plan: Compiled, stored: np.ndarray) -> list[int]:
    assert plan.report["memory"]["fast_peak"] <= plan.report["budget"]["fast"]
    with Session(plan) as session:
        (source,), (result,) = session.inputs, session.outputs
        return session.run_raw({source.name: stored.reshape(source.stored_shape)})[result.name].ravel().tolist()


@pytest.mark.parametrize("name", sampled(("kws", "resnet"), ("kws",)))
def test_weights_of_which_half_are_zero_are_compressed(name: str) -> None:
    network = Network(OWN, name)
    model, x = pruned(network.path), network.recorded()[0]["input_q"][-1]
    plain = compile_model(model, fast="300K")
    expected = first_output(plain, x)
    assert expected != network.recorded()[0]["output_tflm_q"][-1].tolist()
    packed = compile_model(model, fast="300K", compress="lz4")
    assert {stage["weights"] for stage in packed.report["stages"]} == {"lz4"}
    assert len(packed.data) < 0.9 * len(plain.data)
    for plan in (packed, compile_model(model, fast="24K", slow="64K", compress="lz4")):
        assert first_output(plan, x) == expected


@pytest.mark.parametrize("name", sampled(("kws", "vww"), ("kws",)))
def test_compilation_is_reproducible(name: str) -> None:
    plans = [compile_model(OWN / f"{name}_int8.onnx", fast="16K", slow="64K") for _ in range(2)]
    assert plans[0].data == plans[1].data


# Files of a folder that TIGRIS_TFLITE names against TensorFlow Lite Micro: int8 to the byte, float32 closely.

FOLDER = os.environ.get("TIGRIS_TFLITE", "")
FILES = sorted(Path(FOLDER).rglob("*.tflite")) if FOLDER else []


@pytest.mark.skipif(not FILES, reason="TIGRIS_TFLITE names no folder of .tflite files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_verified(path: Path) -> None:
    """Eight samples, one after the other, at no limit and with less than half of that memory."""
    try:
        peak = compile_model(path).report["memory"]["fast_peak"]
    except UnsupportedError as refusal:
        pytest.skip(str(refusal).splitlines()[-1])
    tigris("verify", path, "--samples", "8")
    with contextlib.suppress(BudgetError):
        compile_model(path, fast=int(0.4 * peak), slow="64M")
        tigris("verify", path, "-m", f"{int(0.4 * peak)}+64M", "--samples", "8")


# The networks of the project's own making are what networks/README.md says, and worth testing with.

MOST_BYTES = 4_000_000
ROWS = re.findall(r"^\| (\w+) \|(.*)\|$", (OWN / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
TABLE = {name: [cell.strip() for cell in rest.split("|")] for name, rest in ROWS if name != "network"}
#: Kinds of recorded inputs.
UNIFORM, GAUSSIAN, SAMPLE = 0, 1, 2


@pytest.fixture(scope="module", params=INT8)
def network(request: pytest.FixtureRequest) -> Network:
    return Network(OWN, request.param)


@pytest.fixture(scope="module")
def vectors(network: Network) -> dict[str, np.ndarray]:
    (data,) = network.recorded()
    return data


def test_all_fit_in_what_the_repository_grants_them() -> None:
    files = [path for path in OWN.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len([path for path in files if path.suffix in {".onnx", ".tflite", ".npz"}]) == 3 * len(INT8)
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


def test_the_readme_has_their_figures(network: Network, vectors: dict[str, np.ndarray]) -> None:
    assert sorted(TABLE) == sorted(INT8)
    *_, macs, tflite, twin, inputs = (cell.replace(",", "") for cell in TABLE[network.name])
    plan = compiled(network.name)
    assert int(macs) == sum(op.macs for op in plan.plan.program.ops)
    assert int(tflite) == network.path.with_suffix(".tflite").stat().st_size
    assert int(twin) == network.path.stat().st_size
    assert int(inputs) == len(vectors["input_q"]) == len(vectors["output_tflm_q"]) == len(vectors["kind"])
