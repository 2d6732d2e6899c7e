"""What lives from run to run: each state is a tensor of its own, which a COMMIT writes when all else is done.

The new value has its own place until then. So a run that fails or is stopped leaves what the run before left, and
whatever reads a state reads the old one, wherever in the run it comes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import State
from tigris_pio.compiler.ir.program import ProgramIo
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, fold
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
    """A state of the program, where its new value is stored, and the constant it begins with, if not by one byte."""

    io: ProgramIo
    sources: tuple[str, ...]
    params: CommitParams


def prepare_commit(builder: Builder, state: State, io: ProgramIo) -> Commit:
    """Brings the new value of a state to the form that the state has. Raises Refusal."""
    held = builder.values[state.input][0]
    numeric = builder.storages[held.storage].numeric
    value = _in_form(builder, state.output, held.layout, numeric)
    if builder.storages[value.storage].state:  # which other COMMITs may write first
        value = builder.copied(state.output, value)
    first = _first_bytes(state, io, held.layout, numeric)
    fill = int(first.flat[0])
    if np.all(first == fill):
        return Commit(io, (value.storage,), commit_params(io, fill))
    array = first.view(_TYPES[numeric.dtype])
    constant = builder.add_constant(f"{state.input}/first", array, numeric, fold(held.layout.stored_shape))
    return Commit(io, (value.storage, constant), commit_params(io, 0))


def _in_form(builder: Builder, name: str, layout: Layout, numeric: Numeric) -> Value:
    """A graph tensor in an element type and order."""
    if not builder.is_constant(name) or not numeric.is_plain or numeric.dtype is DType.FLOAT32:
        return builder.arranged(name, layout, numeric)
    array: np.ndarray = layout.apply(builder.real(name)).astype(_TYPES[numeric.dtype])
    return Value(builder.add_constant(name, array, numeric, fold(array.shape)), layout)


def _first_bytes(state: State, io: ProgramIo, layout: Layout, numeric: Numeric) -> np.ndarray:
    """The bytes that a session begins with."""
    first = np.full(io.shape, numeric.zero_point) if state.initial is None else state.initial
    stored: np.ndarray = layout.apply(first).astype(_TYPES[numeric.dtype])
    return np.ascontiguousarray(stored).reshape(-1).view(np.uint8)


def commit_params(io: ProgramIo, fill: int) -> CommitParams:
    """The record of a COMMIT that replaces the whole state, whose bytes are `fill` at first."""

    def padded(values: tuple[int, ...]) -> tuple[int, ...]:
        return (*values, *([0] * (MAX_RANK - len(values))))

    return CommitParams(0, fill, io.dtype, len(io.shape), len(io.stored_shape), padded(io.shape),
                        padded(io.stored_shape), padded(io.permutation))
