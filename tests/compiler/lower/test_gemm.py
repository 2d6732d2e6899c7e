"""Gemm in all its forms against onnxruntime: transpositions, shapes of C, factors, constants and activations, float
and quantised; invalid Gemms are refused by node. Einsum equals onnxruntime's too.
"""

import itertools

import numpy as np
import pytest

from tests.compiler.lower.compare import Case, case, check, kinds, noise, quantised
from tests.compiler.models import make, node, program
from tests.families.layers import check_layers
from tests.families.quantised import SCHEMES, quantise
from tigris_pio import compile_model
from tigris_pio.errors import TigrisError, UnsupportedError
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(5)
C_SHAPES = (None, (), (1,), ("N",), (1, "N"), ("M", 1), ("M", "N"), (1, 1))
FACTORS = ((1.0, 1.0), (0.5, 1.0), (1.0, 2.0), (-1.5, 0.5), (2.0, 0.0), (0.0, 1.0), (1.0, 1.0))
CONSTANTS = ("", "b", "c", "bc", "a")
#: Every transposition with every C; factors, numbers of rows and the operands that are constants take turns.
FORMS = [(*form, *turns) for form, *turns in zip(
    itertools.product((0, 1), (0, 1), C_SHAPES), itertools.cycle(FACTORS), itertools.cycle((3, 1, 3)),
    itertools.cycle(CONSTANTS), strict=False)]
Form = tuple[int, int, tuple[int | str, ...] | None, tuple[float, float], int, str]


def shapes_of(form: Form) -> dict[str, tuple[int, ...]]:
    trans_a, trans_b, c_shape, _, rows, _ = form
    sizes = {"M": rows, "N": 4}
    shapes = {"a": (6, rows) if trans_a else (rows, 6), "b": (4, 6) if trans_b else (6, 4)}
    if c_shape is not None:
        shapes["c"] = tuple(sizes[size] if isinstance(size, str) else size for size in c_shape)
    return shapes


def attributes_of(form: Form) -> dict[str, float]:
    return dict(zip(("transA", "transB", "alpha", "beta"), (*form[:2], *form[3]), strict=True))


FLOAT = [case("Gemm", *(list(shape) if name in form[-1] else shape for name, shape in shapes_of(form).items()),
              **attributes_of(form)) for form in FORMS]


@pytest.mark.parametrize("each", FLOAT, ids=lambda each: each.op)
def test_float(each: Case) -> None:
    each.check()


@pytest.mark.parametrize(("form", "per_channel"), list(zip(FORMS, itertools.cycle((False, True)), strict=False)))
def test_quantised(form: Form, per_channel: bool) -> None:
    """Within a step of the output's scale: onnxruntime rounds a product of real numbers, kernels an integer sum."""
    shapes, constants = shapes_of(form), {}
    if "b" in form[-1]:
        integers = RANDOM.integers(-127, 128, shapes["b"]).astype(np.int8)
        constants["b"] = (integers, np.full(4, 0.02, np.float32) if per_channel else 0.02, 0 if form[1] else 1)
    if "c" in form[-1] and "c" in shapes:
        constants["c"] = noise(*shapes["c"])
    inputs = {name: (shape, 0.02, 3) for name, shape in shapes.items() if name not in constants}
    model = quantised([node("Gemm", " ".join(shapes), "r", **attributes_of(form))], inputs, (0.2, -5), constants)
    check(model, {name: RANDOM.uniform(-2, 2, shape).astype(np.float32) for name, (shape, *_) in inputs.items()},
          rtol=0, atol=0.2001, little=False)


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


# Einsum equals onnxruntime's for every equation that is not refused by name.

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
