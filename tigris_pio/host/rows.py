"""Streamed inputs and outputs: who gives the rows that the runtime asks for, and who takes those that it makes."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.host import library
from tigris_pio.host.io import Array, IoDescriptor

#: Gives rows of an input: (first, rows) -> those rows of the array as the model takes it, or [rows, width, channels];
#: of the model's type or as stored.
RowSource = Callable[[int, int], object]
#: Takes rows of an output: (first, array [rows, width, channels] as stored).
RowSink = Callable[[int, Array], object]


#: A streamed input or output, and height, width and channels of its tensor.
Stream = tuple[IoDescriptor, tuple[int, int, int]]


class Rows:
    """The hooks of a session that streams, and what they move in the run that is on.

    inputs, outputs: those that are streamed, by index
    """

    def __init__(self, inputs: Mapping[int, Stream], outputs: Mapping[int, Stream]) -> None:
        self._inputs, self._outputs = inputs, outputs
        self._sources: dict[int, RowSource] = {}
        self._made: dict[int, Array] = {}
        self._sinks: Mapping[str, RowSink] = {}
        self.error: BaseException | None = None
        # Kept as long as the session has them.
        self.fetch, self.take = library.RowsHook(self._fetch), library.RowsHook(self._take)

    def begin(self, sources: Mapping[str, Array | RowSource], sinks: Mapping[str, RowSink]) -> None:
        """Before a run. `sources`: of every streamed input, by name, an array as stored or what gives its rows."""
        self.error = None
        self._sinks = sinks
        for index, (io, shape) in self._inputs.items():
            given = sources[io.name]
            self._sources[index] = given if callable(given) else _rows_of(given.reshape(shape))
        for index, (io, shape) in self._outputs.items():
            self._made[index] = np.zeros(shape, io.stored_dtype)

    def is_source(self, name: str) -> bool:
        """Whether the rows of an input come during the run."""
        return any(io.name == name for io, _ in self._inputs.values())

    def moves(self, io: IoDescriptor) -> bool:
        """Whether an input or output is among those."""
        return any(io is known for known, _ in (*self._inputs.values(), *self._outputs.values()))

    def is_sink(self, index: int) -> bool:
        """Whether the rows of an output go during the run."""
        return index in self._outputs

    def output(self, index: int) -> Array:
        """A streamed output after a run, as stored."""
        return self._made[index].reshape(self._outputs[index][0].stored_shape)

    def _fetch(self, _: int | None, index: int, first: int, rows: int, destination: int) -> int:
        io, shape = self._inputs[index]
        try:
            given = np.ascontiguousarray(_stored_rows(io, self._sources[index](first, rows), rows, shape))
        except BaseException as error:
            self.error = error
            return 1
        ctypes.memmove(destination, given.ctypes.data, given.nbytes)
        return 0

    def _take(self, _: int | None, index: int, first: int, rows: int, source: int) -> int:
        io = self._outputs[index][0]
        target = self._made[index][first : first + rows]
        ctypes.memmove(target.ctypes.data, source, target.nbytes)
        try:
            if io.name in self._sinks:
                self._sinks[io.name](first, target.copy())
        except BaseException as error:
            self.error = error
            return 1
        return 0


def _rows_of(array: Array) -> RowSource:
    return lambda first, rows: array[first : first + rows]


def _stored_rows(io: IoDescriptor, given: object, rows: int, shape: tuple[int, int, int]) -> Array:
    """What a callable gave, as the plan stores it. Raises UsageError for other rows than were asked for."""
    array = _arranged(io, np.asarray(given), rows, shape)
    if array.dtype == io.stored_dtype and io.stored_dtype != io.dtype:
        return array
    if not np.can_cast(array.dtype, io.dtype, "same_kind"):
        raise UsageError(
            f"input {io.name!r}: rows are {array.dtype}; give {io.dtype}, as the model takes them, or "
            f"{io.stored_dtype}, as the plan stores them"
        )
    return io.quantised(array.astype(io.dtype))


def _arranged(io: IoDescriptor, array: Array, rows: int, shape: tuple[int, int, int]) -> Array:
    """Rows in the model's order or the plan's, told apart by their shape, in the plan's."""
    stored = _with_rows(io.stored_shape, rows, shape[0])
    model = tuple(stored[axis] for axis in io.permutation)
    if array.shape == model and len(model) == len(io.shape):
        inverse = [io.permutation.index(axis) for axis in range(len(io.permutation))]
        arranged: Array = array.transpose(inverse)
        return arranged
    sizes = [size for size in array.shape if size != 1]
    if sizes != [size for size in stored if size != 1]:
        known = {model if len(model) == len(io.shape) else stored, (rows, *shape[1:])}
        asked = "1 row was asked for, which is" if rows == 1 else f"{rows} rows were asked for, which are"
        raise UsageError(
            f"input {io.name!r}: {asked} "
            f"{' or '.join(str(list(item)) for item in sorted(known, key=len, reverse=True))}; given are "
            f"{list(array.shape)}"
        )
    return array


def _with_rows(stored_shape: tuple[int, ...], rows: int, height: int) -> tuple[int, ...]:
    """The shape of `rows` rows of a stored array: its rows are the first axis that is not 1, or one of height 1."""
    for axis, size in enumerate(stored_shape):
        if size == height and all(before == 1 for before in stored_shape[:axis]) and (size > 1 or height == 1):
            return (*stored_shape[:axis], rows, *stored_shape[axis + 1 :])
    return (rows, math.prod(stored_shape) // height)
