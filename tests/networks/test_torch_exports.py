"""Networks that PyTorch exported, its older and its newer exporter by turns, give PyTorch's outputs."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.families.layers import check_layers
from tests.families.quantised import SCHEMES, quantise
from tigris_pio import Session
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front

FOLDER = Path(__file__).parent / "torch_exports"
NAMES = sorted(path.stem for path in FOLDER.glob("*.onnx"))


def test_all_networks_are_there() -> None:
    assert len(NAMES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_torchs(name: str) -> None:
    model, recorded = onnx.load(FOLDER / f"{name}.onnx"), np.load(FOLDER / f"{name}.npz")
    compiled = back(front(model, CompileOptions()), CompileOptions())
    with Session(compiled) as session:
        outputs = list(session.run({"x": recorded["x"]}).values())
    assert len(outputs) == len(recorded) - 1
    for index, got in enumerate(outputs):
        expected = recorded[f"y{index}"]
        assert got.shape == expected.shape
        assert np.abs(got - expected).max() <= 1e-6 * max(1.0, float(np.abs(expected).max()))


@pytest.mark.parametrize("name", NAMES)
def test_quantised_layer_by_layer(name: str) -> None:
    quantised = quantise(onnx.load(FOLDER / f"{name}.onnx"), SCHEMES[1])
    compiled = back(front(quantised, CompileOptions()), CompileOptions())
    check_layers(quantised, compiled, {"x": np.load(FOLDER / f"{name}.npz")["x"]})
