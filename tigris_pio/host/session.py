"""`Session`: runs one plan on this machine."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from tigris_pio.errors import ArgumentError, PlanError, PlanFileError, RuntimeFailure, UsageError
from tigris_pio.files import read_named
from tigris_pio.format.enums import DType, OpKind, Strategy
from tigris_pio.format.params import CommitParams
from tigris_pio.format.reader import is_plan
from tigris_pio.format.records import (
    Header,
    IoRecord,
    OpRecord,
    StageRecord,
    TensorRecord,
    ViewRecord,
)
from tigris_pio.host import library
from tigris_pio.host.calls import Call, CallRows, Watch
from tigris_pio.host.cores import Cores
from tigris_pio.host.fields import Fields
from tigris_pio.host.io import NUMPY_TYPES, Array, IoDescriptor, describe
from tigris_pio.host.memory import Arena, aligned_copy
from tigris_pio.host.packing import portable_plan
from tigris_pio.host.rows import Rows, RowSink, RowSource, Stream
from tigris_pio.sizes import parse_size
from tigris_pio.spelling import option
from tigris_pio.text import visible_name

_LONGEST_PLACE = 300
_FAST_TOO_SMALL, _SLOW_TOO_SMALL, _CRC = -2, -3, -13


class HasData(Protocol):
    """An object with a plan's bytes, such as the compiler's result."""

    @property
    def data(self) -> bytes:
        """The plan's bytes."""


@dataclasses.dataclass(frozen=True)
class Memory(Fields):
    """Memory used, and bytes moved, by the last run, measured by the runtime. Peaks include inputs and outputs.

    fast_peak, slow_peak: up to the highest byte used of each arena
    slow_read, slow_written: of slow memory
    """

    fast_peak: int
    slow_peak: int
    slow_read: int
    slow_written: int


@dataclasses.dataclass(frozen=True)
class OpProfile(Fields):
    """One operator over all runs of the session.

    name: the node's that it comes from
    strategy: of its stage: normal, tiled, chain or rolling
    calls: of its kernel: one a band and image
    nanoseconds: in its kernel
    """

    name: str
    strategy: str
    calls: int
    nanoseconds: int


@dataclasses.dataclass(frozen=True)
class _Op:
    """An operator's name, its stage's strategy and its whole output."""

    name: str
    strategy: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def plan_bytes(source: str | os.PathLike[str] | bytes | HasData) -> bytes:
    """Reads a plan from a path, from bytes, or from an object with bytes."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        data = read_named(path, "a .tgrs plan, which tigris compile writes", PlanFileError)
        if path.suffix in (".onnx", ".tflite") and not is_plan(data):
            raise PlanError(f"{path} is a model; compile it first: tigris compile {path} -m 64K -o {path.stem}.tgrs")
        return data
    carried = getattr(source, "data", None)
    if not isinstance(carried, bytes):
        raise ArgumentError(
            f"plan: {type(source).__name__} is no plan; give a path, a plan's bytes or what compile_model returns"
        )
    return carried


def _bytes(option: str, given: int | str | None, planned: int) -> int:
    """An arena's size in bytes: `given`, or the size that the plan needs."""
    if given is None:
        return planned
    if isinstance(given, bool) or not isinstance(given, int | str | np.integer):
        raise ArgumentError(f"{option}: {given!r} is no size; give a number of bytes, a text like '64K', or None")
    return parse_size(given if isinstance(given, str) else int(given), option)


def _core_count(cores: object) -> int:
    if isinstance(cores, bool) or cores not in (1, 2):
        raise ArgumentError(f"cores: {cores!r} is neither 1 nor 2")
    return 2 if cores == 2 else 1


@dataclasses.dataclass(frozen=True)
class _State:
    """A state: its tensor, and the descriptor for the user."""

    tensor: int
    io: IoDescriptor


class _Records:
    """Reads a checked plan's records for the user: descriptors, operators, states."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.header = Header.unpack(data)

    def name(self, offset: int) -> str:
        start = self.header.strings + offset
        return self._data[start : self._data.index(b"\0", start)].decode("utf-8", "replace")

    def _tensor(self, index: int) -> TensorRecord:
        return TensorRecord.unpack(self._data, self.header.tensors + index * TensorRecord.size())

    def _stage(self, index: int) -> StageRecord:
        return StageRecord.unpack(self._data, self.header.stages + index * StageRecord.size())

    def _op_record(self, index: int) -> OpRecord:
        return OpRecord.unpack(self._data, self.header.ops + index * OpRecord.size())

    def _view(self, stage: StageRecord, index: int) -> ViewRecord:
        return ViewRecord.unpack(self._data, self.header.views + (stage.first_view + index) * ViewRecord.size())

    def most_calls(self) -> int:
        """Most kernel calls of a run: each operator in each band of its stage, once per image."""
        stages = [self._stage(index) for index in range(self.header.stage_count)]
        return sum(
            stage.band_count * self._op_record(stage.first_op + i).images
            for stage in stages
            for i in range(stage.op_count)
        )

    def largest_tensor(self) -> int:
        """Bytes of the largest tensor."""
        tensors = map(self._tensor, range(self.header.tensor_count))
        return max(t.batch * t.height * t.width * t.channels * DType(t.dtype).bytes for t in tensors)

    def _io_record(self, index: int) -> IoRecord:
        return IoRecord.unpack(self._data, self.header.io + index * IoRecord.size())

    def io(self, index: int) -> IoDescriptor:
        record = self._io_record(index)
        return describe(record, self._tensor(record.tensor), self.name(record.name), self.header.flags)

    def rows_of(self, index: int) -> tuple[int, int, int] | None:
        """Height, width and channels of a streamed input or output; None for others."""
        record = self._io_record(index)
        tensor = self._tensor(record.tensor)
        return (tensor.height, tensor.width, tensor.channels) if record.mover else None

    def states(self) -> tuple[_State, ...]:
        """Every state, in the order of the operators that write them."""
        stages = (self._stage(index) for index in range(self.header.stage_count))
        ops = ((stage, self._op_record(stage.first_op + i)) for stage in stages for i in range(stage.op_count))
        return tuple(self._state(stage, op) for stage, op in ops if op.kind == OpKind.COMMIT)

    def _state(self, stage: StageRecord, op: OpRecord) -> _State:
        params = CommitParams.unpack(self._data, self.header.params + op.params)
        index = self._view(stage, op.output_view).tensor
        tensor = self._tensor(index)
        return _State(index, describe(params.io(index, tensor.name), tensor, self.name(tensor.name), self.header.flags))

    def ops(self) -> list[_Op]:
        result = []
        for index in range(self.header.stage_count):
            stage = self._stage(index)
            result += [self._op(stage, stage.first_op + i) for i in range(stage.op_count)]
        return result

    def _op(self, stage: StageRecord, index: int) -> _Op:
        op = self._op_record(index)
        tensor = self._tensor(self._view(stage, op.output_view).tensor)
        return _Op(
            name=self.name(op.name),
            strategy=Strategy(stage.strategy).name.lower(),
            shape=(tensor.batch, tensor.height, tensor.width, tensor.channels),
            dtype=NUMPY_TYPES[DType(tensor.dtype)],
        )


class Session:
    """A plan that runs on this machine, with the board's C runtime. A context manager: `close` at its end.

    Raises PlanError when the runtime refuses the plan, RuntimeFailure with what is missing when it cannot run in the
    arenas. A model with states carries them from run to run, until `reset`; a run that fails leaves them.

    plan: path of a `.tgrs` file, its bytes, or what `compile_model` returns
    fast_bytes, slow_bytes: sizes of the arenas; None: what the plan asks for. In smaller ones the runtime places
        tensors itself, with the same results
    cores: 2: a second thread takes half of the rows of operators that the plan was compiled to split; `shared_calls`
        counts kernel calls that both shared
    inputs, outputs: an IoDescriptor each, in the model's order
    states: an IoDescriptor for each tensor that keeps its value from run to run
    take: functions by the names of streamed outputs. As soon as rows are made, the function is called with the first
        row's number and the rows as stored, an array [rows, width, channels]
    """

    def __init__(
        self,
        plan: str | os.PathLike[str] | bytes | HasData,
        fast_bytes: int | str | None = None,
        slow_bytes: int | str | None = None,
        cores: int = 1,
    ) -> None:
        self._library = library.load()
        data = plan_bytes(plan)
        if not data:
            raise PlanError("the plan is empty")
        self._host = Arena(int(self._library.tigris_host_bytes()))
        self._open_plan(data)
        readable = portable_plan(data)
        if readable is not data:
            self._open_plan(readable)
        self._records = _Records(self._data)
        header = self._records.header
        self._ops = self._records.ops()
        self.inputs = tuple(self._records.io(i) for i in range(header.input_count))
        self.outputs = tuple(self._records.io(header.input_count + i) for i in range(header.output_count))
        self.take: dict[str, RowSink] = {}
        self._rows = Rows(self._streams(0, self.inputs), self._streams(header.input_count, self.outputs))
        self._states = self._records.states()
        self.states = tuple(state.io for state in self._states)
        self._fast = Arena(_bytes("fast_bytes", fast_bytes, header.fast_bytes), max(64, header.alignment))
        self._slow = Arena(_bytes("slow_bytes", slow_bytes, header.slow_bytes), max(64, header.alignment))
        self._open = True
        self._profile = (library.HostProfile * max(1, len(self._ops)))()
        self._usage = library.HostUsage()
        self._cores = Cores() if _core_count(cores) > 1 else None
        self._bind()

    def _open_plan(self, data: bytes) -> None:
        self._data, self._plan = data, aligned_copy(data)
        self._refuse(self._library.tigris_host_open(self._host.address, self._plan.address, len(data)))
        self._refuse(self._library.tigris_host_check_crc(self._host.address))

    def _streams(self, before: int, ports: Sequence[IoDescriptor]) -> dict[int, Stream]:
        shapes = {index: self._records.rows_of(before + index) for index in range(len(ports))}
        return {index: (ports[index], shape) for index, shape in shapes.items() if shape is not None}

    def is_streamed(self, io: IoDescriptor) -> bool:
        """Whether an input or output is streamed."""
        return self._rows.moves(io)

    def _bind(self) -> None:
        fast, slow, header = self._fast, self._slow, self._records.header
        status = self._library.tigris_host_bind(
            self._host.address, fast.address, fast.data.size, slow.address, slow.data.size, self._profile,
        )  # fmt: skip
        if status in (_FAST_TOO_SMALL, _SLOW_TOO_SMALL):
            missing = self._library.tigris_host_bytes_short(self._host.address)
            raise RuntimeFailure(
                f"arenas of {fast.data.size} bytes fast and {slow.data.size} slow memory are too small: at least "
                f"{missing} bytes of {'fast' if status == _FAST_TOO_SMALL else 'slow'} memory are missing; "
                f"the plan was made for {header.fast_bytes} fast and {header.slow_bytes} slow"
            )
        self._refuse(status)
        self._library.tigris_host_rows(self._host.address, self._rows.fetch, self._rows.take)
        if self._cores is not None:
            self._library.tigris_host_parallel(self._host.address, self._cores.hook)

    def _refuse(self, status: int) -> None:
        if status != 0:
            raise PlanError(
                f"the runtime refuses the plan: {library.status_text(status)} (status {status}){self._place()}"
            )

    def _place(self) -> str:
        """` at stage 3, operator 12 (MAT_MUL /block/MatMul)`; empty if the runtime does not know it."""
        text = ctypes.create_string_buffer(_LONGEST_PLACE)
        op = int(self._library.tigris_host_fault(self._host.address, text, len(text)))
        place = visible_name(text.value.decode(errors="replace"))
        if f"operator {op} (" in place:  # the name is known, so the plan's records are valid
            kind = OpRecord.unpack(self._data, Header.unpack(self._data).ops + op * OpRecord.size()).kind
            name = OpKind(kind).name if kind in set(OpKind) else f"kind {kind}"
            place = place.replace(f"operator {op} (", f"operator {op} ({name} ", 1)
        return f" at {place}" if place else ""

    def __repr__(self) -> str:
        state = "" if self._open else ", closed"
        arenas = f"{self._fast.data.size} bytes fast, {self._slow.data.size} slow memory"
        return f"<Session {visible_name(self.name)!r}: {arenas}{state}>"

    def close(self) -> None:
        """Frees the plan and the arenas. Measurements and descriptors stay. A second call has no effect."""
        self._open = False
        if self._cores is not None:
            self._cores.close()
        self._fast = self._slow = Arena(0)

    def __enter__(self) -> Session:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._open:
            raise UsageError(f"the session of {self.name} is closed; open another one")

    @property
    def name(self) -> str:
        """The model's name."""
        return self._records.header.name.rstrip(b"\0").decode(errors="replace")

    @property
    def memory(self) -> Memory:
        """Memory used, and bytes moved, by the last run."""
        usage = self._usage
        return Memory(usage.fast_peak, usage.slow_peak, usage.slow_read, usage.slow_written)

    @property
    def profile(self) -> list[OpProfile]:
        """Every operator, in execution order."""
        return [
            OpProfile(op.name, op.strategy, record.calls, record.nanoseconds)
            for op, record in zip(self._ops, self._profile, strict=False)
        ]

    @property
    def shared_calls(self) -> int:
        """Number of kernel calls, over all runs, whose rows were split between two cores."""
        return 0 if self._cores is None else self._cores.calls

    def reset(self) -> None:
        """Sets every state to its initial value, as in a new session."""
        self._check_open()
        self._refuse(self._library.tigris_host_reset(self._host.address))

    def state(self) -> dict[str, Array]:
        """The current value of each state by name, in the model's shape and type."""
        self._check_open()
        return {state.io.name: state.io.to_model(self._stored_state(state)) for state in self._states}

    def save_state(self) -> tuple[bytes, ...]:
        """All states' stored bytes, for `load_state`."""
        self._check_open()
        return tuple(self._stored_state(state).tobytes() for state in self._states)

    def load_state(self, saved: tuple[bytes, ...]) -> None:
        """Restores the states that `save_state` of a session of this plan returned."""
        self._check_open()
        if [len(data) for data in saved] != [state.io.stored_bytes for state in self._states]:
            raise UsageError("load_state: these are no states of this plan; give the result of save_state")
        for state, data in zip(self._states, saved, strict=True):
            ctypes.memmove(self._library.tigris_host_state(self._host.address, state.tensor), data, len(data))

    def _stored_state(self, state: _State) -> Array:
        address = self._library.tigris_host_state(self._host.address, state.tensor)
        return _array_at(address, state.io)

    def run(self, inputs: Mapping[str, object] | object) -> dict[str, Array]:
        """Runs one inference on arrays in the model's shape and type, by name; a single input needs no name.

        A streamed input may be a function instead. Its arguments are the first row and the number of rows, and rows
        are requested once each, in order. It returns an array [rows, width, channels], of the model's type or as
        stored. Rows of a streamed output go to the function that `take` has for it as well, as they are made.
        """
        named = self._by_name(inputs)
        stored: dict[str, Array | RowSource] = {}
        for io in self.inputs:
            given = named[io.name]
            stored[io.name] = self._source(io, given) or io.to_stored(io.check_model_array(given))
        results = self._run(stored, None)
        return {io.name: io.to_model(results[io.name]) for io in self.outputs}

    def run_raw(self, inputs: Mapping[str, object] | object) -> dict[str, Array]:
        """Runs one inference on stored arrays."""
        return self._run(self._check_raw(inputs), None)

    def run_raw_traced(
        self, inputs: Mapping[str, object] | object, fill: int = 0
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Like `run_raw`; also returns every operator's whole output by name, [batch, height, width, channels].

        Rows that nothing needs are not computed; their bytes are `fill`.
        """
        self._check_open()
        traces = [np.full((*op.shape, op.dtype.itemsize), fill, np.uint8) for op in self._ops]
        traces = [trace.view(op.dtype).reshape(op.shape) for trace, op in zip(traces, self._ops, strict=True)]
        outputs = self._run(self._check_raw(inputs), traces)
        return outputs, {op.name: trace for op, trace in zip(self._ops, traces, strict=True)}

    def run_raw_calls(self, inputs: Mapping[str, object] | object) -> tuple[dict[str, Array], tuple[Call, ...]]:
        """Like `run_raw`; also returns every kernel call in order."""
        outputs, watch = self._watch(inputs, 0)
        return outputs, watch.calls()

    def run_raw_call(self, inputs: Mapping[str, object] | object, wanted: int) -> CallRows:
        """Runs like `run_raw`; returns the rows that kernel call `wanted` (from 1) wrote and read."""
        return self._watch(inputs, wanted)[1].rows()

    def _watch(self, inputs: Mapping[str, object] | object, wanted: int) -> tuple[dict[str, Array], Watch]:
        self._check_open()
        watch = Watch(self._records.most_calls(), wanted, self._records.largest_tensor())
        self._write_inputs(self._check_raw(inputs))
        record, usage = ctypes.byref(watch.record), ctypes.byref(self._usage)
        return self._finish(self._library.tigris_host_calls(self._host.address, record, usage)), watch

    def _check_raw(self, inputs: Mapping[str, object] | object) -> dict[str, Array | RowSource]:
        named = self._by_name(inputs)
        return {
            io.name: self._source(io, named[io.name]) or io.check_stored_array(named[io.name]) for io in self.inputs
        }

    def _source(self, io: IoDescriptor, given: object) -> RowSource | None:
        """`given`, if it is a function for rows, else None; UsageError if `io` is not streamed."""
        if not callable(given):
            return None
        if not self._rows.is_source(io.name):
            raise UsageError(f"input {io.name!r} is not streamed, so it needs an array, not a function; or compile the "
                             f"model with {option('stream', io.name)}")  # fmt: skip
        return given

    def _by_name(self, inputs: Mapping[str, object] | object) -> Mapping[str, object]:
        """The inputs of a run by name; a single one needs no name. UsageError if one is missing or unknown."""
        self._check_open()
        names = [io.name for io in self.inputs]
        if not isinstance(inputs, Mapping):
            if len(names) != 1:
                raise UsageError(f"inputs are given as a dict of name to array, not as {type(inputs).__name__}")
            return {names[0]: inputs}
        missing = [name for name in names if name not in inputs]
        unknown = [str(name) for name in inputs if name not in names]
        if missing or unknown:
            problems = (("missing", missing), ("unknown", unknown))
            parts = [f"{what} {', '.join(found)}" for what, found in problems if found]
            raise UsageError(f"wrong inputs: {'; '.join(parts)}; the model takes {', '.join(names) or 'none'}")
        return inputs

    def _run(self, stored: Mapping[str, Array | RowSource], traces: list[Array] | None) -> dict[str, Array]:
        self._write_inputs(stored)
        pointers = None if traces is None else (ctypes.c_void_p * len(traces))(*[t.ctypes.data for t in traces])
        return self._finish(self._library.tigris_host_run(self._host.address, pointers, ctypes.byref(self._usage)))

    def _write_inputs(self, stored: Mapping[str, Array | RowSource]) -> None:
        self._rows.begin(stored, self.take)
        for index, io in enumerate(self.inputs):
            if self._rows.is_source(io.name):
                continue
            address = self._library.tigris_host_input(self._host.address, index)
            array = np.ascontiguousarray(stored[io.name])  # referenced until it is copied
            ctypes.memmove(address, array.ctypes.data, io.stored_bytes)

    def _finish(self, status: int) -> dict[str, Array]:
        """The outputs of a run that ended with `status`."""
        if self._rows.error is not None:
            raise self._rows.error
        if status != 0:
            raise RuntimeFailure(f"the run failed: {library.status_text(status)} (status {status}){self._place()}")
        self._check_guards()
        return {io.name: self._output(index, io) for index, io in enumerate(self.outputs)}

    def _check_guards(self) -> None:
        for name, arena in (("fast", self._fast), ("slow", self._slow), ("plan", self._plan)):
            if not arena.guards_intact():
                raise RuntimeFailure(f"the runtime wrote outside the {name} memory: please report this plan")

    def _output(self, index: int, io: IoDescriptor) -> Array:
        if self._rows.is_sink(index):
            return self._rows.output(index)
        return _array_at(self._library.tigris_host_output(self._host.address, index), io)


def _array_at(address: int, io: IoDescriptor) -> Array:
    stored = np.frombuffer(ctypes.string_at(address, io.stored_bytes), io.stored_dtype)
    array: Array = stored.reshape(io.stored_shape).copy()
    return array
