"""The networks of the project's own making are what networks/README.md says, and worth testing with."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from networks import LEAST_CHANNELS, LEAST_MEAN_SPAN, LEAST_SPAN
from tests.networks.folders import INT8, OWN, Network
from tigris_pio import Session, compile_model

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


def constants(network: Network) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(network.path).graph.initializer}


def test_all_fit_in_what_the_repository_grants_them() -> None:
    files = [path for path in OWN.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len([path for path in files if path.suffix in {".onnx", ".tflite", ".npz"}]) == 3 * len(INT8)
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


def test_the_readme_has_their_figures(network: Network, vectors: dict[str, np.ndarray]) -> None:
    assert sorted(TABLE) == sorted(INT8)
    *_, macs, tflite, twin, inputs = (cell.replace(",", "") for cell in TABLE[network.name])
    compiled = compile_model(network.path)
    assert int(macs) == sum(op.macs for op in compiled.plan.program.ops)
    assert int(tflite) == network.path.with_suffix(".tflite").stat().st_size
    assert int(twin) == network.path.stat().st_size
    assert int(inputs) == len(vectors["input_q"]) == len(vectors["output_tflm_q"]) == len(vectors["kind"])


def test_the_twin_has_the_form_it_is_said_to_have(network: Network) -> None:
    """Every activation between a QuantizeLinear and a DequantizeLinear; weights symmetric; biases at both scales."""
    graph, values = onnx.load(network.path).graph, constants(network)
    made_by = {output: node for node in graph.node for output in node.output}
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            assert values[node.input[2]].dtype == np.int8
        elif node.op_type != "DequantizeLinear":
            sources = [made_by[name].op_type for name in node.input if name in made_by]
            fused = node.op_type in {"Relu", "Clip"}
            assert fused or set(sources) == {"DequantizeLinear"}, node.name
            readers = {reader.op_type for reader in graph.node if node.output[0] in reader.input}
            assert readers <= {"QuantizeLinear", "Relu", "Clip"}, node.name
        if node.op_type in {"Conv", "Gemm"}:
            source, weight, bias = (made_by[name] for name in node.input)
            assert values[weight.input[0]].dtype == np.int8 and values[bias.input[0]].dtype == np.int32
            assert not values[weight.input[2]].any() and not values[bias.input[2]].any()
            product = values[source.input[1]] * values[weight.input[1]]
            np.testing.assert_allclose(values[bias.input[1]], product, rtol=1e-6)
            assert values[weight.input[1]].size == (len(values[weight.input[0]]) if node.op_type == "Conv" else 1)


def test_the_twins_weights_are_those_of_the_tflite_file(network: Network) -> None:
    """Their bytes are found there, channels last."""
    content, values = network.path.with_suffix(".tflite").read_bytes(), constants(network)
    layers = [node for node in onnx.load(network.path).graph.node if node.op_type in {"Conv", "Gemm"}]
    found = 0
    for name, array in values.items():
        if name.endswith(".bias_q"):
            assert array.astype("<i4").tobytes() in content, name
        elif name.endswith(".weight_q"):
            orders = [array]
            if array.ndim == 4:
                orders = [array.transpose(0, 2, 3, 1), array.transpose(1, 2, 3, 0)]
            elif network.name == "micro_speech":
                orders = [array.reshape(4, 8, 25, 20).transpose(0, 2, 3, 1)]
            assert any(np.ascontiguousarray(order).tobytes() in content for order in orders), name
            found += 1
        elif name.endswith("_scale") and array.ndim and ".bias" not in name:
            assert array.astype("<f4").tobytes() in content, name
    assert found == len(layers)


def test_inputs_are_of_every_kind_and_quantise_to_themselves(vectors: dict[str, np.ndarray]) -> None:
    assert set(vectors["kind"]) == {UNIFORM, GAUSSIAN, SAMPLE}
    stored = np.rint(vectors["input_f32"] / vectors["input_scale"]) + vectors["input_zero_point"]
    if stored.ndim == 4:
        stored = np.moveaxis(stored, 1, -1)
    np.testing.assert_array_equal(stored, vectors["input_q"])
    assert ((vectors["label"] >= 0) == (vectors["kind"] == SAMPLE)).all()


def test_outputs_tell_inputs_apart(network: Network, vectors: dict[str, np.ndarray]) -> None:
    """The likeliest class seldom at 1, labels of every class or of six, nearly all of them right."""
    outputs, labels = vectors["output_tflm_q"], vectors["label"]
    assert len(np.unique(outputs, axis=0)) >= len(outputs) * 2 // 3
    if network.name == "ad":
        return
    said = outputs.argmax(axis=1)
    assert len(set(said)) >= min(outputs.shape[1], 6)
    assert (said == labels)[labels >= 0].mean() >= 0.75
    assert (outputs.max(axis=1) < 127).mean() >= 0.5


def test_activations_use_their_range(network: Network, vectors: dict[str, np.ndarray]) -> None:
    """As the runtime computes them, whose outputs are the recorded ones."""
    seen: dict[str, list[np.ndarray]] = {}
    with Session(compile_model(network.path)) as session:
        (source,) = session.inputs
        for stored in vectors["input_q"]:
            _, traces = session.run_raw_traced({source.name: stored.reshape(source.stored_shape)})
            for name, trace in traces.items():
                if trace.dtype == np.int8:
                    seen.setdefault(name, []).append(trace)
    assert len(seen) >= 3
    for name, traced in seen.items():
        values = np.stack(traced).astype(np.int32)
        assert np.ptp(values) >= (LEAST_MEAN_SPAN if "Pool" in name else LEAST_SPAN), name
        channels = values.reshape(-1, values.shape[-1])
        assert (np.ptp(channels, axis=0) > 0).mean() >= LEAST_CHANNELS, name
