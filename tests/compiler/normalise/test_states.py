"""States in the graph: no pass drops what only a state reads, folds what a state holds, or splits the two sides."""

import dataclasses

import numpy as np
import pytest
from onnx import TensorProto

from tests.compiler.models import Quantiser, make, node, tied
from tigris_pio.compiler.ir.graph import Graph, State
from tigris_pio.compiler.normalise import normalise
from tigris_pio.compiler.normalise.verify import BrokenGraph, check_graph


def ops(graph: Graph) -> list[str]:
    return sorted(item.op for item in graph.nodes)


def test_nodes_that_only_a_state_reads_stay() -> None:
    nodes = [node("Sub", "x h", "y"), node("Add", "x h", "new"), node("Neg", "x", "unread")]
    graph = normalise(tied(make(nodes, {"x": (1, 4), "h": (1, 4)}, ["y", "new", "unread"]), {"h": "new"}))[0]
    assert ops(graph) == ["Add", "Neg", "Sub"]
    dead = dataclasses.replace(graph, outputs=("y",))
    assert ops(normalise(dead)[0]) == ["Add", "Sub"]
    assert graph.sources == ("x", "h") and graph.results == ("y", "unread", "new") and graph.inputs == ("x",)


@pytest.mark.parametrize("unsigned", [False, True])
def test_both_sides_are_quantised_and_the_initial_value_with_them(unsigned: bool) -> None:
    quantiser = Quantiser(unsigned)
    held = quantiser.pair("h", 0.5, 3)
    quantiser.nodes += [node("Add", f"x {held}", "sum"), node("Relu", "sum", "y")]
    new = quantiser.pair("sum", 0.25, -5)
    model = make(quantiser.nodes, {"x": (1, 3), "h": (1, 3)}, ["y", new], quantiser.weights)
    graph = tied(model, {"h": new})
    start = np.array([[1.0, -2.2, 1000.0]], np.float32)
    graph = dataclasses.replace(graph, states=(State(new, "h", start),))
    result = normalise(graph)[0]
    state = result.states[0]
    check_graph(result)
    assert result.tensors["h"].dtype == np.int8 and result.tensors[new].dtype == np.int8
    assert state.initial is not None and state.initial.tolist() == [[5, -1, 127]]


def test_integers_of_both_sides_have_one_meaning() -> None:
    """The state is only moved, and only its output is dequantised; its input gets the same annotation."""
    quantiser = Quantiser(unsigned=True)
    quantiser.weights = {"s": np.array(0.5, np.float32), "z": np.array(100, np.uint8)}
    nodes = [node("Concat", "h x", "c", axis=1), node("Slice", "c one four ax", "new"),
             node("DequantizeLinear", "new s z", "y")]
    shapes = {"h": (1, 3), "x": (1, 1)}
    model = make(nodes, shapes, ["new", "y"],
                 {**quantiser.weights, "one": np.array([1]), "four": np.array([4]), "ax": np.array([1])},
                 types=dict.fromkeys(("h", "x", "new"), TensorProto.UINT8))
    graph = tied(model, {"h": "new"})
    graph = dataclasses.replace(graph, states=(State("new", "h", np.array([[0, 100, 255]], np.uint8)),))
    result = normalise(graph)[0]
    assert result.tensors["h"].quantisation == result.tensors["new"].quantisation is not None
    assert result.states[0].initial is not None and result.states[0].initial.tolist() == [[-128, -28, 127]]


def test_a_transpose_before_a_state_stays() -> None:
    nodes = [node("Sub", "x h", "t"), node("Transpose", "t", "new", perm=[0, 2, 1])]
    result = normalise(tied(make(nodes, {"x": (1, 3, 3), "h": (1, 3, 3)}, ["new"]), {"h": "new"}))[0]
    assert ops(result) == ["Sub", "Transpose"] and not result.output_permutations
    both = dataclasses.replace(result, outputs=("new",))
    assert ops(normalise(both)[0]) == ["Sub", "Transpose"]


@pytest.mark.parametrize("state, reason", [
    (State("nothing", "h"), "nothing defines"),
    (State("y", "h"), "becomes y"),
    (State("new", "h", np.zeros((1, 3), np.float32)), "does not begin"),
    (State("new", "h", np.zeros((1, 4), np.int8)), "does not begin"),
])
def test_the_verifier_sees_states_that_contradict_the_graph(state: State, reason: str) -> None:
    nodes = [node("Add", "x h", "new"), node("ReduceSum", "x", "y", keepdims=1)]
    graph = tied(make(nodes, {"x": (1, 4), "h": (1, 4)}, ["y", "new"]), {"h": "new"})
    with pytest.raises(BrokenGraph, match=reason):
        check_graph(dataclasses.replace(graph, states=(state,)))
