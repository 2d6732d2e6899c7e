"""The pass manager: order, requirements, statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.models import make, node
from tigris_pio import compile_model
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.normalise import PASSES, normalise
from tigris_pio.compiler.normalise.manager import check_order
from tigris_pio.errors import BudgetError

ORDER = ["constant_fold", "qdq_fold", "batchnorm_fold", "silu_decompose", "depthwise_relabel", "conv1d_relabel",
         "clip_to_relu6", "reduce_mean_to_pool", "shape_fold", "resize_scales", "concat_axis", "output_transpose_trim",
         "activation_fuse"]


def test_the_documented_order() -> None:
    assert [step.name for step in PASSES] == ORDER
    check_order(PASSES)


def test_each_pass_needs_its_requirements() -> None:
    """Every pass with requirements fails the check as the first one."""
    for step in PASSES:
        if step.requires:
            with pytest.raises(ValueError, match=step.name):
                check_order([step, *(item for item in PASSES if item is not step)])


def test_statistics_add_up(models_dir: Path) -> None:
    graph = load_model(models_dir / "person_detect_int8.onnx")
    result = normalise(graph)
    assert [item.name for item in result.statistics] == ORDER
    assert result.statistics[0].nodes_in == len(graph.nodes)
    for before, now in zip(result.statistics, result.statistics[1:], strict=False):
        assert before.nodes_out == now.nodes_in
    assert result.statistics[-1].nodes_out == len(result.graph.nodes)
    folded = {item.name: item.folded for item in result.statistics}
    assert (folded["clip_to_relu6"], folded["activation_fuse"], folded["depthwise_relabel"]) == (27, 27, 13)


def test_the_given_graph_is_not_changed(models_dir: Path) -> None:
    graph = load_model(models_dir / "kws_int8.onnx")
    nodes, tensors, weights = graph.nodes, dict(graph.tensors), dict(graph.weights)
    normalise(graph)
    assert graph.nodes is nodes and graph.tensors == tensors and set(graph.weights) == set(weights)


def several_outputs_of_a_split() -> onnx.ModelProto:
    """Both outputs of one are outputs of the model, and the other is renamed after that."""
    nodes = [node("Sigmoid", "x", "s"), node("QuantizeLinear", "s c z", "q"), node("Split", "q", "a b", axis=1),
             node("DequantizeLinear", "b c z", "bd"), node("DequantizeLinear", "a c z", "ad")]
    return make(nodes, {"x": (1, 4, 3, 5)}, ["b", "bd", "ad"], {"c": np.float32(0.05), "z": np.uint8(9)},
                types={"b": TensorProto.UINT8})


def integers_as_numbers_amid_a_path() -> onnx.ModelProto:
    """Clip computes with integers that Tile and Concat move, so it is recoded before and behind."""
    nodes = [node("Tile", "x two", "t"), node("Clip", "x - high", "k"), node("Clip", "k low", "l"),
             node("Concat", "l k x", "m", axis=1), node("DequantizeLinear", "m c z", "d"),
             node("DequantizeLinear", "l c z", "ld")]
    weights = {"two": np.array([1, 2, 1, 1]), "high": np.uint8(168), "low": np.uint8(30), "c": np.float32(0.05),
               "z": np.uint8(9)}
    return make(nodes, {"x": (1, 4, 3, 5)}, ["t", "d", "l", "ld"], weights,
                types=dict.fromkeys(("x", "t", "l"), TensorProto.UINT8))


@pytest.mark.parametrize("model", [several_outputs_of_a_split, integers_as_numbers_amid_a_path])
def test_nodes_stay_behind_the_nodes_that_they_read(model: Callable[[], onnx.ModelProto]) -> None:
    graph = normalise(load_model(model())).graph
    known = {*graph.inputs, *graph.weights}
    for item in graph.nodes:
        assert known.issuperset(filter(None, item.inputs)), item.name
        known.update(item.outputs)
    with pytest.raises(BudgetError, match="smallest fast memory that works"):
        compile_model(model(), fast=16)


def test_remaining_nodes_keep_their_order() -> None:
    nodes = [node("Relu", "x", "a"), node("Tanh", "a", "b"), node("Relu", "a", "c"), node("Tanh", "b", "d"),
             node("Tanh", "c", "e"), node("Add", "d e", "y")]
    graph = load_model(make(nodes, {"x": (1, 4)}, ["y"]))
    shuffled = dataclasses.replace(graph, nodes=tuple(graph.nodes[index] for index in (0, 3, 1, 4, 2, 5)))
    assert [item.name for item in normalise(shuffled).graph.nodes] == [item.name for item in shuffled.nodes]
