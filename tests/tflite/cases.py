"""Files of one operator, for every kind and corner: what test_operators.py holds to TensorFlow Lite Micro."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tests.tflite.compare import random_input
from tests.tflite.writer import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Operator, Tensor, constant, write

Shape = tuple[int, ...]
Number = tuple[float, int]  #: scale and zero point

#: Of an input and an output: equal and unequal scales, zero points at both ends.
NUMBERS: tuple[tuple[Number, Number], ...] = (
    ((0.05, 3), (0.05, 3)), ((0.037, -128), (0.021, 127)), ((0.0117, 127), (0.0831, -128)),
)
SHAPES: tuple[Shape, ...] = ((7,), (5, 9), (3, 4, 5), (2, 5, 3, 6))


@dataclasses.dataclass(frozen=True)
class Case:
    """One operator with inputs x0, x1, … that are no constants, and outputs y0, y1, …"""

    op: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    values: Mapping[str, np.ndarray] | None = None  #: of the inputs, where not any will do

    def file(self) -> bytes:
        """The .tflite."""
        operator = Operator(self.op, [item.name for item in self.inputs], [item.name for item in self.outputs],
                            self.options)
        read = [item.name for item in self.inputs if item.data is None and item.name]
        tensors = [item for item in self.inputs if item.name] + list(self.outputs)
        return write(tensors, [operator], read, [item.name for item in self.outputs])

    def arrays(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Values of the inputs."""
        given = dict(self.values or {})
        return {item.name: given[item.name] if item.name in given else
                random_input(item.shape, item.dtype, seed + place)
                for place, item in enumerate(self.inputs) if item.data is None and item.name}


def merged(cases: Sequence[Case]) -> tuple[bytes, dict[str, np.ndarray]]:
    """One file of several cases side by side, and values of its inputs."""
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    outputs: list[str] = []
    values: dict[str, np.ndarray] = {}
    for place, case in enumerate(cases):
        names = {item.name: f"{place}/{item.name}" if item.name else "" for item in (*case.inputs, *case.outputs)}
        tensors += [dataclasses.replace(item, name=names[item.name]) for item in (*case.inputs, *case.outputs)
                    if item.name]
        operators.append(Operator(case.op, [names[item.name] for item in case.inputs],
                                  [names[item.name] for item in case.outputs], case.options))
        outputs += [names[item.name] for item in case.outputs]
        values |= {names[name]: array for name, array in case.arrays(place).items()}
    return write(tensors, operators, list(values), outputs), values


ABSENT = Tensor("", ())


def x(shape: Shape, number: Number, place: int = 0, dtype: str = "int8") -> Tensor:
    """An input."""
    return Tensor(f"x{place}", shape, dtype, *number)


def y(shape: Shape, number: Number, place: int = 0, dtype: str = "int8") -> Tensor:
    """An output."""
    return Tensor(f"y{place}", shape, dtype, *number)


def plain(shape: Shape, dtype: str, place: int = 0) -> Tensor:
    """An output of numbers."""
    return Tensor(f"y{place}", shape, dtype)


def ints(name: str, *values: int) -> Tensor:
    """A constant vector of integers."""
    return constant(name, np.array(values, np.int32))


def data(shape: Shape, seed: int, dtype: str = "int8") -> np.ndarray:
    """Values of a constant."""
    return random_input(shape, dtype, seed)


# ---- one tensor ----

def unary(op: str, *outputs: Number, options: Mapping[str, Any] | None = None) -> Iterator[Case]:
    """All int8 values; `outputs` where the operator wants its own."""
    every = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)
    for source, result in NUMBERS:
        for wanted in outputs or (result,):
            yield Case(op, [x((1, 4, 8, 8), source)], [y((1, 4, 8, 8), wanted)], options or {}, {"x0": every})


def one_scale(op: str) -> Iterator[Case]:
    """The same, of operators that keep their input's scale."""
    every = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)
    for number in ((0.05, 3), (0.037, -128), (0.1, -90)):
        yield Case(op, [x((1, 4, 8, 8), number)], [y((1, 4, 8, 8), number)], {}, {"x0": every})


def rsqrt() -> Iterator[Case]:
    """Of positive numbers."""
    every = np.arange(-128, 128, dtype=np.int8)
    for scale, result in ((0.05, (0.02, -128)), (0.2, (0.013, 5)), (1.7, (0.1, -3))):
        yield Case("RSQRT", [x((256,), (scale, -128))], [y((256,), result)], {}, {"x0": every})


def scaled_vectors(op: str, number: Number, options: Mapping[str, Any] | None = None) -> Iterator[Case]:
    """Functions of the last axis with a fixed output scale."""
    for shape, scale in itertools.product(((10,), (3, 17), (2, 3, 4, 5)), (0.02, 0.1, 0.9)):
        yield Case(op, [x(shape, (scale, 7))], [y(shape, number)], options or {})


# ---- two tensors ----

PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((7,), (7,)), ((5, 9), (9,)), ((2, 5, 3, 6), (2, 5, 3, 6)), ((1, 5, 3, 6), (1, 1, 1, 6)), ((2, 5, 3, 6), (1,)),
    ((1, 1, 1, 6), (1, 5, 3, 6)), ((1, 5, 3, 1), (1, 1, 1, 6)), ((3, 1, 4), (3, 5, 4)),
)


def binary(op: str, fused: bool = True, same: bool = False, factor: float = 1.0) -> Iterator[Case]:
    """Broadcast on either side; scales equal and not; activations in turn."""
    activations = itertools.cycle((NONE, RELU, RELU6, RELU_N1_TO_1))
    for (left, right), ((scale, zero), result) in itertools.product(PAIRS, NUMBERS):
        shape = np.broadcast_shapes(left, right)
        second = (scale, zero) if same else (scale * 1.31, -zero // 2)
        wanted = (scale, zero) if same else (result[0] * factor, result[1])
        options = {"fusedActivationFunction": next(activations)} if fused else {}
        yield Case(op, [x(left, (scale, zero)), x(right, second, 1)], [y(shape, wanted)], options)


def divisions() -> Iterator[Case]:
    """No divisor is zero, whose quotient TensorFlow Lite Micro leaves open. In the first case a limit lies between two
    integers, in single precision on the one and in double on the other."""
    thirds = [x((6,), (0.03, 0)), x((6,), (0.03, 100), 1)]
    yield Case("DIV", thirds, [y((6,), (0.6666666865348816, 0))], {"fusedActivationFunction": RELU_N1_TO_1},
               {"x1": np.array([-9, 3, 127, 5, 90, -128], np.int8)})
    for case in binary("DIV", factor=0.7):
        divisor = case.arrays()["x1"]
        zero = case.inputs[1].zero_point
        yield dataclasses.replace(case, values={"x1": np.where(divisor == zero, 5 if zero != 5 else 6, divisor)
                                                .astype(np.int8)})


def sums_of_many() -> Iterator[Case]:
    """Of one scale: two tensors, four, and so many that 32 bits do not hold the sums."""
    for count, result in ((2, (0.1, 4)), (4, (0.21, -128)), (19, (1.3, 90))):
        number = (0.05, 3) if count < 19 else (0.05, -128)
        yield Case("ADD_N", [x((3, 5), number, place) for place in range(count)], [y((3, 5), result)])


def cumulative_sums() -> Iterator[Case]:
    """Along each axis, either way, with and without the element itself; sums that 32 bits do not hold."""
    forms = itertools.cycle(itertools.product((False, True), (False, True)))
    for shape, (source, result) in itertools.product(((7,), (4, 5), (2, 40, 3), (2, 3, 4, 5)), NUMBERS):
        for axis in range(-1, len(shape) - 1):
            exclusive, reverse = next(forms)
            yield Case("CUMSUM", [x(shape, source), constant("axis", np.array(axis, np.int32))],
                       [y(shape, (result[0] * 3, result[1]))], {"exclusive": exclusive, "reverse": reverse})


def integers(op: str) -> Iterator[Case]:
    """Of 32 bits."""
    for left, right in PAIRS:
        given = {f"x{place}": np.random.default_rng(place).integers(-999, 999, shape).astype(np.int32)
                 for place, shape in enumerate((left, right))}
        given["x1"][given["x1"] == 0] = 7
        for fused in (NONE, RELU6) if op != "SQUARED_DIFFERENCE" else (None,):
            options = {} if fused is None else {"fusedActivationFunction": fused}
            yield Case(op, [Tensor("x0", left, "int32"), Tensor("x1", right, "int32")],
                       [plain(np.broadcast_shapes(left, right), "int32")], options, given)


def prelu() -> Iterator[Case]:
    """Slopes of a channel, a pixel, one."""
    for slope, (source, result) in itertools.product(((6,), (1, 1, 6), (5, 3, 6), (1, 1, 1)), NUMBERS):
        alpha = constant("alpha", data(slope, 3), 0.011, -7)
        yield Case("PRELU", [x((2, 5, 3, 6), source), alpha], [y((2, 5, 3, 6), result)])


def comparisons(op: str) -> Iterator[Case]:
    """Of two scales."""
    numbers = itertools.cycle((((0.05, 3), (0.05, 3)), ((0.05, 3), (0.07, -8)), ((0.3, -128), (0.11, 127)),
                               ((0.0004, -3), (0.0007, 9)), ((0.002, 100), (0.002, -100))))
    for left, right in PAIRS:
        for first, second in (next(numbers),):
            yield Case(op, [x(left, first), x(right, second, 1)], [plain(np.broadcast_shapes(left, right), "bool")])


# ---- reductions ----

def reductions(op: str) -> Iterator[Case]:
    """Sets of axes, counted from either end."""
    numbers = itertools.cycle(NUMBERS)
    for shape in SHAPES:
        rank = len(shape)
        for axes in ((0,), (rank - 1,), (-1, 0), tuple(range(rank)), tuple(range(1, max(2, rank - 1))), (1, 2)):
            if any(not -rank <= axis < rank for axis in axes):
                continue
            source, result = next(numbers)
            own = {axis % rank for axis in axes}
            keep = len(axes) != 1 or rank == 1
            out = tuple(1 if axis in own else size for axis, size in enumerate(shape) if keep or axis not in own)
            wanted = source if op in ("REDUCE_MAX", "REDUCE_MIN") else result
            count = int(np.prod([shape[axis] for axis in own])) if op == "SUM" else 1
            scaled = (wanted[0] * max(1, count / 3), wanted[1])
            yield Case(op, [x(shape, source), ints("axes", *axes)], [y(out, scaled)], {"keepDims": keep})


def positions(op: str) -> Iterator[Case]:
    """Along each axis."""
    for shape in SHAPES:
        for axis in range(-1, len(shape) - 1):
            out = tuple(size for place, size in enumerate(shape) if place != axis % len(shape))
            few = random_input(shape) // 40 * 40
            yield Case(op, [x(shape, (0.1, 4)), constant("axis", np.array(axis, np.int32))], [plain(out, "int32")],
                       {"outputType": 2}, {"x0": few})


# ---- moving ----

def moves() -> Iterator[Case]:
    """Elements that go elsewhere unchanged."""
    n: Number = (0.1, 3)
    a = x((2, 4, 6, 5), n)
    yield Case("SPLIT", [constant("axis", np.array(3, np.int32)), x((2, 3, 4, 6), n)],
               [y((2, 3, 4, 2), n, place) for place in range(3)], {"numSplits": 3})
    yield Case("SPLIT_V", [a, ints("sizes", 1, 3), constant("axis", np.array(1, np.int32))],
               [y((2, 1, 6, 5), n), y((2, 3, 6, 5), n, 1)], {"numSplits": 2})
    for axis in (0, 2, 3):
        shape = tuple(np.stack([np.zeros((3, 4, 5))] * 2, axis).shape)
        yield Case("PACK", [x((3, 4, 5), n), x((3, 4, 5), n, 1)], [y(shape, n)], {"axis": axis, "valuesCount": 2})
    yield Case("UNPACK", [x((3, 4, 2), n)], [y((3, 4), n, place) for place in range(2)], {"axis": 2, "num": 2})
    # Padded, what TensorFlow Lite Micro fills in is memory that nothing has written.
    yield Case("SPACE_TO_BATCH_ND", [x((2, 4, 6, 3), n), ints("block", 2, 3), pads((0, 0), (0, 0))],
               [y((12, 2, 2, 3), n)])
    yield Case("BATCH_TO_SPACE_ND", [x((6, 4, 3, 2), n), ints("block", 2, 3), pads((1, 1), (0, 2), name="crops")],
               [y((1, 6, 7, 2), n)])
    yield Case("SPACE_TO_DEPTH", [x((2, 4, 6, 3), n)], [y((2, 2, 3, 12), n)], {"blockSize": 2})
    yield Case("DEPTH_TO_SPACE", [x((2, 2, 3, 12), n)], [y((2, 4, 6, 3), n)], {"blockSize": 2})
    for mode in (0, 1):
        yield Case("MIRROR_PAD", [a, pads((0, 0), (1, 2), (3, 0), (0, 1))], [y((2, 7, 9, 6), n)], {"mode": mode})
    yield Case("PAD", [a, pads((0, 1), (1, 2), (0, 0), (2, 1))], [y((3, 7, 6, 8), n)])
    yield Case("PADV2", [a, pads((0, 0), (1, 2), (2, 0), (0, 1)), constant("fill", np.array([-77], np.int8), *n)],
               [y((2, 7, 8, 6), n)])
    yield Case("BROADCAST_TO", [x((1, 4, 1, 5), n), ints("shape", 2, 4, 3, 5)], [y((2, 4, 3, 5), n)])
    yield Case("EXPAND_DIMS", [a, ints("axis", 2)], [y((2, 4, 1, 6, 5), n)])
    yield Case("SQUEEZE", [x((1, 4, 1, 5), n)], [y((4, 5), n)], {"squeezeDims": [0, 2]})
    yield Case("GATHER", [a, ints("indices", 3, 0, 0, 2)], [y((2, 4, 6, 5), n)], {"axis": 1})
    yield Case("GATHER_ND", [a, constant("indices", np.array([[1, 3], [0, 2], [1, 0]], np.int32))], [y((3, 6, 5), n)])
    yield Case("CONCATENATION", [x((2, 3, 4), n), x((2, 1, 4), n, 1)], [y((2, 4, 4), n)], {"axis": 1})
    yield Case("TRANSPOSE", [a, ints("perm", 0, 3, 1, 2)], [y((2, 5, 4, 6), n)])
    yield Case("REVERSE_V2", [a, ints("axis", 2)], [y((2, 4, 6, 5), n)])
    yield Case("SLICE", [a, ints("begin", 0, 1, 2, 0), ints("size", 2, -1, 3, 5)], [y((2, 3, 3, 5), n)])
    yield Case("STRIDED_SLICE",
               [a, ints("begin", 0, -1, 1, 0), ints("end", 2, -5, 6, 5), ints("strides", 1, -2, 2, 1)],
               [y((2, 2, 3, 5), n)])
    yield Case("RESHAPE", [a, ints("shape", 4, 60)], [y((4, 60), n)])
    yield Case("ZEROS_LIKE", [a], [y((2, 4, 6, 5), n)])


def pads(*pairs: tuple[int, int], name: str = "pads") -> Tensor:
    """Begin and end of each axis."""
    return constant(name, np.array(pairs, np.int32))


# ---- quantisation ----

def quantising() -> Iterator[Case]:
    """Between any two of the types."""
    shape = (2, 3, 5, 4)
    ends = {"int8": (0.07, 5), "uint8": (0.031, 131), "float32": None}
    for (source, one), (target, two) in itertools.product(ends.items(), ends.items()):
        if target == source != "int8" or (source, target) == ("float32", "uint8"):
            continue  # of which TensorFlow Lite Micro has none
        op = "DEQUANTIZE" if target == "float32" else "QUANTIZE"
        if source == "uint8" and target == "float32":
            continue
        first = Tensor("x0", shape, source, *(one or (None, 0)))
        yield Case(op, [first], [Tensor("y0", shape, target, *(two or (None, 0)))])
    for factor in (0.3, 1.0, 2.7):
        yield Case("QUANTIZE", [x(shape, (0.07, -128))], [y(shape, (0.07 * factor, 127))])
    for scale, (source, step, zero) in itertools.product((0.004, 0.031), (("int8", 0.05, -7), ("int16", 0.002, 0))):
        yield Case("QUANTIZE", [Tensor("x0", shape, source, step, zero)], [Tensor("y0", shape, "int32", scale, 0)])


# ---- layers ----

def resizing(op: str) -> Iterator[Case]:
    """To sizes above and below, by each kind of coordinates."""
    for size, (corners, half) in itertools.product(((7, 9), (10, 3), (4, 5), (1, 1), (8, 10)),
                                                   ((False, False), (True, False), (False, True))):
        yield Case(op, [x((2, 4, 5, 3), (0.1, 3)), ints("size", *size)], [y((2, *size, 3), (0.1, 3))],
                   {"alignCorners": corners, "halfPixelCenters": half})


def fully_connected() -> Iterator[Case]:
    """Rows, ranks, activations, without bias; one scale and one a channel."""
    forms = (((1, 12), 5, False), ((3, 17), 8, False), ((2, 3, 12), 4, True), ((1, 9), 10, True))
    for shape, outputs, per_channel in forms:
        for (source, result), activation in zip(NUMBERS, (NONE, RELU, RELU6), strict=True):
            inputs = shape[-1]
            scales = list(np.linspace(0.002, 0.01, outputs)) if per_channel else 0.004
            weights = constant("w", data((outputs, inputs), 5), scales)
            bias = constant("b", np.random.default_rng(1).integers(-900, 900, outputs).astype(np.int32),
                            list(np.array(scales) * source[0]) if per_channel else 0.004 * source[0])
            keep = len(shape) > 2
            yield Case("FULLY_CONNECTED", [x(shape, source), weights, bias if activation != RELU else ABSENT],
                       [y((*shape[:-1], outputs), (result[0] * 2, result[1]))],
                       {"fusedActivationFunction": activation, "keepNumDims": keep})


def convolutions(op: str) -> Iterator[Case]:
    """Paddings, strides, dilations, multipliers, activations."""
    for (source, result), (stride, dilation, padding, activation) in itertools.product(
            NUMBERS, ((1, 1, SAME, NONE), (2, 1, VALID, RELU), (1, 2, SAME, RELU6))):
        outputs = 8 if op == "DEPTHWISE_CONV_2D" else 5
        shape = (1, 3, 3, 8) if op == "DEPTHWISE_CONV_2D" else (5, 3, 3, 4)
        scales = list(np.linspace(0.002, 0.01, outputs))
        axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
        weights = constant("w", data(shape, 5), scales, 0, axis)
        bias = constant("b", np.random.default_rng(1).integers(-900, 900, outputs).astype(np.int32),
                        list(np.array(scales) * source[0]))
        size = [-(-7 // stride) if padding == SAME else -(-(7 - 2 * dilation) // stride),
                -(-6 // stride) if padding == SAME else -(-(6 - 2 * dilation) // stride)]
        options = {"strideH": stride, "strideW": stride, "dilationHFactor": dilation, "dilationWFactor": dilation,
                   "padding": padding, "fusedActivationFunction": activation}
        if op == "DEPTHWISE_CONV_2D":
            options["depthMultiplier"] = 2
        yield Case(op, [x((1, 7, 6, 4), source), weights, bias], [y((1, *size, outputs), (result[0] * 3, result[1]))],
                   options)


def transposed_convolutions() -> Iterator[Case]:
    """SAME and VALID, with and without bias."""
    for (source, result), (padding, stride) in zip(NUMBERS, ((SAME, 2), (VALID, 2), (SAME, 1)), strict=True):
        size = (5 * stride, 4 * stride) if padding == SAME else ((5 - 1) * stride + 3, (4 - 1) * stride + 3)
        weights = constant("w", data((6, 3, 3, 4), 5), list(np.linspace(0.002, 0.01, 6)), 0, 0)
        bias = constant("b", np.arange(6, dtype=np.int32) * 300 - 500, list(np.linspace(0.002, 0.01, 6) * source[0]))
        inputs = [ints("shape", 1, *size, 6), weights, x((1, 5, 4, 4), source)]
        yield Case("TRANSPOSE_CONV", [*inputs, bias] if stride == 2 else inputs,
                   [y((1, *size, 6), (result[0] * 2, result[1]))],
                   {"strideH": stride, "strideW": stride, "padding": padding})


def pools(op: str) -> Iterator[Case]:
    """Windows inside and across the border."""
    for (kernel, stride, padding), activation in zip(((2, 2, VALID), (3, 1, SAME), (3, 2, SAME)), (NONE, RELU6, RELU),
                                                     strict=True):
        for number in (NUMBERS[0][0], NUMBERS[1][0]):
            size = [-(-7 // stride) if padding == SAME else -(-(7 - kernel + 1) // stride),
                    -(-6 // stride) if padding == SAME else -(-(6 - kernel + 1) // stride)]
            yield Case(op, [x((1, 7, 6, 5), number)], [y((1, *size, 5), number)],
                       {"strideH": stride, "strideW": stride, "filterHeight": kernel, "filterWidth": kernel,
                        "padding": padding, "fusedActivationFunction": activation})


def products() -> Iterator[Case]:
    """Batches of two activations' matrices, either turned."""
    for left, right, turned in (((4, 5), (5, 3), (False, False)), ((2, 4, 5), (2, 3, 5), (False, True)),
                                ((2, 3, 5, 4), (1, 3, 5, 6), (True, False))):
        rows = left[-1] if turned[0] else left[-2]
        columns = right[-2] if turned[1] else right[-1]
        lead = np.broadcast_shapes(left[:-2], right[:-2])
        for source, result in NUMBERS:
            yield Case("BATCH_MATMUL", [x(left, source), x(right, (0.02, -9), 1)],
                       [y((*lead, rows, columns), (result[0], result[1]))], {"adjX": turned[0], "adjY": turned[1]})


def others() -> Iterator[Case]:
    """What has but one form."""
    n: Number = (0.1, 3)
    mask = Tensor("x0", (2, 4, 3), "bool")
    given = {"x0": np.random.default_rng(0).integers(0, 2, (2, 4, 3)).astype(bool)}
    yield Case("SELECT_V2", [mask, x((2, 4, 3), n, 1), x((2, 4, 3), n, 2)], [y((2, 4, 3), n)], {}, given)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "ABS": lambda: unary("ABS"), "LEAKY_RELU": lambda: unary("LEAKY_RELU", options={"alpha": 0.3}),
    "HARD_SWISH": lambda: unary("HARD_SWISH"), "ELU": lambda: unary("ELU"), "RELU": lambda: unary("RELU"),
    "RELU6": lambda: itertools.chain(one_scale("RELU6"), unary("RELU6")),
    "ADD_N": sums_of_many, "CUMSUM": cumulative_sums,
    **{f"{op} of integers": lambda op=op: integers(op)  # type: ignore[misc]
       for op in ("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE")},
    "LOGISTIC": lambda: unary("LOGISTIC", (1 / 256, -128)),
    "TANH": lambda: unary("TANH", (1 / 128, 0)), "RSQRT": rsqrt,
    "SOFTMAX": lambda: itertools.chain(*(scaled_vectors("SOFTMAX", (1 / 256, -128), {"beta": beta})
                                         for beta in (1.0, 0.4))),
    "LOG_SOFTMAX": lambda: scaled_vectors("LOG_SOFTMAX", (16 / 256, 127)),
    "ADD": lambda: binary("ADD"), "SUB": lambda: binary("SUB"), "MUL": lambda: binary("MUL", factor=3.0),
    "DIV": divisions, "MAXIMUM": lambda: binary("MAXIMUM", False, True),
    "MINIMUM": lambda: binary("MINIMUM", False, True),
    "SQUARED_DIFFERENCE": lambda: binary("SQUARED_DIFFERENCE", False, factor=4.0), "PRELU": prelu,
    **{op: lambda op=op: comparisons(op)  # type: ignore[misc]
       for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")},
    **{op: lambda op=op: reductions(op)  # type: ignore[misc]
       for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")},
    "ARG_MAX": lambda: positions("ARG_MAX"), "ARG_MIN": lambda: positions("ARG_MIN"),
    "moving": moves, "QUANTIZE": quantising, "RESIZE_BILINEAR": lambda: resizing("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": lambda: resizing("RESIZE_NEAREST_NEIGHBOR"), "FULLY_CONNECTED": fully_connected,
    "CONV_2D": lambda: convolutions("CONV_2D"), "DEPTHWISE_CONV_2D": lambda: convolutions("DEPTHWISE_CONV_2D"),
    "TRANSPOSE_CONV": transposed_convolutions, "AVERAGE_POOL_2D": lambda: pools("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": lambda: pools("MAX_POOL_2D"), "BATCH_MATMUL": products, "others": others,
}
