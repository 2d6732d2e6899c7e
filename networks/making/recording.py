"""Runs a .tflite network in TensorFlow Lite Micro's interpreter: vectors, accuracy, and how its ranges are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tflite_micro.python.tflite_micro import runtime

from networks import LEAST_CHANNELS, LEAST_MEAN_SPAN, LEAST_SPAN
from networks.making import training
from networks.making.topologies import Network
from networks.making.twin import Reader

_ARENA = 4 << 20
_SIGMAS = (6, 20, 60)


@dataclass(frozen=True)
class Quantised:
    """Scale and zero point of a tensor."""

    scale: np.float32
    zero_point: np.int32

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Real numbers as int8."""
        rounded = np.rint(values / self.scale) + self.zero_point
        stored: np.ndarray = np.clip(rounded, -128, 127).astype(np.int8)
        return stored

    def real(self, stored: np.ndarray) -> np.ndarray:
        """What the stored numbers mean."""
        values: np.ndarray = (stored.astype(np.float32) - np.float32(self.zero_point)) * self.scale
        return values


class Recorder:
    """A network in the interpreter, every tensor kept."""

    def __init__(self, content: bytes) -> None:
        self.reader = Reader(content)
        keep = runtime.InterpreterConfig.kPreserveAllTensors
        self.interpreter: Any = runtime.Interpreter.from_bytes(content, None, _ARENA, keep)
        graph = self.reader.graph
        self.source, self.result = graph.Inputs(0), graph.Outputs(0)
        kind, last = self.reader.operators()[-1]
        self.logits: int | None = last.Inputs(0) if kind == "SOFTMAX" else None

    def quantised(self, tensor: int) -> Quantised:
        """How the tensor is stored."""
        scale, zero_point = self.reader.quantisation(tensor)
        return Quantised(scale[0], np.int32(zero_point[0]))

    def run(self, stored: np.ndarray) -> np.ndarray:
        """The output for one input, both int8."""
        self.interpreter.set_input(stored[np.newaxis], 0)
        self.interpreter.invoke()
        output: np.ndarray = np.array(self.interpreter.get_output(0))[0]
        return output

    def tensor(self, index: int) -> np.ndarray:
        """A tensor of the last run."""
        values: np.ndarray = np.array(self.interpreter.GetTensor(index, 0)["tensor_data"])[0]
        return values


def _inputs(network: Network, recorder: Recorder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stored inputs, the kind of each and its label."""
    rng = np.random.default_rng(training.SEED)
    shape = recorder.reader.shape(recorder.source)[1:]
    quantised = recorder.quantised(recorder.source)
    uniform, gaussian, drawn = network.vectors
    samples, labels = training.held_out(network, tuple(shape))
    noise = [rng.normal(quantised.zero_point, _SIGMAS[index % 3], shape) for index in range(gaussian)]
    inputs = [
        rng.integers(-128, 128, (uniform, *shape)).astype(np.int8),
        np.clip(np.rint(noise), -128, 127).astype(np.int8),
        quantised.stored(samples[:drawn]),
    ]
    kinds = np.repeat(np.arange(3, dtype=np.int8), network.vectors)
    unknown = np.full(uniform + gaussian, -1, np.int32)
    return np.concatenate(inputs), kinds, np.concatenate([unknown, labels[:drawn]])


def record(network: Network, content: bytes) -> dict[str, Any]:
    """The arrays of the vectors' file."""
    recorder = Recorder(content)
    inputs, kinds, labels = _inputs(network, recorder)
    outputs, logits = [], []
    for stored in inputs:
        outputs.append(recorder.run(stored))
        if recorder.logits is not None:
            logits.append(recorder.tensor(recorder.logits))
    source, result = recorder.quantised(recorder.source), recorder.quantised(recorder.result)
    real = source.real(inputs)
    arrays = {
        "input_f32": np.ascontiguousarray(np.moveaxis(real, -1, 1)) if real.ndim == 4 else real,
        "input_q": inputs, "output_tflm_q": np.stack(outputs), "kind": kinds, "label": labels,
        "input_scale": source.scale, "input_zero_point": source.zero_point,
        "output_scale": result.scale, "output_zero_point": result.zero_point,
    }  # fmt: skip
    if recorder.logits is not None:
        before = recorder.quantised(recorder.logits)
        arrays |= {"logits_tflm_q": np.stack(logits), "logits_scale": before.scale,
                   "logits_zero_point": before.zero_point}  # fmt: skip
    return arrays


def check_ranges(network: Network, content: bytes, inputs: np.ndarray) -> str:
    """That activations use their range, hardly a channel is dead and outputs differ; the least of each, in words."""
    recorder = Recorder(content)
    tensors = {op.Outputs(0): kind for kind, op in recorder.reader.operators()}
    seen: dict[int, list[np.ndarray]] = {tensor: [] for tensor in tensors}
    for stored in inputs:
        recorder.run(stored)
        for tensor, found in seen.items():
            found.append(recorder.tensor(tensor))
    spans, alive = [], []
    for tensor, found in seen.items():
        values = np.stack(found)
        channels = values.reshape(-1, values.shape[-1]).astype(np.int32)
        spans.append(int(values.max()) - int(values.min()))
        alive.append(float((np.ptp(channels, axis=0) > 0).mean()))
        least = LEAST_MEAN_SPAN if tensors[tensor] == "AVERAGE_POOL_2D" else LEAST_SPAN
        assert spans[-1] >= least, f"tensor {tensor} ({tensors[tensor]}) spans {spans[-1]} values"
        assert alive[-1] >= LEAST_CHANNELS, f"tensor {tensor} ({tensors[tensor]}) has {alive[-1]:.0%} live channels"
    outputs = np.stack(seen[recorder.result])
    if not network.autoencoder:
        assert len(set(outputs.argmax(axis=1).tolist())) >= min(len(network.labels), 6)
    assert len(np.unique(outputs, axis=0)) >= len(inputs) * 2 // 3
    return f"least span {min(spans)}, least live channels {min(alive):.0%}"


def accuracy(network: Network, content: bytes) -> float:
    """On held-out samples. Of an autoencoder: how often a foreign tone has the larger error (area under the curve)."""
    recorder = Recorder(content)
    inputs, labels = training.held_out(network, tuple(recorder.reader.shape(recorder.source)[1:]))
    source, result = recorder.quantised(recorder.source), recorder.quantised(recorder.result)
    outputs = np.stack([recorder.run(stored) for stored in source.stored(inputs)])
    if not network.autoencoder:
        return float((outputs.argmax(axis=1) == labels).mean())
    errors = ((result.real(outputs) - inputs) ** 2).mean(axis=1)
    return float((errors[labels == 1][:, np.newaxis] > errors[labels == 0]).mean())
