"""Trains the wake word and writes it as a streaming int8 network: `python train.py [--out DIR]`, a minute.

The network sees 60 rows of features, 3 of them new in each step; the other 57 are its state. onnxruntime or TensorFlow
are not needed: the network is small enough to be quantised by hand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from pymicro_features import MicroFrontend
from sklearn.neural_network import MLPClassifier
from sounds import RATE, stream

CHANNELS, ROWS = 40, 3  #: of one step
HOP = RATE // 100  #: samples from row to row
PAST = 57  #: rows that the network remembers
#: A step of int8: of the front end's integers 666 / 256, and those are 25.6 times what microWakeWord calls features.
SCALE = np.float32(666 / 256 / 25.6)
HIDDEN = 16
LOUDEST = 26.0  #: of the features of speech
STREAMS, SECONDS, EPOCHS = 160, 30.0, 20
SEEDS = range(10000, 10000 + STREAMS)  #: of the streams to learn from; the demo and the tests have others
NOT_WORDS = 3  #: one in so many steps without the word is learned from


def features(audio: np.ndarray) -> np.ndarray:
    """What the firmware's front end makes of int16 audio, in whole steps: [rows, CHANNELS]."""
    front, rows, data = MicroFrontend(), [], audio.astype("<i2").tobytes()
    for first in range(0, len(data) - 2 * HOP + 1, 2 * HOP):
        made = front.process_samples(data[first : first + 2 * HOP]).features
        rows += [made] if made else []
    return np.minimum(np.rint(np.array(rows) / SCALE), 255) * SCALE


def examples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the network sees in the steps of a stream, and whether a word has just ended there.

    A word is to be told from when it is over until 120 ms later. Steps shortly before and after count for nothing.
    """
    audio, ends = stream(SECONDS, seed)
    rows = np.pad(features(audio), ((PAST, 0), (0, 0)))
    lasts = np.arange(ROWS, len(rows) - PAST + 1, ROWS)
    seen = np.stack([rows[last : last + PAST + ROWS] for last in lasts - ROWS]).reshape(len(lasts), -1)
    since = lasts[:, None] - ends[None, :] // HOP
    is_word = ((since >= 0) & (since <= 12)).any(axis=1)
    counts = is_word | ~((since > -9) & (since <= 21)).any(axis=1) & (np.arange(len(lasts)) % NOT_WORDS == 0)
    return seen[counts].astype(np.float32), is_word[counts]


def train() -> MLPClassifier:
    """One seed: the same network each time on one machine. Its weights are the mean of those after the last epochs."""
    network = MLPClassifier((HIDDEN,), alpha=0.3, random_state=1)
    streams, order, last = [examples(seed) for seed in SEEDS], np.random.default_rng(1), []
    for epoch in range(EPOCHS):
        for index in order.permutation(STREAMS):
            seen, labels = streams[index]
            network.partial_fit(seen / LOUDEST, labels, classes=[False, True])
        if epoch >= EPOCHS // 2:
            last.append([part.copy() for part in (*network.coefs_, *network.intercepts_)])
    first, second, bias, score = (np.mean(parts, axis=0) for parts in zip(*last, strict=True))
    network.coefs_, network.intercepts_ = [first, second], [bias, score]
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
    """Inputs features [1, 3, 40] and past [1, 57, 40], outputs probability [1, 1] and the next past."""
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
    probe, _ = examples(SEEDS.stop)
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


if __name__ == "__main__":
    main()
