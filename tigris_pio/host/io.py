"""Inputs and outputs: converts the arrays that a model takes to those that its plan stores, and back."""

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tigris_pio.errors import PlanError, UsageError
from tigris_pio.format.enums import DType, HeaderFlag, Rounding
from tigris_pio.format.records import IoRecord, TensorRecord
from tigris_pio.format.rounding import rounded
from tigris_pio.host.fields import Fields

Array = npt.NDArray[Any]

NUMPY_TYPES: dict[DType, np.dtype[Any]] = {
    DType.INT8: np.dtype(np.int8),
    DType.UINT8: np.dtype(np.uint8),
    DType.INT16: np.dtype("<i2"),
    DType.INT32: np.dtype("<i4"),
    DType.INT64: np.dtype("<i8"),
    DType.FLOAT32: np.dtype("<f4"),
    DType.BOOL: np.dtype(np.bool_),
}


#: Offset from a model's uint8 values and zero points to the int8 values in the plan.
_UINT8_SHIFT = 128


def layout_name(permutation: tuple[int, ...]) -> str:
    """Order of the stored axes: "NHWC" or "NWC" for channels-last, "plain" for the model's order."""
    if permutation == tuple(range(len(permutation))):
        return "plain"
    names = {(0, 3, 1, 2): "NHWC", (0, 2, 1): "NWC"}
    return names.get(permutation, "axes " + ",".join(str(axis) for axis in permutation))


@dataclasses.dataclass(frozen=True)
class IoDescriptor(Fields):
    """One model input or output. real = (q - zero_point) * scale.

    name: the model's
    shape, dtype: the model's own, as `run` takes and gives them
    stored_shape, stored_dtype: of the array in the arena, as `run_raw` takes and gives it
    layout: "NHWC" and "NWC" for channels last, "plain" for the model's own order, else the axes
    scale, zero_point: scale 0: not quantised
    permutation: the stored axis at each place of the model's
    rounding: of floats that are stored as integers, on halves
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: str
    scale: float
    zero_point: int
    stored_shape: tuple[int, ...]
    stored_dtype: np.dtype[Any]
    permutation: tuple[int, ...]
    rounding: Rounding = Rounding.HALF_EVEN

    @property
    def stored_bytes(self) -> int:
        """Bytes of the stored array."""
        return math.prod(self.stored_shape) * self.stored_dtype.itemsize

    def check_model_array(self, value: object) -> Array:
        """Converts `value` to an array of the model's shape and dtype; UsageError if it does not fit."""
        array = np.asarray(value)
        if array.shape != self.shape:
            raise UsageError(f"input {self.name!r} has shape {list(array.shape)}, the model takes {list(self.shape)}")
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise UsageError(f"input {self.name!r} is {array.dtype}, the model takes {self.dtype}")
        converted: Array = array.astype(self.dtype)
        return converted

    def check_stored_array(self, value: object) -> Array:
        """Converts `value` to an array of the stored shape and dtype; UsageError if it does not fit."""
        array = np.asarray(value)
        if array.shape != self.stored_shape or array.dtype != self.stored_dtype:
            raise UsageError(
                f"input {self.name!r} is {array.dtype} {list(array.shape)}, "
                f"the plan stores {self.stored_dtype} {list(self.stored_shape)}"
            )
        return array

    def to_stored(self, array: Array) -> Array:
        """Converts a model array to the stored one: permutes axes, quantises by the rule of the model's format."""
        permuted = tuple(self.stored_shape[axis] for axis in self.permutation)
        return self.quantised(array.reshape(permuted).transpose(np.argsort(self.permutation)))

    def quantised(self, stored: Array) -> Array:
        """Quantises values that have the stored order already."""
        if self.dtype == self.stored_dtype:
            return np.ascontiguousarray(stored)
        if self.dtype == np.uint8:
            return np.ascontiguousarray((stored.astype(np.int16) - _UINT8_SHIFT).astype(np.int8))
        limits = np.iinfo(self.stored_dtype)
        steps = np.nan_to_num(rounded(stored / np.float32(self.scale), self.rounding) + self.zero_point)
        quantised: Array = np.clip(steps, limits.min, limits.max).astype(self.stored_dtype)
        return quantised

    def to_model(self, stored: Array) -> Array:
        """Converts a stored array to the model's: dequantises, permutes axes back."""
        array = stored.reshape(self.stored_shape).transpose(self.permutation).reshape(self.shape)
        if self.dtype == self.stored_dtype:
            return np.ascontiguousarray(array).reshape(self.shape)
        if self.dtype == np.uint8:
            return np.ascontiguousarray((array.astype(np.int16) + _UINT8_SHIFT).astype(np.uint8)).reshape(self.shape)
        real = (array.astype(np.int32) - self.zero_point).astype(np.float32) * np.float32(self.scale)
        return np.ascontiguousarray(real).reshape(self.shape)


def describe(record: IoRecord, tensor: TensorRecord, name: str, flags: int) -> IoDescriptor:
    """Makes the descriptor of an I/O record; PlanError if its types have no conversion."""
    model_dtype, stored_dtype = NUMPY_TYPES[DType(record.model_dtype)], NUMPY_TYPES[DType(tensor.dtype)]
    quantised = model_dtype == np.float32 and stored_dtype.kind in "iu" and tensor.scale > 0
    shifted = model_dtype == np.uint8 and stored_dtype == np.int8
    if model_dtype != stored_dtype and not quantised and not shifted:
        raise PlanError(f"input or output {name!r} is {model_dtype} in the model, stored as {stored_dtype}")
    permutation = tuple(record.permutation[: record.stored_rank])
    return IoDescriptor(
        name=name,
        shape=tuple(record.shape[: record.rank]),
        dtype=model_dtype,
        layout=layout_name(permutation),
        scale=tensor.scale,
        zero_point=tensor.zero_point,
        stored_shape=tuple(record.stored_shape[: record.stored_rank]),
        stored_dtype=stored_dtype,
        permutation=permutation,
        rounding=Rounding.HALF_AWAY if flags & HeaderFlag.HALF_AWAY else Rounding.HALF_EVEN,
    )
