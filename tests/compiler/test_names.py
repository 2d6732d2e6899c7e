"""The compiler's names never collide with a model's: renaming the model's tensors to them changes nothing."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.compiler.models import Quantiser, make, node, nodes, ort
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.verify import BrokenProgram, check_program


def constants() -> onnx.ModelProto:
    """A constant with three readers, and sums of three."""
    values = np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)
    return make(nodes("Add x n a; Mul a n b; Sum b n x c; Sub c a d; Sigmoid d e; Add e d y"), {"x": (1, 8)}, ["y"],
                {"n": values})


def scan() -> onnx.ModelProto:
    """A loop whose body has constants and tensors with the names of outer ones."""
    body = helper.make_graph(
        nodes("Add s v a; Mul a n b; Identity b out"), "body",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4)) for name in ("s", "v")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4)) for name in ("b", "out")],
        [onnx.numpy_helper.from_array(np.full((1, 4), 0.5, np.float32), "n")])
    loop = node("Scan", "start x", "last all", "loop", body=body, num_scan_inputs=1)
    return make([*nodes("Relu x0 x; Tanh x1 start"), loop, *nodes("Neg last l; Neg all r; Abs l y; Abs r z")],
                {"x0": (3, 1, 4), "x1": (1, 4)}, ["y", "z"])


def branch() -> onnx.ModelProto:
    """An If whose condition is known."""
    bodies = {f"{name}_branch": helper.make_graph(nodes(f"Add a n b; {op} b out"), name, [], [
        helper.make_tensor_value_info("out", TensorProto.FLOAT, (1, 4))], [
        onnx.numpy_helper.from_array(np.ones((1, 4), np.float32), "n")])
        for name, op in (("then", "Tanh"), ("else", "Neg"))}  # fmt: skip
    return make([*nodes("Relu x a"), node("If", "flag", "c", "choice", **bodies), *nodes("Sub c a d; Abs d y")],
                {"x": (1, 4)}, ["y"], {"flag": np.array(True)})


def quantised() -> onnx.ModelProto:
    """onnxruntime's operators with scales, which become several nodes, and a table."""
    weights = {"s": np.float32(0.1), "z": np.uint8(7), "w": np.arange(32).reshape(4, 8).astype(np.uint8)}
    made = [node("QuantizeLinear", "x s z", "q"), node("QLinearMatMul", "q s z w s z s z", "m"),
            helper.make_node("QLinearAdd", ["m", "s", "z", "m", "s", "z", "s", "z"], ["a"], domain="com.microsoft"),
            node("DequantizeLinear", "a s z", "d"), *nodes("Mul d d e; Neg e y")]
    return make(made, {"x": (2, 4)}, ["y"], weights)


def recurrent() -> onnx.ModelProto:
    """A recurrent layer, and a product that is computed by rows."""
    shapes = {"w": (1, 16, 3), "r": (1, 16, 4), "f": (20, 2)}
    generator = np.random.default_rng(3)
    weights = {name: generator.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    made = [node("LSTM", "a w r", "h - last", hidden_size=4),
            *nodes("Neg h g; Abs last l; Reshape g p k; MatMul k f u; ReduceMean l y axes=[0]; Tanh u z")]
    return make([*nodes("Relu x a"), *made], {"x": (5, 1, 3)}, ["y", "z"], {**weights, "p": np.array([1, 20])})


def signal() -> onnx.ModelProto:
    """A network over a signal, for runs on overlapping windows."""
    quantiser = Quantiser()
    first = quantiser.pair("x", 0.05, -3)
    weights = quantiser.constant("w", np.arange(-9, 9).reshape(2, 1, 3, 3).astype(np.int8), 0.01)
    quantiser.add(node("Conv", f"{first} {weights}", "a", pads=[1, 1, 1, 1]))
    second = quantiser.pair("a", 0.04, 5)
    quantiser.add(node("MaxPool", second, "b", kernel_shape=[3, 1]), *nodes("GlobalAveragePool b y"))
    return make(quantiser.nodes, {"x": (1, 1, 12, 6)}, ["y"], quantiser.weights)


def renamed(model: onnx.ModelProto, names: Mapping[str, str]) -> onnx.ModelProto:
    """The model with tensors of its main graph renamed, also within bodies."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graphs: list[tuple[onnx.GraphProto, Mapping[str, str]]] = [(changed.graph, names)]
    while graphs:
        graph, new = graphs.pop()
        for item in graph.node:
            item.input[:] = [new.get(name, name) for name in item.input]
            item.output[:] = [new.get(name, name) for name in item.output]
            for body in (attribute.g for attribute in item.attribute if attribute.HasField("g")):
                own = {name for part in body.node for name in part.output}
                own |= {part.name for part in (*body.input, *body.initializer)}
                graphs.append((body, {old: name for old, name in new.items() if old not in own}))
        for tensor in graph.initializer:
            tensor.name = new.get(tensor.name, tensor.name)
    return changed


def made_names(program: Program, model: onnx.ModelProto) -> list[str]:
    """The names of a program that the model does not have."""
    own = {name for item in model.graph.node for name in (*item.input, *item.output)}
    return sorted({*program.tensors, *(op.name for op in program.ops)} - own)


@pytest.mark.parametrize(("build", "options"), [
    (constants, {}), (scan, {}), (branch, {}), (quantised, {}), (recurrent, {"fast": 1024}), (signal, {}),
    (signal, {"hop": 2}), (signal, {"stream": ["x", "y"]}),
], ids=lambda value: getattr(value, "__name__", " ".join(value) if isinstance(value, dict) else ""))  # fmt: skip
def test_a_model_may_have_every_name_that_the_compiler_makes(build: Any, options: dict[str, Any]) -> None:
    model = build()
    generator = np.random.default_rng(0)
    feed = {item.name: generator.normal(size=[size.dim_value for size in item.type.tensor_type.shape.dim]).astype("f")
            for item in model.graph.input}  # fmt: skip
    wanted = ort(model, feed)
    ports = {item.name for item in (*model.graph.input, *model.graph.output)}
    own = [name for item in model.graph.node for name in item.output if name not in ports]
    own += [item.name for item in model.graph.initializer]
    for _ in range(3):  # a renamed model gets other names, which are tried in the next round
        compiled = compile_model(model, **options)
        if not options or "fast" in options:
            got = Session(compiled).run(feed)
            for name, values in wanted.items():
                np.testing.assert_allclose(got[name], values, rtol=1e-5, atol=1e-5)
        kinds = [op.kind for op in compiled.plan.program.ops]
        names = made_names(compiled.plan.program, model)
        model = renamed(model, dict(zip(own, generator.permutation(names), strict=False)))
        own = [name for item in model.graph.node for name in item.output if name not in ports]
        own += [item.name for item in model.graph.initializer]
        assert [op.kind for op in compile_model(model, **options).plan.program.ops] == kinds


@pytest.mark.thorough
def test_columns_and_folded_products_have_unique_names() -> None:
    model = onnx.load(OWN / "vww_int8.onnx")
    first = compile_model(model, fast="28K", slow="1M")
    names = made_names(first.plan.program, model)
    inner = [item.output[0] for item in model.graph.node[:-2]]
    second = compile_model(renamed(model, dict(zip(inner, names, strict=False))), fast="28K", slow="1M")
    assert [op.kind for op in second.plan.program.ops] == [op.kind for op in first.plan.program.ops]


def test_names_are_unique() -> None:
    names = Names(["a", "a_1", "b_2"])
    assert [names.fresh(base) for base in ("a", "a", "b", "b", "b", "")] == ["a_2", "a_3", "b", "b_1", "b_3", "_1"]


def test_a_name_declared_twice_or_never_is_the_compilers_fault() -> None:
    program = compile_model(constants()).plan.program
    first, second, *_ = program.ops
    for ops in ((first, first), (second,)):
        with pytest.raises(BrokenProgram, match=r"defined (already|by nothing)"):
            check_program(dataclasses.replace(program, ops=ops))
