"""Integers that leave their range: scales far apart, sums beside a mask, biases at the end of 32 bits."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import outputs
from tests.compiler.models import Quantiser, make, node
from tigris_pio import UnsupportedError, compile_model
from tigris_pio.format.enums import DType

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
    """A layer with one large bias, whose channel's weights have tiny steps; and what it gives for ones."""
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
    """With biases that a quantiser cut off at 32 bits, or that leave them once the zero point is folded in."""
    model, wanted = layer(kind, bias, zero)
    ones = np.ones((1, 8) if kind == "Gemm" else (1, 8, 1, 1), np.float32)
    found = outputs(compile_model(model), {"x": ones})["y"].ravel()
    assert np.abs(found - wanted).max() <= 0.0501


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "Gemm"])
def test_a_bias_that_cannot_be_bounded_names_its_channel(kind: str) -> None:
    """With so many inputs that moving it would show."""
    model, _ = layer(kind, 2**31 - 1, out=0.001, inputs=200)
    with pytest.raises(UnsupportedError, match=r"sums of output channel 0 leave 32 bits: its bias is 2147483647"):
        compile_model(model)
