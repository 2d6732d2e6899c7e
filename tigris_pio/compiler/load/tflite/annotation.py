"""Converts the type and quantisation of a file's tensor to those of the graph."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Quantisation
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.errors import ModelError

#: The stored element type for each type of a file; half precision and integers of 4 and 2 bits are widened.
DTYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32), "float16": np.dtype(np.float32), "float64": np.dtype(np.float64),
    "int8": np.dtype(np.int8), "uint8": np.dtype(np.uint8), "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16), "int32": np.dtype(np.int32), "uint32": np.dtype(np.uint32),
    "int64": np.dtype(np.int64), "uint64": np.dtype(np.uint64), "bool": np.dtype(np.bool_), "int4": np.dtype(np.int8),
    "int2": np.dtype(np.int8),
}
_UINT8_SHIFT = 128
#: Integer types that are quantised if the tensor has a scale.
QUANTISED = ("int8", "uint8", "int4", "int2", "int16")


def annotation(tensor: FlatTensor, shape: tuple[int, ...], where: str) -> Quantisation | None:
    """The quantisation of a tensor, for its stored integers; None for plain numbers. Raises ModelError.

    uint8 is stored as int8, less 128. A scale of 0, which converters write if all values are 0, becomes the smallest
    normal number.
    """
    count = len(tensor.scale)
    if not count or tensor.type not in QUANTISED:
        return None
    scale = np.array(tensor.scale, np.float32)
    if not (np.all(np.isfinite(scale)) and np.all(scale >= 0)):
        raise ModelError(f"{where}: a scale that is not positive; convert the model again")
    scale[scale == 0] = np.finfo(np.float32).tiny
    if len(tensor.zero_point) not in (0, 1, count):
        raise ModelError(f"{where}: scales of size {count}, and zero points of size {len(tensor.zero_point)}")
    zero = np.zeros(count, np.int64) + (np.array(tensor.zero_point, np.int64) if len(tensor.zero_point) else 0)
    dtype = np.dtype(np.int16 if tensor.type == "int16" else np.int8)
    if tensor.type == "uint8":
        zero = zero - _UINT8_SHIFT
    limits = np.iinfo(dtype)
    if np.any(zero < limits.min) or np.any(zero > limits.max):
        raise ModelError(f"{where}: a zero point outside of {tensor.type}; convert the model again")
    if count == 1:
        return Quantisation(scale.reshape(()), zero.reshape(()), dtype)
    if not 0 <= tensor.axis < len(shape) or shape[tensor.axis] != count:
        raise ModelError(f"{where}: scales of size {count} along axis {tensor.axis} of shape {list(shape)}")
    return Quantisation(scale, zero, dtype, tensor.axis)


def stored(values: np.ndarray) -> np.ndarray:
    """The integers of a quantised tensor as the graph stores them: uint8 as int8, less 128."""
    if values.dtype == np.uint8:
        return (values.astype(np.int16) - _UINT8_SHIFT).astype(np.int8)
    return values
