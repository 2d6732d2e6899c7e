"""Streamed inputs and outputs: the hooks by which the runtime fetches rows of inputs and passes on rows of outputs."""

import ctypes
import math
from collections.abc import Callable, Mapping

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.host import library
from tigris_pio.host.io import Array, IoDescriptor

#: Returns rows of an input: (first, rows) -> these rows in the model's shape, or [rows, width, channels]; in the
#: model's type or the stored one.
RowSource = Callable[[int, int], object]
#: Receives rows of an output: (first, stored array [rows, width, channels]).
RowSink = Callable[[int, Array], object]


#: A streamed input or output, and height, width and channels of its tensor.
Stream = tuple[IoDescriptor, tuple[int, int, int]]


class Rows:
    """The hooks of a session with streams, and the arrays and callables of the current run.

    inputs, outputs: those that are streamed, by index
    """

    def __init__(self, inputs: Mapping[int, Stream], outputs: Mapping[int, Stream]) -> None:
        self._inputs, self._outputs = inputs, outputs
        self._sources: dict[int, RowSource] = {}
        self._made: dict[int, Array] = {}
        self._sinks: Mapping[str, RowSink] = {}
        self.error: BaseException | None = None
        # Referenced here as long as the session uses them.
        self.fetch, self.take = library.RowsHook(self._fetch), library.RowsHook(self._take)

    def begin(self, sources: Mapping[str, Array | RowSource], sinks: Mapping[str, RowSink]) -> None:
        """Prepares a run. sources: a stored array, or a callable for rows, by name of every streamed input."""
        self.error = None
        self._sinks = sinks
        for index, (io, shape) in self._inputs.items():
            given = sources[io.name]
            self._sources[index] = given if callable(given) else _rows_of(given.reshape(shape))
        for index, (io, shape) in self._outputs.items():
            self._made[index] = np.zeros(shape, io.stored_dtype)

    def is_source(self, name: str) -> bool:
        """Whether an input is streamed."""
        return any(io.name == name for io, _ in self._inputs.values())

    def moves(self, io: IoDescriptor) -> bool:
        """Whether an input or output is streamed."""
        return any(io is known for known, _ in (*self._inputs.values(), *self._outputs.values()))

    def is_sink(self, index: int) -> bool:
        """Whether an output is streamed."""
        return index in self._outputs

    def output(self, index: int) -> Array:
        """A streamed output's stored array after a run."""
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
    """Converts a callable's rows to the stored form; UsageError if they are not the requested rows."""
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
    """Converts rows in the model's order to the plan's; rows in the plan's order stay. Their shape decides."""
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
    """Shape of `rows` rows of a stored array. Its row axis has `height` elements, and all axes before it have 1."""
    for axis, size in enumerate(stored_shape):
        if size == height and all(before == 1 for before in stored_shape[:axis]):
            return (*stored_shape[:axis], rows, *stored_shape[axis + 1 :])
    return (rows, math.prod(stored_shape) // height)
