"""Weights, biases and requantisation constants of Conv, Gemm and MatMul."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.text import counted

#: Exporters round input scale * weight scale to float32 when they store a bias scale.
_SAME_SCALE = 1e-5
#: The largest bias that is told from others, far beyond 32 bits.
_MOST = 2.0**50
#: What a bias may be moved by so that no sum leaves 32 bits: a part of itself, or steps of an output; and outputs of so
#: many steps are at an end whatever they are.
_SAME_SUM, _UNSEEN, _ENDS = 1e-5, 1 / 16, 512.0


@dataclasses.dataclass(frozen=True)
class Int8Weights:
    """int8 weights; `scales` float64, one for all or one per output channel.

    `zeros`: the zero point of each output channel, int8; None when all are 0.
    """

    values: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray | None = None

    def less_zeros(self, axis: int = 0) -> np.ndarray:
        """The integers that are multiplied by the scales, int64."""
        values = self.values.astype(np.int64)
        if self.zeros is None:
            return values
        shape = [-1 if index == axis % values.ndim else 1 for index in range(values.ndim)]
        result: np.ndarray = values - self.zeros.astype(np.int64).reshape(shape)
        return result


@dataclasses.dataclass(frozen=True)
class Requantisation:
    """int32 bias with the input's zero point folded in, and the fixed-point output scale."""

    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray

    def blobs(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Data arrays by the record's field."""
        return {"weights": weights, "bias": self.bias, "multiplier": self.multiplier, "shift": self.shift}


def has_int8_weights(builder: Builder, name: str) -> bool:
    """Whether a constant is stored as int8."""
    quantisation = builder.tensors[name].quantisation
    return builder.is_constant(name) and quantisation is not None and quantisation.dtype == np.int8


def warn_float(builder: Builder, node: Node, weight: str) -> None:
    """Says that a node has int8 weights and computes in float32 all the same."""
    if not has_int8_weights(builder, weight):
        return
    open_ends = [name for name in dict.fromkeys((*node.inputs[:2], node.outputs[0]))
                 if name != weight and builder.tensors[name].quantisation is None]
    where = " and ".join(open_ends) or f"constant {weight}"
    builder.warnings.append(
        f"node {node.name}: runs in float32 although its weights are int8, because {where} "
        f"{'are' if len(open_ends) > 1 else 'is'} not quantised per tensor; "
        "QuantizeLinear and DequantizeLinear there make it int8"
    )


def int8_weights(builder: Builder, name: str, axis: int, node: Node, result: Numeric,
                 symmetric: bool = False) -> Int8Weights:
    """An annotated constant as weights with scales along `axis` (the output channels).

    Zero points are taken off where the integers still fit int8. `symmetric`: the kernel takes no others. Then output
    channels that do not fit, and always all with scales along another axis, are quantised again; a warning says how
    far that moves weights and the node's output, `result`.
    """
    tensor = builder.tensors[name]
    values, quantisation = builder.graph.weights[name], tensor.quantisation
    if quantisation is None:
        raise Refusal(f"its weights {name} are not quantised")
    if not np.any(quantisation.zero_point) and quantisation.axis in (None, axis):
        return Int8Weights(values, quantisation.scale.reshape(-1).astype(np.float64))
    real = builder.real(name)
    other = tuple(index for index in range(real.ndim) if index != axis % real.ndim)
    scales = np.abs(real).max(axis=other) / np.float32(127)
    scales = np.where(scales > 0, scales, np.float32(1)).astype(np.float32)
    if quantisation.axis in (None, axis):  # a channel whose integers fit without their zero point loses nothing
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
            + _loss(builder, node, quantisation, np.moveaxis(loss, axis, 0).reshape(exact.size, -1), result)
        )
    return Int8Weights(rounded, scales.astype(np.float64))


def _loss(builder: Builder, node: Node, quantisation: Quantisation, loss: np.ndarray, result: Numeric) -> str:
    """What rounding weights again by `loss` ([output channels][weights], real numbers) does, in steps."""
    source = builder.numeric(node.inputs[0])
    step = float(quantisation.scale.mean())
    widest = source.scale * max(127 - source.zero_point, 128 + source.zero_point)
    # With inputs anywhere in their range, and weights off this way or that, the errors add up like a random walk.
    levels = (np.arange(-128, 128) - source.zero_point) * source.scale
    usual = float(np.sqrt((loss**2).sum(axis=1) * (levels**2).mean()).mean())
    return (f"moves weights by up to {loss.max() / step:.2f} and on average {loss.mean() / step:.2f} of their steps, "
            f"outputs by some {usual / result.scale:.1f} steps and at worst "
            f"{loss.sum(axis=1).max() * widest / result.scale:.0f}; quantise the weights symmetrically to avoid it")


def product_scales(source: Numeric, scales: np.ndarray, single: bool) -> np.ndarray:
    """The input's scale times the weights', float64. `single`: TensorFlow Lite rounds the product to float32 where
    there is but one, in its convolutions of uint8."""
    if single and scales.size == 1:
        return np.asarray(np.float32(source.scale) * scales.astype(np.float32), np.float64)
    products: np.ndarray = source.scale * scales
    return products


def requantisation(builder: Builder, bias: np.ndarray, weights: np.ndarray, products: np.ndarray, source: Numeric,
                   result: Numeric, folds: bool = True) -> Requantisation:
    """Output constants for accumulators in units of `products` (input scale * weight scale, float64).

    `bias` is in those units, int64; `weights` are the integers that inputs are multiplied by, [outputs, ...]. Without
    `folds` the kernel takes the zero point from each input, and the bias stays as it is.

    No sum leaves 32 bits: where it could, the bias is bounded, and a node whose outputs that would change is refused.
    TensorFlow Lite's sums wrap, and so do those of its models here. The folded bias may wrap: sums of kernels do too.
    """
    try:
        multiplier, shift = numerics.quantize_multipliers(products / result.scale)
    except ValueError as error:
        raise Refusal(str(error)) from None
    integers = weights.reshape(len(bias), -1).astype(np.int64)
    if not builder.graph.tflite:
        bias = _bounded(bias, np.abs(integers).sum(axis=1) * _largest(source), products / result.scale)
    folded = bias - source.zero_point * integers.sum(axis=1) if folds else bias
    return Requantisation((folded & 0xFFFFFFFF).astype(np.uint32).view(np.int32), multiplier, shift)


def _largest(source: Numeric) -> int:
    """The largest magnitude of an int8 input less its zero point."""
    return max(numerics.INT8_MAX - source.zero_point, source.zero_point - numerics.INT8_MIN)


def _bounded(bias: np.ndarray, reach: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """The bias with which no sum leaves 32 bits. `reach`: what inputs add at most, int64 [outputs]; `ratios`: outputs'
    steps in one of a sum. Refuses what an output would show: not where it is at its end in any case."""
    bounded: np.ndarray = np.clip(bias, reach - numerics.INT32_MAX, numerics.INT32_MAX - reach)
    moved = np.abs(bias - bounded)
    is_at_end = (np.abs(bounded) - reach) * ratios >= _ENDS
    shown = (moved > _SAME_SUM * np.abs(bias)) & (moved * ratios > _UNSEEN) & ~is_at_end
    if np.any(shown):
        at = int(np.argmax(shown))
        raise Refusal(
            f"sums of output channel {at} leave 32 bits: its bias is {int(bias[at])} of their steps, its inputs add up "
            f"to {int(reach[at])}; quantise the model again, with a larger scale for the weights of that channel")
    return bounded


def int32_bias(builder: Builder, name: str, count: int, products: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """The bias in units of `products`, int64 [count]; zeros when absent. `factor` multiplies it (Gemm's beta)."""
    if not name:
        return np.zeros(count, np.int64)
    if not builder.is_constant(name):
        raise Refusal("its bias is computed at run time")
    stored, quantisation = builder.graph.weights[name], builder.tensors[name].quantisation
    if quantisation is None:
        ratio, integers = factor / products, builder.real(name).reshape(-1).astype(np.float64)
    else:
        integers = (stored.reshape(-1).astype(np.int64) - quantisation.zero_point).astype(np.float64)
        ratio = quantisation.scale.reshape(-1).astype(np.float64) * factor / products
        if np.all(np.abs(ratio - 1) < _SAME_SCALE):
            ratio = np.ones(1)
    if integers.size not in (1, count):
        raise Refusal(f"its bias has size {integers.size} instead of {count}")
    return np.broadcast_to(np.clip(np.rint(integers * ratio), -_MOST, _MOST), (count,)).astype(np.int64)


def float_bias(builder: Builder, name: str, count: int, factor: float = 1.0) -> np.ndarray:
    """The bias as float32 [count]; zeros when absent."""
    if not name:
        return np.zeros(count, np.float32)
    if not builder.is_constant(name):
        raise Refusal("its bias is computed at run time")
    real = builder.real(name).reshape(-1) * np.float32(factor)
    if real.size not in (1, count):
        raise Refusal(f"its bias has size {real.size} instead of {count}")
    return np.ascontiguousarray(np.broadcast_to(real, (count,)), np.float32)
