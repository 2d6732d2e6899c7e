"""Operators of int16, and a network of int16 and int8."""

import functools
from collections.abc import Callable, Iterator

import numpy as np

from tests.fuzz.tflite_cases import INT16, MAKERS, Draw
from tests.tflite.cases import Case, weighted
from tests.tflite.writer import NONE, RELU, SAME, VALID, Operator, Tensor, constant, write


def _random(op: str) -> Iterator[Case]:
    return (MAKERS[op](Draw(seed, int16=True), op) for seed in range(8))


CASES: dict[str, Callable[[], Iterator[Case]]] = {op: functools.partial(_random, op) for op in INT16}


def mixed_network() -> bytes:
    """Two layers of int16, one of int8, two of int16 with a residual between them; input and output are int8."""
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
