"""Einsum equals onnxruntime's, whatever the equation; what cannot be done is named."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.test_arithmetic_operators import check, noise
from tests.compiler.models import make, node
from tests.families.layers import check_layers
from tests.families.quantised import SCHEMES, quantise
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import OpKind

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 2}


def model_of(equation: str, constant: bool = False) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """One Einsum node; `constant`: its second operand is known."""
    terms = equation.partition("->")[0].replace(" ", "").split(",")
    arrays = {f"x{i}": noise(*(SIZES[letter] for letter in term)) for i, term in enumerate(terms)}
    weights = {"x1": arrays.pop("x1")} if constant else {}
    names = " ".join(f"x{i}" for i in range(len(terms)))
    return make([node("Einsum", names, "y", equation=equation)], {n: a.shape for n, a in arrays.items()}, ["y"],
                weights), arrays


@pytest.mark.parametrize("equation", [
    "abcd->dbca", "abc->ac", "ab", "ba", "abc->", "abc,acd->abd", "bac,bdc->bad", "abc,abc->ab", "ab,cd->adbc",
    "ab,bc", "a bc, b ec -> a b e", "abd,cb->ad", "ab,ab->",
])  # fmt: skip
def test_equations(equation: str) -> None:
    check(*model_of(equation))


def test_a_constant_operand() -> None:
    check(*model_of("abc,dc->bad", constant=True))


def test_an_ellipsis_stands_for_all_other_axes() -> None:
    model = make([node("Einsum", "x w", "y", equation="...c,dc->...d")], {"x": (2, 3, 4)}, ["y"], {"w": noise(5, 4)})
    check(model, {"x": noise(2, 3, 4)})


def test_in_a_quantised_graph_every_layer_is_right() -> None:
    _, arrays = model_of("bac,bdc->bad")
    nodes = [node("Relu", "x0", "p"), node("Sigmoid", "x1", "q"),
             node("Einsum", "p q", "r", equation="bac,bdc->bad"), node("Relu", "r", "y")]
    quantised = quantise(make(nodes, {n: a.shape for n, a in arrays.items()}, ["y"]), SCHEMES[0])
    start = front(quantised, CompileOptions())
    assert [op.kind for op in start.program.ops].count(OpKind.MAT_MUL) == 1
    check_layers(quantised, back(start, CompileOptions()), arrays)


@pytest.mark.parametrize(("equation", "why"), [("aab,bc->ac", "twice"), ("ab,bc,cd->ad", "3 operands")])
def test_refusals(equation: str, why: str) -> None:
    model, _ = model_of(equation)
    with pytest.raises(UnsupportedError, match=why):
        front(model, CompileOptions())
