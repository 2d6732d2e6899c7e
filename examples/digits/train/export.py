"""Writes the trained network as float32 ONNX and quantises it to int8 QDQ with onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from data import Split
from layers import Conv, DepthwiseConv, Flatten, Gemm, GlobalAveragePool, Layer, MaxPool, Relu
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

OPSET = 17


def _attributes(layer: Layer) -> tuple[str, dict[str, object]]:
    """ONNX operator and attributes of one layer."""
    match layer:
        case Conv() | DepthwiseConv():
            groups = len(layer.parameters["weight"]) if isinstance(layer, DepthwiseConv) else 1
            return "Conv", {
                "kernel_shape": [layer.kernel] * 2,
                "strides": [layer.stride] * 2,
                "pads": [layer.pad] * 4,
                "group": groups,
            }
        case MaxPool():
            return "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}
        case Gemm():
            return "Gemm", {"transB": 1}
        case Relu() | GlobalAveragePool() | Flatten():
            return type(layer).__name__, {}
    raise TypeError(f"no ONNX operator for {type(layer).__name__}")


def to_onnx(network: list[Layer]) -> onnx.ModelProto:
    """Float32 model: input "image" [1, 1, 8, 8], output "probability" [1, 10]."""
    nodes, initializers, tensor = [], [], "image"
    for index, layer in enumerate(network):
        kind, attributes = _attributes(layer)
        name = f"{kind.lower()}_{index}"
        parameters = [f"{name}.{key}" for key in layer.parameters]
        initializers += [numpy_helper.from_array(v, f"{name}.{k}") for k, v in layer.parameters.items()]
        nodes.append(helper.make_node(kind, [tensor, *parameters], [f"{name}.out"], name=name, **attributes))
        tensor = f"{name}.out"
    nodes.append(helper.make_node("Softmax", [tensor], ["probability"], name="softmax", axis=1))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, [1, 10])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return onnx.shape_inference.infer_shapes(model)


class _Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Feeds images one by one."""

    def __init__(self, images: np.ndarray) -> None:
        self._feeds: Iterator[dict[str, np.ndarray]] = iter({"image": image[np.newaxis]} for image in images)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


def quantise(float_model: Path, int8_model: Path, train: Split) -> None:
    """int8 weights per channel, symmetric; int8 activations, ranges from the training digits."""
    prepared = float_model.with_suffix(".prepared.onnx")
    quant_pre_process(float_model, prepared, skip_optimization=True, skip_symbolic_shape=True)
    quantize_static(
        prepared,
        int8_model,
        _Calibration(train.images),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        extra_options={"WeightSymmetric": True, "ActivationSymmetric": False},
    )
