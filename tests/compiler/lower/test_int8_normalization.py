"""LayerNormalization and its relatives in int8: one operator, within a step of the exact value, whatever the bands."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.compiler.lower.compare import Shape, kinds, outputs, quantised
from tests.compiler.models import node
from tests.harness.tiers import examples
from tigris_pio import compile_model
from tigris_pio.format.enums import OpKind

INPUT_SCALE, INPUT_ZERO = 0.04, 11


def exact(op: str, x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Standardised along `axes`, float64."""
    centred = x if op == "RMSNormalization" else x - x.mean(axes, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon))


def model(op: str, shape: Shape, factor: np.ndarray, offset: np.ndarray, scale: float, zero: int,
          **attributes: object) -> onnx.ModelProto:
    terms = {"factor": factor.astype(np.float32), "offset": offset.astype(np.float32)}
    if op == "RMSNormalization":
        del terms["offset"]
    made = quantised([node(op, " ".join(["x", *terms]), "n", **attributes)], {"x": (shape, INPUT_SCALE, INPUT_ZERO)},
                     (scale, zero), terms, opset=23)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape))
    made.ir_version = 10
    return made


def values(shape: Shape, kind: str) -> np.ndarray:
    """int8 inputs: anything, the ends of the range, all but the same, all the same."""
    random = np.random.default_rng(7)
    q = random.integers(-128, 128, shape)
    if kind == "ends":
        q = random.choice([-128, 127], shape)
    elif kind == "one":
        q = np.full(shape, 40)
        q.reshape(-1)[:: max(2, q.size // 3)] = 41
    elif kind == "same":
        q = np.full(shape, -128)
    return ((q - INPUT_ZERO) * np.float32(INPUT_SCALE)).astype(np.float32)


CASES: dict[str, tuple[str, Shape, tuple[int, ...], dict[str, object]]] = {
    "layer": ("LayerNormalization", (1, 7, 32), (2,), {}),
    "layer_one_row": ("LayerNormalization", (3, 33), (1,), {}),
    "layer_long": ("LayerNormalization", (2, 1500), (1,), {"epsilon": 1e-3}),
    "layer_two_axes": ("LayerNormalization", (2, 3, 4, 5), (2, 3), {"axis": 2}),
    "layer_image": ("LayerNormalization", (1, 3, 4, 5), (1, 2, 3), {"axis": 1}),
    "layer_single": ("LayerNormalization", (4, 1), (1,), {}),
    "layer_no_epsilon": ("LayerNormalization", (1, 9, 16), (2,), {"epsilon": 0.0}),
    "layer_large_epsilon": ("LayerNormalization", (1, 9, 16), (2,), {"epsilon": 30.0}),
    "rms": ("RMSNormalization", (1, 7, 24), (2,), {"axis": -1, "epsilon": 1e-5}),
    "instance": ("InstanceNormalization", (2, 5, 6, 7), (2, 3), {}),
    "instance_1d": ("InstanceNormalization", (1, 6, 40), (2,), {}),
    "instance_wide": ("InstanceNormalization", (1, 1, 300, 300), (2, 3), {}),
    "group": ("GroupNormalization", (2, 6, 5, 4), (2, 3, 4), {"num_groups": 3}),
    "group_all": ("GroupNormalization", (1, 6, 5, 4), (2, 3, 4), {"num_groups": 1}),
}


@pytest.mark.parametrize("kind", ["any", "ends", "one", "same"])
@pytest.mark.parametrize("name", CASES)
def test_within_one_step(name: str, kind: str) -> None:
    """Half a step is what rounding takes of it."""
    op, shape, axes, attributes = CASES[name]
    random = np.random.default_rng(3)
    terms = shape[axes[0] :] if op in ("LayerNormalization", "RMSNormalization") else (shape[1],)
    factor, offset = random.uniform(-1.5, 1.5, terms), random.uniform(-1, 1, terms) * (op != "RMSNormalization")
    compiled = compile_model(model(op, shape, factor, offset, 0.03, -20, **attributes))
    assert set(kinds(compiled)) - {OpKind.TRANSPOSE} == {OpKind.NORMALISE} and not compiled.report["warnings"]
    x = values(shape, kind)
    split = x.astype(np.float64)
    if op == "GroupNormalization":
        split = split.reshape(shape[0], int(str(attributes["num_groups"])), -1, *shape[2:])
    result = exact(op, split, axes, float(str(attributes.get("epsilon", 1e-5)))).reshape(shape)
    column = terms if len(axes) + axes[0] == len(shape) and op[0] in "LR" else (-1, *(1,) * (len(shape) - 2))
    result = result * factor.astype(np.float32).reshape(column) + offset.astype(np.float32).reshape(column)
    steps = np.clip(result / np.float32(0.03) - 20, -128, 127) + 20
    assert np.abs(outputs(compiled, {"x": x})["y"] / np.float32(0.03) - steps).max() <= 0.55


@settings(max_examples=examples(15, 40), deadline=None)
@given(st.integers(1, 300), st.floats(1e-3, 2.0), st.floats(1e-3, 50.0), st.floats(0.0, 0.1), st.integers(-128, 127))
def test_any_scales(length: int, scale: float, largest: float, epsilon: float, zero: int) -> None:
    random = np.random.default_rng(length)
    factor, offset = random.uniform(-largest, largest, length), random.uniform(-largest, largest, length)
    compiled = compile_model(model("LayerNormalization", (3, length), factor, offset, scale, zero, epsilon=epsilon))
    x = values((3, length), "any")
    result = exact("", x.astype(np.float64), (1,), epsilon) * factor.astype(np.float32) + offset.astype(np.float32)
    steps = np.clip(result / np.float32(scale) + zero, -128, 127) - zero
    assert np.abs(outputs(compiled, {"x": x})["y"] / np.float32(scale) - steps).max() <= 0.6


def test_factors_that_are_computed_stay_float() -> None:
    nodes = [node("ReduceMax", "x axes", "m", keepdims=0), node("LayerNormalization", "x m", "n")]
    made = quantised(nodes, {"x": ((1, 4, 8), 0.05, 0)}, (0.05, 0), {"axes": np.array([0, 1])}, opset=18)
    assert OpKind.NORMALISE not in kinds(compile_model(made))
