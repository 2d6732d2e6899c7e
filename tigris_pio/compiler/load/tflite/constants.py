"""Reads the buffers of constants as arrays."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.tflite.annotation import DTYPES
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.compiler.load.tflite.sparse import Sparsity, dense
from tigris_pio.errors import ModelError

#: Bits of an element, for types with several elements in a byte.
_PACKED = {"int4": 4, "int2": 2}


def read_constant(tensor: FlatTensor, where: str, limits: Limits) -> np.ndarray:
    """The elements of a tensor that the file stores, as a view of the file if possible. Raises ModelError."""
    if tensor.type not in DTYPES:
        raise ModelError(f"{where}: a constant of type {tensor.type}; only numbers are supported")
    count = math.prod(tensor.shape)
    if not count and tensor.data is None:
        return np.zeros(tensor.shape, np.float32 if tensor.type == "float16" else DTYPES[tensor.type])
    assert tensor.data is not None
    limits.check("elements", count, where)
    if tensor.type in _PACKED:
        return _packed(tensor, count, _PACKED[tensor.type], where)
    if tensor.sparsity is not None:
        return _sparse(tensor, tensor.sparsity, where)
    dtype = np.dtype(np.float16) if tensor.type == "float16" else DTYPES[tensor.type]
    if len(tensor.data) != count * dtype.itemsize:
        raise ModelError(
            f"{where}: shape {list(tensor.shape)} of {tensor.type} takes {count * dtype.itemsize} bytes, its buffer "
            f"has {len(tensor.data)}; the file is damaged"
        )
    values = np.frombuffer(tensor.data.tobytes() if tensor.data.ctypes.data % dtype.itemsize else tensor.data, dtype)
    if tensor.type == "bool":
        values = tensor.data != 0
    return (values.astype(np.float32) if tensor.type == "float16" else values).reshape(tensor.shape)


def _sparse(tensor: FlatTensor, sparsity: Sparsity, where: str) -> np.ndarray:
    assert tensor.data is not None
    dtype = np.dtype(np.float16) if tensor.type == "float16" else DTYPES[tensor.type]
    if len(tensor.data) % dtype.itemsize:
        raise ModelError(f"{where}: {len(tensor.data)} bytes of {tensor.type}; the file is damaged")
    values = dense(np.frombuffer(tensor.data.tobytes(), dtype), tensor.shape, sparsity, where)
    return values.astype(np.float32) if tensor.type == "float16" else values


def _packed(tensor: FlatTensor, count: int, bits: int, where: str) -> np.ndarray:
    """The elements of a type with several elements in a byte, the first in the lowest bits."""
    assert tensor.data is not None
    if len(tensor.data) != -(-count * bits // 8):
        raise ModelError(f"{where}: size {count} of {bits} bits each in {len(tensor.data)} bytes; the file is damaged")
    parts = tensor.data[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    values = (parts << 8 - bits).astype(np.uint8).view(np.int8) >> 8 - bits
    result: np.ndarray = values.reshape(-1)[:count].reshape(tensor.shape)
    return result
