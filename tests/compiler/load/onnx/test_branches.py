"""If: its branch replaces it if the condition is known; an If on data is refused by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.compiler.models import make, node, ort
from tigris_pio import Session, compile_model
from tigris_pio.compiler.load.model import load_model
from tigris_pio.errors import UnsupportedError

T = onnx.TensorProto
X = np.random.default_rng(3).normal(size=(2, 4)).astype(np.float32)


def branch(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], **weights: object) -> onnx.GraphProto:
    values = [helper.make_tensor_value_info(name, T.FLOAT, None) for name in outputs]
    return helper.make_graph(list(nodes), "branch", [], values,
                             [numpy_helper.from_array(np.asarray(value, np.float32), name)
                              for name, value in weights.items()])


def choice(condition: str, output: str, then: onnx.GraphProto, other: onnx.GraphProto,
           name: str = "") -> onnx.NodeProto:
    return helper.make_node("If", [condition], output.split(), name or f"if_{output}", then_branch=then,
                            else_branch=other)


def scaled(factor: float, source: str = "x") -> onnx.GraphProto:
    return branch([node("Mul", f"{source} k", "r", "product")], ["r"], k=factor)


def check(model: onnx.ModelProto, **given: int) -> None:
    types = {item.name: helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type) for item in model.graph.input}
    with Session(compile_model(model, set=given)) as session:
        got = session.run({"x": X})
    expected = ort(model, {"x": X, **{name: np.array(value, types[name]) for name, value in given.items()}})
    for name, array in expected.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-6)


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_set_input_decides(rate: int) -> None:
    check(make([node("Equal", "sr c", "b"), choice("b", "y", scaled(2), scaled(-3))], {"x": (2, 4), "sr": ()}, ["y"],
               {"c": np.array(16000)}, types={"sr": T.INT64}), sr=rate)


@pytest.mark.parametrize("rank", [2, 3])
def test_shapes_decide(rank: int) -> None:
    """PyTorch exports `if x.dim() == 2` so."""
    nodes = [node("Shape", "x", "s"), node("Size", "s", "n"), node("Equal", "n c", "b"),
             choice("b", "y", branch([node("Transpose", "x", "r", perm=[1, 0])], ["r"]), scaled(1.5))]
    check(make(nodes, {"x": (2, 4)}, ["y"], {"c": np.array(rank)}))


def test_branches_within_branches_read_all_outer_graphs() -> None:
    """Both levels use the same tensor names; each nested result passes through the outer branch."""
    inner = choice("b", "r", branch([node("Add", "x h", "q"), node("Mul", "q k", "r", "m")], ["r"], k=3),
                   scaled(9, "h"), "inner")
    outer = branch([node("Mul", "x k", "h"), node("Shape", "h", "s"), node("Size", "s", "n"), node("Equal", "n c", "b"),
                    inner, node("Neg", "r", "z")], ["z", "h"], k=2)
    both = branch([node("Neg", "x", "r"), node("Neg", "r", "h")], ["r", "h"])
    nodes = [choice("t", "y u", outer, both, "outer"), choice("t", "v", scaled(4, "y"), scaled(5), "other")]
    model = make(nodes, {"x": (2, 4)}, ["y", "u", "v"], {"t": np.array(True), "c": np.array(2)})
    check(model)
    names = [item.name for item in load_model(model).nodes]
    assert len(set(names)) == len(names)


def test_a_branch_may_decide_the_next() -> None:
    """The second condition is the shape of the first one's result."""
    nodes = [choice("t", "h", branch([node("Transpose", "x", "r", perm=[1, 0])], ["r"]), scaled(1), "first"),
             node("Shape", "h", "s"), node("Gather", "s zero", "g", axis=0), node("Equal", "g four", "b"),
             choice("b", "y", scaled(2, "h"), branch([node("Exp", "h", "r")], ["r"]), "second")]
    weights = {"t": np.array([True]), "zero": np.array(0), "four": np.array(4)}
    check(make(nodes, {"x": (2, 4)}, ["y"], weights))


def test_a_branch_may_return_an_outer_tensor() -> None:
    nodes = [node("Neg", "x", "h"), choice("t", "y", branch([], ["h"]), scaled(2))]
    model = make(nodes, {"x": (2, 4)}, ["y"], {"t": np.array(True)})
    with Session(compile_model(model)) as session:
        np.testing.assert_array_equal(session.run({"x": X})["y"], -X)


@pytest.mark.parametrize("shapes", ["same", "different"])
def test_a_branch_on_data_is_refused_by_name(shapes: str) -> None:
    other = scaled(2) if shapes == "same" else branch([node("Transpose", "x", "r", perm=[1, 0])], ["r"])
    nodes = [node("ReduceMax", "x", "m", keepdims=0), node("Greater", "m zero", "b"),
             choice("b", "h", scaled(1), other, "loud"), node("Neg", "h", "y")]
    with pytest.raises(UnsupportedError, match=r"loud \(If\): its condition b is computed from data.*set="):
        compile_model(make(nodes, {"x": (2, 4)}, ["y"], {"zero": np.array(0, np.float32)}))
