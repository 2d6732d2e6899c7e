"""Records the output of every operator of a plan, and converts stored values to the model's shapes and numbers."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.program import ProgramTensor, StoredValue
from tigris_pio.compiler.lower.numerics import limits
from tigris_pio.format.enums import DType
from tigris_pio.host import Session

#: An array with a mask over the elements that the runtime did not compute because nothing reads them.
Masked = np.ma.MaskedArray


def traced(session: Session, stored: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, Masked]]:
    """Runs one sample, or one step of a model with states.

    Returns the model's outputs, and every operator's output by operator name, stored as [batch, height, width,
    channels].
    """
    before = session.save_state()
    outputs, first = session.run_raw_traced(stored)
    session.load_state(before)
    _, second = session.run_raw_traced(stored, fill=0x55)
    return outputs, {name: masked(array, second[name]) for name, array in first.items()}


def masked(first: np.ndarray, second: np.ndarray) -> Masked:
    """Masks the elements that differ between two runs over different bytes: no operator wrote them."""
    a, b = (array.view(np.uint8).reshape(*array.shape, array.dtype.itemsize) for array in (first, second))
    return np.ma.masked_array(first, np.any(a != b, axis=-1))


def in_model_order(array: Masked, value: StoredValue) -> Masked:
    """A stored array with the model's axes and shape; elements that the plan does not compute are masked."""
    size = math.prod(value.stored_shape)
    if array.size < size:
        whole: Masked = np.ma.masked_array(np.zeros(size, array.dtype), True)
        whole[value.start : value.start + array.size] = array.reshape(-1)
        array = whole
    ordered: Masked = array.reshape(value.stored_shape).transpose(value.permutation).reshape(value.shape)
    return ordered


def crop(array: Any, expected: np.ndarray) -> Any:
    """Crops an array to the shape of the reference, whose NonMaxSuppression returns only the boxes that it found."""
    if array.ndim != expected.ndim or any(most < size for most, size in zip(array.shape, expected.shape, strict=True)):
        return array
    return array[tuple(map(slice, expected.shape))]


def real(array: np.ndarray, tensor: ProgramTensor) -> np.ndarray:
    """Dequantises stored values, in double precision."""
    values: np.ndarray = array.astype(np.float64)
    return (values - tensor.zero_point) * tensor.scale if tensor.scale else values


def numbers(array: np.ndarray, tensor: ProgramTensor) -> np.ndarray:
    """Dequantises the model's values if they are integers of a quantised tensor; other values stay as they are."""
    if not tensor.scale or array.dtype not in (np.int8, np.uint8, np.int16, np.uint16):
        return array
    return real(array.astype(np.int32) - unsigned_shift(array.dtype), tensor)


def unsigned_shift(dtype: np.dtype[Any]) -> int:
    """The model's value minus the plan's: half of the range for unsigned types, else 0."""
    return 1 << (8 * dtype.itemsize - 1) if dtype.kind == "u" else 0


def integer_limits(tensor: ProgramTensor) -> tuple[int, int] | None:
    """Lowest and highest integer of a quantised tensor; None for other tensors."""
    return limits(tensor.dtype) if tensor.scale and tensor.dtype in (DType.INT8, DType.INT16) else None
