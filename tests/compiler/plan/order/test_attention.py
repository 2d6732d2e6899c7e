"""Attention takes the least memory whatever the order of its operators in the file, and computes nothing again."""

from __future__ import annotations

import itertools
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tigris_pio import Session, compile_model
from tigris_pio.errors import BudgetError

ORDERS = ["".join(order) for order in itertools.permutations("qkv")]


class Graph:
    """Float nodes on [1, tokens, 64], weights made from their number."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(self, kind: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, values: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(values, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weights(self, *shape: int) -> str:
        random = np.random.default_rng(len(self.constants))
        return self.constant((random.standard_normal(shape) * 0.05).astype(np.float32))

    def model(self, output: str, tokens: int) -> onnx.ModelProto:
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, tokens, 64])
        made = helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, tokens, 64])
        graph = helper.make_graph(self.nodes, "attention", [given], [made], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def one_head(order: str, tokens: int = 256) -> onnx.ModelProto:
    g = Graph()
    made = {name: g.node("MatMul", "x", g.weights(64, 64)) for name in order}
    scores = g.node("MatMul", made["q"], g.node("Transpose", made["k"], perm=[0, 2, 1]))
    return g.model(g.node("MatMul", g.node("Softmax", scores, axis=-1), made["v"]), tokens)


def four_heads(order: str, tokens: int = 128) -> onnx.ModelProto:
    g = Graph()
    parts = g.constant(np.array([1, tokens, 4, 16]))
    turns = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}
    made = {}
    for name in order:
        layer = g.node("Add", g.node("MatMul", "x", g.weights(64, 64)), g.weights(64))
        made[name] = g.node("Transpose", g.node("Reshape", layer, parts), perm=turns[name])
    weights = g.node("Softmax", g.node("MatMul", made["q"], made["k"]), axis=-1)
    joined = g.node("Transpose", g.node("MatMul", weights, made["v"]), perm=[0, 2, 1, 3])
    joined = g.node("Reshape", joined, g.constant(np.array([1, tokens, 64])))
    layer = g.node("Add", g.node("MatMul", joined, g.weights(64, 64)), g.weights(64))
    return g.model(g.node("Add", layer, "x"), tokens)


def smallest(model: onnx.ModelProto) -> int:
    with pytest.raises(BudgetError) as refused:
        compile_model(model, fast=64)
    found = re.search(r"smallest fast memory that works is (\d+)", str(refused.value))
    assert found
    return int(found[1])


def check(model: onnx.ModelProto, most: int) -> None:
    """Within `most` bytes nothing is computed again, and the outputs are onnxruntime's."""
    least = smallest(model)
    assert least <= most
    compiled = compile_model(model, fast=least)
    assert sum(stage.recomputed_macs for stage in compiled.plan.stages) == 0
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    inputs = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    with Session(compiled) as session:
        (got,) = session.run(inputs).values()
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_one_head(order: str) -> None:
    """x or the result, k and v whole: 3 x 65,536 bytes; of q, the scores and their weights a few rows."""
    check(one_head(order), 200_000)


@pytest.mark.parametrize("order", ORDERS)
def test_four_heads(order: str) -> None:
    """x, k and v whole: 3 x 32,768 bytes. The scores alone have 262,144."""
    check(four_heads(order), 105_000)
