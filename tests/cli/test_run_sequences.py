"""`tigris run` over several samples: states go on from step to step, and begin anew with each sequence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.compiler.models import make, node
from tests.harness.command import tigris


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """y: the sum of all x so far."""
    nodes = [node("Add", "x sum", "new"), node("Identity", "new", "y")]
    save(make(nodes, {"x": (1, 2), "sum": (1, 2)}, ["y", "new"]), tmp_path / "sum.onnx")
    tigris("compile", tmp_path / "sum.onnx", "-m", "4K", "--state", "new=sum", "-o", tmp_path / "sum.tgrs")
    return tmp_path / "sum.tgrs"


@pytest.mark.parametrize("shape, lead", [
    ((1, 2), ()), ((5, 2), (5,)), ((5, 1, 2), (5,)), ((3, 4, 2), (3, 4)), ((3, 4, 1, 2), (3, 4)),
    ((1, 1, 1, 2), (1, 1)),
])
def test_axes_before_the_inputs_own(shape: tuple[int, ...], lead: tuple[int, ...], plan: Path, tmp_path: Path) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "x.npy", x)
    done = tigris("run", plan, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--json")
    y = np.load(tmp_path / "y.npy")
    steps = x.reshape(*lead, 2) if lead else x.reshape(1, 2)
    assert np.array_equal(y.reshape(steps.shape), np.cumsum(steps, axis=-2))
    assert y.shape == (*lead, 1, 2) and json.loads(done.stdout)["samples"] == max(1, int(np.prod(lead)))
    np.save(tmp_path / "x.npy", np.zeros((*shape[:-1], 3), np.float32))
    done = tigris("run", plan, "--input", tmp_path / "x.npy", status=2)
    assert f"input 'x' has shape {[*shape[:-1], 3]}, the model takes [1, 2]" in done.stderr


@pytest.mark.parametrize("name", ["x", "features"])
def test_arrays_of_an_npz(name: str, plan: Path, tmp_path: Path) -> None:
    """As `hil` and `quantize` take them: labels are no input, an only array of another name is the only input."""
    np.savez(tmp_path / "x.npz", **{name: np.ones((3, 2), np.float32), "labels": np.arange(3)})
    done = tigris("run", plan, "--input", tmp_path / "x.npz", "--json")
    assert json.loads(done.stdout)["samples"] == 3
    assert ("array features is used for input x" in done.stderr) == (name != "x")
    np.savez(tmp_path / "x.npz", **{f"{name}_1": np.ones(2), "other": np.ones(2)})
    done = tigris("run", plan, "--input", tmp_path / "x.npz", status=2)
    assert f"holds {name}_1, other, but the model's inputs are x" in done.stderr
