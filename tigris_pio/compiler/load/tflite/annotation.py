"""The type and quantisation of a file's tensor in terms of the graph."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Quantisation
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.errors import ModelError

#: How the elements of each type are held. Half precision is widened, four bits and two as well.
DTYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32), "float16": np.dtype(np.float32), "float64": np.dtype(np.float64),
    "int8": np.dtype(np.int8), "uint8": np.dtype(np.uint8), "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16), "int32": np.dtype(np.int32), "uint32": np.dtype(np.uint32),
    "int64": np.dtype(np.int64), "uint64": np.dtype(np.uint64), "bool": np.dtype(np.bool_), "int4": np.dtype(np.int8),
    "int2": np.dtype(np.int8),
}
_UINT8_SHIFT = 128
#: Types whose integers stand for real numbers where the tensor has a scale.
QUANTISED = ("int8", "uint8", "int4", "int2", "int16")


def annotation(tensor: FlatTensor, shape: tuple[int, ...], where: str) -> Quantisation | None:
    """What the integers of a tensor stand for; None for numbers. uint8 is stored as int8, less 128.

    Converters write scale 0 where all values are 0. Any product with the least normal number is rounded to 0 as well.
    """
    count = len(tensor.scale)
    if not count or tensor.type not in QUANTISED:
        return None
    scale = np.array(tensor.scale, np.float32)
    if not (np.all(np.isfinite(scale)) and np.all(scale >= 0)):
        raise ModelError(f"{where}: a scale that is no positive number")
    scale[scale == 0] = np.finfo(np.float32).tiny
    if len(tensor.zero_point) not in (0, 1, count):
        raise ModelError(f"{where}: scales of size {count}, and zero points of size {len(tensor.zero_point)}")
    zero = np.zeros(count, np.int64) + (np.array(tensor.zero_point, np.int64) if len(tensor.zero_point) else 0)
    dtype = np.dtype(np.int16 if tensor.type == "int16" else np.int8)
    if tensor.type == "uint8":
        zero = zero - _UINT8_SHIFT
    limits = np.iinfo(dtype)
    if np.any(zero < limits.min) or np.any(zero > limits.max):
        raise ModelError(f"{where}: a zero point outside of {tensor.type}")
    if count == 1:
        return Quantisation(scale.reshape(()), zero.reshape(()), dtype)
    if not 0 <= tensor.axis < len(shape) or shape[tensor.axis] != count:
        raise ModelError(f"{where}: scales of size {count} along axis {tensor.axis} of shape {list(shape)}")
    return Quantisation(scale, zero, dtype, tensor.axis)


def stored(values: np.ndarray) -> np.ndarray:
    """The integers of a quantised tensor as the graph holds them."""
    if values.dtype == np.uint8:
        return (values.astype(np.int16) - _UINT8_SHIFT).astype(np.int8)
    return values
