"""The int8 model of a float one and its ranges, with the settings that run in int8 from end to end here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.errors import ModelError
from tigris_pio.quantize.library import quantization, quiet
from tigris_pio.quantize.prepare import LayerNodes, Prepared
from tigris_pio.text import visible_name

#: Operators that have int8 kernels or tables here, beside those that onnxruntime quantises by itself.
_MORE = frozenset((
    "Abs", "Acos", "Asin", "Atan", "Ceil", "Celu", "Cos", "DepthToSpace", "Div", "Einsum", "Elu", "Erf", "Exp",
    "Expand", "Floor", "Gelu", "GlobalMaxPool", "GroupNormalization", "HardSigmoid", "HardSwish", "Log", "Max", "Mean",
    "Min", "Mish", "Neg", "PRelu", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Round", "Selu", "Sin",
    "Softplus", "Softsign", "SpaceToDepth", "Sqrt", "Sub", "Sum", "Swish", "Tanh", "ThresholdedRelu", "Tile",
))  # fmt: skip
#: TensorFlow Lite's outputs of Softmax, which the kernel writes without another step: 0 to 255/256.
_SOFTMAX = {"scale": np.array(1 / 256, np.float32), "zero_point": np.array(-128, np.int8)}


def quantised_kinds(model: onnx.ModelProto) -> set[str]:
    """The operator types of the model that are quantised."""
    registry = quantization("registry")
    known = {*registry.QLinearOpsRegistry, *registry.QDQRegistry, *_MORE}
    return {node.op_type for node in model.graph.node if node.op_type in known}


def build(prepared: Prepared, ranges: Any, kept: Collection[LayerNodes] = ()) -> onnx.ModelProto:
    """The model with QuantizeLinear and DequantizeLinear around its tensors; the layers `kept` compute in float.

    Weights are int8, symmetric and per channel, biases int32, activations int8 with a zero point.
    """
    kind = quantization().QuantType.QInt8
    copy = onnx.ModelProto()
    copy.CopyFrom(prepared.model)
    excluded = [name for layer in kept for name in layer.nodes]
    softmaxes = {node.output[0]: [dict(_SOFTMAX)] for node in copy.graph.node
                 if node.op_type == "Softmax" and node.name not in excluded}
    with quiet(prepared.label, "quantising"):
        quantizer = quantization("qdq_quantizer").QDQQuantizer(
            copy, True, False, kind, kind, ranges, [], excluded, sorted(quantised_kinds(prepared.model)),
            {"WeightSymmetric": True, "ActivationSymmetric": False, "ForceQuantizeNoInputCheck": True,
             "TensorQuantOverrides": softmaxes},
        )  # fmt: skip
        quantizer.quantize_model()
    result: onnx.ModelProto = quantizer.model.model
    result.producer_name = "tigris"
    _check_scales(result, prepared.label)
    return result


def _check_scales(model: onnx.ModelProto, label: str) -> None:
    """Ranges may be without end: the logarithm of 0."""
    scales = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    writers = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and not np.isfinite(scales[node.input[1]]).all():
            name = writers[node.input[0]].name if node.input[0] in writers else node.input[0]
            raise ModelError(f"{label}: what {visible_name(name)} computes from the samples is not finite and has no "
                             f"range in int8; --keep-float {visible_name(name)} keeps it in float")
