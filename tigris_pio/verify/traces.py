"""What the operators of a plan computed, in the model's terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.program import ProgramTensor, StoredValue
from tigris_pio.compiler.lower.numerics import limits
from tigris_pio.format.enums import DType
from tigris_pio.host import Session

#: Elements of rows that nothing needs, which the runtime leaves out, are masked.
Masked = np.ma.MaskedArray


def traced(session: Session, stored: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, Masked]]:
    """The outputs, and every operator's output by operator name, as stored: [batch, height, width, channels].

    One step of a model with states.
    """
    before = session.save_state()
    outputs, first = session.run_raw_traced(stored)
    session.load_state(before)
    _, second = session.run_raw_traced(stored, fill=0x55)
    return outputs, {name: masked(array, second[name]) for name, array in first.items()}


def masked(first: np.ndarray, second: np.ndarray) -> Masked:
    """What both runs wrote, which had other bytes in its place before."""
    return np.ma.masked_array(first, _differ(first, second))


def _differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where two arrays hold other bytes: nothing was written there."""
    size = first.dtype.itemsize
    a, b = (array.view(np.uint8).reshape(*array.shape, size) for array in (first, second))
    differ: np.ndarray = np.any(a != b, axis=-1)
    return differ


def in_model_order(array: Masked, value: StoredValue) -> Masked:
    """A stored array with the model's axes and shape; what the plan makes no part of is masked."""
    size = math.prod(value.stored_shape)
    if array.size < size:
        whole: Masked = np.ma.masked_array(np.zeros(size, array.dtype), True)
        whole[value.first_element : value.first_element + array.size] = array.reshape(-1)
        array = whole
    ordered: Masked = array.reshape(value.stored_shape).transpose(value.permutation).reshape(value.shape)
    return ordered


def in_front(array: Any, expected: np.ndarray) -> Any:
    """The part of an array that the reference has, where a NonMaxSuppression finds fewer boxes than there can be."""
    if array.ndim != expected.ndim or any(most < size for most, size in zip(array.shape, expected.shape, strict=True)):
        return array
    return array[tuple(map(slice, expected.shape))]


def real(array: np.ndarray, tensor: ProgramTensor) -> np.ndarray:
    """Stored values as the real numbers they stand for, in double."""
    values: np.ndarray = array.astype(np.float64)
    return (values - tensor.zero_point) * tensor.scale if tensor.scale else values


def numbers(array: np.ndarray, tensor: ProgramTensor) -> np.ndarray:
    """The model's values as real numbers: integers of a quantised tensor dequantised, others as they are."""
    if not tensor.scale or array.dtype not in (np.int8, np.uint8, np.int16, np.uint16):
        return array
    return real(array.astype(np.int32) - unsigned_shift(array.dtype), tensor)


def unsigned_shift(dtype: np.dtype[Any]) -> int:
    """What a plan's integers are less than a model's unsigned ones of this type."""
    return 1 << (8 * dtype.itemsize - 1) if dtype.kind == "u" else 0


def integer_limits(tensor: ProgramTensor) -> tuple[int, int] | None:
    """Lowest and highest integer of a tensor whose integers stand for real numbers; None for others."""
    return limits(tensor.dtype) if tensor.scale and tensor.dtype in (DType.INT8, DType.INT16) else None
