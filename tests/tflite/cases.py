"""Files of one operator with edge cases; tests/fuzz/tflite_cases.py makes random ones."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tests.tflite.compare import random_input
from tests.tflite.writer import RELU_N1_TO_1, SAME, Operator, Tensor, constant, write

Shape = tuple[int, ...]
Number = tuple[float, int]  #: scale and zero point

#: An input and an output: equal and unequal scales, zero points at both ends.
NUMBERS: tuple[tuple[Number, Number], ...] = (
    ((0.05, 3), (0.05, 3)), ((0.037, -128), (0.021, 127)), ((0.0117, 127), (0.0831, -128)),
)
ABSENT = Tensor("", ())


@dataclasses.dataclass(frozen=True)
class Case:
    """One operator with computed inputs x0, x1, … and outputs y0, y1, …"""

    op: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    values: Mapping[str, np.ndarray] | None = None  #: ranges of the inputs' values, if not all values are valid

    def file(self) -> bytes:
        """The .tflite."""
        operator = Operator(self.op, [item.name for item in self.inputs], [item.name for item in self.outputs],
                            self.options)
        read = [item.name for item in self.inputs if item.data is None and item.name]
        tensors = [item for item in self.inputs if item.name] + list(self.outputs)
        return write(tensors, [operator], read, [item.name for item in self.outputs])

    def arrays(self, seed: int = 0) -> dict[str, np.ndarray]:
        """The values of the inputs."""
        given = dict(self.values or {})
        return {item.name: given[item.name] if item.name in given else
                random_input(item.shape, item.dtype, seed + index)
                for index, item in enumerate(self.inputs) if item.data is None and item.name}


def merged(cases: Sequence[Case]) -> tuple[bytes, dict[str, np.ndarray]]:
    """One file of several cases side by side, and values of its inputs."""
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    outputs: list[str] = []
    values: dict[str, np.ndarray] = {}
    for index, case in enumerate(cases):
        names = {item.name: f"{index}/{item.name}" if item.name else "" for item in (*case.inputs, *case.outputs)}
        tensors += [dataclasses.replace(item, name=names[item.name]) for item in (*case.inputs, *case.outputs)
                    if item.name]
        operators.append(Operator(case.op, [names[item.name] for item in case.inputs],
                                  [names[item.name] for item in case.outputs], case.options))
        outputs += [names[item.name] for item in case.outputs]
        values |= {names[name]: array for name, array in case.arrays(index).items()}
    return write(tensors, operators, list(values), outputs), values


def x(shape: Shape, number: Number, index: int = 0, dtype: str = "int8") -> Tensor:
    """An input."""
    return Tensor(f"x{index}", shape, dtype, *number)


def y(shape: Shape, number: Number, dtype: str = "int8") -> Tensor:
    """An output."""
    return Tensor("y0", shape, dtype, *number)


def ints(name: str, *values: int) -> Tensor:
    """A constant vector of integers."""
    return constant(name, np.array(values, np.int32))


# ---- every value of a type ----

def every_int8(op: str, pairs: Sequence[tuple[Number, Number]] = NUMBERS, **options: float) -> Iterator[Case]:
    """All 256 values, for several scales and zero points of input and output."""
    every = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)
    for source, result in pairs:
        yield Case(op, [x(every.shape, source)], [y(every.shape, result)], options, {"x0": every})


def every_int16(op: str, *scales: tuple[float, float], **options: float) -> Iterator[Case]:
    """All 65,536 values for the first pair of scales, some values for the other pairs."""
    every = np.arange(-(1 << 15), 1 << 15, dtype=np.int16).reshape(1, 64, 64, 16)
    for index, (source, result) in enumerate(scales):
        values = every if index == 0 else every[:, ::13, ::7]
        yield Case(op, [x(values.shape, (source, 0), 0, "int16")], [y(values.shape, (result, 0), "int16")], options,
                   {"x0": values})


def to(result: Number) -> tuple[tuple[Number, Number], ...]:
    """Operators with one output scale."""
    return tuple((source, result) for source, _ in NUMBERS)


# ---- sums beyond 32 bits, roundings, and forms that random cases seldom have ----

def long_sums() -> Iterator[Case]:
    """19 tensors; prefixes of 40 elements."""
    for count, result in ((4, (0.21, -128)), (19, (1.3, 90))):
        yield Case("ADD_N", [x((3, 5), (0.05, -128), index) for index in range(count)], [y((3, 5), result)])
    for source, (scale, zero) in NUMBERS:
        yield Case("CUMSUM", [x((2, 40, 3), source), constant("axis", np.array(1, np.int32))],
                   [y((2, 40, 3), (scale * 3, zero))], {"exclusive": True, "reverse": False})


def division() -> Iterator[Case]:
    """A bound lies between two integers; single and double precision round it to different ones."""
    yield Case("DIV", [x((6,), (0.03, 0)), x((6,), (0.03, 100), 1)], [y((6,), (0.6666666865348816, 0))],
               {"fusedActivationFunction": RELU_N1_TO_1}, {"x1": np.array([-9, 3, 127, 5, 90, -128], np.int8)})


def quantising() -> Iterator[Case]:
    """To int32; between int16 and int8 or float32."""
    shape = (2, 3, 5, 4)
    wide = x(shape, (2e-4, 0), 0, "int16")
    for scale, (dtype, number) in itertools.product((0.004, 0.031), (("int8", (0.05, -7)), ("int16", (0.002, 0)))):
        yield Case("QUANTIZE", [x(shape, number, 0, dtype)], [y(shape, (scale, 0), "int32")])
    for number in ((0.07, 5), (2e-4, -128), (0.031, 127)):
        yield Case("QUANTIZE", [wide], [y(shape, number)])
        yield Case("QUANTIZE", [x(shape, number)], [y(shape, (2e-4, 0), "int16")])
    yield Case("QUANTIZE", [Tensor("x0", shape, "float32")], [y(shape, (1.3e-4, 0), "int16")])


def softmax_int16() -> Iterator[Case]:
    """Long and short vectors of int16 and int8, to int16; also all values at the lower limit."""
    for shape, scale, beta in itertools.product(((10,), (1, 300)), (2e-5, 0.01), (1.0, 0.3)):
        yield Case("SOFTMAX", [x(shape, (scale, 0), 0, "int16")], [y(shape, (2.0**-15, 0), "int16")], {"beta": beta})
        yield Case("SOFTMAX", [x(shape, (200 * scale, -5))], [y(shape, (1 / 65535, -32768), "int16")], {"beta": beta})
    yield Case("SOFTMAX", [x((2, 6), (1e-4, 0), 0, "int16")], [y((2, 6), (2.0**-15, 0), "int16")], {"beta": 1.0},
               {"x0": np.full((2, 6), -32768, np.int16)})


def steps_back() -> Iterator[Case]:
    """A slice whose rows come from the end."""
    indices = [ints("begin", 0, -1, 1, 0), ints("end", 2, -5, 6, 5), ints("strides", 1, -2, 2, 1)]
    for dtype in ("int8", "int16"):
        yield Case("STRIDED_SLICE", [x((2, 4, 6, 5), (0.1, 0), 0, dtype), *indices], [y((2, 2, 3, 5), (0.1, 0), dtype)])


def weighted(shape: Shape, axis: int, source: float, bias: str) -> tuple[Tensor, Tensor]:
    """Weights with a scale for each output channel, and a bias of a type."""
    count = shape[axis]
    scales = np.linspace(0.002, 0.01, count)
    weights = constant("w", random_input(shape, seed=5), list(scales), 0, axis)
    if not bias:
        return weights, ABSENT
    large = 1 << (20 if bias == "int32" else 25)
    values = np.random.default_rng(1).integers(-large, large, count).astype(bias)
    return weights, constant("b", values, list(scales * source))


def layers_int16() -> Iterator[Case]:
    """Biases of 64 and 32 bits and none, sums of 700 products, two groups, one scale for all weights."""
    for inputs, bias in itertools.product((12, 700), ("int64", "int32", "")):
        yield Case("FULLY_CONNECTED", [x((1, inputs), (2e-4, 0), 0, "int16"), *weighted((10, inputs), 0, 2e-4, bias)],
                   [y((1, 10), (6e-4, 0), "int16")])
    single = constant("w", random_input((5, 12), seed=5), 0.004)
    yield Case("FULLY_CONNECTED", [x((2, 12), (2e-4, 0), 0, "int16"), single, ABSENT], [y((2, 5), (1e-3, 0), "int16")],
               {"quantizedBiasType": 2})
    step = {"strideH": 2, "strideW": 2, "dilationHFactor": 1, "dilationWFactor": 1, "padding": SAME}
    for bias, channels in (("int32", 4), ("", 2)):
        yield Case("CONV_2D", [x((1, 7, 6, 4), (2e-4, 0), 0, "int16"), *weighted((6, 3, 3, channels), 0, 2e-4, bias)],
                   [y((1, 4, 3, 6), (6e-4, 0), "int16")], step)


def zero_scales() -> Iterator[Case]:
    """Constants with scale 0 and with the smallest scales; layers with scale 0 in some channels; results that are 0."""
    step = {"strideH": 1, "strideW": 1, "padding": SAME}
    dilated = {**step, "dilationHFactor": 1, "dilationWFactor": 1}
    for dtype, number, result in (("int8", (0.05, 3), (0.03, 5)), ("int16", (2e-4, 0), (1e-4, 0))):
        for scale in (0.0, 1e-42):
            zeros = constant("z", np.zeros((3, 5), dtype), scale)
            yield Case("MUL", [x((3, 5), number, 0, dtype), zeros], [y((3, 5), result, dtype)])
            yield Case("MUL", [zeros, x((3, 5), number, 0, dtype)], [y((3, 5), (scale, 0), dtype)])
            if scale:
                yield Case("ADD", [x((3, 5), number, 0, dtype), zeros], [y((3, 5), result, dtype)])
        bias = np.array([100, -(1 << 31), 2000, -300], "int32" if dtype == "int8" else "int64")
        for scales in (np.array([0.01, 0, 0.02, 0]), np.zeros(4)):
            def layer(shape: Shape, axis: int, scales: np.ndarray = scales) -> list[Tensor]:
                return [constant("w", random_input(shape), list(scales), 0, axis),
                        constant("b", bias, list(scales * number[0]))]  # noqa: B023 (called in this round)

            image, wide = x((1, 6, 5, 2), number, 0, dtype), x((1, 6, 5, 4), number, 0, dtype)
            out = [y((1, 6, 5, 4), result, dtype)]
            yield Case("FULLY_CONNECTED", [x((3, 5), number, 0, dtype), *layer((4, 5), 0)], [y((3, 4), result, dtype)])
            yield Case("CONV_2D", [image, *layer((4, 3, 3, 2), 0)], out, dilated)
            yield Case("DEPTHWISE_CONV_2D", [wide, *layer((1, 3, 3, 4), 3)], out, {**dilated, "depthMultiplier": 1})
            weights, offset = layer((4, 3, 3, 2), 0)
            yield Case("TRANSPOSE_CONV", [ints("size", 1, 6, 5, 4), weights, image, offset], out, step)


def softmax_scales() -> Iterator[Case]:
    """Input scales from the smallest that the reference accepts to the largest, for scores with a causal mask."""
    scales = (1.6e-8, 15.9, 16.5, 33.0, 3e38)
    for scale, beta, length in itertools.product(scales, (1.0, 8.0), (37,)):
        if scale * beta > 1.5e-8:
            for result, dtype in (((1 / 256, -128), "int8"), ((1 / 65536, -32768), "int16")):
                yield Case("SOFTMAX", [x((3, length), (scale, -5))], [y((3, length), result, dtype)], {"beta": beta})


#: Scales of int16: equal, and either one smaller.
_SCALES = ((2e-4, 2e-4), (1.7e-4, 3.1e-5), (3e-5, 4.4e-4))
#: Inputs' scales of functions with an output from -1 to 1: powers of two, near them, small and large.
_FRACTIONS = tuple((scale, 2.0**-15) for scale in (
    2.0**-12, 2.0**-11, 2.0**-13, 1.01 * 2.0**-12, 3e-5, 1e-3, 2.5, 2.0**-20))
CORNERS = {
    "every int8": lambda: itertools.chain(
        *(every_int8(op) for op in ("ABS", "HARD_SWISH", "ELU", "RELU", "RELU6")), every_int8("LEAKY_RELU", alpha=0.3),
        every_int8("RELU6", [(number, number) for number in ((0.05, 3), (0.037, -128), (0.1, -90))]),
        every_int8("LOGISTIC", to((1 / 256, -128))), every_int8("TANH", to((1 / 128, 0))),
        every_int8("RSQRT", [((0.05, -128), (0.02, -128)), ((0.2, -128), (0.013, 5)), ((1.7, -128), (0.1, -3))])),
    "every int16": lambda: itertools.chain(
        *(every_int16(op, *_SCALES) for op in ("ABS", "RELU")), every_int16("RELU6", (2e-4, 2e-4), (2e-3, 2e-3)),
        *(every_int16("LEAKY_RELU", *_SCALES, alpha=alpha) for alpha in (0.3, -1.7)),
        *(every_int16(op, *_FRACTIONS) for op in ("LOGISTIC", "TANH"))),
    "long sums": long_sums, "DIV": division, "QUANTIZE": quantising, "SOFTMAX of int16": softmax_int16,
    "STRIDED_SLICE": steps_back, "layers of int16": layers_int16, "scales of 0": zero_scales,
    "scales of SOFTMAX": softmax_scales,
}  # fmt: skip
