"""Builds the int8 model from a float model and its ranges, so that all operators run in int8 here."""

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.errors import ModelError
from tigris_pio.quantize.library import quantization, quiet
from tigris_pio.quantize.narrow import narrow_weights
from tigris_pio.quantize.pins import Pins
from tigris_pio.quantize.prepare import ACTIVATIONS, LayerNodes, Prepared
from tigris_pio.text import visible_name

#: Operators with int8 kernels or tables here that onnxruntime does not quantise by default.
_MORE = frozenset((
    "Abs", "Acos", "Asin", "Atan", "Ceil", "Celu", "Cos", "DepthToSpace", "Div", "Einsum", "Elu", "Erf", "Exp",
    "Expand", "Floor", "Gelu", "GlobalMaxPool", "GroupNormalization", "HardSigmoid", "HardSwish", "Log", "Max", "Mean",
    "Min", "Mish", "Neg", "PRelu", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Round", "Selu", "Sin",
    "Softplus", "Softsign", "SpaceToDepth", "Sqrt", "Sub", "Sum", "Swish", "Tanh", "ThresholdedRelu", "Tile",
))  # fmt: skip
_QUANTISING = ("QuantizeLinear", "DequantizeLinear")
#: Range of TensorFlow Lite's Softmax outputs, 0 to 255/256, which the kernel writes without requantising.
_SOFTMAX = {"scale": np.array(1 / 256, np.float32), "zero_point": np.array(-128, np.int8)}
#: The same range of int16: 0 to 32767/32768.
_SOFTMAX_INT16 = {"scale": np.array(1 / (1 << 15), np.float32), "zero_point": np.array(0, np.int16)}


def quantised_kinds(model: onnx.ModelProto) -> set[str]:
    """Operator types of the model that can be quantised."""
    registry = quantization("registry")
    known = {*registry.QLinearOpsRegistry, *registry.QDQRegistry, *_MORE}
    return {node.op_type for node in model.graph.node if node.op_type in known}


def build(prepared: Prepared, ranges: Any, kept: Collection[LayerNodes] = (), fine: Collection[LayerNodes] = (),
          pins: Pins | None = None, narrow: Collection[LayerNodes] = ()) -> onnx.ModelProto:
    """The model with QuantizeLinear/DequantizeLinear pairs around its tensors.

    kept: layers that compute in float. fine: layers with int16 activations. pins: fixed scales by tensor.
    narrow: layers with weights of 4 bits, except those in `kept` and `fine`.
    Weights are int8, symmetric, per channel; biases int32; activations int8 with a zero point, or int16 without.
    """
    kind = quantization().QuantType.QInt8
    copy = onnx.ModelProto()
    copy.CopyFrom(prepared.model)
    excluded = [name for layer in kept for name in layer.nodes]
    wide = _wide(copy.graph, fine, set(excluded))
    overrides: dict[str, list[dict[str, Any]]] = {
        name: [{"quant_type": quantization().QuantType.QInt16, "symmetric": True}] for name in wide}
    for node in copy.graph.node:
        if node.op_type == "Softmax" and node.name not in excluded:
            wider = {"quant_type": quantization().QuantType.QInt16, **_SOFTMAX_INT16}
            overrides[node.output[0]] = [wider if node.output[0] in wide else dict(_SOFTMAX)]
    overrides |= narrow_weights(copy.graph, [layer for layer in narrow if layer not in (*kept, *fine)])
    overrides |= {name: [dict(pin)] for name, pin in (pins or {}).items() if name not in wide}
    with quiet(prepared.label, "quantising"):
        quantizer = _quantizer(wide)(
            copy, True, False, kind, kind, ranges, [], excluded, sorted(quantised_kinds(prepared.model)),
            {"WeightSymmetric": True, "ActivationSymmetric": False, "ForceQuantizeNoInputCheck": True,
             "TensorQuantOverrides": overrides},
        )  # fmt: skip
        quantizer.quantize_model()
    result: onnx.ModelProto = quantizer.model.model
    result.producer_name = "tigris"
    _check_scales(result, prepared.label, excluded)
    return result


def _wide(graph: onnx.GraphProto, fine: Collection[LayerNodes], excluded: Collection[str]) -> set[str]:
    """Names of int16 activations: inputs and outputs of layers, and inputs of a Relu or Clip that writes one."""
    constants = {item.name for item in graph.initializer}
    nodes = {name for layer in fine for name in layer.nodes if name not in excluded}
    found = {name for node in graph.node if node.name in nodes for name in (*node.input, *node.output)
             if name and name not in constants}
    return found | {node.input[0] for node in graph.node if node.op_type in ACTIVATIONS and node.output[0] in found}


def _quantizer(wide: Collection[str]) -> Any:
    """onnxruntime's quantiser, which replaces activations by range ends; that is wrong for symmetric ranges."""
    base = quantization("qdq_quantizer").QDQQuantizer

    class Quantizer(base):  # type: ignore[misc, valid-type]
        """Keeps activations in front of an int16 tensor."""

        def try_replacing_upstream_output(self, upstream_output_name: str, output_name: str) -> bool:
            """Whether the node between both tensors was removed."""
            kept = output_name in wide
            return not kept and bool(super().try_replacing_upstream_output(upstream_output_name, output_name))

    return Quantizer


def _check_scales(model: onnx.ModelProto, label: str, kept: Collection[str]) -> None:
    """Raises ModelError for a scale that is not finite, such as that of a logarithm of 0 or a mask of -infinity."""
    graph, scales = model.graph, {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    writers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        scale = scales.get(node.input[1]) if node.op_type in _QUANTISING else None
        if scale is None or np.isfinite(scale).all():
            continue
        near = [writers[node.input[0]]] if node.input[0] in writers else []
        near += [reader for reader in graph.node if node.output[0] in reader.input]
        near += [reader for item in near for reader in graph.node
                 if item.op_type == "DequantizeLinear" and item.output[0] in reader.input]
        names = [item.name for item in near if item.op_type not in _QUANTISING and item.name not in kept]
        remedy = f"--keep-float {visible_name(names[0])} keeps it in float" if names else (
            "leave out the samples that lead there, or export the model with a finite number in its place")
        raise ModelError(f"{label}: {visible_name((names or [node.input[0]])[0])} reads or computes infinite values, "
                         f"which have no range in int8; {remedy}")
