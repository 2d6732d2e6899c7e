"""If and Loop: a branch takes its place, and a loop is unrolled, where that is known when compiling; else a refusal."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.compiler.models import make, node, nodes, ort
from tigris_pio import ModelError, Session, UnsupportedError, compile_model
from tigris_pio.compiler.load.model import load_model

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
    with pytest.raises(UnsupportedError, match=r"loud \(If\): its condition b depends on data.*set="):
        compile_model(make(nodes, {"x": (2, 4)}, ["y"], {"zero": np.array(0, np.float32)}))


# Loop: unrolled if its number of trips is known when compiling; a Loop on data is refused by name.

FOREVER = np.iinfo(np.int64).max


def body(text: str, states: str = "s", outputs: str = "s2", extra: Sequence[onnx.NodeProto] = (),
         **weights: object) -> onnx.GraphProto:
    """The body of a loop. `c2`: whether it runs again; `outputs`: the carried values, and the results of each trip."""
    inputs = [helper.make_tensor_value_info("i", T.INT64, []), helper.make_tensor_value_info("c", T.BOOL, [])]
    inputs += [helper.make_tensor_value_info(name, T.INT64 if name == "n" else T.FLOAT, None)
               for name in states.split()]
    results = [helper.make_tensor_value_info("c2", T.BOOL, [])]
    results += [helper.make_tensor_value_info(name, T.INT64 if name == "n2" else T.FLOAT, None)
                for name in outputs.split()]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    return helper.make_graph([*extra, *nodes(text)], "body", inputs, results, tensors)


@dataclasses.dataclass(frozen=True)
class Form:
    """A model with a loop on x."""

    body: onnx.GraphProto
    inputs: str = "three t x"
    outputs: str = "y"
    before: str = ""
    weights: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def model(self) -> onnx.ModelProto:
        loop = helper.make_node("Loop", ["" if name == "-" else name for name in self.inputs.split()],
                                self.outputs.split(), "loop", body=self.body)
        weights = {"three": 3, "t": True, "far": FOREVER, "k": np.float32(0.5), "zero": np.float32(0), **self.weights}
        parts = [*(nodes(self.before) if self.before else ()), loop]
        read = {name for part in parts for name in part.input}
        used = {name: np.array(value) for name, value in weights.items() if name in read or name == "k"}
        return make(parts, {"x": X.shape}, self.outputs.split(), used, types={"n2": T.INT64})


STEP = "Mul s k a; Add a x s2; "
FORMS = {
    "a constant count": Form(body(STEP + "Identity c c2")),
    "no condition": Form(body(STEP + "Identity c c2"), "three - x"),
    "each trip gives an output": Form(body(STEP + "Identity c c2; Neg s2 e", outputs="s2 e"), outputs="y e"),
    "the trip's number": Form(body("Gather rows i r; Mul s r s2; Identity c c2", rows=np.arange(3, dtype=np.float32))),
    "a count from a shape": Form(body(STEP + "Identity c c2"), "count t x",
                                 before="Shape x s; Gather s one count axis=0", weights={"one": 1}),
    "a condition of the trip's number": Form(body(STEP + "Less i last c2", last=2), "far t x"),
    "a counter of its own": Form(
        body(STEP + "Add n two n2; Less n2 end d; Not d e; Not e c2", "s n", "s2 n2", two=np.array(2), end=np.array(7)),
        "- t x three", "y n2"),
    "no trip": Form(body(STEP + "Identity c c2"), "none t x", weights={"none": 0}),
    "growing": Form(body("Concat s x s2 axis=0; Identity c c2")),
}
FORMS["within another"] = Form(body("Identity c c2", extra=[helper.make_node(
    "Loop", ["three", "c", "s"], ["s2"], "inner", body=body(STEP + "Identity c c2"))]))
FORMS["with a branch"] = Form(body("Identity c c2", extra=[
    *nodes("Equal i one b"), choice("b", "s2", branch(nodes("Neg s r"), ["r"]), branch(nodes("Add s x r"), ["r"]))],
    one=np.array(1)))


@pytest.mark.parametrize("name", FORMS)
def test_a_loop_is_unrolled(name: str) -> None:
    model = FORMS[name].model()
    check(model)
    assert "Loop" not in {item.op for item in load_model(model).nodes}


def test_all_trips_share_the_weights() -> None:
    weights = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
    graph = load_model(Form(body("MatMul s w s2; Identity c c2", w=weights)).model())
    read = [item.inputs[1] for item in graph.nodes if item.op == "MatMul"]
    assert len(read) == 3 and len(set(read)) == 1


@pytest.mark.parametrize(("form", "reason"), [
    (Form(body(STEP + "Identity c c2"), "count t x", before="ReduceMax x m keepdims=0; Cast m count to=7"),
     r"loop \(Loop\): its number of iterations depends on data.*set="),
    (Form(body(STEP + "ReduceMax s2 m keepdims=0; Less m k c2")), r"loop \(Loop\): its number of iterations"),
])  # fmt: skip
def test_a_loop_on_data_is_refused_by_name(form: Form, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        compile_model(form.model())


@pytest.mark.parametrize(("inputs", "reason"), [
    ("many t x", r"36 nodes unrolled; the limit is 30, .*unrolled"),
    ("far t x", r"more than 21 times; at most 10 trips are"), ("- t x", r"more than 21 times"),
])
def test_a_long_loop_names_the_limit(inputs: str, reason: str) -> None:
    form = Form(body(STEP + "Identity c c2"), inputs, weights={"many": 12})
    with pytest.raises(ModelError, match=rf"node loop \(Loop\): .*{reason}"):
        compile_model(form.model(), limits={"unrolled": 30})


def test_a_loop_without_a_body_names_the_file() -> None:
    model = FORMS["a constant count"].model()
    del model.graph.node[-1].attribute[:]
    with pytest.raises(ModelError, match=rf"^{model.graph.name}: node loop \(Loop\) has no graph as its body"):
        compile_model(model)
