"""A bias written as Add joins its layer: one int8 layer with TensorFlow Lite's arithmetic, or one in float32."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(5)
Shape = tuple[int, ...]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def dense(relu: bool, swapped: bool, shape: Shape, form: str) -> onnx.ModelProto:
    """What tf2onnx makes of FULLY_CONNECTED; `form` "Gemm" is the same as one operator with a bias."""
    q = Quantiser()
    source = q.pair("x", 0.03, -4)
    weight = q.constant("w", RANDOM.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    bias = q.constant("b", RANDOM.integers(-3000, 3000, 7).astype(np.int32), np.float32(0.03) * np.float32(0.004))
    if form == "Gemm":
        q.add(node("Gemm", f"{source} {weight} {bias}", "a", "layer"))
    else:
        q.add(node("MatMul", f"{source} {weight}", "m", "layer"))
        q.add(node("Add", f"{bias} m" if swapped else f"m {bias}", "a"))
    if relu:
        q.add(node("Relu", "a", "r"))
    q.add(node("Identity", q.pair("r" if relu else "a", 0.05, -20), "y"))
    return make(q.nodes, {"x": shape}, ["y"], q.weights)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("shape", [(1, 12), (5, 12), (1, 4, 12)])
def test_an_int8_layer_is_one_operator(relu: bool, swapped: bool, shape: Shape) -> None:
    state = RANDOM.bit_generator.state
    lowered = program(dense(relu, swapped, shape, "MatMul"))
    assert [(op.kind, op.dtype) for op in lowered.ops] == [(OpKind.FULLY_CONNECTED, DType.INT8)]
    assert not lowered.warnings
    inputs = {"x": noise(*shape)}
    got = run(lowered, inputs)["y"]
    RANDOM.bit_generator.state = state
    model = dense(relu, swapped, shape, "MatMul")
    assert np.abs(got - ort(model, inputs)["y"]).max() <= 0.05 + 1e-4
    if len(shape) == 2:
        RANDOM.bit_generator.state = state
        gemm = program(dense(relu, swapped, shape, "Gemm"))
        for name in ("weights", "bias", "multiplier", "shift"):
            np.testing.assert_array_equal(lowered.ops[0].blobs[name], gemm.ops[0].blobs[name])
        assert lowered.ops[0].params == gemm.ops[0].params


LAYERS = {
    "MatMul": ((3, 6), (6, 4), (4,)), "MatMul_3d": ((2, 3, 6), (6, 4), (1, 1, 4)), "Gemm": ((3, 6), (6, 4), (1, 4)),
    "Conv": ((1, 3, 5, 5), (4, 3, 3, 3), (4, 1, 1)), "ConvTranspose": ((1, 3, 5, 5), (3, 4, 2, 2), (1, 4, 1, 1)),
    "Conv_1d": ((1, 3, 9), (4, 3, 3), (4, 1)), "Conv_depthwise": ((1, 4, 5, 5), (4, 1, 3, 3), (4, 1, 1)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_float_layers(name: str) -> None:
    shape, weights, bias = LAYERS[name]
    group = {"group": 4} if "depthwise" in name else {}
    nodes = [node(name.split("_", maxsplit=1)[0], "x w", "m", **group), node("Add", "m b", "y")]
    model = make(nodes, {"x": shape}, ["y"], {"w": noise(*weights), "b": noise(*bias)})
    lowered, inputs = program(model), {"x": noise(*shape)}
    assert len(lowered.ops) - sum(op.kind == OpKind.TRANSPOSE for op in lowered.ops) == 1
    np.testing.assert_allclose(run(lowered, inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "weights", "bias"), [
    ((3, 6), (6, 4), (3, 1)),  # a number a row
    ((3, 6), (6, 4), (3, 4)), ((3, 6), (6, 4), (2, 3, 4)), ((3, 6), (6, 4), (1,)),
    ((2, 3, 6), (6,), (3,)),  # the last axis is none of output channels
    ((2, 3, 6), (2, 6, 4), (4,)),  # a matrix for each image
], ids=str)
def test_other_constants_stay(shape: Shape, weights: Shape, bias: Shape) -> None:
    model = make([node("MatMul", "x w", "m"), node("Add", "m b", "y")], {"x": shape}, ["y"],
                 {"w": noise(*weights), "b": noise(*bias)})
    compiled, inputs = compile_model(model), {"x": noise(*shape)}
    assert OpKind.ADD in [op.kind for op in compiled.plan.program.ops]
    with Session(compiled.data) as session:
        np.testing.assert_allclose(session.run(inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-5)


def test_products_that_others_see_stay() -> None:
    """Read by another node, an output of the model, rounded before the Add, or biased already."""
    weights = {"w": noise(6, 4), "b": noise(4), "c": noise(4)}
    for nodes, outputs in (
        ([node("MatMul", "x w", "m"), node("Add", "m b", "a"), node("Mul", "m a", "y")], ["y"]),
        ([node("MatMul", "x w", "m"), node("Add", "m b", "y")], ["y", "m"]),
        ([node("Gemm", "x w c", "m"), node("Add", "m b", "y")], ["y"]),
        ([node("MatMul", "x w", "m"), node("Relu", "m", "r"), node("Add", "r b", "y")], ["y"]),
    ):
        used = {name: value for name, value in weights.items() if any(name in item.input for item in nodes)}
        model = make(nodes, {"x": (2, 6)}, outputs, used)
        lowered, inputs = program(model), {"x": noise(2, 6)}
        assert OpKind.ADD in [op.kind for op in lowered.ops]
        got, expected = run(lowered, inputs), ort(model, inputs)
        for name in outputs:
            np.testing.assert_allclose(got[name], expected[name], rtol=1e-4, atol=1e-5)


def test_a_rounding_between_stays() -> None:
    q = Quantiser()
    weight = q.constant("w", RANDOM.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    q.add(node("MatMul", f"{q.pair('x', 0.03, -4)} {weight}", "m"))
    bias = q.constant("b", RANDOM.integers(-127, 128, 7).astype(np.int8), 0.01)
    q.add(node("Add", f"{q.pair('m', 0.1, 0)} {bias}", "a"), node("Identity", q.pair("a", 0.1, 3), "y"))
    lowered = program(make(q.nodes, {"x": (2, 12)}, ["y"], q.weights))
    assert [op.kind for op in lowered.ops] == [OpKind.FULLY_CONNECTED, OpKind.ADD]
