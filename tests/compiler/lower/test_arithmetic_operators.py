"""Arithmetic operators, compiled and run by the runtime, equal onnxruntime; with much memory and with little."""

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import Case, Given, case, check, ints, kinds, noise, quantised
from tests.compiler.models import make, node, ort
from tests.runtime import references
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(11)
INT64 = np.int64


def above_zero(*shape: int) -> Given:
    return Given(np.abs(noise(*shape)) + np.float32(0.1))


REDUCTIONS = [
    case(f"Reduce{name}", above_zero(*shape), ints(*axes), keepdims=index % 2, opset=18)
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
    for index, (shape, axes) in enumerate((
        ((4,), [0]), ((2, 3, 4), [1]), ((3, 2, 4, 3), [0, 2]), ((1, 3, 2, 4), [2, 3]), ((2, 1, 3, 2, 4), [4, 1, 3])))
]
FEW = RANDOM.integers(-2, 3, (2, 3, 4)).astype(np.float32)
POSITIONS = [case(op, Given(FEW), axis=axis, keepdims=0, select_last_index=last, types=[INT64])
             for op in ("ArgMax", "ArgMin") for last in (0, 1) for axis in (0, -1)]
PRODUCTS = [
    case("MatMul", first if constant != 0 else list(first), second if constant != 1 else list(second))
    for index, (first, second) in enumerate((
        ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
        ((2, 1, 3, 4), (3, 4, 5)), ((1, 2, 3, 4), (3, 1, 4, 5)), ((5, 3, 4), (4, 2)), ((2, 3, 2, 3, 4), (3, 1, 4, 2))))
    for constant in (None, index % 2)
]
IMAGE = (2, 4, 3, 5)
NORMALISATIONS = [
    case("LayerNormalization", (2, 3, 4), [4], [4], axis=-1), case("LayerNormalization", IMAGE, [5], axis=-1),
    case("LayerNormalization", (2, 3, 4), [3, 4], axis=1, epsilon=0.1),
    case("InstanceNormalization", IMAGE, [4], [4]),
    case("GroupNormalization", IMAGE, [4], [4], num_groups=2, opset=21),
    case("LpNormalization", IMAGE, axis=1, p=1), case("LpNormalization", (2, 3, 4), axis=1, p=2),
    case("MeanVarianceNormalization", IMAGE), case("LRN", (2, 6, 4, 5), size=3, alpha=0.1),
    *(case(op, shape, axis=1, opset=opset) for op in ("LogSoftmax", "Hardmax")
      for shape, opset in ((IMAGE, 13), ((2, 3, 4), 11))),
]
#: Two shapes, among them six axes of which every other one is repeated.
PAIRS = (((2, 1, 3, 1, 2, 2), (1, 3, 1, 2, 1, 2)), ((2, 3, 4), (3, 1)), ((3, 1), (4,)), ((2, 3, 1, 5), (2, 1, 4, 1)))
BROADCASTS = [
    *(case(op, above_zero(*first), above_zero(*second)) for op in ("Div", "Pow", "Max") for first, second in PAIRS),
    *(case("PRelu", (2, 3, 4, 5), slope) for slope in ((), (3, 1, 1), (2, 1, 4, 1), (5,))),
    *(case(op, *((2, 3, 4) if index % 2 == 0 else (3, 1) for index in range(count)))
      for op in ("Max", "Min", "Mean", "Sum") for count in (1, 4)),
]


@pytest.mark.parametrize("each", [*REDUCTIONS, *POSITIONS, *PRODUCTS, *NORMALISATIONS, *BROADCASTS],
                         ids=lambda each: each.op)
def test_one_node(each: Case) -> None:
    each.check(rtol=1e-4)


@pytest.mark.parametrize("each", [*REDUCTIONS[3::5], *(each for each in NORMALISATIONS if len(each.inputs[0]) == 4)],
                         ids=lambda each: each.op)
def test_behind_an_operator_that_stores_channels_last(each: Case) -> None:
    each.check(rtol=1e-4, pooled=True)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin", "CumSum", "CumProd", "Hardmax", "TopK"])
def test_the_order_of_a_flattened_map_is_the_models(op: str) -> None:
    """Its channels are stored last, and the elements are counted row by row of each channel."""
    layers = {
        "CumSum": [node(op, "f a", "y")], "CumProd": [node(op, "f a", "y")], "Hardmax": [node(op, "f", "y", axis=1)],
        "TopK": [node(op, "f a", "v i", axis=1), node("Cast", "i", "y", to=1)],
    }.get(op, [node(op, "f", "i", axis=1, keepdims=0), node("Cast", "i", "y", to=1)])
    weights = {"w": noise(5, 3, 3, 3)} | ({"a": ints(1)} if "a" in layers[0].input else {})
    convolution = [node("Conv", "x w", "c"), node("Flatten", "c", "f")]
    model = make([*convolution, *layers], {"x": (1, 3, 6, 5)}, ["y"], weights, opset=26 if op == "CumProd" else 18)
    inputs = {"x": noise(1, 3, 6, 5)}
    expected = None
    if op == "CumProd":  # onnxruntime has none
        flat = ort(make(convolution, {"x": (1, 3, 6, 5)}, ["f"], {"w": weights["w"]}), inputs)["f"]
        expected = {"y": np.cumprod(flat, 1)}
    check(model, inputs, expected, rtol=1e-4)


def test_logic_in_a_graph() -> None:
    """A mask computed, combined and used; truth values never leave the model."""
    nodes = [node("Greater", "x z", "g"), node("Less", "x o", "l"), node("And", "g l", "a"), node("Not", "a", "n"),
             node("Or", "n g", "r"), node("Where", "r x z", "w"), node("Cast", "a", "f", to=1), node("Mul", "w f", "y")]
    bounds = {"z": np.zeros((), np.float32), "o": np.ones((1, 3, 1, 1), np.float32)}
    check(make(nodes, {"x": (1, 3, 5, 4)}, ["y"], bounds), {"x": noise(1, 3, 5, 4)})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.int16])
def test_small_inputs_are_cast(dtype: type) -> None:
    x = RANDOM.integers(0, 100, (1, 3, 4, 5)).astype(dtype)
    check(make([node("Cast", "x", "f", to=1), node("Mul", "f c", "y")], {"x": x.shape}, ["y"], {"c": np.float32(0.1)},
               types={"x": onnx.helper.np_dtype_to_tensor_dtype(x.dtype)}), {"x": x})


def test_int8_product_of_activations_is_tensorflow_lites() -> None:
    """Between quantised tensors MatMul stays in int8: exact sums, one requantisation."""
    inputs = {"a": ((2, 3, 5), 0.05, 3), "b": ((2, 5, 4), 0.02, -7)}
    compiled = compile_model(quantised([node("MatMul", "a b", "m")], inputs, (0.1, 11)))
    assert kinds(compiled) == [OpKind.MAT_MUL]
    a, b = (RANDOM.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 2, 3, 5), (1, 2, 5, 4)))
    with Session(compiled) as session:
        stored = {io.name: array.reshape(io.stored_shape) for io, array in zip(session.inputs, (a, b), strict=True)}
        got = session.run_raw(stored)["y"]
    sums = (a.astype(np.int64) - 3) @ (b.astype(np.int64) + 7)
    real = np.float32(0.05).astype(np.float64) * np.float32(0.02) / np.float32(0.1)
    multiplied = references.requantise(sums, *references.quantised_multiplier(float(real)))
    np.testing.assert_array_equal(got.reshape(sums.shape), np.clip(multiplied + 11, -128, 127))
