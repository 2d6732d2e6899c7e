"""Limits on model files: small files that require much are refused quickly and in little memory. The message names
the limit and the option that raises it; with it, the files compile."""

import itertools
import resource
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.compiler.models import make, node
from tigris_pio import compile_model
from tigris_pio.cli.options import compile_options
from tigris_pio.compiler.limits import NAMES, Limits, find_limits
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.errors import ModelError, TigrisError, UsageError
from tigris_pio.spelling import Caller, messages_for

X = {"x": (1, 4)}


def functions(count: int, calls: int, nodes: int = 1) -> onnx.ModelProto:
    """Functions F0, F1, … that each call the next one `calls` times; the last one contains ONNX nodes."""
    model = make([helper.make_node("F0", ["x"], ["y"], domain="d")], X, ["y"])
    model.opset_import.append(helper.make_opsetid("d", 1))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    for index in range(count):
        last = index == count - 1
        names = ["a", *(f"t{step}" for step in range(1, nodes if last else calls)), "b"]
        op, domain = ("Relu", "") if last else (f"F{index + 1}", "d")
        body = [helper.make_node(op, [first], [second], domain=domain)
                for first, second in itertools.pairwise(names)]  # fmt: skip
        model.functions.append(helper.make_function("d", f"F{index}", ["a"], ["b"], body, imports))
    return model


def chain(op: str, elements: int, count: int) -> onnx.ModelProto:
    """A large constant, and a chain of `count` constants computed from it."""
    names = [f"c{index}" for index in range(count + 1)]
    nodes = [node("ConstantOfShape", "shape", "c0", "filler")]
    nodes += [node(op, f"{first} {first}" if op == "Add" else first, second, f"step_{second}")
              for first, second in itertools.pairwise(names)]  # fmt: skip
    nodes += [node("ReduceMax", names[-1], "r", keepdims=0), node("Add", "x r", "y")]
    return make(nodes, X, ["y"], {"shape": np.array([elements])})


def pairs(elements: int, count: int) -> onnx.ModelProto:
    """`count` large constants that are all needed at the end."""
    nodes = [node("ConstantOfShape", "shape", "c", "filler")]
    nodes += [node("Add", f"c n{index}", f"d{index}", f"step{index}") for index in range(count)]
    nodes += [node("Sum", " ".join(f"d{index}" for index in range(count)), "s", "all"),
              node("ReduceMax", "s", "r", keepdims=0), node("Add", "x r", "y")]  # fmt: skip
    weights = {f"n{index}": np.array(index, np.float32) for index in range(count)}
    return make(nodes, X, ["y"], {"shape": np.array([elements]), **weights})


def scan(steps: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Add", ["s", "e"], ["n"]), helper.make_node("Relu", ["n"], ["o"])]
    ends = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names] for names in ("se", "no"))
    body = helper.make_graph(nodes, "body", *ends)
    loop = helper.make_node("Scan", ["init", "x"], ["last", "y"], "loop", body=body, num_scan_inputs=1)
    return make([loop], {"x": (steps, 2)}, ["y"], {"init": np.zeros(2, np.float32)})


def nested(depth: int) -> onnx.ModelProto:
    """Graphs nested in one of the two branches of an If; nested in both, the file would double at each level."""
    out = [helper.make_tensor_value_info("o", TensorProto.FLOAT, [1, 4])]
    leaf = graph = helper.make_graph([helper.make_node("Relu", ["x"], ["o"])], "leaf", [], out)
    for level in range(depth):
        step = helper.make_node("If", ["c"], ["o"], f"level{level}", then_branch=graph, else_branch=leaf)
        graph = helper.make_graph([step], "inner", [], out)
    item = helper.make_node("If", ["c"], ["y"], "outer", then_branch=graph, else_branch=leaf)
    return make([item], X, ["y"], {"c": np.array(True)})


@pytest.mark.parametrize(("model", "limit", "where"), [
    (functions(18, 2), "nodes", "functions inlined"),
    (functions(20, 1), "", ""), (functions(40, 1), "depth", "functions that call functions"),
    (chain("Cos", 1 << 28, 1), "elements", "node filler"),
    (pairs(1 << 24, 12), "constants", "node step"),
    (make([node("Expand", "w s", "e", "wide"), node("Add", "x e", "y")], {"x": (1, 1)}, ["y"],
          {"w": np.ones(1, np.float32), "s": np.array([1 << 14, 1 << 14])}), "elements", "node wide"),
    (make([node("Range", "a b c", "e", "long"), node("Add", "x e", "y")], {"x": (1, 1)}, ["y"],
          {"a": np.float32(0), "b": np.float32(3e8), "c": np.float32(1)}), "elements", "node long"),
    (make([node("Add", "x x", "y")], {"x": (1 << 28,)}, ["y"]), "elements", "graph input x"),
    (make([node("MatMul", "a b", "p", "outer"), node("MatMul", "x p", "y")], {"x": (1, 12000)}, ["y"],
          {"a": np.ones((12000, 1), np.float32), "b": np.ones((1, 12000), np.float32)}), "elements", "node outer"),
    (scan(2000), "unrolled", "node loop"), (nested(20), "depth", "node level"),
    (make([node("Relu", "x", "y", "n" * 1025)], X, ["y"]), "name", "nnnn"),
    (make([node("Relu", "x" * 2000, "y")], {"x" * 2000: (1, 4)}, ["y"]), "name", "input 0"),
    (make([node("Relu", "x", "y" * 5000)], X, ["y" * 5000]), "name", "output 0"),
])  # fmt: skip
def test_files_beyond_a_limit_are_refused(model, limit, where):
    assert model.ByteSize() < 100_000
    begin = time.process_time()
    if not limit:
        compile_model(model)
        return
    with pytest.raises(ModelError) as caught, messages_for(Caller.COMMAND):
        compile_model(model)
    text = str(caught.value)
    assert where in text and f"--limit {limit}=" in text and f"the limit is {getattr(Limits(), limit):,}" in text
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(("model", "limits"), [
    (functions(5, 2), {"nodes": 15}), (scan(6), {"unrolled": 23}), (pairs(1000, 3), {"constants": 15999}),
    (chain("Cos", 1000, 5), {"computed": 23999}),
    (make([node("Relu", "x", "y")], {"x": (5, 5)}, ["y"]), {"elements": 24}),
    (functions(3, 1), {"depth": 2}), (make([node("Relu", "x", "y", "n" * 20)], X, ["y"]), {"name": 19}),
])  # fmt: skip
def test_each_limit_is_exact_and_can_be_raised(model, limits):
    ((name, value),) = limits.items()
    with pytest.raises(ModelError, match=f"the limit is {value:,}, limits=.*{name}"):
        compile_model(model, limits=limits)
    compile_model(model, limits={name: value + 1000})


def test_peak_memory_of_a_small_file_is_below_a_gigabyte(tmp_path):
    """The largest accepted files, in separate processes."""
    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    models = {"chain": chain("Add", 1 << 25, 3), "alive": pairs(1 << 23, 6)}
    for name, model in models.items():
        onnx.save(model, tmp_path / f"{name}.onnx")
        code = (
            "import sys; from tests.peak import peak\n"
            "from tigris_pio import compile_model; from tigris_pio.errors import TigrisError\n"
            "try: compile_model(sys.argv[1])\nexcept TigrisError: pass\n"
            "print(peak())"
        )
        done = subprocess.run([sys.executable, "-c", code, tmp_path / f"{name}.onnx"], capture_output=True, text=True,
                              check=True, preexec_fn=limit_memory)  # fmt: skip
        assert int(done.stdout) < 1 << 30, name


@pytest.mark.parametrize(("cycle", "text"), [
    ([("F", "F")], "d.F -> d.F"), ([("F", "G"), ("G", "F")], "d.F -> d.G -> d.F"),
    ([("F", "G"), ("G", "G")], "d.G -> d.G"),
])  # fmt: skip
def test_recursive_functions(cycle, text):
    model = make([helper.make_node("F", ["x"], ["y"], domain="d")], X, ["y"])
    model.opset_import.append(helper.make_opsetid("d", 1))
    for name, callee in cycle:
        body = [helper.make_node(callee, ["a"], ["b"], domain="d")]
        model.functions.append(helper.make_function("d", name, ["a"], ["b"], body, [helper.make_opsetid("d", 1)]))
    with pytest.raises(ModelError, match=f"its function {text} calls itself"):
        compile_model(model)


@pytest.mark.parametrize("field", ["node", "input", "initializer", "graph", "attribute"])
def test_names_that_are_no_text(field, tmp_path):
    nodes = [node("Gemm", "xxxxxx wwwwww", "y", "nnnnnn", alpha=0.5)]
    model = make(nodes, {"xxxxxx": (1, 4)}, ["y"], {"wwwwww": np.ones((4, 2), np.float32)})
    model.graph.name = "gggggg"
    mark = {"node": b"nnnnnn", "graph": b"gggggg", "attribute": b"alpha"}.get(
        field, b"wwwwww" if field == "initializer" else b"xxxxxx"
    )
    data = model.SerializeToString()
    at = data.rfind(mark) if field == "input" else data.find(mark)
    assert at > 0
    path = tmp_path / "latin.onnx"
    path.write_bytes(data[:at] + b"\xff\xfe" + data[at + 2 :])
    with pytest.raises(ModelError, match="is no UTF-8 text"):
        compile_model(path)


@pytest.mark.parametrize(("given", "text"), [
    ({"node": 5}, "no such limit; did you mean nodes"), ({"nodes": 0}, "at least 1"),
    ({"zzz": 1}, "There are nodes, unrolled"), ({"nodes": True}, "whole number"), ({"nodes": "5"}, "whole number"),
])  # fmt: skip
def test_unknown_or_invalid_limits(given, text):
    with pytest.raises(UsageError, match=text):
        CompileOptions(limits=given)


def test_limits_of_the_command_line():
    options = compile_options("64K", None, (), limits=("nodes=5", "constants=512M"))
    assert (find_limits(options.limits).nodes, find_limits(options.limits).constants) == (5, 512 << 20)
    for text in ("nodes", "nodes=x", "=5"):
        with pytest.raises(UsageError):
            compile_options("64K", None, (), limits=(text,))
    assert len(NAMES) == 7


def test_element_types_that_do_not_exist():
    model = make([node("Relu", "x", "y")], X, ["y"])
    model.graph.input[0].type.tensor_type.elem_type = 99
    with pytest.raises(ModelError, match="input x has element type 99, which ONNX does not define"):
        compile_model(model)
    with pytest.raises(TigrisError, match="culprit"):
        compile_model(make([node("Cast", "x", "y", "culprit", to=99)], X, ["y"]))


def test_declared_shapes_that_differ_from_the_computed():
    nodes = [node("Shape", "x", "s"), node("Mul", "s two", "t"), node("Expand", "x t", "e", "wide"),
             node("Relu", "e", "y")]  # fmt: skip
    model = make(nodes, {"x": (1, 4)}, ["y"], {"two": np.array([2, 1])})
    compile_model(model)
    model.graph.value_info.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, [3, 4]))
    with pytest.raises(ModelError, match=r"node wide \(Expand\): e is declared as \[3, 4\], but is \[2, 4\]"):
        compile_model(model)
