"""Functions of one tensor in several nodes become one node with the same results."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, kinds
from tests.compiler.models import Quantiser, make, node, nodes
from tigris_pio import compile_model
from tigris_pio.format.enums import OpKind, UnaryFunction

X = np.linspace(-6, 6, 96, dtype=np.float32).reshape(1, 12, 8)
NUMBERS = {"root": np.float32(math.sqrt(2)), "inverse": np.float32(math.sqrt(0.5)), "one": np.float32(1),
           "half": np.float32(0.5), "three": np.float32(3), "zero": np.float32(0), "six": np.float32(6),
           "cube": np.float32(0.044715), "factor": np.float32(math.sqrt(2 / math.pi))}
FORMS = {
    "torch": "Div x root a; Erf a b; Add b one c; Mul x c d; Mul d half y",
    "half first": "Mul x inverse a; Erf a b; Add one b c; Mul x half d; Mul d c y",
    "tanh": "Mul x x a; Mul a x b; Mul b cube c; Add x c d; Mul d factor e; Tanh e f; Add f one g; Mul x half h; "
            "Mul h g y",
    "hard": "Add x three a; Clip a zero six b; Mul x b c; Div c six y",
}
FUNCTION = {"torch": UnaryFunction.GELU, "half first": UnaryFunction.GELU, "tanh": UnaryFunction.GELU_TANH,
            "hard": UnaryFunction.HARD_SWISH}


def floats(text: str, outputs: str = "y", given: str = "x") -> onnx.ModelProto:
    return make(nodes(text), {given: X.shape}, [*outputs], NUMBERS)


@pytest.mark.parametrize("form", FORMS)
def test_float(form: str) -> None:
    """Of an input, and of a computed tensor."""
    (op,) = check(floats(FORMS[form]), {"x": X}).plan.program.ops
    assert op.params.function == FUNCTION[form]
    assert len(kinds(check(floats(f"Sub z three x; {FORMS[form]}", given="z"), {"z": X}))) == 2


def test_other_functions_stay() -> None:
    assert len(kinds(check(floats(FORMS["torch"].replace("one", "half")), {"x": X}))) == 5


def test_results_with_other_readers_are_computed_too() -> None:
    check(floats(FORMS["torch"], "yb"), {"x": X})


#: Functions between int8 tensors; the first has ties at every second integer.
CHAINS = {
    "one function": "Abs x y", "a constant": "Sub one x y", "one number in a tensor": "Mul x halves y",
    "a step": "Sin x a; Floor a y", "three": "Add x seven a; Sqrt a b; Reciprocal b y",
    "by a condition": "Greater x zero a; Where a x half y", "by an integer": "Cast x a to=6; Cast a b to=1; Mul b x y",
    "long": "Neg x a; Exp a b; Cos b c; Mul c three d; Ceil d e; Tanh e f; Add f one g; Softplus g h; Pow h three i; "
            "Erf i j; Sign j k; Sub k x y", "beyond": "Log x y", "a range": "Clip x zero six y",
    "two": "Sigmoid x a; Mul a x y",
}
MORE = {"halves": np.full(X.shape, 0.5, np.float32), "seven": np.float32(7)}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_between_int8_has_the_references_bytes(chain: str) -> None:
    q = Quantiser()
    q.add(node("Identity", q.pair("given", 0.0625, 0), "x"), *nodes(CHAINS[chain]))
    q.add(node("Identity", q.pair("y", 0.125, -7), "z"))
    model = make(q.nodes, {"given": X.shape}, ["z"], q.weights | NUMBERS | MORE)
    compiled = check(model, {"given": X}, rtol=0, atol=1e-6)
    assert kinds(compiled) == [OpKind.LOOKUP]


def gelu_int8(read_inside: bool = False) -> onnx.ModelProto:
    """GELU by quantize_static, which does not quantise between Div and Erf."""
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
    compiled = check(gelu_int8(), {"x": X}, rtol=0, atol=1e-6)
    assert kinds(compiled).count(OpKind.LOOKUP) == 1
    assert {op.dtype.name for op in compiled.plan.program.ops if op.kind is not OpKind.QUANTIZE} == {"INT8"}
    assert not {OpKind.UNARY, OpKind.MUL, OpKind.ADD} & set(kinds(compiled))


def test_int8_with_a_reader_in_between() -> None:
    """The tensor with another reader is a separate table, and the nodes behind it stay."""
    assert OpKind.UNARY not in kinds(check(gelu_int8(read_inside=True), {"x": X}, rtol=0, atol=0.0236))


def test_nodes_of_int8_alone_stay() -> None:
    """Sigmoid and Add each have TensorFlow Lite's arithmetic."""
    q = Quantiser()
    x = q.pair("x", 0.05, -3)
    q.add(node("Sigmoid", x, "a"), node("Add", f"{x} {q.pair('a', 1 / 256, -128)}", "b"))
    q.add(node("Identity", q.pair("b", 0.05, -120), "y"))
    found = kinds(compile_model(make(q.nodes, {"x": X.shape}, ["y"], q.weights)))
    assert found.count(OpKind.LOOKUP) == found.count(OpKind.ADD) == 1
