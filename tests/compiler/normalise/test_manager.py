"""The pass manager: order, requirements, statistics; and the graph verifier."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.models import Quantiser, make, node, normal
from tests.compiler.passes import verify_after
from tigris_pio import compile_model
from tigris_pio.compiler import passes
from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation, Tensor
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.lower import passes as program_passes
from tigris_pio.compiler.normalise import PASSES, normalise
from tigris_pio.compiler.normalise.verify import BrokenGraph, check_graph
from tigris_pio.compiler.passes import Pass, check_order
from tigris_pio.errors import BudgetError, InternalError

ORDER = ["constant_fold", "qdq_fold", "batchnorm_fold", "silu_decompose", "depthwise_relabel", "conv1d_relabel",
         "clip_to_relu6", "reduce_mean_to_pool", "shape_fold", "resize_scales", "concat_axis", "output_transpose_trim",
         "activation_fuse"]


def test_the_documented_order() -> None:
    assert [step.name for step in PASSES] == ORDER
    check_order(PASSES)


@pytest.mark.parametrize("table", [PASSES, program_passes.PASSES], ids=["graphs", "programs"])
def test_each_pass_needs_its_requirements(table: Sequence[Pass[Any]]) -> None:
    """Every pass with requirements fails the check as the first one."""
    check_order(table)
    for step in table:
        if step.requires:
            with pytest.raises(ValueError, match=step.name):
                check_order([step, *(item for item in table if item is not step)])


def test_statistics_add_up(models_dir: Path) -> None:
    graph = load_model(models_dir / "person_detect_int8.onnx")
    result, statistics = normalise(graph)
    assert [item.name for item in statistics] == ORDER
    assert statistics[0].nodes_in == len(graph.nodes)
    for before, now in itertools.pairwise(statistics):
        assert before.nodes_out == now.nodes_in
    assert statistics[-1].nodes_out == len(result.nodes)
    folded = {item.name: item.folded for item in statistics}
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
    graph = normalise(load_model(model()))[0]
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
    assert [item.name for item in normalise(shuffled)[0].nodes] == [item.name for item in shuffled.nodes]


# The graph verifier finds every contradiction that a pass could leave in a graph.


def whole() -> Graph:
    """Two int8 layers with a pool between, and a graph input in int8."""
    q = Quantiser()
    weight = q.constant("w", np.ones((4, 3, 3, 3), np.int8), np.full(4, 0.1), 0)
    q.weights |= {"in_s": np.array(0.1, np.float32), "in_z": np.array(3, np.int8)}
    q.add(node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("DequantizeLinear", "t in_s in_z", "d"))
    q.add(node("Conv", f"d {weight}", "c"), node("Relu", "c", "r"))
    q.add(node("MaxPool", q.pair("r", 0.2, -5), "p", kernel_shape=[2, 2]), node("Flatten", "p", "f"))
    q.add(node("Identity", "f", "y"))
    return normal(make(q.nodes, {"x": (1, 6, 6, 3)}, ["y"], q.weights, types={"x": 3}))


def tensor(graph: Graph, name: str, **changes: Any) -> Graph:
    changed: Tensor = dataclasses.replace(graph.tensors[name], **changes)
    return dataclasses.replace(graph, tensors={**graph.tensors, name: changed})


def nodes(graph: Graph, change: Callable[[Node], Node]) -> Graph:
    return dataclasses.replace(graph, nodes=tuple(change(item) for item in graph.nodes))


def annotation(scale: Any, zero: Any, axis: int | None = None, dtype: str = "int8") -> Quantisation:
    return Quantisation(np.asarray(scale, np.float32), np.asarray(zero), np.dtype(dtype), axis)


def renamed(graph: Graph, op: str, **names: tuple[str, ...]) -> Graph:
    return nodes(graph, lambda item: dataclasses.replace(item, **names) if item.op == op else item)


def every(item: Node) -> bool:
    return True


WEIGHT = "w_dq"
BROKEN: Mapping[str, Callable[[Graph], Graph]] = {
    "reads what nothing defines": lambda g: renamed(g, "Flatten", inputs=("nobody",)),
    "reads what comes later": lambda g: dataclasses.replace(g, nodes=g.nodes[::-1]),
    "defined twice": lambda g: dataclasses.replace(g, nodes=(*g.nodes, g.nodes[-1])),
    "an output that nothing defines": lambda g: dataclasses.replace(g, outputs=("gone",)),
    "a tensor without a description": lambda g: dataclasses.replace(
        g, tensors={name: item for name, item in g.tensors.items() if name != "r"}),
    "a constant of another shape": lambda g: tensor(g, WEIGHT, shape=(4, 3, 9)),
    "a constant of another type": lambda g: dataclasses.replace(
        g, weights={**g.weights, WEIGHT: g.weights[WEIGHT].astype(np.int16)}),
    "a negative axis": lambda g: tensor(g, WEIGHT, quantisation=annotation([0.1] * 4, [0] * 4, -4)),
    "an axis beyond the shape": lambda g: tensor(g, WEIGHT, quantisation=annotation([0.1] * 4, [0] * 4, 4)),
    "scales of another number": lambda g: tensor(g, WEIGHT, quantisation=annotation([0.1] * 3, [0] * 3, 0)),
    "zero points of another number": lambda g: tensor(g, WEIGHT, quantisation=annotation([0.1] * 4, [0] * 3, 0)),
    "a scale below zero": lambda g: tensor(g, "r", quantisation=annotation(-0.1, 0)),
    "a scale of NaN": lambda g: tensor(g, "r", quantisation=annotation(np.nan, 0)),
    "a zero point outside int8": lambda g: tensor(g, "r", quantisation=annotation(0.1, 200)),
    "an activation with scales by channel": lambda g: tensor(g, "r", quantisation=annotation([0.1] * 4, [0] * 4, 1)),
    "annotated otherwise than stored": lambda g: tensor(g, "r", dtype=np.dtype(np.float32)),
    "an activation in int32": lambda g: tensor(
        g, "r", dtype=np.dtype(np.int32), quantisation=annotation(0.1, 0, None, "int32")),
    "integers read as real numbers": lambda g: tensor(g, "x", quantisation=None),
    "integers made of real numbers": lambda g: tensor(g, "y", quantisation=None),
    "another shape": lambda g: tensor(g, "p", shape=(1, 4, 2, 2, 1)),
    "another type": lambda g: tensor(g, "p", dtype=np.dtype(np.int64), quantisation=None),
}


def test_a_valid_graph_passes() -> None:
    check_graph(whole(), every)


@pytest.mark.parametrize("fault", BROKEN)
def test_faults_are_found(fault: str) -> None:
    with pytest.raises(BrokenGraph):
        check_graph(BROKEN[fault](whole()), every)


def test_shapes_are_inferred_again() -> None:
    """A Transpose whose permutation a pass changed."""
    swapped = nodes(whole(), lambda item: dataclasses.replace(item, attributes={"perm": (0, 1, 3, 2)})
                    if item.op == "Transpose" else item)
    check_graph(swapped)
    with pytest.raises(BrokenGraph, match="inference finds"):
        check_graph(swapped, every)


def careless(name: str, change: Callable[[Graph], Graph]) -> Pass[Graph]:
    return Pass(name, "", frozenset(), frozenset(), lambda graph: (change(graph), 0))


def test_normalise_raises_for_a_broken_graph() -> None:
    model = make([node("Relu", "x", "r"), node("Neg", "r", "y")], {"x": (1, 4)}, ["y"])
    bad = careless("bad", lambda graph: renamed(graph, "Neg", inputs=("gone",)))
    watch, passes.watch = passes.watch, None
    try:
        with pytest.raises(InternalError, match=r"node neg_y \(Neg\) reads gone"):
            normalise(load_model(model), passes=[bad])
    finally:
        passes.watch = watch


def test_tests_verify_after_each_pass() -> None:
    """A fault that a later pass repairs is found, and so is a pass that undoes a fact."""
    assert passes.watch is verify_after
    model = make([node("Neg", "x", "r"), node("Clip", "r lo", "y")], {"x": (1, 4)}, ["y"], {"lo": np.float32(0)})
    bad = careless("bad", lambda graph: renamed(graph, "Neg", inputs=("gone",)))
    good = careless("good", lambda graph: renamed(graph, "Neg", inputs=("x",)))
    with pytest.raises(BrokenGraph):
        normalise(load_model(model), passes=[bad, good])
    undone = careless("undone", lambda graph: nodes(graph, lambda item: dataclasses.replace(
        item, op="Clip", attributes={"min": 0.0, "max": np.inf}) if item.op == "Relu" else item))
    with pytest.raises(AssertionError, match="clip_bounds does not hold"):
        normalise(load_model(model), passes=[*PASSES[:-1], undone, PASSES[-1]])
