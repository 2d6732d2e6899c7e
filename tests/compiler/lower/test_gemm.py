"""Gemm in all its forms against onnxruntime: transpositions, shapes of C, factors, constants and activations, float
and quantised; and what is no Gemm, refused by its node."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

from tests.compiler.models import Quantiser, make, node, ort
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.errors import TigrisError

RANDOM = np.random.default_rng(5)
C_SHAPES = (None, (), (1,), ("N",), (1, "N"), ("M", 1), ("M", "N"), (1, 1))
FACTORS = ((1.0, 1.0), (0.5, 1.0), (1.0, 2.0), (-1.5, 0.5), (2.0, 0.0), (0.0, 1.0))
#: Every transposition with every C; the factors take turns.
FORMS = [(*form, factors) for form, factors in
         zip(itertools.product((0, 1), (0, 1), C_SHAPES), itertools.cycle((*FACTORS, FACTORS[0])))]


def shapes_of(trans_a: int, trans_b: int, c_shape: tuple | None, rows: int) -> dict[str, tuple[int, ...]]:
    sizes = {"M": rows, "K": 6, "N": 4}
    shapes = {"a": (6, rows) if trans_a else (rows, 6), "b": (4, 6) if trans_b else (6, 4)}
    if c_shape is not None:
        shapes["c"] = tuple(sizes[size] if isinstance(size, str) else size for size in c_shape)
    return shapes


def gemm(trans_a: int, trans_b: int, factors: tuple[float, float], names: str, output: str) -> onnx.NodeProto:
    alpha, beta = factors
    return node("Gemm", names, output, "culprit", transA=trans_a, transB=trans_b, alpha=alpha, beta=beta)


def outputs_of(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    with Session(compile_model(model)) as session:
        return session.run(feeds)["y"], ort(model, feeds)["y"]


@pytest.mark.parametrize("rows", sampled([1, 3], ["3"]))
@pytest.mark.parametrize("constants", sampled(["", "b", "c", "bc", "a", "ac"], ["bc", "a"]))
def test_float(constants, rows):
    for trans_a, trans_b, c_shape, factors in FORMS:
        if c_shape is None and "c" in constants:
            continue
        shapes = shapes_of(trans_a, trans_b, c_shape, rows)
        values = {name: RANDOM.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        weights = {name: values[name] for name in shapes if name in constants}
        feeds = {name: values[name] for name in shapes if name not in constants}
        model = make([gemm(trans_a, trans_b, factors, " ".join(shapes), "y")],
                     {name: shapes[name] for name in feeds}, ["y"], weights)
        found, expected = outputs_of(model, feeds)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5,
                                   err_msg=f"{trans_a, trans_b, c_shape, factors}")


@pytest.mark.parametrize("rows", sampled([1, 3], ["3"]))
@pytest.mark.parametrize("per_channel", sampled([False, True], ["True"]))
@pytest.mark.parametrize("constants", sampled(["bc", "b", ""], ["bc", ""]))
def test_quantised(constants, per_channel, rows):
    """Within a step of the output's scale: onnxruntime rounds a product of real numbers, kernels an integer sum."""
    for trans_a, trans_b, c_shape, factors in FORMS:
        shapes = shapes_of(trans_a, trans_b, c_shape, rows)
        q, feeds, weights, names = Quantiser(), {}, {}, []
        for name, shape in shapes.items():
            if name == "b" and "b" in constants:
                scale = np.full(4, 0.02, np.float32) if per_channel else 0.02
                integers = RANDOM.integers(-127, 128, shape).astype(np.int8)
                names.append(q.constant("b", integers, scale, axis=0 if trans_b else 1))
            elif name == "c" and "c" in constants:
                weights["c"] = RANDOM.normal(size=shape).astype(np.float32)
                names.append("c")
            else:
                feeds[name] = RANDOM.uniform(-2, 2, shape).astype(np.float32)
                names.append(q.pair(name, 0.02, 3))
        q.add(gemm(trans_a, trans_b, factors, " ".join(names), "r"))
        result = q.pair("r", 0.2, -5)
        model = make([*q.nodes, node("Identity", result, "y")], {name: shapes[name] for name in feeds}, ["y"],
                     {**q.weights, **weights})
        found, expected = outputs_of(model, feeds)
        assert np.abs(found - expected).max() <= 0.2001, (trans_a, trans_b, c_shape, factors)


@pytest.mark.parametrize(("a", "b", "c", "constants"), [
    ((2, 3, 4), (4, 5), None, "b"), ((3, 4), (2, 4, 5), None, "b"), ((4,), (4, 5), None, "b"),
    ((3, 4), (4,), None, "b"),
    ((2, 3, 4), (4, 5), None, ""), ((3, 4), (5, 4), None, "b"), ((3, 4), (4, 5), (3, 4), "bc"),
    ((3, 4), (4, 5), (2, 5), "c"), ((3, 4), (4, 5), (1, 3, 5), "bc"), ((), (4, 5), None, "b"),
])
def test_what_is_no_gemm_is_refused_by_its_node(a, b, c, constants):
    shapes = {"a": a, "b": b} | ({} if c is None else {"c": c})
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes.items() if name in constants}
    model = make([node("Gemm", " ".join(shapes), "y", "culprit")],
                 {name: shape for name, shape in shapes.items() if name not in weights}, ["y"], weights)
    with pytest.raises(TigrisError, match="culprit"):
        compile_model(model)
