"""Layers that exporters write as several nodes are one operator: a bias, LayerNormalization, a table's input."""

import math

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, kinds, noise
from tests.compiler.models import Quantiser, make, node, nodes, normal, program
from tigris_pio import compile_model
from tigris_pio.format.enums import DType, OpKind, UnaryFunction

RANDOM = np.random.default_rng(5)
Shape = tuple[int, ...]


def dense(relu: bool, swapped: bool, shape: Shape, form: str) -> onnx.ModelProto:
    """FULLY_CONNECTED as tf2onnx writes it; with `form` "Gemm", one operator with a bias."""
    q = Quantiser()
    source = q.pair("x", 0.03, -4)
    weight = q.constant("w", RANDOM.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    bias = q.constant("b", RANDOM.integers(-3000, 3000, 7).astype(np.int32), np.float32(0.03) * np.float32(0.004))
    if form == "Gemm":
        q.add(node("Gemm", f"{source} {weight} {bias}", "a", "layer"))
    else:
        q.add(node("MatMul", f"{source} {weight}", "m", "layer"))
        q.add(node("Add", f"{bias} m" if swapped else f"m {bias}", "a"))
    if relu:
        q.add(node("Relu", "a", "r"))
    q.add(node("Identity", q.pair("r" if relu else "a", 0.05, -20), "y"))
    return make(q.nodes, {"x": shape}, ["y"], q.weights)


@pytest.mark.parametrize(("relu", "swapped", "shape"), [
    (False, False, (1, 12)), (True, False, (5, 12)), (False, True, (5, 12)), (True, True, (1, 4, 12))])
def test_an_int8_layer_is_one_operator(relu: bool, swapped: bool, shape: Shape) -> None:
    state = RANDOM.bit_generator.state
    lowered = check(dense(relu, swapped, shape, "MatMul"), {"x": noise(*shape)}, rtol=0, atol=0.0501).plan.program
    assert [(op.kind, op.dtype) for op in lowered.ops] == [(OpKind.FULLY_CONNECTED, DType.INT8)]
    assert not lowered.warnings
    if len(shape) == 2:
        RANDOM.bit_generator.state = state
        gemm = program(dense(relu, swapped, shape, "Gemm"))
        for name in ("weights", "bias", "multiplier", "shift"):
            np.testing.assert_array_equal(lowered.ops[0].blobs[name], gemm.ops[0].blobs[name])
        assert lowered.ops[0].params == gemm.ops[0].params


@pytest.mark.parametrize(("shape", "weights", "bias"), [
    ((3, 6), (6, 4), (3, 1)),  # a number a row
    ((3, 6), (6, 4), (3, 4)), ((3, 6), (6, 4), (2, 3, 4)),
    ((2, 3, 6), (6,), (3,)),  # the last axis is none of output channels
    ((2, 3, 6), (2, 6, 4), (4,)),  # a matrix for each image
], ids=str)
def test_other_constants_stay(shape: Shape, weights: Shape, bias: Shape) -> None:
    model = make(nodes("MatMul x w m; Add m b y"), {"x": shape}, ["y"], {"w": noise(*weights), "b": noise(*bias)})
    assert OpKind.ADD in kinds(check(model, {"x": noise(*shape)}, rtol=1e-4))


@pytest.mark.parametrize(("text", "outputs"), [
    ("MatMul x w m; Add m b a; Mul m a y", "y"), ("MatMul x w m; Add m b y", "ym"),
    ("MatMul x w m; Relu m r; Add r b y", "y")])
def test_products_with_other_readers_stay(text: str, outputs: str) -> None:
    """The product has another reader, is an output of the model, or is clamped before the Add."""
    model = make(nodes(text), {"x": (2, 6)}, [*outputs], {"w": noise(6, 4), "b": noise(4)})
    assert OpKind.ADD in kinds(check(model, {"x": noise(2, 6)}, rtol=1e-4))


def test_a_quantisation_between_stays() -> None:
    q = Quantiser()
    weight = q.constant("w", RANDOM.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    q.add(node("MatMul", f"{q.pair('x', 0.03, -4)} {weight}", "m"))
    bias = q.constant("b", RANDOM.integers(-127, 128, 7).astype(np.int8), 0.01)
    q.add(node("Add", f"{q.pair('m', 0.1, 0)} {bias}", "a"), node("Identity", q.pair("a", 0.1, 3), "y"))
    lowered = program(make(q.nodes, {"x": (2, 12)}, ["y"], q.weights))
    assert [op.kind for op in lowered.ops] == [OpKind.FULLY_CONNECTED, OpKind.ADD]


TAILS = {
    "Add": "Add m b t", "Sub": "Sub m b t", "turned_Sub": "Sub b m t", "Mul": "Mul m b t", "Div": "Div m b t",
    "a_number": "Mul m n t", "Mul_and_Add": "Mul m b u; Add u c t", "Add_and_Mul": "Add m c u; Mul b u t",
    "two_Adds": "Add m b u; Add c u t", "BatchNormalization": "BatchNormalization m p c c p t",
}
NETS: dict[str, tuple[Shape, Shape, str, Shape]] = {  # input, weights, operator, and a channel's constant
    "Conv": ((1, 3, 5, 5), (4, 3, 3, 3), "Conv", (4, 1, 1)), "Conv_1d": ((1, 3, 9), (4, 3, 3), "Conv", (4, 1)),
    "depthwise": ((1, 4, 5, 5), (4, 1, 3, 3), "Conv", (4, 1, 1)), "MatMul": ((3, 6), (6, 4), "MatMul", (4,)),
    "ConvTranspose": ((1, 3, 5, 5), (3, 4, 2, 2), "ConvTranspose", (4, 1, 1)),
    "MatMul_3d": ((2, 3, 6), (6, 4), "MatMul", (1, 1, 4)), "Gemm": ((3, 6), (4, 6), "Gemm", (4,)),
    "Gemm_biased": ((3, 6), (4, 6), "Gemm", (4,)),
}


def layer_and_tail(net: str, tail: str, int8: bool) -> onnx.ModelProto:
    shape, weights, op, column = NETS[net]
    random = np.random.default_rng(3)
    q = Quantiser()
    attributes: dict[str, object] = {"group": 4} if net == "depthwise" else {"transB": 1} if op == "Gemm" else {}
    source, weight = "x", "w"
    q.weights = {"p": random.uniform(0.5, 2, 4).astype(np.float32), "n": np.array(-0.7, np.float32)}
    q.weights["b"] = (random.uniform(0.5, 2, 4) * [1, -1, 1, -1]).astype(np.float32).reshape(column)
    q.weights["c"] = random.standard_normal(4).astype(np.float32)
    if tail != "BatchNormalization":
        q.weights["c"] = q.weights["c"].reshape(column)
    values = random.integers(-127, 128, weights)
    if int8:
        source, weight = q.pair("x", 0.03, -4), q.constant("w", values.astype(np.int8), 0.004)
    else:
        q.weights["w"] = (values * 0.004).astype(np.float32)
    if net == "Gemm_biased":
        q.weights["a"] = random.standard_normal(4).astype(np.float32)
        weight += " a"
    q.add(node(op, f"{source} {weight}", "m", **attributes))
    q.add(*nodes(TAILS[tail]))
    q.add(node("Identity", q.pair("t", 0.05, -20) if int8 else "t", "y"))
    used = {name for item in q.nodes for name in item.input}
    return make(q.nodes, {"x": shape}, ["y"], {name: value for name, value in q.weights.items() if name in used})


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("net", NETS)
def test_arithmetic_with_constants_is_folded_into_its_layer(net: str, tail: str, int8: bool) -> None:
    """One operator remains, beside those that change the element order, with the model's results."""
    tail = "Mul_and_Add" if net.startswith("MatMul") and tail == "BatchNormalization" else tail
    tolerance = {"rtol": 0, "atol": 0.0501} if int8 else {"rtol": 1e-4}
    compiled = check(layer_and_tail(net, tail, int8), {"x": noise(*NETS[net][0])}, **tolerance, little=False)
    found = set(kinds(compiled)) - {OpKind.TRANSPOSE}
    assert len(found) == 1 and found <= {OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.TRANSPOSE_CONV,
                                         OpKind.FULLY_CONNECTED}
    assert {op.dtype for op in compiled.plan.program.ops} == {DType.INT8 if int8 else DType.FLOAT32}


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("shape", "to", "bias"), [
    ((6, 12), (2, 3, 7), (7,)), ((6, 12), (1, 6, 1, 7), (1, 7)), ((2, 3, 12), (6, 7), (7,)),
])
def test_a_reshape_may_stand_between(shape: Shape, to: Shape, bias: Shape, relu: bool) -> None:
    """Converters write layers over more than two axes so."""
    q = Quantiser()
    random = np.random.default_rng(4)
    weight = q.constant("w", random.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    q.weights |= {"b": random.standard_normal(bias).astype(np.float32), "to": np.array(to, np.int64)}
    q.add(node("MatMul", f"{q.pair('x', 0.03, -4)} {weight}", "m"), node("Reshape", "m to", "r"),
          node("Add", "r b", "a"))
    if relu:
        q.add(node("Relu", "a", "a2"))
    q.add(node("Identity", q.pair("a2" if relu else "a", 0.05, -20), "y"))
    compiled = check(make(q.nodes, {"x": shape}, ["y"], q.weights), {"x": noise(*shape)}, rtol=0, atol=0.0501)
    assert {op.dtype for op in compiled.plan.program.ops} == {DType.INT8}
    assert set(kinds(compiled)) - {OpKind.LOOKUP} == {OpKind.FULLY_CONNECTED}


def test_arithmetic_that_cannot_be_folded_stays() -> None:
    """Integer weights that cannot be negated; a factor of zero; weights with other readers."""
    for factor, low, shared in ((-1.5, -128, False), (0.0, -127, False), (2.0, -127, True)):
        q = Quantiser()
        values = np.full((6, 4), low, np.int8)
        weight, source = q.constant("w", values, 0.01), q.pair("x", 0.03, 0)
        q.weights["f"] = np.full(4, factor, np.float32)
        q.add(node("MatMul", f"{source} {weight}", "m"), node("Mul", "m f", "t"))
        if shared:
            q.add(node("MatMul", f"{source} {weight}", "m2"), node("Add", "t m2", "t2"))
        q.add(node("Identity", q.pair("t2" if shared else "t", 0.05, 0), "y"))
        compiled = check(make(q.nodes, {"x": (2, 6)}, ["y"], q.weights), {"x": noise(2, 6)}, rtol=0, atol=0.0501)
        assert sum(kind not in (OpKind.QUANTIZE, OpKind.DEQUANTIZE) for kind in kinds(compiled)) > 1


# Layer normalisation that exporters split becomes one operator, in int8 if its input and output are int8.

SHAPE = (1, 6, 16)


def taken_apart(square: str = "Pow", ends: str = "factor offset", int8: bool = True, between: bool = False,
                axes: tuple[int, ...] = (-1,), twice: bool = False) -> onnx.ModelProto:
    q = Quantiser()
    q.weights |= {"two": np.array(2.0, np.float32), "epsilon": np.array([1e-5], np.float32),
                  "factor": RANDOM.uniform(-1, 2, SHAPE[-1]).astype(np.float32),
                  "offset": RANDOM.uniform(-1, 1, SHAPE[-1]).astype(np.float32)}
    source = q.pair("x", 0.05, 3) if int8 else "x"
    q.add(node("ReduceMean", source, "m", axes=list(axes)), node("Sub", f"{source} m", "d"))
    again = "d"
    if twice:
        q.add(node("Sub", f"{source} m", "d2"))
        again = "d2"
    q.add(node("Pow", f"{again} two", "p") if square == "Pow" else node("Mul", f"{again} {again}", "p"))
    power = q.pair("p", 0.1, -128) if between else "p"
    q.add(node("ReduceMean", power, "v", axes=list(axes)), node("Add", "epsilon v", "a"), node("Sqrt", "a", "s"))
    q.add(node("Div", "d s", "z"))
    last = "z"
    for name, op in (("factor", "Mul"), ("offset", "Add")):
        if name in ends:
            q.add(node(op, f"{name} {last}", f"with_{name}"))
            last = f"with_{name}"
    q.add(node("Identity", q.pair(last, 0.03, -9) if int8 else last, "y"))
    used = {name for item in q.nodes for name in item.input}
    return make(q.nodes, {"x": SHAPE}, ["y"], {name: v for name, v in q.weights.items() if name in used}, opset=13)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("arguments", [
    {}, {"square": "Mul"}, {"ends": "factor"}, {"ends": ""}, {"twice": True}, {"axes": (1, 2), "ends": ""},
], ids=str)
def test_layer_normalisation_is_fused(arguments: dict[str, object], int8: bool) -> None:
    model = taken_apart(int8=int8, **arguments)  # type: ignore[arg-type]
    assert [item.op for item in normal(model).nodes if item.op != "Identity"] == ["LayerNormalization"]
    x = (RANDOM.standard_normal(SHAPE) * 2).astype(np.float32)
    compiled = check(model, {"x": x}, rtol=0, atol=0.03001 if int8 else 1e-5)
    assert not int8 or set(kinds(compiled)) - {OpKind.TRANSPOSE} == {OpKind.NORMALISE}


@pytest.mark.parametrize("arguments", [{"between": True}, {"axes": (1,), "ends": ""}], ids=str)
def test_other_patterns_stay(arguments: dict[str, object]) -> None:
    """Quantised squares; axes that are not the last."""
    ops = [item.op for item in normal(taken_apart(**arguments)).nodes]  # type: ignore[arg-type]
    assert "LayerNormalization" not in ops and "Div" in ops


# Functions of one tensor in several nodes become one node with the same results.

X = np.linspace(-6, 6, 96, dtype=np.float32).reshape(1, 12, 8)
NUMBERS = {"root": np.float32(math.sqrt(2)), "inverse": np.float32(math.sqrt(0.5)), "one": np.float32(1),
           "half": np.float32(0.5), "three": np.float32(3), "zero": np.float32(0), "six": np.float32(6),
           "cube": np.float32(0.044715), "factor": np.float32(math.sqrt(2 / math.pi))}
FORMS = {
    "torch": "Div x root a; Erf a b; Add b one c; Mul x c d; Mul d half y",
    "half first": "Mul x inverse a; Erf a b; Add one b c; Mul x half d; Mul d c y",
    "tanh": "Mul x x a; Mul a x b; Mul b cube c; Add x c d; Mul d factor e; Tanh e f; Add f one g; Mul x half h; "
            "Mul h g y",
    "hard": "Add x three a; Clip a zero six b; Mul x b c; Div c six y",
}
FUNCTION = {"torch": UnaryFunction.GELU, "half first": UnaryFunction.GELU, "tanh": UnaryFunction.GELU_TANH,
            "hard": UnaryFunction.HARD_SWISH}


def floats(text: str, outputs: str = "y", given: str = "x") -> onnx.ModelProto:
    return make(nodes(text), {given: X.shape}, [*outputs], NUMBERS)


@pytest.mark.parametrize("form", FORMS)
def test_float(form: str) -> None:
    """The function's argument is an input, then a computed tensor."""
    (op,) = check(floats(FORMS[form]), {"x": X}).plan.program.ops
    assert op.params.function == FUNCTION[form]
    assert len(kinds(check(floats(f"Sub z three x; {FORMS[form]}", given="z"), {"z": X}))) == 2


def test_other_functions_stay() -> None:
    assert len(kinds(check(floats(FORMS["torch"].replace("one", "half")), {"x": X}))) == 5


def test_results_with_other_readers_are_computed_too() -> None:
    check(floats(FORMS["torch"], "yb"), {"x": X})


#: Functions between int8 tensors; the first has ties at every second integer.
CHAINS = {
    "one function": "Abs x y", "a constant": "Sub one x y", "one number in a tensor": "Mul x halves y",
    "a step": "Sin x a; Floor a y", "three": "Add x seven a; Sqrt a b; Reciprocal b y",
    "by a condition": "Greater x zero a; Where a x half y", "by an integer": "Cast x a to=6; Cast a b to=1; Mul b x y",
    "long": "Neg x a; Exp a b; Cos b c; Mul c three d; Ceil d e; Tanh e f; Add f one g; Softplus g h; Pow h three i; "
            "Erf i j; Sign j k; Sub k x y", "beyond": "Log x y", "a range": "Clip x zero six y",
    "two": "Sigmoid x a; Mul a x y",
}
MORE = {"halves": np.full(X.shape, 0.5, np.float32), "seven": np.float32(7)}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_between_int8_has_the_references_bytes(chain: str) -> None:
    q = Quantiser()
    q.add(node("Identity", q.pair("given", 0.0625, 0), "x"), *nodes(CHAINS[chain]))
    q.add(node("Identity", q.pair("y", 0.125, -7), "z"))
    model = make(q.nodes, {"given": X.shape}, ["z"], q.weights | NUMBERS | MORE)
    compiled = check(model, {"given": X}, rtol=0, atol=1e-6)
    assert kinds(compiled) == [OpKind.LOOKUP]


def gelu_int8(read_inside: bool = False) -> onnx.ModelProto:
    """GELU by quantize_static, which does not quantise between Div and Erf."""
    q = Quantiser()
    x = q.pair("x", 0.05, -3)
    q.weights |= NUMBERS
    q.add(node("Div", f"{x} root", "a"), node("Erf", "a", "b"))
    q.add(node("Add", f"{q.pair('b', 1 / 127, 0)} one", "c"))
    inside = q.pair("c", 2 / 255, -128)
    q.add(node("Mul", f"{x} {inside}", "d"))
    q.add(node("Mul", f"{q.pair('d', 0.047, -120)} half", "e"))
    q.add(node("Identity", q.pair("e", 0.0235, -120), "y"))
    outputs = ["y"]
    if read_inside:
        q.add(node("Identity", inside, "inside"))
        outputs.append("inside")
    return make(q.nodes, {"x": X.shape}, outputs, q.weights)


def test_int8_is_a_table_with_the_models_own_bytes() -> None:
    compiled = check(gelu_int8(), {"x": X}, rtol=0, atol=1e-6)
    assert kinds(compiled).count(OpKind.LOOKUP) == 1
    assert {op.dtype.name for op in compiled.plan.program.ops if op.kind is not OpKind.QUANTIZE} == {"INT8"}
    assert not {OpKind.UNARY, OpKind.MUL, OpKind.ADD} & set(kinds(compiled))


def test_int8_with_a_reader_in_between() -> None:
    """The tensor with another reader is a separate table, and the nodes behind it stay."""
    assert OpKind.UNARY not in kinds(check(gelu_int8(read_inside=True), {"x": X}, rtol=0, atol=0.0236))


def test_nodes_of_int8_alone_stay() -> None:
    """Sigmoid and Add each have TensorFlow Lite's arithmetic."""
    q = Quantiser()
    x = q.pair("x", 0.05, -3)
    q.add(node("Sigmoid", x, "a"), node("Add", f"{x} {q.pair('a', 1 / 256, -128)}", "b"))
    q.add(node("Identity", q.pair("b", 0.05, -120), "y"))
    found = kinds(compile_model(make(q.nodes, {"x": X.shape}, ["y"], q.weights)))
    assert found.count(OpKind.LOOKUP) == found.count(OpKind.ADD) == 1
