"""States: tensors that keep their values from run to run. COMMITs write them after all other operators.

Until then the new value has memory of its own. A run that fails or is cancelled therefore changes no state, and all
operators of a run read the old value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import State
from tigris_pio.compiler.ir.program import ProgramIo
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, default_dims
from tigris_pio.compiler.lower.storage import Numeric, Value
from tigris_pio.format.enums import DType
from tigris_pio.format.params import CommitParams
from tigris_pio.format.records import MAX_RANK

_TYPES: Mapping[DType, type[np.generic]] = {
    DType.INT8: np.int8, DType.UINT8: np.uint8, DType.INT16: np.int16, DType.INT32: np.int32, DType.INT64: np.int64,
    DType.FLOAT32: np.float32, DType.BOOL: np.bool_,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Commit:
    """The COMMIT of a state. sources: the new value, and the first value if that is more than one repeated byte"""

    io: ProgramIo
    sources: tuple[str, ...]
    params: CommitParams


def prepare_commit(builder: Builder, state: State, io: ProgramIo) -> Commit:
    """Converts the new value of a state to the state's element type and order. Raises Refusal."""
    old = builder.values[state.input][0]
    numeric = builder.storages[old.storage].numeric
    value = _converted_value(builder, state.output, old.layout, numeric)
    if builder.storages[value.storage].state:  # another COMMIT might write it first
        value = builder.add_copy(state.output, value)
    first = _first_bytes(state, io, old.layout, numeric)
    fill = int(first.flat[0])
    if np.all(first == fill):
        return Commit(io, (value.storage,), commit_params(io, fill))
    array = first.view(_TYPES[numeric.dtype])
    constant = builder.add_constant(f"{state.input}/first", array, numeric, default_dims(old.layout.stored_shape))
    return Commit(io, (value.storage, constant), commit_params(io, 0))


def _converted_value(builder: Builder, name: str, layout: Layout, numeric: Numeric) -> Value:
    """A graph tensor in this element type and order."""
    if not builder.is_constant(name) or not numeric.is_unquantised or numeric.dtype is DType.FLOAT32:
        return builder.value_in_order(name, layout, numeric)
    array: np.ndarray = layout.apply(builder.float_constant(name)).astype(_TYPES[numeric.dtype])
    return Value(builder.add_constant(name, array, numeric, default_dims(array.shape)), layout)


def _first_bytes(state: State, io: ProgramIo, layout: Layout, numeric: Numeric) -> np.ndarray:
    """The stored bytes of a state's first value, which a reset restores."""
    first = np.full(io.shape, numeric.zero_point) if state.initial is None else state.initial
    stored: np.ndarray = layout.apply(first).astype(_TYPES[numeric.dtype])
    return np.ascontiguousarray(stored).reshape(-1).view(np.uint8)


def commit_params(io: ProgramIo, fill: int) -> CommitParams:
    """Parameters of a COMMIT that replaces the whole state, whose first value is the byte `fill`, repeated."""

    def padded(values: tuple[int, ...]) -> tuple[int, ...]:
        return (*values, *([0] * (MAX_RANK - len(values))))

    return CommitParams(0, fill, io.dtype, len(io.shape), len(io.stored_shape), padded(io.shape),
                        padded(io.stored_shape), padded(io.permutation))
