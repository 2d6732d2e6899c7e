"""Networks that shrink and grow maps run in bands, and give the same bytes however they run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.models import Quantiser, make, node, ort
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


def quantised(kind: str) -> onnx.ModelProto:
    """The same with every activation in int8."""
    q = Quantiser()
    constants = {}
    for name, value in weights().items():
        if value.dtype != np.float32 or name == "f":
            q.weights[name] = value
        else:
            scale = np.float32(np.abs(value).max() / 127)
            constants[name] = q.constant(name, np.rint(value / scale).astype(np.int8), scale)
    renamed = {"x": q.pair("x", 0.02, 3), **constants}
    for item in network(kind):
        item.input[:] = [renamed.get(name, name) for name in item.input]
        raw = item.output[0]
        final = raw == "y"
        if final:
            item.output[0] = "raw"
        q.add(item)
        renamed[raw] = q.pair("raw" if final else raw, 0.03, -4)
    q.add(node("Identity", renamed["y"], "y"))
    return make(q.nodes, {"x": SHAPE}, ["y"], q.weights)


@pytest.mark.parametrize("kind", ["nearest", "linear", "transposed", "depth"])
@pytest.mark.parametrize("int8", [False, True])
def test_bands_change_no_byte(kind: str, int8: bool) -> None:
    model = quantised(kind) if int8 else make(network(kind), {"x": SHAPE}, ["y"], weights())
    x = noise(*SHAPE)
    small, large = ("12K", "1M") if int8 else ("40K", "4M")
    results = []
    for fast, slow in ((large, None), (small, "1M")):
        plan = compile_model(model, fast=fast, slow=slow)
        with Session(plan) as session:
            results.append(session.run({"x": x})["y"])
            assert session.memory.fast_peak <= (1 << 22 if slow is None else int(small[:-1]) * 1024)
        strategies = {stage.strategy for stage in plan.plan.stages}
        assert slow is None or strategies - {Strategy.NORMAL}, "nothing runs in bands"
    assert results[0].tobytes() == results[1].tobytes()
    expected = ort(model, {"x": x})["y"]
    difference = np.abs(results[0] - expected)
    # int8: a step is 0.03, and differences of one step in the maps add up in the last convolution.
    assert difference.max() < (0.3 if int8 else 1e-4) and difference.mean() < (0.02 if int8 else 1e-5)
