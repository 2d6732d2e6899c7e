"""Attention takes the least memory whatever the order of its operators in the file, and computes nothing again."""

from __future__ import annotations

import itertools
import re

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node, ort
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.errors import BudgetError

TOKENS, SHAPE = 128, (1, 128, 64)
TURNS = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}


def four_heads(order: str) -> onnx.ModelProto:
    """`order`: of q, k and v in the file."""
    noise = np.random.default_rng(1)
    weights = {f"w{name}": (noise.standard_normal((64, 64)) * 0.05).astype(np.float32) for name in "qkvo"}
    weights |= {f"b{name}": (noise.standard_normal(64) * 0.05).astype(np.float32) for name in "qkvo"}
    nodes = []
    for name in order:
        nodes += [node("MatMul", f"x w{name}", f"m{name}"), node("Add", f"m{name} b{name}", f"a{name}"),
                  node("Reshape", f"a{name} parts", f"p{name}"),
                  node("Transpose", f"p{name}", name, perm=TURNS[name])]  # fmt: skip
    nodes += [node("MatMul", "q k", "scores"), node("Softmax", "scores", "shares", axis=-1),
              node("MatMul", "shares v", "heads"), node("Transpose", "heads", "turned", perm=[0, 2, 1, 3]),
              node("Reshape", "turned whole", "joined"), node("MatMul", "joined wo", "mo"), node("Add", "mo bo", "ao"),
              node("Add", "ao x", "y")]  # fmt: skip
    shapes = {"parts": np.array([1, TOKENS, 4, 16]), "whole": np.array(SHAPE)}
    return make(nodes, {"x": SHAPE}, ["y"], weights | shapes)


@pytest.mark.parametrize("order", sampled(map("".join, itertools.permutations("qkv")), ["kqv", "vqk"]))
def test_four_heads(order: str) -> None:
    """x, k and v whole take 3 x 32,768 bytes, the scores 262,144. Within 105,000 bytes nothing is computed again, and
    the outputs are onnxruntime's."""
    model = four_heads(order)
    with pytest.raises(BudgetError) as refused:
        compile_model(model, fast=64)
    least = int(re.findall(r"smallest fast memory that works is (\d+)", str(refused.value))[0])
    assert least <= 105_000
    compiled = compile_model(model, fast=least)
    assert sum(stage.recomputed_macs for stage in compiled.plan.stages) == 0
    inputs = {"x": np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)}
    (expected,) = ort(model, inputs).values()
    with Session(compiled) as session:
        (got,) = session.run(inputs).values()
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
