"""The pass manager: order, requirements, statistics, retries."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.compiler.models import make, node
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.normalise import PASSES, Parameters, Pass, PassResult, Retry, normalise
from tigris_pio.compiler.normalise.manager import check_order

ORDER = ["constant_fold", "qdq_fold", "batchnorm_fold", "silu_decompose", "depthwise_relabel", "conv1d_relabel",
         "clip_to_relu6", "reduce_mean_to_pool", "shape_fold", "resize_scales", "concat_axis", "output_transpose_trim",
         "activation_fuse"]


def chain() -> Graph:
    return load_model(make([node("Relu", "x", "a"), node("Tanh", "a", "y")], {"x": (1, 4)}, ["y"]))


def test_the_documented_order() -> None:
    assert [step.name for step in PASSES] == ORDER
    check_order(PASSES)


def test_each_pass_needs_its_place() -> None:
    """Every pass that requires something fails the check when it comes first."""
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


def test_the_graph_given_is_not_changed(models_dir: Path) -> None:
    graph = load_model(models_dir / "kws_int8.onnx")
    nodes, tensors, weights = graph.nodes, dict(graph.tensors), dict(graph.weights)
    normalise(graph)
    assert graph.nodes is nodes and graph.tensors == tensors and set(graph.weights) == set(weights)


def asks_for(wanted: Parameters) -> Pass:
    def run(graph: Graph, parameters: Parameters) -> PassResult | Retry:
        return PassResult(graph, 0) if parameters == wanted else Retry(wanted, "it does not fit")

    return Pass("fit", "", frozenset(), frozenset(), run)


def test_retry_starts_again_with_the_parameters_asked_for() -> None:
    wanted = Parameters(schedule="as_given", fuse_activations=False)
    result = normalise(chain(), passes=[*PASSES, asks_for(wanted)])
    assert result.parameters == wanted
    assert [item.reason for item in result.retries] == ["it does not fit"]


def test_retry_with_the_same_parameters_is_a_mistake() -> None:
    def run(graph: Graph, parameters: Parameters) -> Retry:
        return Retry(parameters, "again")

    with pytest.raises(RuntimeError, match="already tried"):
        normalise(chain(), passes=[Pass("loop", "", frozenset(), frozenset(), run)])


def test_schedules() -> None:
    nodes = [node("Relu", "x", "a"), node("Tanh", "a", "b"), node("Relu", "a", "c"), node("Tanh", "b", "d"),
             node("Tanh", "c", "e"), node("Add", "d e", "y")]
    graph = load_model(make(nodes, {"x": (1, 4)}, ["y"]))
    shuffled = dataclasses.replace(graph, nodes=tuple(graph.nodes[index] for index in (0, 3, 1, 4, 2, 5)))
    given = normalise(shuffled, Parameters(schedule="as_given")).graph
    assert [item.name for item in given.nodes] == [item.name for item in shuffled.nodes]
    early = [item.outputs[0] for item in normalise(shuffled).graph.nodes]
    assert early in (["a", "b", "d", "c", "e", "y"], ["a", "c", "e", "b", "d", "y"])
