"""Functions of one tensor in several nodes: which become one node, and that it computes what they did."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest

from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import OpKind, UnaryFunction

X = np.linspace(-6, 6, 96, dtype=np.float32).reshape(1, 12, 8)
NUMBERS = {"root": np.float32(math.sqrt(2)), "inverse": np.float32(math.sqrt(0.5)), "one": np.float32(1),
           "half": np.float32(0.5), "three": np.float32(3), "zero": np.float32(0), "six": np.float32(6),
           "cube": np.float32(0.044715), "factor": np.float32(math.sqrt(2 / math.pi))}
FORMS = {
    "torch": ["Div x root a", "Erf a b", "Add b one c", "Mul x c d", "Mul d half y"],
    "half first": ["Mul x inverse a", "Erf a b", "Add one b c", "Mul x half d", "Mul d c y"],
    "tanh": ["Mul x x a", "Mul a x b", "Mul b cube c", "Add x c d", "Mul d factor e", "Tanh e f", "Add f one g",
             "Mul x half h", "Mul h g y"],
    "hard": ["Add x three a", "Clip a zero six b", "Mul x b c", "Div c six y"],
}
FUNCTION = {"torch": UnaryFunction.GELU, "half first": UnaryFunction.GELU, "tanh": UnaryFunction.GELU_TANH,
            "hard": UnaryFunction.HARD_SWISH}


def floats(lines: list[str], outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    nodes = [node(op, " ".join(names[:-1]), names[-1]) for op, *names in map(str.split, lines)]
    return make(nodes, {"x": X.shape}, list(outputs), NUMBERS)


def kinds(model: onnx.ModelProto) -> list[OpKind]:
    return [op.kind for op in program(model).ops]


@pytest.mark.parametrize("form", FORMS)
def test_float(form: str) -> None:
    model = floats(FORMS[form])
    (op,) = program(model).ops
    assert op.params.function == FUNCTION[form]
    with Session(compile_model(model)) as session:
        np.testing.assert_allclose(session.run({"x": X})["y"], ort(model, {"x": X})["y"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_float_of_something_computed(form: str) -> None:
    """The tensor that the function is of is found, not only the input."""
    model = floats(["Sub z three x", *FORMS[form]])
    model.graph.input[0].name = "z"
    assert len(kinds(model)) == 2
    with Session(compile_model(model)) as session:
        np.testing.assert_allclose(session.run({"z": X})["y"], ort(model, {"z": X})["y"], rtol=1e-5, atol=1e-5)


def test_other_functions_stay() -> None:
    lines = [line.replace("one", "half") for line in FORMS["torch"]]
    assert len(kinds(floats(lines))) == 5


def test_what_is_read_elsewhere_is_computed_too() -> None:
    model = floats(FORMS["torch"], ("y", "b"))
    with Session(compile_model(model)) as session:
        got = session.run({"x": X})
    for name, expected in ort(model, {"x": X}).items():
        np.testing.assert_allclose(got[name], expected, rtol=1e-5, atol=1e-5)


def gelu_int8(read_inside: bool = False) -> onnx.ModelProto:
    """As quantize_static leaves it: Div and Erf are not quantised in between."""
    q = Quantiser()
    x = q.pair("x", 0.05, -3)
    q.weights |= NUMBERS
    q.add(node("Div", f"{x} root", "a"), node("Erf", "a", "b"))
    q.add(node("Add", f"{q.pair('b', 1 / 127, 0)} one", "c"))
    inside = q.pair("c", 2 / 255, -128)
    q.add(node("Mul", f"{x} {inside}", "d"))
    q.add(node("Mul", f"{q.pair('d', 0.047, -120)} half", "e"))
    q.add(node("Identity", q.pair("e", 0.0235, -120), "y"))
    outputs = ["y"]
    if read_inside:
        q.add(node("Identity", inside, "inside"))
        outputs.append("inside")
    return make(q.nodes, {"x": X.shape}, outputs, q.weights)


def test_int8_is_a_table_with_the_models_own_bytes() -> None:
    model = gelu_int8()
    assert kinds(model).count(OpKind.LOOKUP) == 1
    assert {op.dtype.name for op in program(model).ops if op.kind is not OpKind.QUANTIZE} == {"INT8"}
    assert not {OpKind.UNARY, OpKind.MUL, OpKind.ADD} & set(kinds(model))
    with Session(compile_model(model)) as session:
        np.testing.assert_allclose(session.run({"x": X})["y"], ort(model, {"x": X})["y"], atol=1e-6)


def test_int8_read_on_the_way() -> None:
    """What is read elsewhere is a table of its own, and what follows it stays what it was."""
    model = gelu_int8(read_inside=True)
    assert OpKind.UNARY not in kinds(model)
    with Session(compile_model(model)) as session:
        got = session.run({"x": X})
    expected = ort(model, {"x": X})
    np.testing.assert_allclose(got["inside"], expected["inside"], atol=1e-6)
    np.testing.assert_allclose(got["y"], expected["y"], atol=0.0236)


def test_int8_throughout_stays() -> None:
    """Sigmoid and Add have TensorFlow Lite's arithmetic, each its own."""
    q = Quantiser()
    x = q.pair("x", 0.05, -3)
    q.add(node("Sigmoid", x, "a"), node("Add", f"{x} {q.pair('a', 1 / 256, -128)}", "b"))
    q.add(node("Identity", q.pair("b", 0.05, -120), "y"))
    found = kinds(make(q.nodes, {"x": X.shape}, ["y"], q.weights))
    assert found.count(OpKind.LOOKUP) == found.count(OpKind.ADD) == 1
