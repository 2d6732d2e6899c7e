"""Weights, biases and requantisation constants of Conv, Gemm and MatMul.

An int8 layer with an unquantised result gives 32-bit sums times a scale, as float32.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import FullyConnectedInt32Params
from tigris_pio.text import counted

#: The relative error of a bias scale: exporters round input scale * weight scale to float32.
_SAME_SCALE = 1e-5
#: The largest bias; it saturates every output and still fits 64-bit sums.
_MOST = 2.0**50
#: Limits of a change of the bias that keeps sums within 32 bits: relative to the bias, and in output steps. Outputs
#: beyond the third number of steps are saturated in any case.
_SAME_BIAS, _UNSEEN_STEPS, _SATURATED_STEPS = 1e-5, 1 / 16, 512.0


@dataclasses.dataclass(frozen=True)
class Int8Weights:
    """int8 weights.

    scales: float64, one for all output channels or one for each
    zeros: the zero point of each output channel, int8; None if all are 0
    """

    values: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray | None = None

    def centred_values(self, axis: int = 0) -> np.ndarray:
        """The weights minus their zero points, int64. axis: of the output channels"""
        values = self.values.astype(np.int64)
        if self.zeros is None:
            return values
        shape = [-1 if index == axis % values.ndim else 1 for index in range(values.ndim)]
        result: np.ndarray = values - self.zeros.astype(np.int64).reshape(shape)
        return result


@dataclasses.dataclass(frozen=True)
class Requantisation:
    """The bias with the input's zero point folded in, the fixed-point factor of the output, and the bits of sums."""

    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    bits: int = 32

    def blobs(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays by the names of their fields in the parameter record."""
        return {"weights": weights, "bias": self.bias, "multiplier": self.multiplier, "shift": self.shift}


def has_int8_weights(builder: Builder, name: str) -> bool:
    """Whether a tensor is an int8 constant."""
    quantisation = builder.tensors[name].quantisation
    return builder.is_constant(name) and quantisation is not None and quantisation.dtype == np.int8


def warn_float(builder: Builder, node: Node, weight: str) -> None:
    """Warns of a node that computes in float32 although its weights are int8."""
    if not has_int8_weights(builder, weight):
        return
    open_ends = [name for name in dict.fromkeys((*node.inputs[:2], node.outputs[0]))
                 if name != weight and builder.tensors[name].quantisation is None]
    names = " and ".join(open_ends) or f"constant {weight}"
    builder.warnings.append(
        f"node {node.name}: runs in float32 although its weights are int8, because {names} "
        f"{'are' if len(open_ends) > 1 else 'is'} not quantised per tensor; "
        "add QuantizeLinear and DequantizeLinear there to run it in int8"
    )


def int8_weights(builder: Builder, name: str, axis: int, node: Node, result: Numeric,
                 symmetric: bool = False) -> Int8Weights:
    """A quantised constant as weights with scales along `axis`, the output channels.

    Zero points are subtracted if the integers still fit int8. Channels that do not fit are quantised again if
    `symmetric`, because the kernel takes no zero points. Scales along another axis always need that. A warning then
    gives the errors of the weights and of the node's output, whose type is `result`.
    """
    tensor = builder.tensors[name]
    values, quantisation = builder.graph.weights[name], tensor.quantisation
    if quantisation is None:
        raise Refusal(f"its weights {name} are not quantised")
    if not np.any(quantisation.zero_point) and quantisation.axis in (None, axis):
        return Int8Weights(values, quantisation.scale.reshape(-1).astype(np.float64))
    real = builder.float_constant(name)
    other = tuple(index for index in range(real.ndim) if index != axis % real.ndim)
    scales = np.abs(real).max(axis=other) / np.float32(127)
    scales = np.where(scales > 0, scales, np.float32(1)).astype(np.float32)
    if quantisation.axis in (None, axis):  # channels that fit int8 without their zero point are exact
        shape = [-1 if index == axis % real.ndim else 1 for index in range(real.ndim)]
        zero_point = np.asarray(quantisation.zero_point, np.int64)
        integers = values.astype(np.int64) - (zero_point.reshape(shape) if zero_point.ndim else zero_point)
        exact = (integers.min(axis=other) >= -128) & (integers.max(axis=other) <= 127)
        if not symmetric and not exact.all():
            zeros = np.broadcast_to(zero_point.reshape(-1), exact.shape).astype(np.int8)
            return Int8Weights(values, quantisation.scale.reshape(-1).astype(np.float64), zeros)
        scales = np.where(exact, quantisation.scale.reshape(-1).astype(np.float32), scales)
    else:
        exact = np.zeros(real.shape[axis], bool)
    column = scales.astype(np.float64).reshape([-1 if index == axis % real.ndim else 1 for index in range(real.ndim)])
    lowest = np.where(exact, -128, -127).reshape(column.shape)
    rounded = np.clip(np.rint(real / column), lowest, 127).astype(np.int8)
    if not exact.all():
        loss = np.abs(rounded * column - real)
        builder.warnings.append(
            f"node {node.name}: weights {name} are asymmetric or scaled along an inner axis; "
            f"{int((~exact).sum())} of {counted(exact.size, 'output channel')} quantised again symmetrically, which "
            + _loss_text(builder, node, quantisation, np.moveaxis(loss, axis, 0).reshape(exact.size, -1), result)
        )
    return Int8Weights(rounded, scales.astype(np.float64))


def _loss_text(builder: Builder, node: Node, quantisation: Quantisation, loss: np.ndarray, result: Numeric) -> str:
    """The effect of weight errors `loss`, real [output channels][weights], as text in steps."""
    source = builder.numeric(node.inputs[0])
    step = float(quantisation.scale.mean())
    widest = source.scale * max(127 - source.zero_point, 128 + source.zero_point)
    # With inputs uniform in their range, and weight errors of either sign, the errors add up like a random walk.
    levels = (np.arange(-128, 128) - source.zero_point) * source.scale
    typical = float(np.sqrt((loss**2).sum(axis=1) * (levels**2).mean()).mean())
    return (f"moves weights by up to {loss.max() / step:.2f} and on average {loss.mean() / step:.2f} of their steps, "
            f"outputs by some {typical / result.scale:.1f} steps and at worst "
            f"{loss.sum(axis=1).max() * widest / result.scale:.0f}; quantise the weights symmetrically to avoid it")


def product_scales(source: Numeric, scales: np.ndarray, single: bool) -> np.ndarray:
    """The input's scale times the weights' scales, float64.

    single: round a single product to float32, as TensorFlow Lite's uint8 convolutions do
    """
    if single and scales.size == 1:
        return np.asarray(np.float32(source.scale) * scales.astype(np.float32), np.float64)
    products: np.ndarray = source.scale * scales
    return products


def requantisation(builder: Builder, bias: np.ndarray, weights: np.ndarray, products: np.ndarray, source: Numeric,
                   result: Numeric, phases: Sequence[np.ndarray] = ()) -> Requantisation:
    """Output constants of accumulators in units of `products` (input scale * weight scale, float64).

    bias: in these units, int64
    weights: weights minus their zero points, [outputs, …]
    phases: weights of the phases of a transposed convolution, each of which has biases of its own

    If a sum could exceed 32 bits, the bias is bounded; a node whose outputs would change is refused. Sums of TensorFlow
    Lite models wrap as in TensorFlow Lite. The folded bias may wrap, because kernels' sums wrap, too.
    """
    multiplier, shift = numerics.quantize_multipliers(products / result.scale)
    integers = weights.reshape(len(bias), -1).astype(np.int64)
    if not builder.graph.tflite:
        bias = _bounded_bias(bias, np.abs(integers).sum(axis=1) * _largest(source), products / result.scale)
    parts = [part.reshape(len(bias), math.prod(part.shape[1:])) for part in phases or [integers]]
    folded = np.concatenate([bias - source.zero_point * part.sum(axis=1, dtype=np.int64) for part in parts])
    return Requantisation((folded & 0xFFFFFFFF).astype(np.uint32).view(np.int32), multiplier, shift)


def _largest(source: Numeric) -> int:
    """The largest magnitude of an int8 input minus its zero point."""
    return max(numerics.INT8_MAX - source.zero_point, source.zero_point - numerics.INT8_MIN)


def _bounded_bias(bias: np.ndarray, reach: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """The bias, bounded so that no sum exceeds 32 bits. Refuses a change that an unsaturated output would show.

    reach: the most that inputs add to a sum, int64 [outputs]
    ratios: output steps in one step of a sum
    """
    bounded: np.ndarray = np.clip(bias, reach - numerics.INT32_MAX, numerics.INT32_MAX - reach)
    moved = np.abs(bias - bounded)
    is_saturated = (np.abs(bounded) - reach) * ratios >= _SATURATED_STEPS
    shown = (moved > _SAME_BIAS * np.abs(bias)) & (moved * ratios > _UNSEEN_STEPS) & ~is_saturated
    if np.any(shown):
        at = int(np.argmax(shown))
        raise Refusal(
            f"sums of output channel {at} exceed 32 bits: its bias is {int(bias[at])}, its products add up to "
            f"{int(reach[at])}; quantise the model again, with a larger scale for the weights of that channel")
    return bounded


def _has_bias(builder: Builder, name: str, count: int) -> bool:
    """Whether there is a bias. Refuses one that is no constant, or not of one or `count` numbers."""
    if name and not builder.is_constant(name):
        raise Refusal("its bias is computed at run time")
    if name and builder.graph.weights[name].size not in (1, count):
        raise Refusal(f"its bias has size {builder.graph.weights[name].size} instead of {count}")
    return bool(name)


def int32_bias(builder: Builder, name: str, count: int, products: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """The bias in units of `products`, int64 [count]; zeros if absent. factor: multiplies it (Gemm's beta)"""
    if not _has_bias(builder, name, count):
        return np.zeros(count, np.int64)
    stored, quantisation = builder.graph.weights[name], builder.tensors[name].quantisation
    if quantisation is None:
        ratio, integers = factor / products, builder.float_constant(name).reshape(-1).astype(np.float64)
    else:
        integers = (stored.reshape(-1).astype(np.int64) - quantisation.zero_point).astype(np.float64)
        ratio = quantisation.scale.reshape(-1).astype(np.float64) * factor / products
        if np.all(np.abs(ratio - 1) < _SAME_SCALE):
            ratio = np.ones(1)
    return np.broadcast_to(np.clip(np.rint(integers * ratio), -_MOST, _MOST), (count,)).astype(np.int64)


def float_bias(builder: Builder, name: str, count: int, factor: float = 1.0) -> np.ndarray:
    """The bias as float32 [count]; zeros if absent. factor: multiplies it (Gemm's beta)"""
    if not _has_bias(builder, name, count):
        return np.zeros(count, np.float32)
    real = builder.float_constant(name).reshape(-1) * np.float32(factor)
    return np.ascontiguousarray(np.broadcast_to(real, (count,)), np.float32)


@dataclasses.dataclass(frozen=True)
class ScaledSums:
    """The constants of such a layer.

    weights: int8 [outputs][inputs]
    bias: int32 [outputs], with the input's zero point folded in
    scale: float32, one for each output or for all
    offset: float32 [outputs], an unquantised bias, which an Add adds
    """

    weights: np.ndarray
    bias: np.ndarray
    scale: np.ndarray
    offset: np.ndarray | None


def has_float_sums(builder: Builder, source: str, weights: str, axis: int) -> bool:
    """Whether the input is int8, and the weights are symmetric int8 with a scale for each output or for all."""
    if not has_int8_weights(builder, weights) or builder.is_constant(source) or not builder.is_int8(source):
        return False
    quantisation = builder.tensors[weights].quantisation
    assert quantisation is not None
    return not quantisation.zero_point.any() and quantisation.axis in (None, axis)


def scaled_sums(builder: Builder, source: Numeric, matrix: np.ndarray, scales: np.ndarray, bias: str,
                factor: float = 1.0) -> ScaledSums | None:
    """The constants; None if sums could exceed 32 bits, or the bias is computed at run time.

    scales: of the weights
    factor: multiplies the bias (Gemm's beta)
    """
    products, count = source.scale * scales, len(matrix)
    integers, own, offset = matrix.astype(np.int64), np.zeros(count, np.int64), None
    if bias and not builder.is_constant(bias):
        return None
    quantisation = builder.tensors[bias].quantisation if bias else None
    if quantisation is not None and np.all(np.abs(quantisation.scale * factor / products - 1) < _SAME_SCALE):
        own = int32_bias(builder, bias, count, products, factor)
    elif bias:
        offset = float_bias(builder, bias, count, factor)
    folded = own - source.zero_point * integers.sum(axis=1)
    if (np.abs(folded) + 128 * np.abs(integers).sum(axis=1)).max() > numerics.INT32_MAX:
        return None
    return ScaledSums(matrix, folded.astype(np.int32), products.astype(np.float32), offset)


def emit_scaled_sums(builder: Builder, node: Node, sources: Sequence[tuple[str, RowMap | None]], layout: Layout,
                     cell: Cell, sizes: tuple[int, int, int], made: ScaledSums, per_image: bool) -> None:
    """Emits the kernel call. sizes: vectors of a call, inputs and outputs"""
    output, fields = node.outputs[0], fused.float_fields(node)
    if made.offset is not None:
        plain = builder.declare(f"{output}/sums", builder.shape(output), output)
        output, fields = plain, {"activation_min": -math.inf, "activation_max": math.inf}
    params = FullyConnectedInt32Params(*sizes, int(made.scale.size > 1), **fields, weights=0, bias=0, scale=0)
    blobs = {"weights": made.weights, "bias": made.bias, "scale": made.scale}
    builder.emit(OpKind.FULLY_CONNECTED, DType.INT32, sources, output, layout, FLOAT, cell, params, blobs=blobs,
                 per_image=per_image)
    if made.offset is not None:
        composer = Composer(builder, node)
        behind = (1,) * (len(builder.shape(output)) - 2 if node.op.startswith("Conv") else 0)
        composer.finish("Add", [output, composer.constant(made.offset.reshape(-1, *behind))])
