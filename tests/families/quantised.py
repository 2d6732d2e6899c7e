"""onnxruntime's quantize_static on any family: QDQ, as its users run it."""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


@dataclasses.dataclass(frozen=True)
class Scheme:
    """Options of quantize_static."""

    name: str
    activations: QuantType
    weights: QuantType
    per_channel: bool


SCHEMES = (
    Scheme("int8 per tensor", QuantType.QInt8, QuantType.QInt8, False),
    Scheme("int8 per channel", QuantType.QInt8, QuantType.QInt8, True),
    Scheme("uint8 per tensor", QuantType.QUInt8, QuantType.QUInt8, False),
    Scheme("uint8 per channel", QuantType.QUInt8, QuantType.QInt8, True),
)


def sample_inputs(model: onnx.ModelProto, seed: int) -> dict[str, np.ndarray]:
    """Normally distributed inputs of the model's shapes; free dimensions are 1."""
    random = np.random.default_rng(seed)
    constant = {tensor.name for tensor in model.graph.initializer}
    return {
        value.name: random.standard_normal(
            [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for value in model.graph.input
        if value.name not in constant
    }


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, model: onnx.ModelProto) -> None:
        self.items = iter([sample_inputs(model, seed) for seed in range(3)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.items, None)


def quantise(model: onnx.ModelProto, scheme: Scheme, form: QuantFormat = QuantFormat.QDQ,
             *, reduce_range: bool = False) -> onnx.ModelProto:
    """The model after quant_pre_process and quantize_static, calibrated on three random inputs."""
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, result = (str(Path(folder) / name) for name in ("source.onnx", "prepared.onnx", "q.onnx"))
        onnx.save(model, source)
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        quantize_static(
            prepared, result, _Samples(model), quant_format=form, per_channel=scheme.per_channel,
            activation_type=scheme.activations, weight_type=scheme.weights, reduce_range=reduce_range,
        )  # fmt: skip
        return onnx.load(result)
