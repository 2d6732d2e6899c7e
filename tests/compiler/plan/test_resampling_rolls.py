"""Networks that shrink and grow maps run in bands, and give the same bytes however they run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node, ort
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import Strategy

RANDOM = np.random.default_rng(37)
SHAPE = (1, 3, 64, 48)


def noise(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 0.3).astype(np.float32)


def grow(kind: str, source: str, result: str) -> list[onnx.NodeProto]:
    """Twice the rows and columns, eight channels."""
    if kind == "transposed":
        return [node("ConvTranspose", f"{source} wt", result, strides=[2, 2], pads=[1, 1, 1, 1])]
    if kind == "depth":
        return [node("Conv", f"{source} wd", f"{result}_d"), node("DepthToSpace", f"{result}_d", result, blocksize=2)]
    extra = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if kind == "nearest" else {}
    return [node("Resize", f"{source} - f", result, mode=kind, **extra)]


def weights() -> dict[str, np.ndarray]:
    return {"w0": noise(8, 3, 3, 3), "w1": noise(8, 8, 3, 3), "w2": noise(4, 16, 3, 3), "wt": noise(8, 8, 4, 4),
            "wd": noise(32, 8, 1, 1), "f": np.array([1, 1, 2, 2], np.float32),
            "p": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "s": np.array([1, 2], np.int64),
            "e": np.array([63, 47], np.int64), "a": np.array([2, 3], np.int64)}


def network(kind: str) -> list[onnx.NodeProto]:
    """One level of a U-Net: down, up, skip Concat; with padding of its own and a crop at the end."""
    return [
        node("Pad", "x p", "x1", mode="edge"), node("Conv", "x1 w0", "c0"), node("Relu", "c0", "r0"),
        node("MaxPool", "r0", "m", kernel_shape=[2, 2], strides=[2, 2]), node("Conv", "m w1", "c1", pads=[1, 1, 1, 1]),
        node("Relu", "c1", "r1"), *grow(kind, "r1", "u"), node("Concat", "r0 u", "cc", axis=1),
        node("Conv", "cc w2", "c2", pads=[1, 1, 1, 1]), node("Slice", "c2 s e a", "y"),
    ]


@pytest.mark.parametrize("kind", sampled(["nearest", "linear", "transposed", "depth"], 2))
def test_bands_change_no_byte(kind: str) -> None:
    model, x = make(network(kind), {"x": SHAPE}, ["y"], weights()), noise(*SHAPE)
    results = []
    for fast, slow in (("4M", None), ("40K", "1M")):
        made = compile_model(model, fast=fast, slow=slow)
        with Session(made) as session:
            results.append(session.run({"x": x})["y"])
            assert slow is None or session.memory.fast_peak <= 40 * 1024
        assert slow is None or {stage.strategy for stage in made.plan.stages} - {Strategy.NORMAL}, "nothing is banded"
    assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], ort(model, {"x": x})["y"], atol=1e-4)
