"""Transformers as TensorFlow Lite has them, int8: every byte TensorFlow Lite Micro's, in little memory too.

Layer normalisation is nine operators, GELU a HARD_SWISH here; matrices of activations are BATCH_MATMUL, and layers of
tokens are FULLY_CONNECTED with keep_num_dims.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.tflite.compare import check_exact, random_input
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import DType, OpKind

TOKENS, SIZE, HEADS = 48, 32, 4
Shape = tuple[int, ...]


class Net:
    """One network on [1, TOKENS, FEATURES], written operator by operator."""

    def __init__(self, features: int) -> None:
        self.random = np.random.default_rng(5)
        self.tensors = [Tensor("x", (1, TOKENS, features), "int8", 0.03, 2)]
        self.operators: list[Operator] = []
        self.shapes: dict[str, Shape] = {"x": (1, TOKENS, features)}
        self.scales: dict[str, float] = {"x": 0.03}

    def add(self, op: str, inputs: list[str], shape: Shape, scale: float, zero: int = 0, **options: object) -> str:
        name = f"{op.lower()}_{len(self.operators)}"
        self.tensors.append(Tensor(name, shape, "int8", scale, zero))
        self.operators.append(Operator(op, inputs, [name], options))
        self.shapes[name], self.scales[name] = shape, scale
        return name

    def known(self, values: np.ndarray, scale: float | list[float] | None = None, zero: int = 0) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(constant(name, values, scale, zero))
        return name

    def ints(self, *values: int) -> str:
        return self.known(np.array(values, np.int32))

    def layer(self, x: str, outputs: int, scale: float) -> str:
        """FULLY_CONNECTED of each token, a scale a channel."""
        *lead, inputs = self.shapes[x]
        scales = self.random.uniform(0.5, 1.5, outputs) * scale / self.scales[x] / 100 / np.sqrt(inputs)
        weights = self.random.integers(-127, 128, (outputs, inputs)).astype(np.int8)
        bias = self.random.integers(-500, 500, outputs).astype(np.int32)
        names = [x, self.known(weights, list(scales)), self.known(bias, list(scales * self.scales[x]))]
        return self.add("FULLY_CONNECTED", names, (*lead, outputs), scale, -3, keepNumDims=True)

    def reshape(self, x: str, *shape: int) -> str:
        zero = next(item.zero_point for item in self.tensors if item.name == x)
        assert isinstance(zero, int)
        return self.add("RESHAPE", [x, self.ints(*shape)], shape, self.scales[x], zero)

    def transpose(self, x: str, *order: int) -> str:
        zero = next(item.zero_point for item in self.tensors if item.name == x)
        assert isinstance(zero, int)
        return self.add("TRANSPOSE", [x, self.ints(*order)], tuple(self.shapes[x][i] for i in order), self.scales[x],
                        zero)

    def normalised(self, x: str) -> str:
        """x * g + (b - mean * g) with g the factor by the deviation, as Keras' batch_normalization writes it."""
        shape = self.shapes[x]
        one = (*shape[:-1], 1)
        mean = self.add("MEAN", [x, self.ints(2)], one, 0.004, 0, keepDims=True)
        squares = self.add("SQUARED_DIFFERENCE", [x, mean], shape, 0.06, -128)
        variance = self.add("MEAN", [squares, self.ints(2)], one, 0.01, -128, keepDims=True)
        lifted = self.add("ADD", [variance, self.known(np.array(100, np.int8), 1e-5, 0)], one, 0.0101, -128)
        root = self.add("RSQRT", [lifted], one, 0.03, -128)
        factor = self.add("MUL", [root, self.known(self.random.integers(60, 127, SIZE).astype(np.int8), 0.01)], shape,
                          0.03, -128)
        scaled = self.add("MUL", [x, factor], shape, 0.03, 1)
        moved = self.add("MUL", [mean, factor], shape, 0.01, 0)
        offset = self.add("SUB", [self.known(self.random.integers(-99, 99, SIZE).astype(np.int8), 0.002), moved], shape,
                          0.01, 0)
        return self.add("ADD", [scaled, offset], shape, 0.03, 2)

    def attention(self, x: str) -> str:
        heads = [self.transpose(self.reshape(self.layer(x, SIZE, 0.03), 1, TOKENS, HEADS, SIZE // HEADS), 0, 2, 1, 3)
                 for _ in range(3)]
        scores = self.add("BATCH_MATMUL", heads[:2], (1, HEADS, TOKENS, TOKENS), 0.06, 4, adjY=True)
        scaled = self.add("MUL", [scores, self.known(np.array(127, np.int8), 0.354 / 127)],
                          (1, HEADS, TOKENS, TOKENS), 0.022, 4)
        shares = self.add("SOFTMAX", [scaled], (1, HEADS, TOKENS, TOKENS), 1 / 256, -128, beta=1.0)
        mixed = self.add("BATCH_MATMUL", [shares, heads[2]], (1, HEADS, TOKENS, SIZE // HEADS), 0.02, -2)
        return self.layer(self.reshape(self.transpose(mixed, 0, 2, 1, 3), 1, TOKENS, SIZE), SIZE, 0.03)

    def block(self, x: str) -> str:
        """Attention and a perceptron, each normalised before and added."""
        x = self.add("ADD", [x, self.attention(self.normalised(x))], self.shapes[x], 0.03, 1)
        inside = self.layer(self.normalised(x), 2 * SIZE, 0.03)
        inside = self.add("HARD_SWISH", [inside], self.shapes[inside], 0.02, -100)
        return self.add("ADD", [x, self.layer(inside, SIZE, 0.03)], self.shapes[x], 0.03, 1)

    def file(self, output: str) -> bytes:
        return write(self.tensors, self.operators, ["x"], [output])


def keyword_transformer() -> bytes:
    net = Net(40)
    t = net.block(net.block(net.layer("x", SIZE, 0.03)))
    mean = net.add("MEAN", [t, net.ints(1)], (1, SIZE), 0.01, 0, keepDims=False)
    return net.file(net.add("SOFTMAX", [net.layer(mean, 12, 0.05)], (1, 12), 1 / 256, -128, beta=1.0))


def mixer() -> bytes:
    """Layers across tokens between TRANSPOSEs, layers across channels."""
    net = Net(SIZE)
    t = "x"
    for _ in range(2):
        inside = net.layer(net.transpose(net.normalised(t), 0, 2, 1), 2 * TOKENS, 0.03)
        inside = net.add("HARD_SWISH", [inside], net.shapes[inside], 0.02, -100)
        mixed = net.transpose(net.layer(inside, TOKENS, 0.03), 0, 2, 1)
        t = net.add("ADD", [t, mixed], net.shapes[t], 0.03, 1)
        inside = net.layer(net.normalised(t), 2 * SIZE, 0.03)
        t = net.add("ADD", [t, net.layer(inside, SIZE, 0.03)], net.shapes[t], 0.03, 1)
    return net.file(net.layer(t, 4, 0.03))


@pytest.mark.parametrize(("network", "features", "most"), [
    (keyword_transformer, 40, 6_900), pytest.param(mixer, SIZE, 5_100, marks=pytest.mark.thorough),
])  # fmt: skip
def test_the_bytes_are_tensorflow_lite_micros(network: Callable[[], bytes], features: int, most: int) -> None:
    model, shape = network(), (1, TOKENS, features)
    compiled = check_exact(model, model, {"x": random_input(shape)}, tight=False)
    assert not {op.kind for op in compiled.plan.program.ops if op.dtype == DType.FLOAT32} - {OpKind.CAST}
    tight = compile_model(model, fast=most)
    assert sum(stage.recomputed_macs for stage in tight.plan.stages) == 0
    with Session(compiled) as whole, Session(tight) as small:
        x = {"x": random_input(shape, seed=1)}
        (expected,), (got,) = whole.run(x).values(), small.run(x).values()
    np.testing.assert_array_equal(got, expected)
