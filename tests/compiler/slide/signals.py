"""Random networks over a signal, and the comparison of runs on overlapping windows with runs on whole ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx

from tests.compiler.models import Quantiser, make, node
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled


class Signal:
    """A random network: convolutions and pools with any stride, dilation and padding, sums with cropped tensors, joins
    of channels, gates, and one of several ends."""

    def __init__(self, seed: int, quantised: bool, padded: bool = True, end: str | None = None) -> None:
        self.rng = random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.quantiser = Quantiser()
        self.quantised, self.padded = quantised, padded
        self.shapes = {"x": (1, self.rng.randint(1, 3), self.rng.randint(10, 36), self.rng.randint(1, 3))}
        self.input = self.shapes["x"]
        self.now = self.pair("x", 0.05, -3)
        self.before = [self.now]
        for _ in range(self.rng.randint(1, 6)):
            if self.shapes[self.now][2] > 3:
                self.step()
        self.end(end or self.rng.choice(["mean", "flat", "rows", "top"]))

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

    def window(self, most: int) -> tuple[int, int, int, int, int]:
        """Kernel, stride, dilation and padding along the rows, and the rows that come out."""
        height = self.shapes[self.now][2]
        kernel, stride = self.rng.randint(1, most), self.rng.choice([1, 1, 1, 2, 3])
        dilation = self.rng.choice([1, 1, 2])
        above, below = (self.rng.randint(0, (kernel - 1) * dilation) if self.padded and self.rng.random() < 0.4 else 0
                        for _ in range(2))
        if (kernel - 1) * dilation >= height:
            kernel, dilation, above, below = 1, 1, 0, 0
        self.chosen = {"strides": [stride, 1], "dilations": [dilation, 1], "kernel_shape": [kernel, 1],
                       "pads": [above, 0, below, 0]}
        return kernel, stride, above, below, (height + above + below - (kernel - 1) * dilation - 1) // stride + 1

    def step(self) -> None:
        _, channels, height, width = self.shapes[self.now]
        kind = self.rng.choice(["conv", "conv", "depthwise", "point", "pool", "add", "join", "gate", "pad", "relu"])
        if kind in ("conv", "depthwise", "point"):
            kernel, *_, rows = self.window(1 if kind == "point" else 4)
            groups = channels if kind == "depthwise" else 1
            made = channels if kind == "depthwise" else self.rng.randint(1, 4)
            values = self.noise.standard_normal((made, channels // groups, self.chosen["kernel_shape"][0], 1))
            weights = self.weight(values * 0.6)
            self.now = self.add("Conv", f"{self.now} {weights}", (1, made, rows, width), group=groups, **self.chosen)
        elif kind == "pool":
            op = self.rng.choice(["MaxPool", "AveragePool"])
            *_, rows = self.window(3)
            self.chosen.pop("dilations")
            kernel, (above, _, below, _) = self.chosen["kernel_shape"][0], self.chosen["pads"]
            if max(above, below) >= kernel:
                self.chosen["pads"] = [0, 0, 0, 0]
                above = below = 0
            rows = (height + above + below - kernel) // self.chosen["strides"][0] + 1
            self.now = self.add(op, self.now, (1, channels, rows, width), **self.chosen)
        elif kind == "add":
            other = self.rng.choice(self.before)
            rows = min(height, self.shapes[other][2])
            if self.shapes[other][1] == channels:
                self.now = self.add("Add", f"{self.cropped(self.now, rows)} {self.cropped(other, rows)}",
                                    (1, channels, rows, width))  # fmt: skip
        elif kind == "join":
            other = self.rng.choice(self.before)
            if self.shapes[other][2] == height:
                joined = channels + self.shapes[other][1]
                self.now = self.add("Concat", f"{self.now} {other}", (1, joined, height, width), axis=1)
        elif kind == "gate" and self.rng.random() < 0.3:
            mean = self.add("GlobalAveragePool", self.now, (1, channels, 1, 1))
            self.now = self.add("Mul", f"{self.now} {mean}", (1, channels, height, width))
        elif kind == "pad" and self.padded and self.rng.random() < 0.4:
            above, below = self.rng.randint(0, 2), self.rng.randint(0, 2)
            pads = self.integers(0, 0, above, 0, 0, 0, below, 0)
            self.now = self.add("Pad", f"{self.now} {pads}", (1, channels, height + above + below, width))
        elif kind == "relu":
            op = self.rng.choice(["Relu", "Sigmoid", "LeakyRelu"])
            self.now = self.add(op, self.now, (1, channels, height, width))
        self.before.append(self.now)

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


def wrong_runs(model: Any, hopped: Compiled, runs: int = 0, seed: int = 0) -> list[int]:
    """The runs, from 0, whose outputs are not those of the whole window; a session that is reset begins again.

    int8 networks must agree byte for byte, float32 to 1e-5.
    """
    hop = hopped.report["hop"]
    rows, axis = hop["rows"], hop["axis"]
    with Session(compile_model(model)) as whole, Session(hopped) as session:
        (io,) = whole.inputs
        each = io.shape[axis] // hop["window"]
        runs = runs or -(-hop["window"] // rows) + 3
        shape = (*io.shape[:axis], each * rows * runs, *io.shape[axis + 1 :])
        signal = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 2
        padded = np.concatenate([np.zeros(io.shape, np.float32), signal], axis)
        wrong = set()
        for first in range(2):
            for run in range(runs):
                end = io.shape[axis] + each * rows * (run + 1)
                expected = whole.run({io.name: np.take(padded, range(end - io.shape[axis], end), axis)})
                given = np.take(padded, range(end - each * rows, end), axis)
                found = session.run({io.name: given})
                if not all(_same(found[name], value, bool(io.scale)) for name, value in expected.items()):
                    wrong.add(run)
                if first == 0 and run > runs // 2:
                    break
            session.reset()
    return sorted(wrong)


def _same(found: np.ndarray, expected: np.ndarray, exact: bool) -> bool:
    if exact:
        return np.array_equal(found, expected)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-5)
