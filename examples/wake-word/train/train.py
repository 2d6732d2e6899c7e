"""Trains the wake word and writes it as a streaming int8 network: `python train.py [--out DIR]`, half a minute.

The network sees 48 rows of features, 3 of them new in each step; the other 45 are its state. onnxruntime or TensorFlow
are not needed: the network is small enough to be quantised by hand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.neural_network import MLPClassifier
from sounds import CHANNELS, LOUDEST, ROWS, other, stream, with_noise, word

PAST = 45  #: rows that the network remembers
SCALE = np.float32(LOUDEST / 255)
HIDDEN = 16


def windows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the network sees when a word has ended, or while something else is heard; and which it is."""
    rng = np.random.default_rng(seed)
    seen, labels = [], []
    for index in range(count):
        is_word = index % 3 == 0
        around = np.concatenate([other(rng), word(rng) if is_word else other(rng), np.zeros((9, CHANNELS))])
        end = len(around) - 9 + int(rng.integers(-4, 6)) if is_word else int(rng.integers(PAST + ROWS, len(around)))
        seen.append(with_noise(around[end - PAST - ROWS : end], rng).reshape(-1))
        labels.append(is_word)
    return np.array(seen), np.array(labels)


def train() -> MLPClassifier:
    """One seed: the same network each time on one machine."""
    features, labels = windows(9000, 1)
    network = MLPClassifier((HIDDEN,), alpha=0.1, max_iter=40, random_state=1)
    network.fit(features / LOUDEST, labels)
    return network


class Streaming:
    """The network in int8, one step a run."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quantised(self, name: str, scale: float, zero: int) -> str:
        """`name` rounded to int8 and back."""
        both = [self.constant(f"{name}.scale", np.float32(scale)), self.constant(f"{name}.zero", np.int8(zero))]
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *both], [f"{name}.q"], f"{name}.quantize"))
        reading = helper.make_node("DequantizeLinear", [f"{name}.q", *both], [f"{name}.r"], f"{name}.dequantize")
        self.nodes.append(reading)
        return f"{name}.r"

    def dense(self, source: str, source_scale: float, name: str, weights: np.ndarray, bias: np.ndarray) -> str:
        """A fully connected layer of int8 weights and an int32 bias."""
        scale = np.float32(np.abs(weights).max() / 127)
        stored = {"w": np.clip(np.rint(weights / scale), -127, 127).astype(np.int8),
                  "b": np.rint(bias / (scale * source_scale)).astype(np.int32)}
        for part, step in (("w", scale), ("b", np.float32(scale * source_scale))):
            inputs = [self.constant(f"{name}.{part}.q", stored[part]), self.constant(f"{name}.{part}.scale", step)]
            self.op("DequantizeLinear", inputs, f"{name}.{part}")
        self.nodes.append(helper.make_node("Gemm", [source, f"{name}.w", f"{name}.b"], [name], name))
        return name

    def op(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output


def export(network: MLPClassifier) -> onnx.ModelProto:
    """Inputs features [1, 3, 40] and past [1, 45, 40], outputs probability [1, 1] and the next past."""
    made = Streaming()
    step = made.quantised("features", SCALE, -128)
    past = made.quantised("past", SCALE, -128)
    seen = made.quantised(made.op("Concat", [past, step], "seen", axis=1), SCALE, -128)
    bounds = [made.constant(f"slice.{name}", np.array([value])) for name, value in
              (("first", ROWS), ("end", PAST + ROWS), ("axis", 1))]
    made.op("Slice", [seen, *bounds], "next_past")
    flat = made.op("Flatten", [seen], "flat")
    (first, second), (bias, last) = network.coefs_, network.intercepts_
    hidden = made.op("Relu", [made.dense(flat, SCALE, "first", first / LOUDEST, bias)], "hidden")
    probe, _ = windows(500, 2)
    most = np.maximum(probe / LOUDEST @ first + bias, 0).max()
    score = made.dense(made.quantised(hidden, most / 255, -128), most / 255, "second", second, last)
    made.op("Sigmoid", [made.quantised(score, 1 / 8, 0)], "likely")
    made.nodes.append(helper.make_node("Identity", [made.quantised("likely", 1 / 256, -128)], ["probability"], "out"))
    ends = {"features": [1, ROWS, CHANNELS], "past": [1, PAST, CHANNELS], "probability": [1, 1],
            "next_past": [1, PAST, CHANNELS]}
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends.items()}
    graph = helper.make_graph(made.nodes, "wake", [infos["features"], infos["past"]],
                              [infos["probability"], infos["next_past"]], made.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "model")
    folder = parser.parse_args().out
    onnx.save(export(train()), folder / "wake.onnx")
    heard, ends = zip(*(stream(15, 4, seed) for seed in (100, 101)), strict=True)
    # 16 bits are enough for 256 levels, and half the file.
    np.savez_compressed(folder / "wake_test.npz", features=np.stack(heard).astype(np.float16), ends=np.stack(ends))


if __name__ == "__main__":
    main()
