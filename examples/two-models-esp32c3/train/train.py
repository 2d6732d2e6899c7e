"""Trains the vibration autoencoder on synthesised signals and quantises it to int8.

    python examples/two-models-esp32c3/train/train.py [--out DIR]

numpy only, seeded: a machine gives the same files each time. Writes vibration.onnx,
vibration_test.npz and vibration_faulty.npy.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from signals import BINS, spectra

SEED = 7
WIDTHS = (BINS, 32, 8, 32, BINS)
STEPS, BATCH, RATE = 4000, 64, 2e-3
OUT = Path(__file__).resolve().parents[1] / "model"
Layers = list[tuple[np.ndarray, np.ndarray]]


def forward(layers: Layers, x: np.ndarray) -> list[np.ndarray]:
    """Activations of every layer, the input first; ReLU between layers, none behind the last."""
    activations = [x]
    for index, (weight, bias) in enumerate(layers):
        y = activations[-1] @ weight.T + bias
        activations.append(y if index == len(layers) - 1 else np.maximum(y, 0))
    return activations


def gradients(layers: Layers, x: np.ndarray) -> list[np.ndarray]:
    """Of the mean squared reconstruction error, in the order weight, bias, weight, …"""
    activations = forward(layers, x)
    back = 2 * (activations[-1] - x) / x.size
    found: list[np.ndarray] = []
    for index in range(len(layers) - 1, -1, -1):
        if index < len(layers) - 1:
            back = back * (activations[index + 1] > 0)
        found = [back.T @ activations[index], back.sum(axis=0), *found]
        back = back @ layers[index][0]
    return found


def fit(healthy: np.ndarray, generator: np.random.Generator) -> Layers:
    """Adam (Kingma and Ba, 2015, arXiv:1412.6980), the rate falling linearly to a twentieth."""
    shapes = list(zip(WIDTHS[1:], WIDTHS[:-1], strict=True))
    layers: Layers = [(generator.normal(0, np.sqrt(2 / n), (m, n)), np.zeros(m)) for m, n in shapes]
    parameters = [array for layer in layers for array in layer]
    first, second = ([np.zeros_like(array) for array in parameters] for _ in range(2))
    for step in range(1, STEPS + 1):
        rate = RATE * (1 - 0.95 * step / STEPS) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        batch = healthy[generator.integers(0, len(healthy), BATCH)]
        for index, gradient in enumerate(gradients(layers, batch)):
            first[index] += 0.1 * (gradient - first[index])
            second[index] += 0.001 * (gradient * gradient - second[index])
            parameters[index] -= rate * first[index] / (np.sqrt(second[index]) + 1e-8)
    return layers


def to_onnx(layers: Layers) -> onnx.ModelProto:
    """Float32 model: input "spectrum" [1, BINS], output "reconstruction" [1, BINS]."""
    nodes, arrays, tensor = [], [], "spectrum"
    for index, (weight, bias) in enumerate(layers):
        last = index == len(layers) - 1
        arrays += [numpy_helper.from_array(weight.astype(np.float32), f"dense_{index}.weight")]
        arrays += [numpy_helper.from_array(bias.astype(np.float32), f"dense_{index}.bias")]
        out = "reconstruction" if last else f"dense_{index}.out"
        inputs = [tensor, f"dense_{index}.weight", f"dense_{index}.bias"]
        nodes.append(helper.make_node("Gemm", inputs, [out], name=f"dense_{index}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [out], [f"relu_{index}.out"], name=f"relu_{index}"))
        tensor = f"relu_{index}.out"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, BINS]) for name in ("spectrum", "reconstruction")
    ]
    graph = helper.make_graph(nodes, "vibration", ends[:1], ends[1:], arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


class Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Feeds spectra one by one."""

    def __init__(self, data: np.ndarray) -> None:
        self._feeds: Iterator[dict[str, np.ndarray]] = iter({"spectrum": row[np.newaxis]} for row in data)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


def quantise(model: onnx.ModelProto, target: Path, calibration: np.ndarray) -> None:
    """int8 QDQ, weights per channel and symmetric, ranges from healthy and faulty spectra."""
    with tempfile.TemporaryDirectory() as scratch:
        plain, prepared = Path(scratch, "float.onnx"), Path(scratch, "prepared.onnx")
        onnx.save(model, plain)
        quant_pre_process(plain, prepared, skip_optimization=True, skip_symbolic_shape=True)
        quantize_static(
            prepared,
            target,
            Calibration(calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            extra_options={"WeightSymmetric": True, "ActivationSymmetric": False},
        )


def errors(model: Path, data: np.ndarray) -> np.ndarray:
    """Mean squared reconstruction error of each spectrum, as onnxruntime computes it."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    rows = [session.run(None, {"spectrum": row[np.newaxis]})[0][0] for row in data]
    return np.mean((np.array(rows) - data) ** 2, axis=1)


def area_under_curve(scores: np.ndarray, faulty: np.ndarray) -> float:
    """The share of pairs of a faulty and a healthy signal in which the faulty one has the larger error."""
    return float((scores[faulty][:, np.newaxis] > scores[~faulty]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the vibration autoencoder and quantises it.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for vibration.onnx and vibration_test.npz")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(SEED)
    healthy, _ = spectra(4000, 0.0, generator)
    mixed, _ = spectra(400, 0.5, generator)
    test, faulty = spectra(200, 0.5, generator)
    quantise(to_onnx(fit(healthy, generator)), out / "vibration.onnx", mixed)
    scores = errors(out / "vibration.onnx", test)
    threshold = float(np.quantile(errors(out / "vibration.onnx", healthy[:1000]), 0.99))
    np.savez_compressed(out / "vibration_test.npz", spectrum=test)
    np.save(out / "vibration_faulty.npy", faulty)
    print(f"int8: area under the curve {area_under_curve(scores, faulty):.4f}; threshold {threshold:.5f} finds")
    found, alarms = (scores[faulty] > threshold).mean(), (scores[~faulty] > threshold).mean()
    print(f"{found:.1%} of the faults, {alarms:.1%} false alarms")


if __name__ == "__main__":
    main()
