"""Einsum equals onnxruntime's, whatever the equation; what cannot be done is named."""

from __future__ import annotations

import pytest

from tests.compiler.lower.compare import Case, case, kinds, noise
from tests.compiler.models import make, node, program
from tests.families.layers import check_layers
from tests.families.quantised import SCHEMES, quantise
from tigris_pio import compile_model
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import OpKind

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 2}


def einsum(equation: str) -> Case:
    terms = equation.partition("->")[0].replace(" ", "").split(",")
    return case("Einsum", *(tuple(SIZES[letter] for letter in term) for term in terms), equation=equation)


CASES = [
    *map(einsum, ("abcd->dbca", "abc->ac", "ab", "ba", "abc->", "abc,acd->abd", "bac,bdc->bad", "abc,abc->ab",
                  "ab,cd->adbc", "ab,bc", "a bc, b ec -> a b e", "abd,cb->ad", "ab,ab->")),
    case("Einsum", (2, 3, 4), [5, 4], equation="abc,dc->bad"),
    case("Einsum", (2, 3, 4), [5, 4], equation="...c,dc->...d"),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.attributes["equation"])
def test_equations(each: Case) -> None:
    each.check()


def test_in_a_quantised_graph_every_layer_is_right() -> None:
    arrays = {"x0": noise(3, 2, 4), "x1": noise(3, 5, 4)}
    nodes = [node("Relu", "x0", "p"), node("Sigmoid", "x1", "q"),
             node("Einsum", "p q", "r", equation="bac,bdc->bad"), node("Relu", "r", "y")]
    quantised = quantise(make(nodes, {name: array.shape for name, array in arrays.items()}, ["y"]), SCHEMES[0])
    compiled = compile_model(quantised)
    assert kinds(compiled).count(OpKind.MAT_MUL) == 1
    check_layers(quantised, compiled, arrays)


@pytest.mark.parametrize(("equation", "why"), [("aab,bc->ac", "twice"), ("ab,bc,cd->ad", "3 operands")])
def test_refusals(equation: str, why: str) -> None:
    shapes = {f"x{index}": (2,) * len(term) for index, term in enumerate(equation.partition("->")[0].split(","))}
    with pytest.raises(UnsupportedError, match=why):
        program(make([node("Einsum", " ".join(shapes), "y", equation=equation)], shapes, ["y"]))
