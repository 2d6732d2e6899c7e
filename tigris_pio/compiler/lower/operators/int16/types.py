"""In which int16 the kernels take and give what the graph's tensors hold.

Kernels of int16 are symmetric. An int8 tensor less its zero point is such an int16 of the same scale, so nothing is
lost before a layer of int16, and behind one int8 is rounded to from int16 of a finer step.
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

#: How much finer the step of an int16 is that is rounded to int8.
FINER = 128.0


def mixed(builder: Builder, *names: str) -> bool:
    """Whether tensors are all quantised to int8 or int16 with one scale, an activation of them to int16."""
    dtypes = []
    for name in names:
        quantisation = builder.tensors[name].quantisation
        if quantisation is None or quantisation.axis is not None or quantisation.dtype not in (np.int8, np.int16):
            return False
        if not builder.is_constant(name):
            dtypes.append(quantisation.dtype)
    return np.dtype(np.int16) in dtypes


def read(builder: Builder, name: str) -> Numeric:
    """The symmetric int16 that a tensor is read as; of int8 it holds every value."""
    numeric = builder.numeric(name)
    return Numeric(DType.INT16, numeric.scale) if numeric.dtype is DType.INT8 else _symmetric(numeric)


def _symmetric(numeric: Numeric) -> Numeric:
    scale = symmetric_scale(np.asarray(numeric.scale), numeric.zero_point)
    return numeric if numeric.zero_point == 0 else Numeric(DType.INT16, float(scale))


def written(builder: Builder, name: str) -> Numeric:
    """The symmetric int16 in which a kernel writes a tensor: its own, or one that is rounded to it."""
    numeric = builder.numeric(name)
    if numeric.dtype is DType.INT8:
        return Numeric(DType.INT16, numeric.scale / FINER)
    return _symmetric(numeric)


@dataclasses.dataclass(frozen=True)
class Types:
    """Of a node's inputs, in their order, and of its output."""

    inputs: tuple[Numeric, ...]
    output: Numeric


def types(builder: Builder, inputs: tuple[str, ...], output: str) -> Types | None:
    """In which int16 a kernel reads and writes; None unless all are quantised, some as int16."""
    if not mixed(builder, *inputs, output):
        return None
    return Types(tuple(read(builder, name) for name in inputs), written(builder, output))


def operands(builder: Builder, inputs: tuple[str, ...], found: Types) -> list[Operand]:
    """What an operator with broadcasting reads; constants are converted now."""
    return [Operand(builder.shape(name), numeric, name, _constant(builder, name, numeric))
            for name, numeric in zip(inputs, found.inputs, strict=True)]


def _constant(builder: Builder, name: str, numeric: Numeric) -> np.ndarray | None:
    if not builder.is_constant(name):
        return None
    own = builder.numeric(name)
    stored = builder.graph.weights[name].astype(np.int64) - own.zero_point
    if own.scale == numeric.scale:
        return stored.astype(np.int16)
    return numerics.quantize(builder.real(name), numeric.scale, numeric.zero_point, numeric.dtype)
