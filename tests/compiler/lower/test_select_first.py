"""Selected rows alone are computed, and are what they were."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, noise
from tests.compiler.models import Quantiser, make, node, program
from tests.families.layers import check_layers
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(8)
TOKENS, SIZE = 12, 8


def attention(first: int, end: int, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Attention with two heads over x, x added, tokens [first, end) of it through a layer."""
    weights = {name: noise(SIZE, SIZE) for name in "abcd"}
    weights |= {"parts": np.array([1, TOKENS, 2, SIZE // 2]), "all": np.array([1, TOKENS, SIZE]),
                "place": noise(1, TOKENS, SIZE), "g": noise(SIZE),
                "first": np.array([first]), "end": np.array([end]), "one": np.array([1])}
    nodes = []
    for name, weight, order in (("q", "a", [0, 2, 1, 3]), ("k", "b", [0, 2, 3, 1]), ("v", "c", [0, 2, 1, 3])):
        nodes += [node("MatMul", f"x {weight}", f"{name}0"), node("Reshape", f"{name}0 parts", f"{name}1"),
                  node("Transpose", f"{name}1", name, perm=order)]
    nodes += [node("MatMul", "q k", "s"), node("Softmax", "s", "p"), node("MatMul", "p v", "m"),
              node("Transpose", "m", "m1", perm=[0, 2, 1, 3]), node("Reshape", "m1 all", "m2"),
              node("Add", "m2 x", "r"), node("Add", "r place", "r1"), node("LayerNormalization", "r1 g g", "n"),
              node("MatMul", "n d", "l"), node("Slice", "l first end one", "y")]
    return make(nodes, {"x": (1, TOKENS, SIZE)}, list(outputs), weights)


def selections(model: onnx.ModelProto) -> list[str]:
    return [op.operands[0].tensor for op in program(model).ops if op.kind is OpKind.SELECT]


@pytest.mark.parametrize(("first", "end"), [(0, 1), (TOKENS - 1, TOKENS), (4, 9)])
def test_attention_of_a_few_tokens(first: int, end: int) -> None:
    """Their queries alone are computed, of all keys and values."""
    model, x = attention(first, end), {"x": noise(1, TOKENS, SIZE)}
    assert selections(model) == ["x"]
    whole = sum(op.macs for op in program(attention(0, TOKENS)).ops)
    keys_and_values = 2 * TOKENS * SIZE * SIZE
    macs = sum(op.macs for op in program(model).ops)
    assert macs - keys_and_values == (whole - keys_and_values) * (end - first) // TOKENS
    check(model, x, rtol=1e-4, atol=1e-4)


def test_most_of_the_tokens_stay_where_they_are() -> None:
    assert selections(attention(1, 8)) == ["l"]


def test_what_others_read_is_computed_whole() -> None:
    """The normalised tokens are an output too: only the layer behind them is of one token."""
    assert selections(attention(0, 1, ("y", "n"))) == ["n"]


def test_int8_layer_by_layer() -> None:
    """Each layer of the token that is left is compared with the model's, of which it is a part."""
    q = Quantiser()
    x, w = q.pair("x", 0.03, 3), q.constant("w", RANDOM.integers(-127, 128, (SIZE, SIZE)).astype(np.int8), 0.01)
    q.add(node("MatMul", f"{x} {w}", "a"))
    a = q.pair("a", 0.05, 4)
    q.add(node("Add", f"{a} {x}", "b"))
    b = q.pair("b", 0.06, -4)
    q.weights |= {"at": np.array(5)}
    q.add(node("Gather", f"{b} at", "c", axis=1))
    q.add(node("Identity", q.pair("c", 0.06, -4), "y"))
    model, data = make(q.nodes, {"x": (1, TOKENS, SIZE)}, ["y"], q.weights), {"x": noise(1, TOKENS, SIZE)}
    compiled = check(model, data, rtol=0, atol=0.0601)
    partial = {name: value for name, value in compiled.plan.program.values.items() if value.before}
    assert {value.before for value in partial.values()} == {5 * SIZE} and len(partial) >= 2
    assert check_layers(model, compiled, data) > 0
