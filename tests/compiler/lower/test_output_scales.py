"""int8 operators whose output has another scale than their input: at most one step of the output from the exact value
rounded, however much finer or coarser that step is.
"""

import dataclasses
import itertools
from collections.abc import Mapping

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import Constant, Shape, ints, outputs, quantised
from tests.compiler.models import Quantiser, make, node, ort
from tests.harness.tiers import examples
from tigris_pio import UnsupportedError, compile_model
from tigris_pio.format.enums import DType

RANDOM = np.random.default_rng(67)
SCALE = 0.05
#: The output's step as a multiple of the input's.
FACTORS = (0.1, 1.0, 4.3)
ZEROS = ((-37, 21), (-128, 127), (127, -128))


@dataclasses.dataclass(frozen=True)
class Case:
    """An operator with one quantised input x, or a second one z of another scale; w: the shape of int8 weights."""

    op: str
    inputs: str
    attributes: Mapping[str, object]
    shape: Shape
    size: float  #: how much larger its results are than its input
    constants: Mapping[str, Shape | np.ndarray | float]


def case(op: str, inputs: str = "x", attributes: Mapping[str, object] | None = None, shape: Shape = (1, 4, 6, 6),
         size: float = 1.0, **constants: Shape | np.ndarray | float) -> Case:
    return Case(op, inputs, attributes or {}, shape, size, constants)


def reals(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


WINDOW = {"kernel_shape": [3, 3], "strides": [2, 2]}
PADS = ints(0, 0, 1, 1, 0, 0, 0, 2)
NORMAL = {"g": reals(0.5, 1, 2, -1), "h": reals(0, 0.1, 1, -1)}
SOFTMAX, LINEAR, CUBIC = case("Softmax", shape=(3, 12), size=0.08), *(
    case("Resize", "x - s", {"mode": mode}, s=reals(1, 1, 2, 1.5)) for mode in ("linear", "cubic"))
#: Operators that run in int8 at all scales.
CASES = [
    *map(case, ("Relu", "Abs", "Neg", "HardSwish", "HardSigmoid", "Softplus", "Exp", "Elu", "Selu", "Erf", "Softsign",
                "GlobalMaxPool")),
    case("LeakyRelu", attributes={"alpha": 0.3}), case("Celu", attributes={"alpha": 2.0}), case("Tanh", size=0.2),
    case("Sigmoid", size=0.2), case("Clip", "x lo hi", lo=-1.03, hi=2.77),
    case("MaxPool", "x", WINDOW), case("AveragePool", "x", WINDOW), case("GlobalAveragePool", size=0.3),
    case("AveragePool", "x", {**WINDOW, "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    *(case(op, "x", {"axes": [1]}) for op in ("ReduceMean", "ReduceMax")),
    case("Concat", "x z", {"axis": 1}), case("Max", "x z"), case("Add", "x z"), case("Sub", "x z"),
    case("Mul", "x z", size=3.0), case("MatMul", "x z", size=20.0),
    case("Add", "x c", c=reals(0.13, -1.1, 2.0, 0.004).reshape(4, 1, 1)),
    case("Slice", "x b e a", b=ints(1), e=ints(5), a=ints(3)), case("Tile", "x n", n=ints(1, 1, 2, 1)),
    case("Gather", "x i", {"axis": 2}, i=ints(4, 0)), case("Transpose", "x", {"perm": [0, 2, 3, 1]}),
    case("DepthToSpace", "x", {"blocksize": 2}), case("Pad", "x p v", p=PADS, v=0.331),
    case("Pad", "x p v", p=PADS, v=-21.7), case("Pad", "x p", p=PADS), case("Pad", "x p", {"mode": "edge"}, p=PADS),
    case("Resize", "x - s", s=reals(1, 1, 2, 1.5)),
    case("BatchNormalization", "x g h m v", m=reals(0, 1, -1, 2), v=reals(1, 2, 0.5, 3), **NORMAL),
    case("InstanceNormalization", "x g h", **NORMAL), case("Conv", "x w", w=(5, 4, 3, 3), size=3.0),
    case("Conv", "x w", {"group": 4}, w=(4, 1, 3, 3), size=3.0), case("Gemm", "x w", {}, (3, 12), 3.0, w=(12, 5)),
    case("ConvTranspose", "x w", w=(4, 5, 2, 2), size=3.0),
]
#: Operators that run in float32 at some scales.
OTHERS = [
    SOFTMAX, LINEAR, CUBIC, case("LogSoftmax", shape=(3, 12)),
    case("Where", "mask x z", mask=np.arange(6) % 2 == 0),
    case("PRelu", "x slope", slope=reals(0.1, 0.3, 0.7, -0.5).reshape(4, 1, 1)),
    case("AveragePool", "x", {"kernel_shape": [2, 3, 2], "pads": [1, 0, 0, 0, 1, 0]}, (1, 3, 4, 5, 4)),
    case("Resize", "x - s", {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
         s=reals(1, 1, 1.3, 0.7)),
    case("Resize", "x - s", {"mode": "linear", "antialias": 1}, s=reals(1, 1, 0.5, 0.5)),
]


def check(of: Case, factor: float, zeros: tuple[int, int], int8: bool) -> None:
    """Checks that outputs are within a step of onnxruntime. `int8`: no operator may run in float32."""
    inputs = {"x": (of.shape, SCALE, zeros[0])}
    if "z" in of.inputs.split():
        inputs["z"] = (of.shape, SCALE * 1.3, -zeros[0] // 2)
    constants: dict[str, Constant] = {
        name: (RANDOM.integers(-127, 128, value).astype(np.int8), 0.003, 0) if isinstance(value, tuple)
        else np.float32(value) if isinstance(value, float) else value for name, value in of.constants.items()}
    scale = SCALE * of.size * factor
    model = quantised([node(of.op, of.inputs, "r", "op", **of.attributes)], inputs, (scale, zeros[1]), constants,
                      opset=18 if "antialias" in of.attributes else 17)
    feeds = {item: (RANDOM.integers(-140, 140, shape) - zeros[0]).astype(np.float32) * np.float32(SCALE)
             for item, (shape, *_) in inputs.items()}
    compiled = compile_model(model)
    assert not int8 or {op.dtype for op in compiled.plan.program.ops} == {DType.INT8}, (factor, zeros)
    difference = outputs(compiled, feeds)["y"].astype(np.float64) - ort(model, feeds)["y"]
    assert np.abs(difference).max() <= scale * (1 + 1e-3), (factor, zeros)


@pytest.mark.parametrize(("of", "factor", "zeros"), [
    (SOFTMAX, 1 / 256 / (SCALE * 0.08), (5, -128)), (SOFTMAX, 1.0, (5, -128)), (LINEAR, 1.0, (5, 5)),
    (CUBIC, 1.0, (5, 5)), (LINEAR, 1.7, (5, 9))], ids=str)
def test_tensorflow_lites_own_forms_stay_in_int8(of: Case, factor: float, zeros: tuple[int, int]) -> None:
    """Softmax to a step of 1/256 or coarser, and resizing within one scale, have its arithmetic."""
    check(of, factor, zeros, True)


@pytest.mark.parametrize(("of", "int8"), [*((of, True) for of in CASES), *((of, False) for of in OTHERS)],
                         ids=lambda of: getattr(of, "op", ""))
def test_at_most_one_step(of: Case, int8: bool) -> None:
    for factor, zeros in list(itertools.product(FACTORS, ZEROS))[:: examples(4, 1)]:
        check(of, factor, zeros, int8)


# Integers that leave their range: scales far apart, sums beside a mask, biases at the end of 32 bits.

OPERATORS = {
    "Identity": lambda x, _: x, "Relu": lambda x, _: np.maximum(x, 0), "Neg": lambda x, _: -x,
    "Abs": lambda x, _: np.abs(x), "LeakyRelu": lambda x, _: np.where(x < 0, 0.01 * x, x), "Add": np.add,
    "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum, "Div": lambda x, y: x / y,
}
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Div")


class Typed(Quantiser):
    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.dtype = np.dtype(dtype).type  # type: ignore[assignment]


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("op", OPERATORS)
def test_scales_far_apart_saturate(op: str, dtype: str) -> None:
    """The result's steps are 2^-40 to 2^20 times an input's: numpy's value at every step, or the end of the range."""
    levels = np.iinfo(dtype)
    generator = np.random.default_rng(1)
    for power in (-40, -17, -9, -3, 4, 9, 20):
        quantiser, names = Typed(dtype), ("x", "w")[: 1 + (op in BINARY)]
        pairs = [quantiser.pair(name, 2.0**-4, 0) for name in names]
        quantiser.add(node(op, " ".join(pairs), "r"))
        last = quantiser.pair("r", 2.0 ** (power - 4), 0)
        steps = {name: generator.integers(levels.min, levels.max + 1, (1, 64)) for name in names}
        if op == "Div":
            steps["w"][steps["w"] == 0] = 1
        feed = {name: (values * 2.0**-4).astype(np.float32) for name, values in steps.items()}
        quantiser.add(node("Identity", last, "y"))
        model = make(quantiser.nodes, dict.fromkeys(names, (1, 64)), ["y"], quantiser.weights, 21)
        real = OPERATORS[op](*(values * 2.0**-4 for values in (*steps.values(), *steps.values())[:2]))
        wanted = np.clip(np.rint(real / 2.0 ** (power - 4)), levels.min, levels.max)
        found = outputs(compile_model(model), feed)["y"] / 2.0 ** (power - 4)
        assert np.abs(found - wanted).max() <= (2 if dtype == "int16" else 1), power


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("fill", [-1e4, -1e6, -1e9, -3.4e38])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_mask_leaves_the_scores_their_steps(dtype: str, fill: float, constant: bool) -> None:
    """Scores, of steps that the sum has too, plus nothing or what takes them out of any range."""
    levels, step = np.iinfo(dtype), 0.1 if dtype == "int8" else 4e-4
    scale = float(np.float32(-fill / levels.max))
    mask = np.where(np.tril(np.ones((8, 8), bool)), 0, -levels.max).astype(dtype)
    quantiser = Typed(dtype)
    scores, shapes = quantiser.pair("x", step, 0), {"x": (1, 8, 8)}
    if constant:
        added = quantiser.constant("m", mask, scale)
    else:
        added, shapes["m"] = quantiser.pair("m", scale, 0), (8, 8)
    quantiser.add(node("Add", f"{scores} {added}", "r"))
    last = quantiser.pair("r", step, 0)
    model = make([*quantiser.nodes, node("Identity", last, "y")], shapes, ["y"], quantiser.weights, 21)
    x = np.random.default_rng(0).integers(levels.min // 2, levels.max // 2, (1, 8, 8))
    feed = {"x": (x * step).astype(np.float32), "m": (mask * np.float64(scale)).astype(np.float32)}
    compiled = compile_model(model)
    found = outputs(compiled, {name: feed[name] for name in shapes})["y"] / step
    assert np.abs(found - np.where(mask == 0, x, levels.min)).max() <= 1.01
    assert {op.dtype for op in compiled.plan.program.ops} == {DType[dtype.upper()]}


def layer(kind: str, bias: int, zero: int = 0, out: float = 0.05,
          inputs: int = 8) -> tuple[onnx.ModelProto, np.ndarray]:
    """A layer with one large bias, whose channel's weights have tiny steps, and its outputs for ones."""
    quantiser, scales = Quantiser(), np.array([1e-9, 0.01], np.float32)
    x = quantiser.pair("x", 0.1, zero)
    shape = {"Conv": (2, inputs, 1, 1), "ConvTranspose": (inputs, 2, 1, 1), "Gemm": (2, inputs)}[kind]
    w = quantiser.constant("w", np.full(shape, 100, np.int8), scales, int(kind == "ConvTranspose"))
    b = quantiser.constant("b", np.array([bias, 50], np.int32), np.float32(0.1) * scales)
    quantiser.add(node(kind, f"{x} {w} {b}", "r", **({"transB": 1} if kind == "Gemm" else {})))
    quantiser.add(node("Identity", quantiser.pair("r", out, 0), "y"))
    tail = () if kind == "Gemm" else (1, 1)
    sums = np.array([bias, 50], np.float64) + inputs * 1000
    return (make(quantiser.nodes, {"x": (1, inputs, *tail)}, ["y"], quantiser.weights),
            np.clip(np.rint(sums * 0.1 * scales / out), -128, 127) * out)


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "Gemm"])
@pytest.mark.parametrize("bias", [2**31 - 1, -(2**31), 2**31 - 60000, 1 << 20])
@pytest.mark.parametrize("zero", [0, -128, 117])
def test_sums_do_not_wrap(kind: str, bias: int, zero: int) -> None:
    """Biases that a quantiser clamped to 32 bits, or that exceed 32 bits with the zero point folded in."""
    model, wanted = layer(kind, bias, zero)
    ones = np.ones((1, 8) if kind == "Gemm" else (1, 8, 1, 1), np.float32)
    found = outputs(compile_model(model), {"x": ones})["y"].ravel()
    assert np.abs(found - wanted).max() <= 0.0501


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "Gemm"])
def test_a_bias_that_cannot_be_bounded_names_its_channel(kind: str) -> None:
    """With 200 inputs, a changed bias would change outputs."""
    model, _ = layer(kind, 2**31 - 1, out=0.001, inputs=200)
    with pytest.raises(UnsupportedError, match=r"sums of output channel 0 exceed 32 bits: its bias is 2147483647"):
        compile_model(model)
