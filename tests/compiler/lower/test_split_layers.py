"""Layers that are read in parts are a layer for each part, to the byte; windows of one matrix are images."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, noise
from tests.compiler.models import Quantiser, make, node, program
from tests.families.layers import check_layers
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(6)
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


def test_float() -> None:
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
def test_int8(windows: int, zero: int) -> None:
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
    """The rows are an input, which stays one image: it is copied, not the wider result."""
    model, x = joint(4, turned=False), {"x": noise(4 * TOKENS, SIZE)}
    found = check(model, x, rtol=0, atol=0.131).plan.program
    copies = [found.tensors[op.output].bytes for op in found.ops if op.kind is OpKind.COPY]
    assert copies == [4 * TOKENS * SIZE]
