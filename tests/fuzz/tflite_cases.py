"""Random TensorFlow Lite operators, one a file: shapes, scales, axes, broadcasting and types of every kind that
TensorFlow Lite Micro registers. What it refuses is not compared."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.tflite.cases import Case, Number, Shape
from tests.tflite.compare import random_input
from tests.tflite.writer import SAME, VALID, Tensor, constant

#: Operators that TensorFlow Lite Micro and the runtime compute in int16.
INT16 = (
    "ABS", "LEAKY_RELU", "RELU", "RELU6", "LOGISTIC", "TANH", "SOFTMAX", "QUANTIZE", "DEQUANTIZE", "ADD", "SUB", "MUL",
    "MAXIMUM", "MINIMUM", "MEAN", "SUM", "CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "AVERAGE_POOL_2D",
    "MAX_POOL_2D", "FULLY_CONNECTED", "BATCH_MATMUL", "RESIZE_NEAREST_NEIGHBOR", "RESHAPE", "TRANSPOSE", "SLICE",
    "STRIDED_SLICE", "PAD", "PADV2", "CONCATENATION", "PACK", "SPLIT", "SPLIT_V", "UNPACK", "BROADCAST_TO",
    "EXPAND_DIMS", "SQUEEZE", "REVERSE_V2",
)  # fmt: skip
#: Schema numbers of the types that outputs name.
_INT32, _INT64 = 2, 4


class Draw:
    """Random choices for one case; if `int16`, activations that would be int8 are int16."""

    def __init__(self, seed: int, int16: bool = False) -> None:
        self.random, self.int16 = np.random.default_rng(seed), int16
        #: How many times as fine as int8 activations are.
        self.finer = 256 if int16 else 1

    def pick(self, values: Sequence[Any]) -> Any:
        """One of them."""
        return values[int(self.random.integers(len(values)))]

    def kind(self, *types: str) -> str:
        """One of these types of an activation."""
        return "int16" if self.int16 and "int8" in types else str(self.pick(types))

    def size(self, low: int, high: int) -> int:
        """A number, both ends included."""
        return int(self.random.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """True in that share of cases."""
        return bool(self.random.random() < share)

    def shape(self, low: int = 1, high: int = 4, most: int = 7) -> Shape:
        """Of a rank from `low` to `high`."""
        return tuple(self.size(1, most) for _ in range(self.size(low, high)))

    def number(self, small: float = -3.5, large: float = 0.3) -> Number:
        """A scale and zero point."""
        if self.int16:
            return float(np.float32(10 ** self.random.uniform(-4.6, -3.3))), 0
        zero = self.pick((-128, 127, 0, self.size(-128, 127), self.size(-20, 20)))
        return float(np.float32(10 ** self.random.uniform(small, large))), zero

    def near(self, number: Number, factor: float = 3.0) -> Number:
        """Another of about the same scale, or the same."""
        if self.chance(0.2):
            return number
        if self.chance(0.3):  # whose quotients lie in the middle of two integers
            return float(np.float32(number[0] * self.pick((0.5, 2.0, 1.0, 4.0, 1 / 3, 1.5)))), self.number()[1]
        scale = number[0] * math.exp(self.random.uniform(-math.log(factor), math.log(factor)))
        return float(np.float32(scale)), self.number()[1]

    def tensor(self, name: str, shape: Shape, dtype: str, number: Number | None = None) -> Tensor:
        """An activation; a number only where it is quantised."""
        if number is None or dtype not in ("int8", "uint8", "int16"):
            return Tensor(name, shape, dtype)
        zero = {"int8": number[1], "uint8": number[1] + 128, "int16": 0}[dtype]
        return Tensor(name, shape, dtype, number[0], zero)

    def broadcast(self, shape: Shape) -> tuple[Shape, Shape]:
        """Two shapes that are `shape` together."""
        pair, kind, cut = [list(shape), list(shape)], self.size(0, 3), self.size(0, 1)
        for axis in range(len(shape) if kind else 0):
            if self.chance(0.4):
                pair[self.size(0, 1)][axis] = 1
        while kind == 1 and len(pair[cut]) > 1 and pair[cut][0] == 1:
            del pair[cut][0]
        if kind == 2:
            pair[cut] = [1]
        joint = np.broadcast_shapes(*map(tuple, pair))
        return (tuple(pair[0]), tuple(pair[1])) if tuple(joint) == shape else (shape, shape)

    def value(self, name: str, shape: Shape, dtype: str, number: Number | None = None) -> Tensor:
        """An activation, or in a few cases a constant."""
        tensor = self.tensor(name, shape, dtype, number)
        if not self.chance(0.15):
            return tensor
        return constant(name, values(shape, dtype, self.size(0, 999)), tensor.scale, tensor.zero_point)


def values(shape: Shape, dtype: str, seed: int) -> np.ndarray:
    """Of a tensor, not so large that integers overflow."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in ("int32", "int64"):
        return random.integers(-900, 900, shape).astype(dtype)
    return random_input(shape, dtype, seed)


def case(draw: Draw, op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor],
         options: Mapping[str, Any] | None = None, given: Mapping[str, np.ndarray] | None = None) -> Case:
    """With values of all inputs that are no constants."""
    seed = draw.size(0, 1 << 20)
    found = {item.name: values(item.shape, item.dtype, seed + place) for place, item in enumerate(inputs)
             if item.data is None and item.name and not item.variable}
    return Case(op, inputs, outputs, options or {}, found | dict(given or {}))


Maker = Callable[[Draw, str], Case]
MAKERS: dict[str, Maker] = {}


def maker(*names: str) -> Callable[[Maker], Maker]:
    """Registers a function for operators."""

    def register(function: Maker) -> Maker:
        MAKERS.update(dict.fromkeys(names, function))
        return function

    return register


def numbers(*items: int, name: str = "axes", dtype: str = "int32") -> Tensor:
    """A constant vector."""
    return constant(name, np.array(items, dtype))


def scalar(item: int, name: str = "axis") -> Tensor:
    """A constant of no axes."""
    return constant(name, np.array(item, np.int32))


# ---- one tensor ----

@maker("ABS", "LEAKY_RELU", "HARD_SWISH", "ELU", "RELU", "RELU6", "RELU_N1_TO_1", "LOGISTIC", "TANH", "RSQRT", "SQRT",
       "SQUARE", "SIN", "COS", "LOG", "EXP", "NEG", "CEIL", "FLOOR", "ROUND", "LOGICAL_NOT", "GELU", "SIGN")
def _unary(draw: Draw, op: str) -> Case:
    dtype = draw.kind("int8", "int8", "float32") if op != "LOGICAL_NOT" else "bool"
    shape, number = draw.shape(), draw.number()
    wanted = draw.near(number)
    if op in ("RELU6", "RELU_N1_TO_1") and (draw.int16 or draw.chance(0.5)):
        wanted = number
    if op in ("LOGISTIC", "TANH"):
        wanted = (2.0**-15, 0) if draw.int16 else {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}[op]
    if op in ("RSQRT", "SQRT", "LOG"):
        number = (number[0], -128)
    given = {}
    if dtype == "float32" and op in ("RSQRT", "SQRT", "LOG"):
        given["x0"] = np.abs(values(shape, dtype, draw.size(0, 999))) + np.float32(0.01)
    if dtype == "float32" and op == "ROUND":
        given["x0"] = values(shape, dtype, draw.size(0, 999)).round(1)
    options = {"alpha": draw.pick((0.3, 0.01, 1.7, -0.2))} if op == "LEAKY_RELU" else {}
    return case(draw, op, [draw.tensor("x0", shape, dtype, number)], [draw.tensor("y0", shape, dtype, wanted)], options,
                given)


@maker("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")
def _vectors(draw: Draw, op: str) -> Case:
    dtype, shape, number = draw.kind("int8", "float32"), draw.shape(1, 4, 9), draw.number()
    wanted = {"SOFTMAX": (1 / 256, -128), "LOG_SOFTMAX": (16 / 256, 127)}.get(op, (1 / 128, 0))
    if draw.int16:
        wanted = (2.0**-15, 0)
    options = {"beta": draw.pick((1.0, 1.0, 0.5, 2.3))} if op == "SOFTMAX" else {}
    if op == "L2_NORMALIZATION":
        number = (number[0], draw.pick((0, number[1])))
    return case(draw, op, [draw.tensor("x0", shape, dtype, number)], [draw.tensor("y0", shape, dtype, wanted)], options)


@maker("CAST")
def _cast(draw: Draw, op: str) -> Case:
    types = ("int8", "int32", "float32", "bool", "uint8", "int64", "int16")
    shape, source = draw.shape(), draw.pick(types)
    return case(draw, op, [Tensor("x0", shape, source)], [Tensor("y0", shape, draw.pick(types))])


@maker("QUANTIZE", "DEQUANTIZE")
def _quantise(draw: Draw, op: str) -> Case:
    source = draw.kind("int8", "uint8", *(("float32",) if op == "QUANTIZE" else ()))
    target = "float32" if op == "DEQUANTIZE" else draw.pick(("int8", "int16" if draw.int16 else "uint8"))
    shape, number = draw.shape(), draw.number()
    return case(draw, op, [draw.tensor("x0", shape, source, number)],
                [draw.tensor("y0", shape, target, draw.near(number, 20.0))])


# ---- two tensors ----

@maker("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD", "POW")
def _binary(draw: Draw, op: str) -> Case:
    dtype = draw.kind("int8", "int8", "int8", "float32", "float32", "int32", "int64")
    shape = draw.shape(1, 5 if draw.chance(0.2) else 4)
    left, right = draw.broadcast(shape)
    number = draw.number()
    other = draw.near(number)
    wanted = draw.near(number)
    if op in ("MAXIMUM", "MINIMUM"):
        other = wanted = number
    options = {}
    if op in ("ADD", "SUB", "MUL", "DIV"):
        options = {"fusedActivationFunction": draw.pick((0, 0, 1, 2, 3))}
        product = {"MUL": number[0] * other[0] * 80 * draw.finer, "DIV": number[0] / other[0]}.get(op, 0)
        wanted = (float(np.float32(product)), wanted[1]) if product else wanted
    inputs = [draw.value("x0", left, dtype, number), draw.value("x1", right, dtype, other)]
    if op in ("DIV", "FLOOR_DIV", "FLOOR_MOD") or all(item.data is not None for item in inputs):
        inputs[1] = draw.tensor("x1", right, dtype, other)
    given = {}
    if op in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
        zero, found = other[1] if dtype == "int8" else 0, values(right, dtype, draw.size(0, 999))
        given["x1"] = np.where(found == zero, zero + 1 if zero < 100 else zero - 1, found).astype(dtype)
    if op == "POW" and dtype == "float32":
        given["x0"] = np.abs(values(left, dtype, 1)) + np.float32(0.1)
    return case(draw, op, inputs, [draw.tensor("y0", shape, dtype, wanted)], options, given)


@maker("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def _comparison(draw: Draw, op: str) -> Case:
    dtype = draw.kind("int8", "int8", "float32", "int32", "int64", "bool")
    shape = draw.shape()
    left, right = draw.broadcast(shape)
    number = draw.number(-6.0, -0.7)  # TensorFlow Lite Micro ends the process where a scale is 1 or more
    inputs = [draw.tensor("x0", left, dtype, number), draw.value("x1", right, dtype, draw.near(number))]
    given = {}
    if dtype == "float32":
        given = {"x0": values(left, dtype, 5).round(0)}
    return case(draw, op, inputs, [Tensor("y0", shape, "bool")], {}, given)


@maker("LOGICAL_AND", "LOGICAL_OR")
def _logical(draw: Draw, op: str) -> Case:
    shape = draw.shape()
    left, right = draw.broadcast(shape)
    return case(draw, op, [Tensor("x0", left, "bool"), Tensor("x1", right, "bool")], [Tensor("y0", shape, "bool")])


@maker("ADD_N")
def _add_n(draw: Draw, op: str) -> Case:
    dtype, shape, number = draw.kind("int8", "float32"), draw.shape(), draw.number()
    scales = [number if draw.chance(0.5) else draw.near(number) for _ in range(draw.size(2, 4))]
    if draw.chance(0.6):
        scales = [number] * len(scales)
    inputs = [draw.tensor(f"x{place}", shape, dtype, item) for place, item in enumerate(scales)]
    return case(draw, op, inputs, [draw.tensor("y0", shape, dtype, draw.near(number))])


@maker("SELECT_V2")
def _select(draw: Draw, op: str) -> Case:
    dtype, shape, number = draw.kind("int8", "float32", "int32", "int64", "bool"), draw.shape(), draw.number()
    left, right = draw.broadcast(shape)
    mask = draw.pick((shape, left, tuple(1 for _ in shape)))
    inputs = [Tensor("x0", mask, "bool"), draw.tensor("x1", left, dtype, number),
              draw.value("x2", right, dtype, number)]
    return case(draw, op, inputs, [draw.tensor("y0", tuple(np.broadcast_shapes(mask, left, right)), dtype, number)])


@maker("PRELU")
def _prelu(draw: Draw, op: str) -> Case:
    dtype, shape, number = draw.kind("int8", "float32"), draw.shape(4, 4), draw.number()
    slope = draw.pick(((shape[3],), (1, 1, shape[3]), shape[1:], (1, 1, 1)))
    slopes = values(slope, dtype, draw.size(0, 99))
    alpha = constant("alpha", slopes, *(draw.near((0.01, 0)) if dtype == "int8" else ()))
    return case(draw, op, [draw.tensor("x0", shape, dtype, number), alpha],
                [draw.tensor("y0", shape, dtype, draw.near(number))])


# ---- reductions ----

@maker("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_PROD")
def _reduce(draw: Draw, op: str) -> Case:
    dtype = "bool" if op in ("REDUCE_ALL", "REDUCE_ANY") else draw.kind("int8", "int8", "float32", "int32")
    shape = draw.shape(1, 5 if draw.chance(0.2) else 4)
    rank = len(shape)
    chosen = sorted(draw.random.permutation(rank)[: draw.size(1, rank)].tolist())
    keep = draw.chance(0.5)
    out = tuple(1 if axis in chosen else size for axis, size in enumerate(shape) if keep or axis not in chosen)
    given = [axis - rank if draw.chance(0.3) else axis for axis in chosen]
    number = draw.number()
    wanted = number if op in ("REDUCE_MAX", "REDUCE_MIN") else draw.near(number)
    if op == "SUM":
        wanted = (wanted[0] * max(1, math.prod(shape[axis] for axis in chosen) / 3), wanted[1])
    return case(draw, op, [draw.tensor("x0", shape, dtype, number), numbers(*given)],
                [draw.tensor("y0", out, dtype, wanted)], {"keepDims": keep})


@maker("ARG_MAX", "ARG_MIN")
def _positions(draw: Draw, op: str) -> Case:
    dtype, shape = draw.kind("int8", "float32"), draw.shape(1, 4, 9)
    axis = draw.size(-len(shape), len(shape) - 1)
    out = tuple(size for place, size in enumerate(shape) if place != axis % len(shape))
    target = draw.pick(("int32", "int32", "int64"))
    few = values(shape, dtype, draw.size(0, 99)) // 40 * 40 if dtype == "int8" else values(shape, dtype, 3).round(0)
    return case(draw, op, [draw.tensor("x0", shape, dtype, draw.number()), scalar(axis)], [Tensor("y0", out, target)],
                {"outputType": _INT32 if target == "int32" else _INT64}, {"x0": few.astype(dtype)})


@maker("CUMSUM")
def _cumsum(draw: Draw, op: str) -> Case:
    dtype, shape, number = draw.kind("int8", "int8", "float32"), draw.shape(), draw.number()
    options = {"exclusive": draw.chance(0.5), "reverse": draw.chance(0.5)}
    return case(draw, op, [draw.tensor("x0", shape, dtype, number), scalar(draw.size(-len(shape), len(shape) - 1))],
                [draw.tensor("y0", shape, dtype, draw.near(number))], options)


# ---- layers ----

def _window(draw: Draw, size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    reach = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else -(-(size - reach + 1) // stride)


@maker("CONV_2D", "DEPTHWISE_CONV_2D")
def _convolution(draw: Draw, op: str) -> Case:
    dtype = draw.kind("int8", "int8", "float32")
    kernel, stride = (draw.size(1, 3), draw.size(1, 3)), (draw.size(1, 2), draw.size(1, 2))
    dilation = (draw.size(1, 2), draw.size(1, 2)) if stride == (1, 1) else (1, 1)
    padding, activation = draw.pick((SAME, VALID)), draw.pick((0, 1, 2, 3))
    shape = (draw.size(1, 2), draw.size(6, 10), draw.size(6, 10), draw.size(1, 9))
    times = draw.size(1, 3)
    outputs = shape[3] * times if op == "DEPTHWISE_CONV_2D" else draw.size(1, 13)
    size = [_window(draw, *item, padding) for item in zip(shape[1:3], kernel, stride, dilation, strict=True)]
    options = {"strideH": stride[0], "strideW": stride[1], "dilationHFactor": dilation[0],
               "dilationWFactor": dilation[1], "padding": padding, "fusedActivationFunction": activation}
    if op == "DEPTHWISE_CONV_2D":
        options["depthMultiplier"] = times
    filters = (1, *kernel, outputs) if op == "DEPTHWISE_CONV_2D" else (outputs, *kernel, shape[3])
    number, axis = draw.number(-2.5, -0.5), 3 if op == "DEPTHWISE_CONV_2D" else 0
    weights, bias = _layer(draw, filters, outputs, dtype, number[0], axis)
    wanted = (number[0] * 0.3 * math.sqrt(kernel[0] * kernel[1] * 4), draw.number()[1])
    inputs = [draw.tensor("x0", shape, dtype, number), weights, bias]
    if op == "CONV_2D" and draw.chance(0.2):
        inputs[2] = Tensor("", ())
    return case(draw, op, inputs, [draw.tensor("y0", (shape[0], *size, outputs), dtype, wanted)], options)


def _layer(draw: Draw, shape: Shape, outputs: int, dtype: str, scale: float, axis: int,
           one: bool = False) -> tuple[Tensor, Tensor]:
    """Weights and bias."""
    seed = draw.size(0, 999)
    if dtype == "float32":
        return (constant("w", values(shape, dtype, seed)), constant("b", values((outputs,), dtype, seed + 1)))
    scales = list(draw.random.uniform(0.002, 0.01, outputs)) if not one else 0.004
    most, kind = (1 << 25, np.int64) if draw.int16 else (900, np.int32)
    bias = np.random.default_rng(seed).integers(-most, most, outputs).astype(kind)
    return (constant("w", random_input(shape, "int8", seed), scales, 0, axis),
            constant("b", bias, list(np.array(scales) * scale) if not one else 0.004 * scale))


@maker("TRANSPOSE_CONV")
def _transposed_convolution(draw: Draw, op: str) -> Case:
    dtype, padding = draw.kind("int8", "float32"), draw.pick((SAME, VALID))
    kernel, stride = (draw.size(1, 4), draw.size(1, 4)), (draw.size(1, 2), draw.size(1, 2))
    shape = (1, draw.size(2, 6), draw.size(2, 6), draw.size(1, 5))
    size = [item * step if padding == SAME else (item - 1) * step + taps
            for item, step, taps in zip(shape[1:3], stride, kernel, strict=True)]
    outputs, number = draw.size(1, 6), draw.number(-2.5, -0.5)
    weights, bias = _layer(draw, (outputs, *kernel, shape[3]), outputs, dtype, number[0], 0)
    inputs = [numbers(1, *size, outputs, name="shape"), weights, draw.tensor("x0", shape, dtype, number)]
    if draw.chance(0.5):
        inputs.append(bias)
    return case(draw, op, inputs, [draw.tensor("y0", (1, *size, outputs), dtype, draw.near((number[0] * 0.8, 0)))],
                {"strideH": stride[0], "strideW": stride[1], "padding": padding})


@maker("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def _pool(draw: Draw, op: str) -> Case:
    dtype = draw.kind("int8", "float32") if op != "L2_POOL_2D" else "float32"
    kernel, stride, padding = (draw.size(1, 4), draw.size(1, 4)), (draw.size(1, 3), draw.size(1, 3)), draw.size(0, 1)
    shape = (draw.size(1, 2), draw.size(4, 9), draw.size(4, 9), draw.size(1, 6))
    size = [_window(draw, *item, 1, padding) for item in zip(shape[1:3], kernel, stride, strict=True)]
    number = draw.number()
    options = {"strideH": stride[0], "strideW": stride[1], "filterHeight": kernel[0], "filterWidth": kernel[1],
               "padding": padding, "fusedActivationFunction": draw.pick((0, 0, 1, 2, 3))}
    return case(draw, op, [draw.tensor("x0", shape, dtype, number)],
                [draw.tensor("y0", (shape[0], *size, shape[3]), dtype, number)], options)


@maker("FULLY_CONNECTED")
def _fully_connected(draw: Draw, op: str) -> Case:
    dtype = draw.kind("int8", "int8", "float32")
    lead, inputs, outputs = draw.shape(1, 3, 4), draw.size(1, 40), draw.size(1, 20)
    number, one = draw.number(-2.5, -0.5), draw.chance(0.5)
    weights, bias = _layer(draw, (outputs, inputs), outputs, dtype, number[0], 0, one)
    keep = len(lead) > 1 and draw.chance(0.6)
    out = (*lead, outputs) if keep else (math.prod(lead), outputs)
    wanted = (number[0] * 0.01 * math.sqrt(inputs) * 20, draw.number()[1])
    return case(draw, op, [draw.tensor("x0", (*lead, inputs), dtype, number), weights,
                           bias if draw.chance(0.8) else Tensor("", ())], [draw.tensor("y0", out, dtype, wanted)],
                {"fusedActivationFunction": draw.pick((0, 0, 1, 2, 3)), "keepNumDims": keep})


@maker("BATCH_MATMUL")
def _products(draw: Draw, op: str) -> Case:
    dtype, number = draw.kind("int8", "float32"), draw.number(-2.5, -0.5)
    rows, depth, columns = draw.size(1, 6), draw.size(1, 9), draw.size(1, 6)
    turned = (draw.chance(0.5), draw.chance(0.5))
    lead = draw.shape(1, 3, 3) if draw.chance(0.7) else ()
    left, right = draw.broadcast(lead) if lead and len(lead) < 3 else (lead, lead)
    first = (depth, rows) if turned[0] else (rows, depth)
    second = (columns, depth) if turned[1] else (depth, columns)
    left, right = ((1,) * (len(lead) - len(item)) + item for item in (left, right))
    wanted = (number[0] * 0.02 * math.sqrt(depth) * 40 * draw.finer, draw.number()[1])
    return case(draw, op, [draw.tensor("x0", (*left, *first), dtype, number),
                           draw.value("x1", (*right, *second), dtype, draw.near((0.02, 0)))],
                [draw.tensor("y0", (*lead, rows, columns), dtype, wanted)], {"adjX": turned[0], "adjY": turned[1]})


@maker("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(draw: Draw, op: str) -> Case:
    dtype, number = draw.kind("int8", "float32"), draw.number()
    shape = (draw.size(1, 2), draw.size(1, 7), draw.size(1, 7), draw.size(1, 5))
    size = (draw.size(1, 15), draw.size(1, 15))
    corners, half = draw.pick(((False, False), (True, False), (False, True)))
    return case(draw, op, [draw.tensor("x0", shape, dtype, number), numbers(*size, name="size")],
                [draw.tensor("y0", (shape[0], *size, shape[3]), dtype, number)],
                {"alignCorners": corners, "halfPixelCenters": half})


# ---- moving ----

_MOVED = ("int8", "int8", "float32", "int32", "int64", "bool", "int16", "uint8")


def _moved(draw: Draw, op: str, shape: Shape, out: Shape, others: Sequence[Tensor] = (),
           options: Mapping[str, Any] | None = None, first: bool = True) -> Case:
    dtype, number = draw.kind(*_MOVED), draw.number()
    source = draw.tensor("x0", shape, dtype, number)
    return case(draw, op, [source, *others] if first else [*others, source], [draw.tensor("y0", out, dtype, number)],
                options)


@maker("RESHAPE", "TRANSPOSE", "BROADCAST_TO", "EXPAND_DIMS", "SQUEEZE", "REVERSE_V2", "TILE", "ZEROS_LIKE")
def _reshaped(draw: Draw, op: str) -> Case:
    shape = draw.shape(1, 5 if op == "TRANSPOSE" else 4)
    axis, times = draw.size(0, len(shape) - 1), [draw.size(1, 3) for _ in shape]
    order = [int(item) for item in draw.random.permutation(len(shape))]
    turned, longer = tuple(shape[place] for place in order), (*shape[:axis], 1, *shape[axis:])
    flat = (math.prod(shape),) if draw.chance(0.5) else turned
    wanted = [-1 if place == axis and draw.chance(0.3) else size for place, size in enumerate(flat)]
    forms: dict[str, tuple[Shape, Shape, list[Tensor], dict[str, Any]]] = {
        "RESHAPE": (shape, flat, [numbers(*wanted)], {"newShape": wanted}),
        "TRANSPOSE": (shape, turned, [numbers(*order)], {}),
        "BROADCAST_TO": (draw.broadcast(shape)[0], shape, [numbers(*shape)], {}),
        "EXPAND_DIMS": (shape, longer, [scalar(axis)], {}), "SQUEEZE": (longer, shape, [], {"squeezeDims": [axis]}),
        "REVERSE_V2": (shape, shape, [numbers(axis)], {}), "ZEROS_LIKE": (shape, shape, [], {}),
        "TILE": (shape, tuple(a * b for a, b in zip(shape, times, strict=True)), [numbers(*times)], {}),
    }
    return _moved(draw, op, *forms[op])


@maker("SLICE", "STRIDED_SLICE")
def _slice(draw: Draw, op: str) -> Case:
    shape = draw.shape(1, 5 if op == "SLICE" else 4)
    begin = [draw.size(0, size - 1) for size in shape]
    counts = [draw.size(1, size - low) for size, low in zip(shape, begin, strict=True)]
    if op == "SLICE":
        sizes = [-1 if low + count == size and draw.chance(0.5) else count
                 for size, low, count in zip(shape, begin, counts, strict=True)]
        return _moved(draw, op, shape, tuple(counts), [numbers(*begin, name="begin"), numbers(*sizes, name="size")])
    shrunk = [axis for axis in range(len(shape)) if draw.chance(0.15)]
    steps = [1 if axis in shrunk else draw.pick((1, 1, 2, 3)) for axis in range(len(shape))]
    final = tuple(-(-counts[axis] // steps[axis]) for axis in range(len(shape)) if axis not in shrunk)
    end = [low + count for low, count in zip(begin, counts, strict=True)]
    begin = [item - size if draw.chance(0.2) else item for item, size in zip(begin, shape, strict=True)]
    end = [begin[axis] + 1 if axis in shrunk else item for axis, item in enumerate(end)]
    places = [numbers(*item, name=name) for name, item in (("begin", begin), ("end", end), ("strides", steps))]
    return _moved(draw, op, shape, final, places, {"shrinkAxisMask": sum(1 << axis for axis in shrunk)})


@maker("PAD", "PADV2", "MIRROR_PAD")
def _pad(draw: Draw, op: str) -> Case:
    shape = draw.shape(1, 4)
    mode = draw.size(0, 1)
    most = [2 if op != "MIRROR_PAD" else size - 1 + mode for size in shape]
    pairs = [(draw.size(0, min(3, item)), draw.size(0, min(3, item))) for item in most]
    out = tuple(size + sum(pair) for size, pair in zip(shape, pairs, strict=True))
    pads = constant("pads", np.array(pairs, np.int32))
    if op == "MIRROR_PAD":
        return _moved(draw, op, shape, out, [pads], {"mode": mode})
    dtype, number = draw.kind("int8", "int8", "float32", "int32"), draw.number()
    inputs = [draw.tensor("x0", shape, dtype, number), pads]
    if op == "PADV2":
        fill = values((1,), dtype, draw.size(0, 99))
        inputs.append(constant("fill", fill, *(number if dtype in ("int8", "int16") else ())))
    return case(draw, op, inputs, [draw.tensor("y0", out, dtype, number)])


@maker("CONCATENATION", "PACK")
def _join(draw: Draw, op: str) -> Case:
    dtype, number, shape = draw.kind(*_MOVED), draw.number(), draw.shape(1, 4, 5)
    count, axis = draw.size(1, 4), draw.size(0, len(shape) - 1 + (op == "PACK"))
    sizes = [draw.size(1, 4) for _ in range(count)]
    shapes = [shape if op == "PACK" else (*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    out = (*shape[:axis], count, *shape[axis:]) if op == "PACK" else (*shape[:axis], sum(sizes), *shape[axis + 1 :])
    options = {"axis": axis, "valuesCount": count} if op == "PACK" else {"axis": axis - len(shape) * draw.chance(0.3)}
    inputs = [draw.tensor(f"x{place}", item, dtype, number) for place, item in enumerate(shapes)]
    return case(draw, op, inputs, [draw.tensor("y0", out, dtype, number)], options)


@maker("SPLIT", "SPLIT_V", "UNPACK")
def _split(draw: Draw, op: str) -> Case:
    dtype, number, shape = draw.kind(*_MOVED), draw.number(), draw.shape(2 if op == "UNPACK" else 1, 4, 4)
    axis, count = draw.size(0, len(shape) - 1), draw.size(1, 3)
    sizes = [draw.size(1, 3)] * count if op == "SPLIT" else [draw.size(1, 3) for _ in range(count)]
    before, after = shape[:axis], shape[axis + 1 :]
    source = draw.tensor("x0", (*before, count if op == "UNPACK" else sum(sizes), *after), dtype, number)
    said = axis - len(shape) * draw.chance(0.3)
    parts = [(*before, *after) if op == "UNPACK" else (*before, size, *after) for size in sizes]
    outputs = [draw.tensor(f"y{place}", part, dtype, number) for place, part in enumerate(parts)]
    if op == "UNPACK":
        return case(draw, op, [source], outputs, {"axis": axis, "num": count})
    inputs = [scalar(said), source] if op == "SPLIT" else [source, numbers(*sizes, name="sizes"), scalar(said)]
    return case(draw, op, inputs, outputs, {"numSplits": count})


@maker("GATHER", "GATHER_ND", "EMBEDDING_LOOKUP")
def _gather(draw: Draw, op: str) -> Case:
    shape, known, places = draw.shape(1, 4), draw.chance(0.6), draw.shape(1, 2, 4)
    axis, depth = draw.size(0, len(shape) - 1), draw.size(1, len(shape))
    if op == "EMBEDDING_LOOKUP":
        shape, places = draw.shape(2, 3), (draw.size(1, 6),)
        indices = draw.random.integers(0, shape[0], places).astype(np.int32)
        dtype, number = draw.kind("int8", "float32"), draw.number()
        table = constant("table", values(shape, dtype, 4), *(number if dtype == "int8" else ()))
        out = draw.tensor("y0", (*places, *shape[1:]), dtype, number)
        return case(draw, op, [Tensor("x0", places, "int32"), table], [out], {}, {"x0": indices})
    if op == "GATHER":
        indices = draw.random.integers(0, shape[axis], places).astype(np.int32)
        out_shape = (*shape[:axis], *places, *shape[axis + 1 :])
        options = {"axis": axis - len(shape) * draw.chance(0.3)}
    else:
        indices = np.stack([draw.random.integers(0, size, places) for size in shape[:depth]], -1).astype(np.int32)
        out_shape, options = (*places, *shape[depth:]), {}
    dtype, number = draw.kind(*_MOVED), draw.number()
    where = constant("i", indices) if known else Tensor("i", indices.shape, "int32")
    return case(draw, op, [draw.tensor("x0", shape, dtype, number), where],
                [draw.tensor("y0", out_shape, dtype, number)], options, {} if known else {"i": indices})


@maker("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def _blocks(draw: Draw, op: str) -> Case:
    block, (n, h, w, c) = draw.size(2, 3), draw.shape(4, 4, 4)
    small, large = (n, h, w, c * block * block), (n, h * block, w * block, c)
    return _moved(draw, op, *((large, small) if op == "SPACE_TO_DEPTH" else (small, large)), (), {"blockSize": block})


@maker("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def _batches(draw: Draw, op: str) -> Case:
    block, (n, h, w, c) = (draw.size(1, 3), draw.size(1, 3)), draw.shape(4, 4, 4)
    large, small = (n, h * block[0], w * block[1], c), (n * block[0] * block[1], h, w, c)
    crops = [(draw.size(0, 1), 0) if size > 1 and op == "BATCH_TO_SPACE_ND" else (0, 0) for size in large[1:3]]
    cut = (n, large[1] - crops[0][0], large[2] - crops[1][0], c)
    shapes = (large, small) if op == "SPACE_TO_BATCH_ND" else (small, cut)
    return _moved(draw, op, *shapes, [numbers(*block, name="block"), constant("pads", np.array(crops, np.int32))])


@maker("FILL")
def _filled(draw: Draw, op: str) -> Case:
    shape = draw.shape(1, 4)
    return _moved(draw, op, (), shape, [numbers(*shape, name="sizes")], None, first=False)


@maker("SHAPE", "RANK")
def _known(draw: Draw, op: str) -> Case:
    dtype, shape = draw.kind(*_MOVED), draw.shape(1, 4)
    return case(draw, op, [draw.tensor("x0", shape, dtype, draw.number())],
                [Tensor("y0", (len(shape),) if op == "SHAPE" else (), "int32")],
                {"outType": _INT32} if op == "SHAPE" else {})


@maker("BROADCAST_ARGS")
def _broadcast_args(draw: Draw, op: str) -> Case:
    shape = draw.shape()
    left, right = draw.broadcast(shape)
    dtype = draw.pick(("int32", "int64"))
    return case(draw, op, [numbers(*left, name="a", dtype=dtype), numbers(*right, name="b", dtype=dtype)],
                [Tensor("y0", (len(shape),), dtype)])


@maker("DYNAMIC_UPDATE_SLICE")
def _update(draw: Draw, op: str) -> Case:
    dtype, number, shape = draw.kind(*_MOVED), draw.number(), draw.shape()
    part = tuple(draw.size(1, size) for size in shape)
    begin = [draw.size(0, size - some) for size, some in zip(shape, part, strict=True)]
    known = draw.chance(0.7)
    where = numbers(*begin, name="begin") if known else Tensor("begin", (len(shape),), "int32")
    return case(draw, op, [draw.tensor("x0", shape, dtype, number), draw.tensor("x1", part, dtype, number), where],
                [draw.tensor("y0", shape, dtype, number)], {}, {} if known else {"begin": np.array(begin, np.int32)})
