"""The networks of the project's own making are what networks/README.md says, and worth testing with."""

from __future__ import annotations

import re

import numpy as np
import pytest

from networks import LEAST_CHANNELS, LEAST_MEAN_SPAN, LEAST_SPAN
from tests.networks.folders import INT8, OWN, Network
from tests.networks.plans import compiled
from tigris_pio import Session

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
    with Session(compiled(network.name)) as session:
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
