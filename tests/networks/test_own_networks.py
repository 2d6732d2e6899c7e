"""The networks of the project's own making are what networks/README.md says, and worth testing with."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.networks.folders import INT8, OWN, Network
from tests.networks.plans import compiled

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
