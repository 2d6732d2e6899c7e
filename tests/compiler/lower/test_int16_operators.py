"""Operators between int16 tensors, and between int16 and int8: within a step of onnxruntime, by the right kernels."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.compiler.lower.compare import Shape, check, noise, outputs
from tests.compiler.models import Quantiser, make, node
from tests.harness.tiers import chosen
from tigris_pio import compile_model
from tigris_pio.compiler.normalise.quantisation import symmetric_scale
from tigris_pio.errors import TigrisError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(16)
#: Step and zero point of numbers around -4 to 4, by element type.
NUMBERS: Mapping[str, tuple[float, int]] = {
    "int8": (0.035, 7), "uint8": (0.035, 120), "int16": (1.4e-4, 0), "uint16": (1.4e-4, 1 << 15),
}
MIXED = (("int16", "int16"), ("uint16", "int16"), ("int8", "int16"), ("int16", "int8"), ("uint16", "uint8"))


class Model(Quantiser):
    """A model under construction. `domain`: the domain of QuantizeLinear and DequantizeLinear nodes of activations."""

    def __init__(self, domain: str = "") -> None:
        super().__init__()
        self.domain = domain

    def rounded(self, name: str, dtype: str, scale: float | None = None, zero: int | None = None) -> str:
        """A tensor rounded to a type; returns the dequantised name."""
        step, middle = NUMBERS[dtype]
        self.weights |= {f"{name}_s": np.float32(scale or step),
                         f"{name}_z": np.array(middle if zero is None else zero, dtype)}
        for op, one, two in (("QuantizeLinear", name, f"{name}_q"), ("DequantizeLinear", f"{name}_q", f"{name}_dq")):
            self.add(node(op, f"{one} {name}_s {name}_z", two, domain=self.domain))
        return f"{name}_dq"

    def then(self, op: str, inputs: str, output: str, **attributes: object) -> str:
        """A node of one output."""
        self.add(node(op, inputs, output, **attributes))
        return output

    def check(self, shapes: Mapping[str, Shape], output: str, scale: float, steps: float = 1.0,
              floats: Sequence[OpKind] = ()) -> list[OpKind]:
        """Compares with onnxruntime; the operators of the plan, of which only `floats` may compute in float32."""
        self.then("Identity", output, "y")
        model = make(self.nodes, shapes, ["y"], self.weights, 17 if self.domain else 21)
        model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
        inputs = {name: noise(*shape) * np.float32(1.5) for name, shape in shapes.items()}
        compiled = check(model, inputs, rtol=0, atol=(steps + 1e-2) * scale, little=chosen() != "fast")
        ops = compiled.plan.program.ops
        assert {op.kind for op in ops if op.dtype is DType.FLOAT32} <= set(floats)
        return [op.kind for op in ops]


def layer(model: Model, op: str, source: str, weights: Shape, scale: float, **attributes: object) -> str:
    """A layer with int8 weights and a bias of int32; `scale` is its input's."""
    count = weights[1] if op == "ConvTranspose" else weights[0]
    scales = np.full((), 0.004) if op == "ConvTranspose" else np.linspace(0.002, 0.006, count)
    weight = model.constant("w", RANDOM.integers(-127, 128, weights).astype(np.int8), scales)
    bias = model.constant("b", RANDOM.integers(-3000, 3000, count).astype(np.int32),
                          np.broadcast_to(scale * scales, (count,)))
    return model.then(op, f"{source} {weight} {bias}", "l", **attributes)


#: Each with two pairs of element types in turn.
LAYERS = [(*layer, *MIXED[(index + turn) % len(MIXED)], ("", "com.microsoft")[(index + turn) % 2])
          for index, layer in enumerate((
    ("Conv", (1, 3, 8, 7), (6, 3, 3, 3), {"pads": [0, 1, 2, 1], "strides": [2, 1]}),
    ("Conv", (1, 6, 8, 7), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    ("Conv", (1, 40, 5, 5), (4, 40, 5, 5), {}),
    ("Conv", (1, 4, 16), (8, 2, 5), {"pads": [2, 2], "group": 2}),
    ("ConvTranspose", (1, 4, 5, 6), (4, 3, 3, 3), {"strides": [2, 2]}),
    ("Gemm", (3, 12), (5, 12), {"transB": 1}),
)) for turn in (0, 3)]


@pytest.mark.parametrize(("op", "shape", "weights", "attributes", "source", "result", "domain"), LAYERS)
def test_layers(op: str, shape: Shape, weights: Shape, attributes: Mapping[str, object], source: str, result: str,
                domain: str) -> None:
    model = Model(domain)
    last = layer(model, op, model.rounded("x", source), weights, NUMBERS[source][0], **attributes)
    last = model.then("Relu", last, "r")
    scale = NUMBERS[result][0] * 4
    kinds = model.check({"x": shape}, model.rounded(last, result, scale), scale)
    assert kinds.count(OpKind.RESCALE) == ("8" in source) + ("8" in result) and len(kinds) <= 3


IMAGE = (1, 3, 16, 15)
#: The operator, shapes of its inputs, attributes, how much larger its results are, steps, and a kind in the plan.
OPERATORS: list[tuple[str, Sequence[Shape], Mapping[str, object], float, float, OpKind | None]] = [
    *((op, [(1, 3, 4, 5), (1, 3, 1, 1)], {}, 3, 1, OpKind.EXTREME if op in ("Max", "Min") else OpKind[op.upper()])
      for op in ("Add", "Sub", "Mul", "Max", "Min")),
    # The logistic function and tanh of TensorFlow Lite's table are up to two steps off.
    *((op, [IMAGE], {}, 1, 1.5, None) for op in ("Relu", "Abs", "Neg", "Sigmoid", "Tanh", "Elu", "Gelu", "HardSwish",
                                                 "Softplus", "Sin", "Erf", "HardSigmoid")),
    ("LeakyRelu", [IMAGE], {"alpha": 0.2}, 1, 1.5, None),
    *((op, [(1, 5, 7, 6)], attributes, 1, 1, None) for op, attributes in (
        ("AveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
        ("MaxPool", {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1]}), ("GlobalAveragePool", {}), ("GlobalMaxPool", {}))),
    *((op, [(2, 3, 4, 5)], {"keepdims": 0}, 2, 1, OpKind.REDUCE) for op in ("ReduceMean", "ReduceSum", "ReduceMax",
                                                                            "ReduceMin")),
    ("MatMul", [(2, 3, 4, 9), (1, 3, 9, 6)], {}, 8, 1, OpKind.MAT_MUL),
]


@pytest.mark.parametrize("number", range(len(OPERATORS)), ids=lambda number: OPERATORS[number][0])
def test_operators(number: int) -> None:
    """Each operator is tested with two pairs of element types."""
    op, shapes, attributes, factor, steps, kind = OPERATORS[number]
    for source, result in (MIXED[number % len(MIXED)], MIXED[(number + 2) % len(MIXED)]):
        model = Model()
        model.weights |= {"axes": np.array([1, 3])} if op.startswith("Reduce") else {}
        inputs = [model.rounded(name, source if name == "a" else "int16") for name in "ab"[: len(shapes)]]
        scale = NUMBERS[result][0] * factor
        out = model.rounded(model.then(op, " ".join([*inputs, *model.weights.keys() & {"axes"}]), "r", **attributes),
                         result, scale)
        kinds = model.check(dict(zip("ab", shapes, strict=False)), out, scale, steps)
        assert kind is None or kind in kinds


@pytest.mark.parametrize(("source", "result"), MIXED)
def test_softmax(source: str, result: str) -> None:
    """TensorFlow Lite's tables miss the exponential by a few steps of 2^-15."""
    model = Model()
    scale = 1 / 256 if result.endswith("int8") else 1 / 32768
    out = model.rounded(model.then("Softmax", model.rounded("x", source), "s", axis=-1), result, scale)
    assert OpKind.SOFTMAX in model.check({"x": (3, 17)}, out, scale, 1 if scale > 1e-4 else 8)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_constant_of_its_own_type(dtype: str) -> None:
    model = Model()
    values = RANDOM.integers(-120, 121, (1, 3, 1, 1)).astype(dtype)
    inputs = f"{model.rounded('x', 'int16')} {model.constant('k', values, 0.02)}"
    out = model.rounded(model.then("Add", inputs, "s"), "int16", 3e-4)
    assert OpKind.ADD in model.check({"x": (1, 3, 4, 5)}, out, 3e-4)


@pytest.mark.parametrize("op", ["Sqrt", "Log", "Reciprocal"])
def test_functions_too_steep_for_straight_lines_run_in_float(op: str) -> None:
    model = Model()
    model.then("Abs", model.rounded("x", "int16"), "a")
    model.weights["one"] = np.float32(0.001)
    raised = model.rounded(model.then("Max", f"{model.rounded('a', 'int16')} one", "m"), "int16")
    out = model.rounded(model.then(op, raised, "f"), "int16")
    kinds = model.check({"x": (1, 3, 16, 15)}, out, NUMBERS["int16"][0], 1.0, (OpKind.UNARY, OpKind.BINARY))
    assert OpKind.UNARY in kinds


def test_moves_of_integers_are_exact() -> None:
    """All that moves elements, one after the other, between an int16 input and output of the graph."""
    constants = {"sizes": np.array([2, 4]), "pads": np.array([0, 0, 1, 0, 0, 2, 0, 0]), "ends": np.array([5]),
                 "begins": np.array([1]), "axes": np.array([2]), "shape": np.array([1, 5, 6, 4]),
                 "zero": np.array(0, np.int16)}
    nodes = [node("Transpose", "x", "a", perm=[0, 2, 3, 1]), node("Split", "a sizes", "b c", axis=3),
             node("Concat", "c b", "d", axis=3), node("Pad", "d pads zero", "e"),
             node("Slice", "e begins ends axes", "f"), node("Reshape", "f shape", "y")]
    kinds = {"x": onnx.TensorProto.INT16, "y": onnx.TensorProto.INT16}
    data = make(nodes, {"x": (1, 6, 3, 4)}, ["y"], constants, 21, kinds)
    x = RANDOM.integers(-32768, 32768, (1, 6, 3, 4)).astype(np.int16)
    got = outputs(compile_model(data), {"x": x})["y"]
    expected = ReferenceEvaluator(data).run(None, {"x": x})[0]  # onnxruntime pads no int16
    assert got.dtype == np.int16 and np.array_equal(got, expected)


def ends(one: str, two: str) -> onnx.ModelProto:
    model = Model()
    for name, dtype in (("x", one), ("y", two)):
        step, zero = NUMBERS[dtype]
        model.weights |= {f"{name}s": np.float32(step), f"{name}z": np.array(zero, dtype)}
    model.add(node("DequantizeLinear", "x xs xz", "d"), node("Relu", "d", "r"), node("QuantizeLinear", "r ys yz", "y"))
    kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for name, kind in (("x", one), ("y", two))}
    return make(model.nodes, {"x": (3, 40)}, ["y"], model.weights, 21, kinds)


@pytest.mark.parametrize("two", ["int8", "uint8", "int16"])
def test_integers_at_the_ends(two: str) -> None:
    """An input of integers that a DequantizeLinear gives a scale, and the output of a QuantizeLinear."""
    check(ends("int16", two), {"x": RANDOM.integers(-32768, 32767, (3, 40)).astype(np.int16)}, rtol=0, atol=1)


def test_an_input_of_uint16_is_refused() -> None:
    with pytest.raises(TigrisError, match="uint16"):
        compile_model(ends("uint16", "int16"))


@pytest.mark.parametrize(("op", "shape", "weights", "attributes"), [
    ("Gemm", (2, 12), (5, 12), {"transB": 1}), ("Conv", (1, 3, 6, 6), (4, 3, 3, 3), {"pads": [1] * 4}),
])  # fmt: skip
@pytest.mark.parametrize(("before", "after"), [(-9000, 5000), (32767, -32768), (37, 0)])
def test_activations_of_int16_may_have_zero_points(op: str, shape: Shape, weights: Shape, attributes: dict[str, object],
                                                   before: int, after: int) -> None:  # fmt: skip
    """As onnxruntime quantises by default: computed in integers, padding and all."""
    model = Model()
    last = layer(model, op, model.rounded("x", "int16", 2e-4, before), weights, 2e-4, **attributes)
    model.check({"x": shape}, model.rounded(last, "int16", 9e-4, after), 9e-4, 3.0)


def test_a_mask_of_the_lowest_number_may_have_a_zero_point() -> None:
    """Its scale times the integers that it is moved by leaves float32."""
    scale = np.float32(np.finfo(np.float32).max / 65535)
    assert symmetric_scale(scale, 32767) == pytest.approx(scale * np.float32(65535 / 32767), rel=1e-6)
