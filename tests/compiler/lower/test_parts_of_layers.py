"""Layers are joined, split and narrowed to selected rows, to the byte."""

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, kinds, noise
from tests.compiler.models import Quantiser, make, node, program
from tests.families.layers import check_layers
from tigris_pio import compile_model
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(4)


def joined(shape: tuple[int, ...], sizes: tuple[int, ...], outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Layers of x with so many outputs each, joined along the last axis."""
    weights = {f"w{i}": noise(shape[-1], size) for i, size in enumerate(sizes)}
    nodes = [node("MatMul", f"x w{i}", f"p{i}") for i in range(len(sizes))]
    nodes.append(node("Concat", " ".join(f"p{i}" for i in range(len(sizes))), "y", axis=len(shape) - 1))
    return make(nodes, {"x": shape}, list(outputs), weights)


@pytest.mark.parametrize("shape", [(1, 16), (1, 6, 16)])
def test_float(shape: tuple[int, ...]) -> None:
    compiled = check(joined(shape, (5, 8, 3)), {"x": noise(*shape)})
    assert kinds(compiled) == [OpKind.FULLY_CONNECTED]


def test_int8() -> None:
    """The joined output has the scale of both; each output channel keeps its own scale of products."""
    q = Quantiser()
    x, sizes = q.pair("x", 0.03, 3), (5, 8)
    for i, size in enumerate(sizes):
        values = RANDOM.integers(-127, 128, (16, size)).astype(np.int8)
        scale = RANDOM.uniform(0.002, 0.01, size).astype(np.float32) if i else 0.004
        q.add(node("MatMul", f"{x} {q.constant(f'w{i}', values, scale, axis=1)}", f"p{i}"))
    parts = [q.pair(f"p{i}", 0.07, -4) for i in range(len(sizes))]
    q.add(node("Concat", " ".join(parts), "c", axis=1), node("Identity", q.pair("c", 0.07, -4), "y"))
    model, data = make(q.nodes, {"x": (1, 16)}, ["y"], q.weights), {"x": noise(1, 16)}
    assert kinds(check(model, data, rtol=0, atol=0.0701)) == [OpKind.FULLY_CONNECTED]


def test_layers_that_somebody_else_reads_stay() -> None:
    assert kinds(compile_model(joined((1, 16), (5, 8), ("y", "p0")))).count(OpKind.FULLY_CONNECTED) == 2


def test_layers_of_different_vectors_stay() -> None:
    nodes = [node("MatMul", "x w", "p"), node("MatMul", "z w", "q"), node("Concat", "p q", "y", axis=1)]
    model = make(nodes, {"x": (1, 16), "z": (1, 16)}, ["y"], {"w": noise(16, 4)})
    assert kinds(compile_model(model)).count(OpKind.FULLY_CONNECTED) == 2


# Layers that are read in parts are a layer for each part, to the byte; windows of one matrix are images.

TOKENS, SIZE = 10, 8


def layers(model: onnx.ModelProto, kind: OpKind = OpKind.FULLY_CONNECTED) -> int:
    return [op.kind for op in program(model).ops].count(kind)


def parted(outputs: tuple[str, ...] = ("y",), step: int = 1) -> onnx.ModelProto:
    """a * b + c of the parts of one layer; `step`: of the selection of a."""
    weights = {"w": noise(SIZE, 16 + 3 * step), "bias": noise(16 + 3 * step), "one": np.array([2])}
    places = {"a": (0, 5 * step, step), "b": (3, 8, 1), "c": (11, 16, 1)}
    nodes = [node("MatMul", "x w", "p"), node("Add", "p bias", "l")]
    for name, (first, end, stride) in places.items():
        weights |= {f"{name}0": np.array([first]), f"{name}1": np.array([end]), f"{name}2": np.array([stride])}
        nodes.append(node("Slice", f"l {name}0 {name}1 one {name}2", name))
    nodes += [node("Mul", "a b", "m"), node("Add", "m c", "y")]
    return make(nodes, {"x": (1, TOKENS, SIZE)}, list(outputs), weights)


def test_parts_in_float() -> None:
    """Parts may overlap, and need not cover all."""
    ops = check(parted(), {"x": noise(1, TOKENS, SIZE)}).plan.program.ops
    assert sorted(op.kind for op in ops) == sorted([OpKind.FULLY_CONNECTED] * 3 + [OpKind.MUL, OpKind.ADD])
    assert sum(op.macs for op in ops) == TOKENS * SIZE * 15


@pytest.mark.parametrize("model", [parted(("y", "l")), parted(step=2)], ids=["an output", "every second"])
def test_layers_that_are_needed_whole_stay(model: onnx.ModelProto) -> None:
    assert layers(model) == 1 and layers(model, OpKind.SELECT) == 3


def joint(windows: int, zero: int = 0, turned: bool = True) -> onnx.ModelProto:
    """One layer over a matrix of all tokens; its queries, keys and values by windows, on an axis of their own.

    `turned`: a Transpose brings the windows together, of which x has the tokens in turn.
    """
    q = Quantiser()
    q.weights |= {"rows": np.array([windows * TOKENS, SIZE]), "parts": np.array([windows, TOKENS, 3, 2, SIZE // 2]),
                  **{f"i{index}": np.array(index) for index in range(3)}}
    weights = RANDOM.integers(-128, 128, (SIZE, 3 * SIZE)).astype(np.int8)
    x, w = q.pair("x", 0.03, 3), q.constant("w", weights, RANDOM.uniform(0.002, 0.01, 3 * SIZE), axis=1)
    q.weights["w_z"] = q.weights["w_z"] + np.int8(zero)
    if turned:
        q.add(node("Transpose", x, "t", perm=[1, 0, 2]))
    q.add(node("Reshape", f"{'t' if turned else x} rows", "f"), node("MatMul", f"f {w}", "l"))
    q.add(node("Reshape", f"{q.pair('l', 0.06, -4)} parts", "p"), node("Transpose", "p", "p1", perm=[2, 0, 3, 1, 4]))
    for index in range(3):
        q.add(node("Gather", f"p1 i{index}", f"g{index}", axis=0))
    q.add(node("Add", "g0 g1", "s"), node("Add", f"{q.pair('s', 0.1, 0)} g2", "r"))
    q.add(node("Identity", q.pair("r", 0.13, 0), "y"))
    shape = (TOKENS, windows, SIZE) if turned else (windows * TOKENS, SIZE)
    return make(q.nodes, {"x": shape}, ["y"], q.weights)


@pytest.mark.parametrize(("windows", "zero"), [(1, 0), (4, 0), (4, 60)])
def test_parts_in_int8(windows: int, zero: int) -> None:
    """Each part has its own constants, whether its weights have a zero point or not."""
    model, x = joint(windows, zero), {"x": noise(TOKENS, windows, SIZE)}
    layer = OpKind.ASYMMETRIC_FULLY_CONNECTED if zero else OpKind.FULLY_CONNECTED
    assert layers(model, layer) == 3 and layers(model, OpKind.SELECT) == 0
    check_layers(model, check(model, x, rtol=0, atol=0.131), x)


def test_windows_of_one_matrix_are_images() -> None:
    """The layers run window by window, and nothing is copied to make windows of the rows."""
    found = program(joint(4))
    assert OpKind.COPY not in {op.kind for op in found.ops}
    assert {op.images for op in found.ops if op.kind is OpKind.FULLY_CONNECTED} == {4}


def test_a_copy_moves_to_the_smaller_tensor() -> None:
    """The input stays one image and is copied instead of the wider result."""
    model, x = joint(4, turned=False), {"x": noise(4 * TOKENS, SIZE)}
    found = check(model, x, rtol=0, atol=0.131).plan.program
    copies = [found.tensors[op.output].bytes for op in found.ops if op.kind is OpKind.COPY]
    assert copies == [4 * TOKENS * SIZE]


# Selected rows alone are computed, and are what they were.

WORDS, WIDTH = 12, 8


def attention(first: int, end: int, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Attention with two heads over x, x added, tokens [first, end) of it through a layer."""
    weights = {name: noise(WIDTH, WIDTH) for name in "abcd"}
    weights |= {"parts": np.array([1, WORDS, 2, WIDTH // 2]), "all": np.array([1, WORDS, WIDTH]),
                "place": noise(1, WORDS, WIDTH), "g": noise(WIDTH),
                "first": np.array([first]), "end": np.array([end]), "one": np.array([1])}
    nodes = []
    for name, weight, order in (("q", "a", [0, 2, 1, 3]), ("k", "b", [0, 2, 3, 1]), ("v", "c", [0, 2, 1, 3])):
        nodes += [node("MatMul", f"x {weight}", f"{name}0"), node("Reshape", f"{name}0 parts", f"{name}1"),
                  node("Transpose", f"{name}1", name, perm=order)]
    nodes += [node("MatMul", "q k", "s"), node("Softmax", "s", "p"), node("MatMul", "p v", "m"),
              node("Transpose", "m", "m1", perm=[0, 2, 1, 3]), node("Reshape", "m1 all", "m2"),
              node("Add", "m2 x", "r"), node("Add", "r place", "r1"), node("LayerNormalization", "r1 g g", "n"),
              node("MatMul", "n d", "l"), node("Slice", "l first end one", "y")]
    return make(nodes, {"x": (1, WORDS, WIDTH)}, list(outputs), weights)


def selections(model: onnx.ModelProto) -> list[str]:
    return [op.operands[0].tensor for op in program(model).ops if op.kind is OpKind.SELECT]


@pytest.mark.parametrize(("first", "end"), [(0, 1), (WORDS - 1, WORDS), (4, 9)])
def test_attention_of_a_few_tokens(first: int, end: int) -> None:
    """Their queries alone are computed, of all keys and values."""
    model, x = attention(first, end), {"x": noise(1, WORDS, WIDTH)}
    assert selections(model) == ["x"]
    whole = sum(op.macs for op in program(attention(0, WORDS)).ops)
    keys_and_values = 2 * WORDS * WIDTH * WIDTH
    macs = sum(op.macs for op in program(model).ops)
    assert macs - keys_and_values == (whole - keys_and_values) * (end - first) // WORDS
    check(model, x, rtol=1e-4, atol=1e-4)


def test_most_of_the_tokens_stay_where_they_are() -> None:
    assert selections(attention(1, 8)) == ["l"]


def test_what_others_read_is_computed_whole() -> None:
    """The normalised tokens are an output too: only the layer behind them is of one token."""
    assert selections(attention(0, 1, ("y", "n"))) == ["n"]


def test_int8_layer_by_layer() -> None:
    """Each layer of the token that is left is compared with the model's, of which it is a part."""
    q = Quantiser()
    x, w = q.pair("x", 0.03, 3), q.constant("w", RANDOM.integers(-127, 128, (WIDTH, WIDTH)).astype(np.int8), 0.01)
    q.add(node("MatMul", f"{x} {w}", "a"))
    a = q.pair("a", 0.05, 4)
    q.add(node("Add", f"{a} {x}", "b"))
    b = q.pair("b", 0.06, -4)
    q.weights |= {"at": np.array(5)}
    q.add(node("Gather", f"{b} at", "c", axis=1))
    q.add(node("Identity", q.pair("c", 0.06, -4), "y"))
    model, data = make(q.nodes, {"x": (1, WORDS, WIDTH)}, ["y"], q.weights), {"x": noise(1, WORDS, WIDTH)}
    compiled = check(model, data, rtol=0, atol=0.0601)
    partial = {name: value for name, value in compiled.plan.program.values.items() if value.start}
    assert {value.start for value in partial.values()} == {5 * WIDTH} and len(partial) >= 2
    assert check_layers(model, compiled, data) > 0
