"""Files of one operator of int16, for every kind and corner: what test_int16.py holds to TensorFlow Lite Micro.

Activations are symmetric, scales are such that results saturate here and there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tests.tflite.cases import ABSENT, PAIRS, SHAPES, Case, Shape, data, ints, pads
from tests.tflite.writer import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Operator, Tensor, constant, write

#: Scales of an input and an output: equal, and smaller either way.
SCALES: tuple[tuple[float, float], ...] = ((2e-4, 2e-4), (1.7e-4, 3.1e-5), (3e-5, 4.4e-4))
FRACTION = 1 / (1 << 15)


def x(shape: Shape, scale: float, place: int = 0, dtype: str = "int16", zero: int = 0) -> Tensor:
    """An input."""
    return Tensor(f"x{place}", shape, dtype, scale, zero)


def y(shape: Shape, scale: float, place: int = 0, dtype: str = "int16", zero: int = 0) -> Tensor:
    """An output."""
    return Tensor(f"y{place}", shape, dtype, scale, zero)


def every() -> np.ndarray:
    """All values of int16."""
    return np.arange(-(1 << 15), 1 << 15, dtype=np.int16).reshape(1, 64, 64, 16)


def unary(op: str, *scales: tuple[float, float], options: Mapping[str, Any] | None = None) -> Iterator[Case]:
    """All values, and few of more scales."""
    for place, (source, result) in enumerate(scales):
        values = every() if place == 0 else every()[:, ::13, ::7]
        yield Case(op, [x(values.shape, source)], [y(values.shape, result)], options or {}, {"x0": values})


def fractions(op: str) -> Iterator[Case]:
    """With an output from -1 to 1: scales that are powers of two, near them, small and large."""
    scales = (2.0**-12, 2.0**-11, 2.0**-13, 1.01 * 2.0**-12, 3e-5, 1e-3, 2.5, 2.0**-20)
    return unary(op, *((scale, FRACTION) for scale in scales))


def softmax() -> Iterator[Case]:
    """Long vectors and short ones, betas."""
    shapes = ((10,), (3, 17), (2, 3, 4, 5), (1, 300))
    for shape, scale, beta in itertools.product(shapes, (2e-5, 3e-4, 0.01), (1.0, 0.3)):
        yield Case("SOFTMAX", [x(shape, scale)], [y(shape, FRACTION)], {"beta": beta})
        yield Case("SOFTMAX", [Tensor("x0", shape, "int8", 200 * scale, -5)],
                   [Tensor("y0", shape, "int16", 1 / 65535, -32768)], {"beta": beta})
    yield Case("SOFTMAX", [x((2, 6), 1e-4)], [y((2, 6), FRACTION)], {"beta": 1.0},
               {"x0": np.full((2, 6), -32768, np.int16)})


def binary(op: str, factor: float = 1.0, fused: bool = True, same: bool = False) -> Iterator[Case]:
    """Broadcast on either side; scales equal and not; activations in turn."""
    activations = itertools.cycle((NONE, RELU, RELU6, RELU_N1_TO_1))
    for (left, right), (scale, result) in itertools.product(PAIRS, SCALES):
        shape = np.broadcast_shapes(left, right)
        options = {"fusedActivationFunction": next(activations)} if fused else {}
        second, wanted = (scale, scale) if same else (scale * 1.31, max(result * factor, scale * factor / 4))
        yield Case(op, [x(left, scale), x(right, second, 1)], [y(shape, wanted)], options)


def reductions(op: str) -> Iterator[Case]:
    """Sets of axes."""
    scales = itertools.cycle(SCALES)
    for shape in SHAPES:
        rank = len(shape)
        for axes in ((0,), (rank - 1,), tuple(range(rank)), tuple(range(1, max(2, rank - 1)))):
            if any(axis >= rank for axis in axes):
                continue
            source, result = next(scales)
            keep = len(axes) != 1 or rank == 1
            out = tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)
            yield Case(op, [x(shape, source), ints("axes", *axes)], [y(out, result)], {"keepDims": keep})


def moves() -> Iterator[Case]:
    """Elements that go elsewhere unchanged."""
    n = 1e-3
    a = x((2, 4, 6, 5), n)
    yield Case("SPLIT", [constant("axis", np.array(3, np.int32)), x((2, 3, 4, 6), n)],
               [y((2, 3, 4, 2), n, place) for place in range(3)], {"numSplits": 3})
    yield Case("SPLIT_V", [a, ints("sizes", 1, 3), constant("axis", np.array(1, np.int32))],
               [y((2, 1, 6, 5), n), y((2, 3, 6, 5), n, 1)], {"numSplits": 2})
    yield Case("PACK", [x((3, 4, 5), n), x((3, 4, 5), n, 1)], [y((3, 4, 2, 5), n)], {"axis": 2, "valuesCount": 2})
    yield Case("UNPACK", [x((3, 4, 2), n)], [y((3, 4), n, place) for place in range(2)], {"axis": 2, "num": 2})
    yield Case("PAD", [a, pads((0, 1), (1, 2), (0, 0), (2, 1))], [y((3, 7, 6, 8), n)])
    yield Case("PADV2", [a, pads((0, 0), (1, 2), (2, 0), (0, 1)), constant("fill", np.array([-7007], np.int16), n)],
               [y((2, 7, 8, 6), n)])
    yield Case("EXPAND_DIMS", [a, ints("axis", 2)], [y((2, 4, 1, 6, 5), n)])
    yield Case("CONCATENATION", [x((2, 3, 4), n), x((2, 1, 4), n, 1)], [y((2, 4, 4), n)], {"axis": 1})
    yield Case("CONCATENATION", [x((1, 5, 6, 3), n), x((1, 5, 6, 2), n, 1)], [y((1, 5, 6, 5), n)], {"axis": 3})
    yield Case("TRANSPOSE", [a, ints("perm", 0, 3, 1, 2)], [y((2, 5, 4, 6), n)])
    yield Case("REVERSE_V2", [a, ints("axis", 2)], [y((2, 4, 6, 5), n)])
    yield Case("SLICE", [a, ints("begin", 0, 1, 2, 0), ints("size", 2, -1, 3, 5)], [y((2, 3, 3, 5), n)])
    yield Case("STRIDED_SLICE",
               [a, ints("begin", 0, -1, 1, 0), ints("end", 2, -5, 6, 5), ints("strides", 1, -2, 2, 1)],
               [y((2, 2, 3, 5), n)])
    yield Case("RESHAPE", [a, ints("shape", 4, 60)], [y((4, 60), n)])
    for size in ((7, 9), (10, 3), (4, 5)):
        yield Case("RESIZE_NEAREST_NEIGHBOR", [x((2, 4, 5, 3), n), ints("size", *size)], [y((2, *size, 3), n)],
                   {"alignCorners": False, "halfPixelCenters": size == (10, 3)})


def quantising() -> Iterator[Case]:
    """Between int16 and every other type, and between scales."""
    shape = (2, 3, 5, 4)
    for scale, zero in ((0.07, 5), (2e-4, -128), (0.031, 127)):
        yield Case("QUANTIZE", [x(shape, 2e-4)], [y(shape, scale, 0, "int8", zero)])
        yield Case("QUANTIZE", [x(shape, scale, 0, "int8", zero)], [y(shape, 2e-4)])
    for source, result in SCALES:
        yield Case("QUANTIZE", [x(shape, source)], [y(shape, result)])
    yield Case("QUANTIZE", [Tensor("x0", shape, "float32")], [y(shape, 1.3e-4)])
    yield Case("DEQUANTIZE", [x(shape, 1.3e-4)], [Tensor("y0", shape, "float32")])


def weighted(shape: Shape, axis: int, source: float, bias: str) -> tuple[Tensor, Tensor]:
    """Weights with a scale for each output channel, and a bias of a type."""
    count = shape[axis]
    scales = np.linspace(0.002, 0.01, count)
    weights = constant("w", data(shape, 5), list(scales), 0, axis)
    if not bias:
        return weights, ABSENT
    large = 1 << (20 if bias == "int32" else 25)
    values = np.random.default_rng(1).integers(-large, large, count).astype(bias)
    return weights, constant("b", values, list(scales * source))


def fully_connected() -> Iterator[Case]:
    """Rows, ranks, activations; biases of 64 and 32 bits and none; one scale and one a channel."""
    forms = (((1, 12), 5), ((3, 17), 8), ((2, 3, 12), 4), ((1, 700), 10))
    for (shape, outputs), bias in itertools.product(forms, ("int64", "int32", "")):
        for (source, result), activation in zip(SCALES, (NONE, RELU, RELU6), strict=True):
            weights, offset = weighted((outputs, shape[-1]), 0, source, bias)
            keep = len(shape) > 2
            yield Case("FULLY_CONNECTED", [x(shape, source), weights, offset], [y((*shape[:-1], outputs), result * 2)],
                       {"fusedActivationFunction": activation, "keepNumDims": keep})
    single = constant("w", data((5, 12), 5), 0.004)
    yield Case("FULLY_CONNECTED", [x((2, 12), 2e-4), single, ABSENT], [y((2, 5), 1e-3)])
    yield Case("FULLY_CONNECTED", [x((2, 12), 2e-4), single, ABSENT], [y((2, 5), 1e-3)], {"quantizedBiasType": 2})


def convolutions(op: str) -> Iterator[Case]:
    """Paddings, strides, dilations, groups or multipliers, activations, types of biases."""
    depthwise = op == "DEPTHWISE_CONV_2D"
    forms = ((1, 1, SAME, NONE, "int64"), (2, 1, VALID, RELU, "int64"), (1, 2, SAME, RELU6, "int64"),
             *(() if depthwise else ((1, 1, VALID, RELU, "int32"), (2, 1, SAME, NONE, ""))))
    for (source, result), (stride, dilation, padding, activation, bias) in itertools.product(SCALES, forms):
        outputs = 8 if depthwise else 6
        shape = (1, 3, 3, 8) if depthwise else (6, 3, 3, 4 if bias else 2)
        weights, offset = weighted(shape, 3 if depthwise else 0, source, bias)
        size = [-(-extent // stride) if padding == SAME else -(-(extent - 2 * dilation) // stride) for extent in (7, 6)]
        options = {"strideH": stride, "strideW": stride, "dilationHFactor": dilation, "dilationWFactor": dilation,
                   "padding": padding, "fusedActivationFunction": activation}
        if depthwise:
            options["depthMultiplier"] = 2
        inputs = [x((1, 7, 6, 4), source), weights, offset]
        yield Case(op, inputs if bias else inputs[:2], [y((1, *size, outputs), result * 3)], options)


def transposed_convolutions() -> Iterator[Case]:
    """SAME and VALID, with biases of 64 and 16 bits and without."""
    for (source, result), (padding, stride, bias) in zip(
            SCALES, ((SAME, 2, "int64"), (VALID, 2, ""), (SAME, 1, "int64")), strict=True):
        size = (5 * stride, 4 * stride) if padding == SAME else ((5 - 1) * stride + 3, (4 - 1) * stride + 3)
        weights, offset = weighted((6, 3, 3, 4), 0, source, bias)
        inputs = [ints("shape", 1, *size, 6), weights, x((1, 5, 4, 4), source)]
        yield Case("TRANSPOSE_CONV", [*inputs, offset] if bias else inputs, [y((1, *size, 6), result * 9)],
                   {"strideH": stride, "strideW": stride, "padding": padding})


def pools(op: str) -> Iterator[Case]:
    """Windows inside and across the border."""
    for (kernel, stride, padding), activation in itertools.product(((2, 2, VALID), (3, 1, SAME), (3, 2, SAME)),
                                                                   (NONE, RELU6, RELU)):
        size = [-(-extent // stride) if padding == SAME else -(-(extent - kernel + 1) // stride) for extent in (7, 6)]
        yield Case(op, [x((1, 7, 6, 5), 2.3e-4)], [y((1, *size, 5), 2.3e-4)],
                   {"strideH": stride, "strideW": stride, "filterHeight": kernel, "filterWidth": kernel,
                    "padding": padding, "fusedActivationFunction": activation})


def products() -> Iterator[Case]:
    """Batches of two activations' matrices, either turned."""
    for left, right, turned in (((4, 5), (5, 3), (False, False)), ((2, 4, 5), (2, 3, 5), (False, True)),
                                ((2, 3, 5, 4), (1, 3, 5, 6), (True, False))):
        rows = left[-1] if turned[0] else left[-2]
        columns = right[-2] if turned[1] else right[-1]
        lead = np.broadcast_shapes(left[:-2], right[:-2])
        for source, result in SCALES:
            output = y((*lead, rows, columns), result * 9 + source)
            yield Case("BATCH_MATMUL", [x(left, source), x(right, 3e-4, 1)], [output],
                       {"adjX": turned[0], "adjY": turned[1]})


def mixed_network() -> bytes:
    """Two layers of int16, one of int8, two of int16 with a skip between them; int8 at both ends."""
    fine, coarse = 2e-4, 0.05
    tensors = [
        Tensor("x", (1, 24, 10, 4), "int8", coarse, -3), Tensor("a", (1, 24, 10, 4), "int16", fine),
        Tensor("b", (1, 24, 10, 8), "int16", fine), Tensor("c", (1, 12, 5, 8), "int16", fine * 2),
        Tensor("d", (1, 12, 5, 8), "int16", fine * 2), Tensor("e", (1, 12, 5, 8), "int8", coarse, 5),
        Tensor("f", (1, 12, 5, 8), "int8", coarse, -128), Tensor("g", (1, 12, 5, 8), "int16", fine * 3),
        Tensor("h", (1, 12, 5, 8), "int16", fine * 4), Tensor("i", (1, 6, 2, 8), "int16", fine * 4),
        Tensor("j", (1, 8), "int16", fine * 2), Tensor("k", (1, 5), "int16", fine * 5),
        Tensor("p", (1, 5), "int16", 1 / 32768), Tensor("y", (1, 5), "int8", 1 / 256, -128),
    ]  # fmt: skip
    operators = [Operator("QUANTIZE", ["x"], ["a"])]
    for name, op, source, result, weights, axis, bias in (
            ("1", "CONV_2D", "a", "b", (8, 3, 3, 4), 0, "int64"),
            ("2", "DEPTHWISE_CONV_2D", "b", "c", (1, 3, 3, 8), 3, "int64"),
            ("3", "CONV_2D", "e", "f", (8, 1, 1, 8), 0, "int32"),
            ("4", "FULLY_CONNECTED", "j", "k", (5, 8), 0, "int32")):
        scale = next(item.scale for item in tensors if item.name == source)
        assert isinstance(scale, float)
        kernel, offset = weighted(weights, axis, scale, bias)
        assert offset.data is not None
        values = offset.data if bias == "int64" else offset.data // 4096
        tensors += [constant(f"w{name}", kernel.data, kernel.scale, 0, axis),  # type: ignore[arg-type]
                    constant(f"b{name}", values, offset.scale)]
        stride = 2 if op == "DEPTHWISE_CONV_2D" else 1
        window = {"strideH": stride, "strideW": stride, "padding": SAME, "fusedActivationFunction": RELU}
        options = {} if op == "FULLY_CONNECTED" else window | ({"depthMultiplier": 1} if stride == 2 else {})
        operators.append(Operator(op, [source, f"w{name}", f"b{name}"], [result], options))
        operators += {
            "2": [Operator("LEAKY_RELU", ["c"], ["d"], {"alpha": 0.1}), Operator("QUANTIZE", ["d"], ["e"])],
            "3": [
                Operator("QUANTIZE", ["f"], ["g"]),
                Operator("ADD", ["g", "d"], ["h"], {"fusedActivationFunction": NONE}),
                Operator("AVERAGE_POOL_2D", ["h"], ["i"], {"strideH": 2, "strideW": 2, "filterHeight": 2,
                                                            "filterWidth": 2, "padding": VALID}),
                Operator("MEAN", ["i", "axes"], ["j"], {"keepDims": False}),
            ],
            "4": [Operator("SOFTMAX", ["k"], ["p"], {"beta": 1.0}), Operator("QUANTIZE", ["p"], ["y"])],
        }.get(name, [])  # fmt: skip
    tensors.append(constant("axes", np.array([1, 2], np.int32)))
    return write(tensors, operators, ["x"], ["y"])


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "moving": moves, "QUANTIZE": quantising, "FULLY_CONNECTED": fully_connected,
    "CONV_2D": lambda: convolutions("CONV_2D"), "DEPTHWISE_CONV_2D": lambda: convolutions("DEPTHWISE_CONV_2D"),
    "ADD": lambda: binary("ADD"), "SUB": lambda: binary("SUB"), "MUL": lambda: binary("MUL", 2.0),
    "MAXIMUM": lambda: binary("MAXIMUM", fused=False, same=True),
    "MINIMUM": lambda: binary("MINIMUM", fused=False, same=True),
    "AVERAGE_POOL_2D": lambda: pools("AVERAGE_POOL_2D"), "MAX_POOL_2D": lambda: pools("MAX_POOL_2D"),
    "RELU": lambda: unary("RELU", *SCALES), "RELU6": lambda: unary("RELU6", (2e-4, 2e-4), (2e-3, 2e-3)),
    "LEAKY_RELU": lambda: itertools.chain(unary("LEAKY_RELU", *SCALES, options={"alpha": 0.3}),
                                          unary("LEAKY_RELU", *SCALES, options={"alpha": -1.7})),
    "ABS": lambda: unary("ABS", *SCALES),
    "LOGISTIC": lambda: fractions("LOGISTIC"), "TANH": lambda: fractions("TANH"), "SOFTMAX": softmax,
    "TRANSPOSE_CONV": transposed_convolutions, "BATCH_MATMUL": products, "MEAN": lambda: reductions("MEAN"),
}
