"""The symmetric int16 types in which int16 kernels read and write the graph's tensors.

int16 kernels have no zero points. An int8 input minus its zero point is an int16 of the same scale, without loss. An
int8 output is rounded from an int16 with a finer step.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.broadcast import Operand
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
