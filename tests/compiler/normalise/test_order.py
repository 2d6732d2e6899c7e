"""Schedules: right orders, measured peaks, and a planner that asks for another one."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.models import make, node
from tigris_pio.compiler import pipeline
from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.normalise import Parameters, normalise
from tigris_pio.compiler.normalise.order import ORDERS, ordered, peak
from tigris_pio.compiler.normalise.passes import Schedule
from tigris_pio.compiler.pipeline import CompileOptions, back, front
from tigris_pio.errors import BudgetError


def random_graph(seed: int, nodes: int = 8) -> Graph:
    """Elementwise nodes that widen or narrow their input by Concat and Slice-like reductions."""
    rng = random.Random(seed)
    protos, names = [], ["x"]
    for place in range(nodes):
        sources = rng.sample(names, min(len(names), rng.choice([1, 1, 2, 3])))
        op, more = ("Concat", {"axis": 1}) if len(sources) > 1 else rng.choice(
            [("Relu", {}), ("ReduceMax", {"axes": [1], "keepdims": 1})])
        protos.append(node(op, " ".join(sources), f"t{place}", **more))
        names.append(f"t{place}")
    read = {name for proto in protos for name in proto.input}
    graph = load_model(make(protos, {"x": (1, 4)}, [name for name in names[1:] if name not in read]))
    return normalise(graph, Parameters(schedule="as_given")).graph


def possible_orders(graph: Graph) -> list[tuple[Node, ...]]:
    found = []
    for nodes in itertools.permutations(graph.nodes):
        known = {*graph.inputs, *graph.weights}
        for item in nodes:
            if not known.issuperset(name for name in item.inputs if name):
                break
            known.update(item.outputs)
        else:
            found.append(nodes)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_every_order_is_one_and_the_best_is_kept(seed: int) -> None:
    graph = random_graph(seed, 6)
    orders = {tuple(item.name for item in nodes): nodes for nodes in possible_orders(graph)}
    peaks = []
    for schedule in ORDERS:
        nodes = ordered(graph, schedule).nodes
        assert tuple(item.name for item in nodes) in orders
        peaks.append(peak(graph, nodes))
    chosen = peak(graph, ordered(graph, "least_peak").nodes)
    assert min(peak(graph, nodes) for nodes in orders.values()) <= chosen == min(peaks)


def alive(graph: Graph, nodes: tuple[Node, ...]) -> list[int]:
    """Bytes alive while each node runs, by the definition: what is made or given, and still to be read or put out."""
    reads = [{name for name in item.inputs if name in graph.tensors and name not in graph.weights} for item in nodes]
    never_read = set(graph.inputs).difference(*reads)
    steps = []
    for place, item in enumerate(nodes):
        there = set(graph.inputs).union(*(done.outputs for done in nodes[:place]))
        wanted = set(graph.outputs).union(never_read, *reads[place:])
        kept = (there & wanted) | {name for name in item.outputs if name}
        steps.append(sum(graph.tensors[name].shape[1] * 4 for name in kept))
    return steps


def split_graph(seed: int) -> Graph:
    """Nodes of several outputs, some of which nothing reads; some that are read are outputs too."""
    rng = random.Random(seed)
    protos, widths, names = [], {"x": 8}, ["x"]
    for place in range(6):
        source = rng.choice(names[-4:])
        made = [f"t{place}a", f"t{place}b"]
        if widths[source] % 2 or rng.random() < 0.4:
            protos.append(node("Concat", f"{source} {rng.choice(names)}", made[0], axis=1))
            widths[made[0]] = widths[source] + widths[protos[-1].input[1]]
            names.append(made[0])
            continue
        protos.append(node("Split", source, " ".join(made), axis=1))
        widths |= dict.fromkeys(made, widths[source] // 2)
        names += made[: rng.choice([1, 2])]
    outputs = list(dict.fromkeys([names[-1], rng.choice(names[1:])]))
    return load_model(make(protos, {"x": (1, 8)}, outputs))


@pytest.mark.parametrize("seed", range(40))
def test_the_peak_is_that_of_the_fullest_step(seed: int) -> None:
    graph = split_graph(seed)
    for nodes in possible_orders(graph)[:30]:
        assert peak(graph, nodes) == max(alive(graph, nodes))


def test_the_graphs_hold_outputs_that_nothing_reads() -> None:
    unread = 0
    for seed in range(40):
        graph = split_graph(seed)
        read = {name for item in graph.nodes for name in item.inputs} | set(graph.outputs)
        unread += any(name not in read for item in graph.nodes for name in item.outputs)
    assert unread >= 10


@pytest.mark.parametrize("is_output", [False, True])
def test_a_graph_output_does_not_die_with_its_last_reader(is_output: bool) -> None:
    """Greedily, the node that adds less comes first; reading an output for the last time frees nothing."""
    nodes = [node("Relu", "x", "a"), node("Tanh", "a", "b"), node("Concat", "z z", "c", axis=1),
             node("Concat", "b c", "y", axis=1)]
    graph = load_model(make(nodes, {"x": (1, 64), "z": (1, 16)}, ["y", "a"] if is_output else ["y"]))
    names = [item.outputs[0] for item in ordered(graph, "least_alive").nodes]
    assert names == (["a", "c", "b", "y"] if is_output else ["a", "b", "c", "y"])


def wide_branches() -> Graph:
    """Three branches that widen and then shrink: side by side they need far more than one after the other."""
    nodes = [node("Relu", "x", "a")]
    for index in range(3):
        nodes += [node("Concat", "a a a a", f"w{index}", axis=1),
                  node("ReduceMax", f"w{index}", f"s{index}", axes=[1], keepdims=1)]
    nodes.append(node("Concat", "s0 s1 s2", "y", axis=1))
    return load_model(make(nodes, {"x": (1, 64)}, ["y"]))


def test_branches_run_one_after_the_other() -> None:
    graph = wide_branches()
    side_by_side = tuple(graph.nodes[0:1]) + tuple(
        item for op in ("Concat", "ReduceMax") for item in graph.nodes[1:-1] if item.op == op) + graph.nodes[-1:]
    spread = dataclasses.replace(graph, nodes=side_by_side)
    assert peak(spread, spread.nodes) == 4 * (64 + 3 * 256)
    best = ordered(spread, "least_peak")
    assert peak(best, best.nodes) == 4 * (64 + 256 + 2)


def test_a_partition_that_does_not_fit_asks_for_another_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make([node("Relu", "x", "a"), node("Concat", "a a a a", "w", axis=1), node("Tanh", "a", "b"),
                  node("ReduceMax", "w", "s", axes=[1], keepdims=1), node("Add", "b s", "y")], {"x": (1, 64)}, ["y"])
    start = front(model, CompileOptions())
    asked = []

    def picky(program: object, *more: object) -> object:
        asked.append([op.output for op in program.ops])
        return None if len(asked) == 1 else find(program, *more)

    find = pipeline.find_plan
    monkeypatch.setattr(pipeline, "find_plan", picky)
    compiled = back(start, CompileOptions())
    assert len(asked) == 2 and asked[0] != asked[1]
    assert any("operators run in the order" in warning for warning in compiled.report["warnings"])


def test_no_schedule_fits() -> None:
    with pytest.raises(BudgetError, match="smallest fast memory that works"):
        back(front(make([node("Relu", "x", "y")], {"x": (1, 64)}, ["y"]), CompileOptions()), CompileOptions(Budget(64)))


def several_outputs_of_a_split() -> onnx.ModelProto:
    """Both names of one are outputs, and the other changes its name after that."""
    nodes = [node("Sigmoid", "x", "s"), node("QuantizeLinear", "s c z", "q"), node("Split", "q", "a b", axis=1),
             node("DequantizeLinear", "b c z", "bd"), node("DequantizeLinear", "a c z", "ad")]
    return make(nodes, {"x": (1, 4, 3, 5)}, ["b", "bd", "ad"], {"c": np.float32(0.05), "z": np.uint8(9)},
                types={"b": TensorProto.UINT8})


def integers_as_numbers_amid_a_path() -> onnx.ModelProto:
    """Clip computes with what Tile and Concat move: recoded before and behind, one after the other."""
    nodes = [node("Tile", "x two", "t"), node("Clip", "x - high", "k"), node("Clip", "k low", "l"),
             node("Concat", "l k x", "m", axis=1), node("DequantizeLinear", "m c z", "d"),
             node("DequantizeLinear", "l c z", "ld")]
    weights = {"two": np.array([1, 2, 1, 1]), "high": np.uint8(168), "low": np.uint8(30), "c": np.float32(0.05),
               "z": np.uint8(9)}
    return make(nodes, {"x": (1, 4, 3, 5)}, ["t", "d", "l", "ld"], weights,
                types=dict.fromkeys(("x", "t", "l"), TensorProto.UINT8))


@pytest.mark.parametrize("schedule", [*ORDERS, "least_peak"])
@pytest.mark.parametrize("model", [several_outputs_of_a_split, integers_as_numbers_amid_a_path])
def test_passes_leave_every_node_behind_those_it_reads(model: Callable[[], onnx.ModelProto],
                                                      schedule: Schedule) -> None:
    graph = normalise(load_model(model()), Parameters(schedule=schedule)).graph
    known = {*graph.inputs, *graph.weights}
    for item in graph.nodes:
        assert known.issuperset(filter(None, item.inputs)), item.name
        known.update(item.outputs)
    with pytest.raises(BudgetError, match="smallest fast memory that works"):
        back(front(model(), CompileOptions()), CompileOptions(Budget(16)))
