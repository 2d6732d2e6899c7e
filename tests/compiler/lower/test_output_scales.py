"""int8 operators whose output has another scale than their input: at most one step of the output from the exact value
rounded, however much finer or coarser that step is."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.compiler.lower.compare import Constant, ints, outputs, quantised
from tests.compiler.models import node, ort
from tests.harness.tiers import examples
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType

RANDOM = np.random.default_rng(67)
SCALE = 0.05
#: The output's step as a multiple of the input's.
FACTORS = (0.1, 1.0, 4.3)
ZEROS = ((-37, 21), (-128, 127), (127, -128))


@dataclasses.dataclass(frozen=True)
class Case:
    """An operator with one quantised input x, or a second one z of another scale; w: quantised weights."""

    op: str
    inputs: str = "x"
    attributes: Mapping[str, object] = dataclasses.field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    shape: Sequence[int] = (1, 4, 6, 6)
    size: float = 1.0  #: how much larger its results are than its input


def reals(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


WINDOW = {"kernel_shape": [3, 3], "strides": [2, 2]}
PADS = ints(0, 0, 1, 1, 0, 0, 0, 2)
CASES = {
    "Relu": Case("Relu"), "LeakyRelu": Case("LeakyRelu", attributes={"alpha": 0.3}), "Clip": Case(
        "Clip", "x lo hi", constants={"lo": reals(-1.03)[0], "hi": reals(2.77)[0]}),
    "Abs": Case("Abs"), "Neg": Case("Neg"), "Tanh": Case("Tanh", size=0.2), "Sigmoid": Case("Sigmoid", size=0.2),
    "HardSwish": Case("HardSwish"), "Softplus": Case("Softplus"),
    "PRelu": Case("PRelu", "x slope", constants={"slope": np.float32([[[0.1]], [[0.3]], [[0.7]], [[-0.5]]])}),
    "MaxPool": Case("MaxPool", attributes=WINDOW), "AveragePool": Case("AveragePool", attributes=WINDOW),
    "AveragePool_pad": Case("AveragePool", attributes={**WINDOW, "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    "AveragePool_3d": Case("AveragePool", attributes={"kernel_shape": [2, 3, 2], "pads": [1, 0, 0, 0, 1, 0]},
                           shape=(1, 3, 4, 5, 4)),
    "GlobalAveragePool": Case("GlobalAveragePool", size=0.3), "GlobalMaxPool": Case("GlobalMaxPool"),
    "ReduceMean": Case("ReduceMean", attributes={"axes": [1]}),
    "ReduceMax": Case("ReduceMax", attributes={"axes": [1]}),
    "Concat": Case("Concat", "x z", {"axis": 1}), "Max": Case("Max", "x z"),
    "Add": Case("Add", "x z"),
    "Sub": Case("Sub", "x z"), "Mul": Case("Mul", "x z", size=3.0),
    "MatMul": Case("MatMul", "x z", size=20.0), "Where": Case(
        "Where", "mask x z", constants={"mask": np.arange(6) % 2 == 0}),
    "Add_constant": Case("Add", "x c", constants={"c": np.float32([[[0.13]], [[-1.1]], [[2.0]], [[0.004]]])}),
    "Slice": Case("Slice", "x b e a", constants={"b": ints(1), "e": ints(5), "a": ints(3)}),
    "Transpose": Case("Transpose", attributes={"perm": [0, 2, 3, 1]}), "Tile": Case("Tile", "x n", constants={
        "n": ints(1, 1, 2, 1)}),
    "Gather": Case("Gather", "x i", {"axis": 2}, {"i": ints(4, 0)}), "DepthToSpace": Case(
        "DepthToSpace", attributes={"blocksize": 2}),
    "Pad": Case("Pad", "x p v", constants={"p": PADS, "v": reals(0.331)[0]}),
    "Pad_large": Case("Pad", "x p v", constants={"p": PADS, "v": reals(-21.7)[0]}),
    "Pad_zero": Case("Pad", "x p", constants={"p": PADS}),
    "Pad_edge": Case("Pad", "x p", {"mode": "edge"}, {"p": PADS}),
    "Softmax": Case("Softmax", shape=(3, 12), size=0.08), "LogSoftmax": Case("LogSoftmax", shape=(3, 12)),
    "Resize_nearest": Case("Resize", "x - s", constants={"s": reals(1, 1, 2, 1.5)}),
    "Resize_linear": Case("Resize", "x - s", {"mode": "linear"}, {"s": reals(1, 1, 2, 1.5)}),
    "Resize_cubic": Case("Resize", "x - s", {"mode": "cubic"}, {"s": reals(1, 1, 2, 1.5)}),
    "Resize_corners": Case("Resize", "x - s", {
        "mode": "linear", "coordinate_transformation_mode": "align_corners"}, {"s": reals(1, 1, 1.3, 0.7)}),
    "Resize_antialias": Case("Resize", "x - s", {"mode": "linear", "antialias": 1}, {"s": reals(1, 1, 0.5, 0.5)}),
    "BatchNormalization": Case("BatchNormalization", "x g h m v", constants={
        "g": reals(0.5, 1, 2, -1), "h": reals(0, 0.1, 1, -1), "m": reals(0, 1, -1, 2), "v": reals(1, 2, 0.5, 3)}),
    "InstanceNormalization": Case("InstanceNormalization", "x g h", constants={
        "g": reals(0.5, 1, 2, -1), "h": reals(0, 0.1, 1, -1)}),
}
CASES |= {f"Conv{name}": Case("Conv", "x w", attributes, size=3.0) for name, attributes in (
    ("", {}), ("_depthwise", {"group": 4}))}
CASES |= {"Gemm": Case("Gemm", "x w", shape=(3, 12), size=3.0),
          "ConvTranspose": Case("ConvTranspose", "x w", size=3.0)}
WEIGHTS = {"Conv": (5, 4, 3, 3), "Conv_depthwise": (4, 1, 3, 3), "Gemm": (12, 5), "ConvTranspose": (4, 5, 2, 2)}


def steps(name: str, factor: float, zeros: tuple[int, int]) -> tuple[float, Compiled]:
    """The largest difference from onnxruntime in the output's steps."""
    case = CASES[name]
    inputs = {"x": (case.shape, SCALE, zeros[0])}
    if "z" in case.inputs.split():
        inputs["z"] = (case.shape, SCALE * 1.3, -zeros[0] // 2)
    constants: dict[str, Constant] = dict(case.constants)
    if name in WEIGHTS:
        constants["w"] = (RANDOM.integers(-127, 128, WEIGHTS[name]).astype(np.int8), 0.003, 0)
    scale = SCALE * case.size * factor
    model = quantised([node(case.op, case.inputs, "r", "op", **case.attributes)], inputs, (scale, zeros[1]), constants,
                      opset=18 if "antialias" in case.attributes else 17)
    feeds = {item: (RANDOM.integers(-140, 140, shape) - zeros[0]).astype(np.float32) * np.float32(SCALE)
             for item, (shape, *_) in inputs.items()}
    compiled = compile_model(model)
    got = outputs(compiled, feeds)["y"]
    return float(np.abs(got.astype(np.float64) - ort(model, feeds)["y"]).max() / scale), compiled


def test_tensorflow_lites_own_forms_stay_in_int8() -> None:
    """Softmax to a step of 1/256 or coarser, and resizing within one scale, have its arithmetic."""
    for name, factor, zeros in (("Softmax", 1 / 256 / (SCALE * 0.08), (5, -128)), ("Softmax", 1.0, (5, -128)),
                                ("Resize_linear", 1.0, (5, 5)), ("Resize_cubic", 1.0, (5, 5)),
                                ("Resize_linear", 1.7, (5, 9))):
        program = steps(name, factor, zeros)[1].plan.program
        inner = [op.dtype for op in program.ops if op.name == "op"]
        assert inner == [DType.INT8], (name, factor, zeros)


@pytest.mark.parametrize("name", CASES)
def test_at_most_one_step(name: str) -> None:
    every = list(itertools.product(FACTORS, ZEROS))
    for factor, zeros in every[:: examples(4, 1)]:
        assert steps(name, factor, zeros)[0] <= 1 + 1e-3, (factor, zeros)
