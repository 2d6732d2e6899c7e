"""Operators that share memory copy nothing: vectors, and a layer behind a map."""

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node, ort
from tigris_pio import Session, compile_model

RANDOM = np.random.default_rng(3)


def noise(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 0.05).astype(np.float32)


def elementwise() -> onnx.ModelProto:
    names = "xabcdy"
    kinds = ("Tanh", "Abs", "Sigmoid", "Neg", "Exp")
    return make([node(kind, names[i], names[i + 1]) for i, kind in enumerate(kinds)], {"x": (1, 4096)}, ["y"])


def four_vectors() -> onnx.ModelProto:
    nodes = [node("MatMul", f"x w{i}", f"p{i}") for i in range(4)]
    nodes += [node("Concat", "p0 p1 p2 p3", "c", axis=1), node("MatMul", "c v", "y")]
    return make(nodes, {"x": (1, 64)}, ["y"], {"v": noise(4096, 16)} | {f"w{i}": noise(64, 1024) for i in range(4)})


def gated() -> onnx.ModelProto:
    nodes = [node("MatMul", "x w", "m"), node("Split", "m", "a b", axis=1), node("Sigmoid", "b", "s"),
             node("Mul", "a s", "g"), node("MatMul", "g v", "y")]
    return make(nodes, {"x": (1, 64)}, ["y"], {"w": noise(64, 2048), "v": noise(1024, 64)})


def layer_of_a_map() -> onnx.ModelProto:
    nodes = [node("Conv", "x k", "c", pads=[1] * 4, kernel_shape=[3, 3]), node("Relu", "c", "r"),
             node("Flatten", "r", "f"), node("Gemm", "f w", "y")]
    return make(nodes, {"x": (1, 3, 32, 32)}, ["y"], {"k": noise(32, 3, 3, 3), "w": noise(32 * 32 * 32, 10)})


#: Each with its budget in bytes.
MODELS = {elementwise: 16_500, four_vectors: 16_700, gated: 8_600, layer_of_a_map: 17_000}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_arena_is_little_more_than_the_largest_vector(model) -> None:
    made = model()
    x = noise(*(dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim)) * 20
    (expected,) = ort(made, {"x": x}).values()
    for fast in (MODELS[model], MODELS[model] * 5 // 4, None):
        with Session(compile_model(made, fast=fast)) as session:
            (got,) = session.run({"x": x}).values()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_in_smaller_arenas_tensors_share_no_memory(model) -> None:
    """Tensors that share memory in the plan get their own, and are copied."""
    made = model()
    x = noise(*(dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim)) * 20
    compiled = compile_model(made)
    with Session(compiled) as session, Session(compiled, fast_bytes=4096, slow_bytes=1 << 20) as small:
        (expected,), (got,) = session.run({"x": x}).values(), small.run({"x": x}).values()
    np.testing.assert_array_equal(got, expected)
