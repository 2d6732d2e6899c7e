"""Random networks over a signal, and a comparison of runs with a hop with runs on whole input windows."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from tests.compiler.models import Quantiser, make, node
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled


class Signal:
    """A random network: convolutions and pools of any stride, dilation and padding, sums with cropped tensors, joins
    of channels, and gates. It ends in a mean, a fully connected layer, all rows or one row."""

    def __init__(self, seed: int, quantised: bool) -> None:
        self.rng = random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.quantiser = Quantiser()
        self.quantised = quantised
        self.shapes = {"x": (1, self.rng.randint(1, 3), self.rng.randint(10, 36), self.rng.randint(1, 3))}
        self.input = self.shapes["x"]
        self.now = self.pair("x", 0.05, -3)
        self.before = [self.now]
        for _ in range(self.rng.randint(1, 6)):
            if self.shapes[self.now][2] > 3:
                self.step()
                self.before.append(self.now)
        self.end(self.rng.choice(["mean", "flat", "rows", "top"]))

    def pair(self, name: str, scale: float = 0.04, zero: int | None = None) -> str:
        if not self.quantised:
            return name
        result = self.quantiser.pair(name, scale, self.rng.choice([0, 5, -20]) if zero is None else zero)
        self.shapes[result] = self.shapes[name]
        return result

    def add(self, op: str, inputs: str, shape: tuple[int, ...], **attributes: Any) -> str:
        name = f"t{len(self.quantiser.nodes)}"
        self.quantiser.add(node(op, inputs, name, **attributes))
        self.shapes[name] = shape
        return self.pair(name)

    def weight(self, values: np.ndarray) -> str:
        name = f"w{len(self.quantiser.weights)}"
        if self.quantised:
            return self.quantiser.constant(name, np.clip(np.rint(values / 0.01), -127, 127).astype(np.int8), 0.01)
        self.quantiser.weights[name] = values.astype(np.float32)
        return name

    def integers(self, *values: int) -> str:
        name = f"i{len(self.quantiser.weights)}"
        self.quantiser.weights[name] = np.array(values, np.int64)
        return name

    def kernel(self, most: int, dilations: Sequence[int] = (1,)) -> tuple[dict[str, Any], int]:
        """Attributes of a random kernel of up to `most` rows, and the number of output rows."""
        height, kernel = self.shapes[self.now][2], self.rng.randint(1, most)
        stride, dilation = self.rng.choice([1, 1, 1, 2, 3]), self.rng.choice(dilations)
        if (reach := (kernel - 1) * dilation) >= height:
            kernel, reach = 1, 0
        above, below = (self.rng.randint(0, reach) if self.rng.random() < 0.4 else 0 for _ in range(2))
        attributes = {"strides": [stride, 1], "kernel_shape": [kernel, 1], "pads": [above, 0, below, 0]}
        if len(dilations) > 1:
            attributes["dilations"] = [dilation, 1]
        return attributes, (height + above + below - reach - 1) // stride + 1

    def step(self) -> None:
        _, channels, rows, width = self.shapes[self.now]
        other = self.rng.choice(self.before)
        _, other_channels, other_rows, _ = self.shapes[other]
        kind = self.rng.choice(["conv", "conv", "depthwise", "point", "pool", "add", "join", "gate", "pad", "relu"])
        op, inputs, made, attributes = "", self.now, channels, dict[str, Any]()
        if kind in ("conv", "depthwise", "point"):
            attributes, rows = self.kernel(1 if kind == "point" else 4, (1, 1, 2))
            groups = channels if kind == "depthwise" else 1
            made = channels if kind == "depthwise" else self.rng.randint(1, 4)
            values = self.noise.standard_normal((made, channels // groups, attributes["kernel_shape"][0], 1))
            op, inputs, attributes["group"] = "Conv", f"{self.now} {self.weight(values * 0.6)}", groups
        elif kind == "pool":
            op, (attributes, rows) = self.rng.choice(["MaxPool", "AveragePool"]), self.kernel(3)
        elif kind == "add" and other_channels == channels:
            rows = min(rows, other_rows)
            op, inputs = "Add", f"{self.cropped(self.now, rows)} {self.cropped(other, rows)}"
        elif kind == "join" and other_rows == rows:
            op, inputs, made, attributes = "Concat", f"{self.now} {other}", channels + other_channels, {"axis": 1}
        elif kind == "gate" and self.rng.random() < 0.3:
            op, inputs = "Mul", f"{self.now} {self.add('GlobalAveragePool', self.now, (1, channels, 1, 1))}"
        elif kind == "pad" and self.rng.random() < 0.4:
            above, below = self.rng.randint(0, 2), self.rng.randint(0, 2)
            op, inputs = "Pad", f"{self.now} {self.integers(0, 0, above, 0, 0, 0, below, 0)}"
            rows += above + below
        elif kind == "relu":
            op = self.rng.choice(["Relu", "Sigmoid", "LeakyRelu"])
        if op:
            self.now = self.add(op, inputs, (1, made, rows, width), **attributes)

    def cropped(self, name: str, rows: int) -> str:
        batch, channels, height, width = self.shapes[name]
        if rows == height:
            return name
        first = self.rng.randint(0, height - rows)
        bounds = " ".join(self.integers(value) for value in (first, first + rows, 2))
        return self.add("Slice", f"{name} {bounds}", (batch, channels, rows, width))

    def end(self, kind: str) -> None:
        _, channels, height, width = self.shapes[self.now]
        count = channels * (1 if kind == "mean" else height * width)
        if kind == "mean":
            self.now = self.add("GlobalAveragePool", self.now, (1, channels, 1, 1))
        elif kind == "top":
            self.now = self.cropped(self.now, 1)
        if kind in ("mean", "flat"):
            self.now = self.add("Flatten", self.now, (1, count))
            weights = self.weight(self.noise.standard_normal((5, count)) * 0.3)
            self.now = self.add("Gemm", f"{self.now} {weights}", (1, 5), transB=1)
        self.quantiser.add(node("Identity", self.now, "y"))

    def model(self) -> onnx.ModelProto:
        return make(self.quantiser.nodes, {"x": self.input}, ["y"], self.quantiser.weights)


def wrong_runs(model: Any, hopped: Compiled) -> list[int]:
    """The runs, counted from 0, whose outputs differ from those of the whole input window, also after a reset.

    int8 networks must agree byte for byte, float32 within 1e-5.
    """
    rows, axis = hopped.report["hop"]["rows"], hopped.report["hop"]["axis"]
    with Session(compile_model(model)) as whole, Session(hopped) as session:
        (io,) = whole.inputs
        each, window = io.shape[axis] // hopped.report["hop"]["window"] * rows, io.shape[axis]
        runs = -(-window // each) + 3
        shape = (*io.shape[:axis], each * runs, *io.shape[axis + 1 :])
        signal = np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 2
        padded = np.concatenate([np.zeros(io.shape, np.float32), signal], axis)
        wrong = set()
        for last in (runs // 2 + 1, runs - 1):
            for run in range(last + 1):
                end = window + each * (run + 1)
                expected = whole.run({io.name: np.take(padded, range(end - window, end), axis)})
                found = session.run({io.name: np.take(padded, range(end - each, end), axis)})
                if not all(_same(found[name], value, bool(io.scale)) for name, value in expected.items()):
                    wrong.add(run)
            session.reset()
    return sorted(wrong)


def _same(found: np.ndarray, expected: np.ndarray, exact: bool) -> bool:
    if exact:
        return np.array_equal(found, expected)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-5)
