"""The symmetric int16 types in which int16 kernels read and write the graph's tensors, and constants of layers.

int16 kernels have no zero points. An int8 input minus its zero point is an int16 of the same scale, without loss. An
int8 output is rounded from an int16 with a finer step. Weights are int8.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.broadcast import Operand
from tigris_pio.compiler.lower.operators.weights import Requantisation, has_int8_weights, int32_bias
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.compiler.normalise.quantisation import symmetric_scale
from tigris_pio.format.enums import DType

#: The ratio of an int8 output's step to the step of the int16 that is rounded to it.
FINER = 128.0


def has_int16(builder: Builder, *names: str) -> bool:
    """Whether all tensors are quantised to int8 or int16 with one scale, and one of the activations to int16."""
    dtypes = []
    for name in names:
        quantisation = builder.tensors[name].quantisation
        if quantisation is None or quantisation.axis is not None or quantisation.dtype not in (np.int8, np.int16):
            return False
        if not builder.is_constant(name):
            dtypes.append(quantisation.dtype)
    return np.dtype(np.int16) in dtypes


def input_type(builder: Builder, name: str) -> Numeric:
    """The symmetric int16 in which a kernel reads a tensor. It holds every int8 value exactly."""
    numeric = builder.numeric(name)
    return Numeric(DType.INT16, numeric.scale) if numeric.dtype is DType.INT8 else _symmetric(numeric)


def _symmetric(numeric: Numeric) -> Numeric:
    scale = symmetric_scale(np.asarray(numeric.scale), numeric.zero_point)
    return numeric if numeric.zero_point == 0 else Numeric(DType.INT16, float(scale))


def output_type(builder: Builder, name: str) -> Numeric:
    """The symmetric int16 in which a kernel writes a tensor; a conversion follows if the tensor's type differs."""
    numeric = builder.numeric(name)
    if numeric.dtype is DType.INT8:
        return Numeric(DType.INT16, numeric.scale / FINER)
    return _symmetric(numeric)


@dataclasses.dataclass(frozen=True)
class Int16Types:
    """The types of a node's inputs, in their order, and of its output."""

    inputs: tuple[Numeric, ...]
    output: Numeric


def int16_types(builder: Builder, inputs: tuple[str, ...], output: str) -> Int16Types | None:
    """The int16 types of a kernel call; None unless all tensors are quantised, one activation as int16."""
    if not has_int16(builder, *inputs, output):
        return None
    return Int16Types(tuple(input_type(builder, name) for name in inputs), output_type(builder, output))


def int16_operands(builder: Builder, inputs: tuple[str, ...], found: Int16Types) -> list[Operand]:
    """The operands of an operator with broadcasting, with constants converted to their int16 types."""
    return [Operand(builder.shape(name), numeric, name, _constant(builder, name, numeric))
            for name, numeric in zip(inputs, found.inputs, strict=True)]


def _constant(builder: Builder, name: str, numeric: Numeric) -> np.ndarray | None:
    if not builder.is_constant(name):
        return None
    own = builder.numeric(name)
    stored = builder.graph.weights[name].astype(np.int64) - own.zero_point
    if own.scale == numeric.scale:
        return stored.astype(np.int16)
    return numerics.quantize(builder.float_constant(name), numeric.scale, numeric.zero_point, numeric.dtype)


#: An attribute of TensorFlow Lite layers: the bits of their sums, 32 or 64.
SUM_BITS = "sum_bits"
#: An attribute of layers whose scale ratios TensorFlow Lite Micro computes in single precision.
SINGLE = "single"
_LARGEST_INPUT = 1 << 15
_LARGEST_SHIFT = 14


def layer_types(builder: Builder, node: Node, name: str, weight: str) -> Int16Types | None:
    """The int16 types of a layer's input `name` and output; None unless weights are int8 and one of both is int16."""
    return int16_types(builder, (name,), node.outputs[0]) if has_int8_weights(builder, weight) else None


def svdf_types(builder: Builder, node: Node, name: str, weight: str) -> Int16Types | None:
    """The int16 types of the layer behind an SVDF's memory, which has int16 weights; None for any other layer.

    Its output is int8. The int16 result has the same step, so that the conversion only adds the zero point.
    """
    said = builder.tensors[weight].quantisation
    if said is None or said.dtype != np.int16 or said.axis is not None or SINGLE not in node.attributes:
        return None
    found = int16_types(builder, (name,), node.outputs[0])
    result = Numeric(DType.INT16, builder.numeric(node.outputs[0]).scale)
    return None if found is None else Int16Types(found.inputs, result)


def layer_constants(builder: Builder, node: Node, weights: np.ndarray, products: np.ndarray, bias: str,
                    found: Int16Types, factor: float = 1.0) -> Requantisation:
    """Constants of a layer with weights [outputs, …].

    products: the units of sums, float64 [outputs]
    bias: the name of the bias or empty; factor: multiplies it (Gemm's beta)

    Without the attribute SUM_BITS, sums have 32 bits if they fit, because multipliers of 32-bit sums are finer.
    """
    count = len(products)
    added = int32_bias(builder, bias, count, products, factor)
    widest = np.abs(weights.astype(np.int64)).reshape(count, -1).sum(axis=1) * _LARGEST_INPUT + np.abs(added)
    bits = int(node.attributes.get(SUM_BITS, 32 if widest.max() <= numerics.INT32_MAX else 64))
    return sum_constants(products, added, found, bits, SINGLE in node.attributes)


def sum_constants(products: np.ndarray, bias: np.ndarray, found: Int16Types, bits: int,
                  single: bool = False) -> Requantisation:
    """Constants of sums of `bits` bits. single: scale ratios are float32"""
    ratios = products / found.output.scale
    if single:
        ratios = (products.astype(np.float32) / np.float32(found.output.scale)).astype(np.float64)
    multiplier, shift = numerics.quantize_multipliers(ratios)
    if bits == 64:
        multiplier = np.array([numerics.reduced_multiplier(int(item)) for item in multiplier], np.int32)
        if shift.max() > _LARGEST_SHIFT:
            raise Refusal(f"a scale ratio of {float(products.max()) / found.output.scale:g} is too large for int16")
    return Requantisation(bias.astype(np.int64), multiplier, shift, bits)
