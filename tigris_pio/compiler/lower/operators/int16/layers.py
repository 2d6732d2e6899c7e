"""Weights, biases and output constants of layers with int16 activations and int8 weights."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.int16.types import Types, types
from tigris_pio.compiler.lower.operators.weights import has_int8_weights, int32_bias
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.format.enums import DType

#: An attribute of layers of TensorFlow Lite: 32 where it adds up int16 layers in 32 bits, 64 where in 64.
SUM_BITS = "sum_bits"
#: An attribute of layers whose ratios of scales TensorFlow Lite Micro has in single precision.
SINGLE = "single"
_LARGEST_INPUT = 1 << 15
_LARGEST_SHIFT = 14


@dataclasses.dataclass(frozen=True)
class Sums:
    """How a layer's sums become its outputs: the record's `sum_bits`, and its arrays of constants."""

    bits: int
    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray

    def blobs(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Data arrays by the record's field."""
        return {"weights": weights, "bias": self.bias, "multiplier": self.multiplier, "shift": self.shift}


def layer_types(builder: Builder, node: Node, name: str, weight: str) -> Types | None:
    """In which int16 a layer reads `name` and writes its output; None unless its weights are int8 and it has int16."""
    return types(builder, (name,), node.outputs[0]) if has_int8_weights(builder, weight) else None


def memory_types(builder: Builder, node: Node, name: str, weight: str) -> Types | None:
    """The same of the layer behind an SVDF's memory, whose weights are int16, and whose sums become int8 at once: in
    int16 of the same step, to which only the zero point is added."""
    said = builder.tensors[weight].quantisation
    if said is None or said.dtype != np.int16 or said.axis is not None or SINGLE not in node.attributes:
        return None
    found = types(builder, (name,), node.outputs[0])
    result = Numeric(DType.INT16, builder.numeric(node.outputs[0]).scale)
    return None if found is None else Types(found.inputs, result)


def sums(builder: Builder, node: Node, weights: np.ndarray, products: np.ndarray, bias: np.ndarray,
         found: Types) -> Sums:
    """Constants of sums in units of `products`, float64 [outputs]; `weights` [outputs, …], `bias` int64 in those units.

    Without the attribute SUM_BITS, sums have 32 bits where they fit, whose multipliers are finer.
    """
    count = len(bias)
    widest = np.abs(weights.astype(np.int64)).reshape(count, -1).sum(axis=1) * _LARGEST_INPUT + np.abs(bias)
    bits = int(node.attributes.get(SUM_BITS, 32 if widest.max() <= numerics.INT32_MAX else 64))
    return constants(products, bias, found, bits, SINGLE in node.attributes)


def constants(products: np.ndarray, bias: np.ndarray, found: Types, bits: int, single: bool = False) -> Sums:
    """The same where it is known how many bits sums have. `single`: ratios of scales are float32."""
    ratios = products / found.output.scale
    if single:
        ratios = (products.astype(np.float32) / np.float32(found.output.scale)).astype(np.float64)
    try:
        multiplier, shift = numerics.quantize_multipliers(ratios)
    except ValueError as error:
        raise Refusal(str(error)) from None
    if bits == 64:
        multiplier = np.array([numerics.reduced_multiplier(int(item)) for item in multiplier], np.int32)
        if shift.max() > _LARGEST_SHIFT:
            raise Refusal(f"a scale ratio of {float(products.max()) / found.output.scale:g} is too large for int16")
    return Sums(bits, bias.astype(np.int64), multiplier, shift)


def layer_bias(builder: Builder, name: str, products: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """The bias in units of `products`, int64 [outputs]."""
    return int32_bias(builder, name, len(products), products, factor)
