"""Weights, biases and output constants of layers with int16 activations and int8 weights."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.int16.types import Types, types
from tigris_pio.compiler.lower.operators.weights import has_int8_weights, int32_bias
from tigris_pio.compiler.lower.registry import Refusal

#: An attribute of layers of TensorFlow Lite: 32 where it adds up int16 layers in 32 bits, 64 where in 64.
SUM_BITS = "sum_bits"
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


def sums(builder: Builder, node: Node, weights: np.ndarray, products: np.ndarray, bias: np.ndarray,
         found: Types) -> Sums:
    """Constants of sums in units of `products`, float64 [outputs]; `weights` [outputs, …], `bias` int64 in those units.

    Without the attribute SUM_BITS, sums have 32 bits where they fit, whose multipliers are finer.
    """
    count = len(bias)
    widest = np.abs(weights.astype(np.int64)).reshape(count, -1).sum(axis=1) * _LARGEST_INPUT + np.abs(bias)
    bits = int(node.attributes.get(SUM_BITS, 32 if widest.max() <= numerics.INT32_MAX else 64))
    return constants(products, bias, found, bits)


def constants(products: np.ndarray, bias: np.ndarray, found: Types, bits: int) -> Sums:
    """The same where it is known how many bits sums have."""
    try:
        multiplier, shift = numerics.quantize_multipliers(products / found.output.scale)
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
