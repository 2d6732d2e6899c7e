"""Loaded graphs: names, shapes, constants, order."""

import time

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tests.compiler.models import make, node
from tigris_pio import compile_model
from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.load import load_model


def test_nodes_get_unique_names() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"], name="same"),
             helper.make_node("Relu", ["b"], ["y"], name="same")]
    graph = load_model(make(nodes, {"x": (1, 4)}, ["y"]))
    assert len({item.name for item in graph.nodes}) == 3 and all(item.name for item in graph.nodes)


def test_shape_computed_by_a_chain() -> None:
    """Reshape to a target that Shape, Slice, arithmetic and Concat compute."""
    nodes = [
        node("Shape", "x", "s"), node("Slice", "s zero one", "n"), node("Slice", "s one four", "rest"),
        node("ReduceProd", "rest", "p", keepdims=1), node("Div", "p two", "h"), node("Concat", "n h two", "t", axis=0),
        node("Reshape", "x t", "y"),
    ]
    constants = {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "four": np.array([4])}
    graph = load_model(make(nodes, {"x": ("N", 3, 4, 5)}, ["y"], constants))
    assert graph.tensors["y"].shape == (1, 30, 2)


def test_outputs_of_unknown_shape_that_nothing_reads() -> None:
    """Inference finds no shape for an old Dropout's mask."""
    graph = load_model(make([node("Dropout", "x", "y mask")], {"x": (1, 4)}, ["y"], opset=7))
    assert graph.nodes[0].outputs[0] == "y" and "mask" not in graph.tensors


@pytest.mark.parametrize("outputs", [["t"], ["", "t"], ["t", "u"]])
def test_nodes_without_known_outputs_are_left_out(outputs: list[str]) -> None:
    """The output of an operator that ONNX does not define, which nothing reads."""
    unread = helper.make_node("Unknown", ["y"], outputs)
    model = make([node("Relu", "x", "y"), unread], {"x": (1, 4)}, ["y"])
    assert [item.op for item in load_model(model).nodes] == ["Relu"]
    assert len(compile_model(model).plan.program.ops) == 1


def test_silu_of_onnxruntime_has_its_inputs_shape() -> None:
    """onnx has no schema for it, and the file declares no shapes inside."""
    model = make([helper.make_node("Silu", ["x"], ["s"], domain="com.microsoft"), node("Relu", "s", "y")],
                 {"x": (1, 3, 8, 8)}, ["y"])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert load_model(model).tensors["s"].shape == (1, 3, 8, 8)


def test_local_functions_are_inlined() -> None:
    function = helper.make_function("local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                                    [helper.make_opsetid("", 17)])
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["y"], domain="local")], "g",
                              [helper.make_tensor_value_info("x", 1, (1, 4))],
                              [helper.make_tensor_value_info("y", 1, (1, 4))])
    model = helper.make_model(graph, functions=[function], ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    assert [item.op for item in load_model(model).nodes] == ["Add"]


def _nodes(edges: list[list[int]]) -> list[Node]:
    """Nodes; node i reads the outputs of the nodes edges[i]."""
    return [Node(f"n{index}", "Op", tuple(f"t{source}" for source in sources), (f"t{index}",))
            for index, sources in enumerate(edges)]


def test_each_branch_runs_to_its_end() -> None:
    """Two chains behind one node: 0 -> 1 -> 3 and 0 -> 2 -> 4, joined by 5."""
    order = [item.name for item in execution_order(_nodes([[], [0], [0], [1], [2], [3, 4]]), "g")]
    assert order == ["n0", "n1", "n3", "n2", "n4", "n5"]


@given(st.lists(st.lists(st.integers(0, 30), max_size=4), min_size=1, max_size=30), st.randoms())
def test_order_is_topological(raw: list[list[int]], shuffle: object) -> None:
    edges = [[source % index for source in sources] if index else [] for index, sources in enumerate(raw)]
    nodes = _nodes(edges)
    shuffle.shuffle(nodes)  # type: ignore[attr-defined]
    order = execution_order(nodes, "g")
    assert sorted(item.name for item in order) == sorted(item.name for item in nodes)
    seen: set[str] = set()
    for item in order:
        assert set(item.inputs) <= seen
        seen.update(item.outputs)


def test_ten_thousand_nodes_in_linear_time() -> None:
    """Recursion would overflow on this chain, and quadratic work would take minutes."""
    nodes = [node("Relu", f"t{index}", f"t{index + 1}") for index in range(10_000)]
    model = make(nodes, {"t0": (1, 4)}, ["t10000"])
    start = time.perf_counter()
    graph = load_model(model)
    assert len(graph.nodes) == 10_000
    assert time.perf_counter() - start < 10


def test_constants_of_every_attribute() -> None:
    nodes = [helper.make_node("Constant", [], ["a"], value_floats=[1.0, 2.0]),
             helper.make_node("Constant", [], ["b"], value=onnx.numpy_helper.from_array(np.ones(2, np.float32))),
             helper.make_node("Constant", [], ["c"], value_float=3.0),
             node("Add", "x a", "d"), node("Add", "d b", "e"), node("Add", "e c", "y")]
    graph = load_model(make(nodes, {"x": (1, 2)}, ["y"]))
    assert graph.tensors["a"].shape == (2,) and graph.tensors["c"].shape == ()
