"""The program: what normalisation and lowering hand to the planner.

Activations are [batch, height, width, channels] with channels fastest; operators are kernel calls
with row maps, which is all the planner knows about geometry. Nothing here depends on a memory
budget; nothing after it depends on ONNX.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from tigris_pio.compiler.ir.arrays import digest
from tigris_pio.format.enums import DType, OpKind, Packing, Rounding
from tigris_pio.format.params import RowsParams
from tigris_pio.format.record import Record


@dataclasses.dataclass(frozen=True)
class RowMap:
    """Which input rows a range of output rows needs.

    Output rows [a, b) need input rows [(a*numerator + first) // denominator,
    ((b-1)*numerator + last) // denominator + 1), before clipping to the tensor.
    """

    numerator: int
    denominator: int
    first: int
    last: int

    @staticmethod
    def same() -> RowMap:
        """Output row r needs input row r: pointwise operators."""
        return RowMap(1, 1, 0, 0)

    @staticmethod
    def whole(height: int) -> RowMap:
        """Any output row needs all `height` input rows."""
        return RowMap(0, 1, 0, height - 1)

    @staticmethod
    def window(kernel: int, stride: int, dilation: int, pad_top: int) -> RowMap:
        """Convolution and pooling along the rows."""
        return RowMap(stride, 1, -pad_top, (kernel - 1) * dilation - pad_top)

    @staticmethod
    def shifted(rows: int) -> RowMap:
        """Output row r needs input row r + rows: Slice, Pad and Concat along the rows."""
        return RowMap(1, 1, rows, rows)


@dataclasses.dataclass(frozen=True)
class ProgramTensor:
    """One stored activation, or a constant operand when `constant` is set.

    folded: every row lies where the one before it lay, so the tensor takes one row of memory. Its operator adds each
    input row to what is there: row r is the sum of input rows 0 to r.

    state: it is there before the first operator, and a COMMIT writes it for the next run.

    sequential: each row is made from the one before it, so rows are made in order, once, and one stays.

    streamed: each row comes from the firmware, or says that one went there: rows are made in order, each once, to the
    last, even those that nothing reads.
    """

    name: str
    batch: int
    height: int
    width: int
    channels: int
    dtype: DType
    scale: float = 0.0
    zero_point: int = 0
    constant: np.ndarray | None = None
    folded: bool = False
    state: bool = False
    sequential: bool = False
    streamed: bool = False

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row of one image."""
        return self.width * self.channels * self.dtype.bytes

    @cached_property
    def bytes(self) -> int:
        """Bytes of the whole tensor."""
        return self.batch * self.bytes_of(self.height)

    def bytes_of(self, rows: int) -> int:
        """Bytes that this many rows of one image take."""
        return (min(rows, 1) if self.folded else rows) * self.row_bytes


@dataclasses.dataclass(frozen=True)
class Operand:
    """One activation input of an operator."""

    tensor: str
    rows: RowMap


@dataclasses.dataclass(frozen=True)
class Alias:
    """An operand and the output hold the same bytes: the operand begins at byte `offset` of the output or, when that is
    negative, the output at byte -`offset` of the operand. An operator whose operands all lie so copies nothing."""

    operand: int  #: its place among the operands
    offset: int


@dataclasses.dataclass(frozen=True)
class ProgramOp:
    """One kernel call.

    `params` is the kernel's record with every data field (named in `blobs`) still 0; emission
    places the blobs in the stage's weight block and fills the fields in. `images` is the batch
    when the kernel is called once per image, 1 when it takes the tensors whole.

    in_place: the operands, by their places, that the output may be written over by one call for all rows: both begin
    at the same address. aliases: what the output has in common with its operands.

    backend: whose kernel runs it, "" for the portable one; packing: in which order the plan has its weights; stream:
    what the plan has in place of the weights, where that is more than these in an order.
    """

    name: str
    kind: OpKind
    dtype: DType
    operands: tuple[Operand, ...]
    output: str
    params: Record
    blobs: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    images: int = 1
    macs: int = 0
    scratch_bytes: int = 0
    in_place: tuple[int, ...] = ()
    aliases: tuple[Alias, ...] = ()
    backend: str = ""
    packing: Packing = Packing.PORTABLE
    stream: np.ndarray | None = None

    @cached_property
    def digests(self) -> Mapping[str, bytes]:
        """Of each of `blobs`, and of the stream by its name."""
        arrays = self.blobs if self.stream is None else {**self.blobs, "stream": self.stream}
        return {name: digest(array) for name, array in arrays.items()}


@dataclasses.dataclass(frozen=True)
class ProgramIo:
    """A model input or output and how its stored form maps to the model's own.

    model array = stored.reshape(stored_shape).transpose(permutation).reshape(shape), dequantised
    when `dtype` is float32 and the stored tensor is quantised, plus 128 when it is uint8 and the
    stored tensor int8.
    """

    name: str
    tensor: str
    dtype: DType
    shape: tuple[int, ...]
    stored_shape: tuple[int, ...]
    permutation: tuple[int, ...]
    labels: tuple[str, ...] = ()  #: names of the classes that it is an index of, or has a number for each


@dataclasses.dataclass(frozen=True)
class StoredValue:
    """Where the program keeps a tensor of the model.

    model array = stored.reshape(stored_shape).transpose(permutation).reshape(shape), in the program tensor's element
    type. The tensor may hold a part of `stored`, from element `before` on, where nothing needs the rest.
    """

    tensor: str
    shape: tuple[int, ...]
    stored_shape: tuple[int, ...]
    permutation: tuple[int, ...]
    before: int = 0


@dataclasses.dataclass(frozen=True)
class Program:
    """A lowered model. Operators are in execution order and each defines one tensor.

    `values`: the model's own tensors that are stored, by name; verification compares them. `states`: what lives from
    run to run; the last operators are their COMMITs, in this order. `repeated_macs`: of columns that several tiles
    make. `rounding`: of float32 inputs that are stored as integers.
    """

    name: str
    source_sha256: bytes
    tensors: Mapping[str, ProgramTensor]
    ops: tuple[ProgramOp, ...]
    inputs: tuple[ProgramIo, ...]
    outputs: tuple[ProgramIo, ...]
    warnings: tuple[str, ...] = ()
    values: Mapping[str, StoredValue] = dataclasses.field(default_factory=dict)
    states: tuple[ProgramIo, ...] = ()
    repeated_macs: int = 0
    rounding: Rounding = Rounding.HALF_EVEN

    @cached_property
    def movers(self) -> Mapping[tuple[OpKind, int], int]:
        """The step of each FETCH and TAKE, by kind and index of the input or output that it streams."""
        steps = ((step, op) for step, op in enumerate(self.ops))
        return {(op.kind, op.params.port): step for step, op in steps if isinstance(op.params, RowsParams)}

    @property
    def ports(self) -> frozenset[str]:
        """The tensors of inputs, outputs and states, which stay whatever operators become."""
        return frozenset(io.tensor for io in (*self.inputs, *self.outputs, *self.states))

    def of_ops(self, ops: Iterable[ProgramOp]) -> Program:
        """The same with other operators, and without the tensors and values that none of them names."""
        ops = tuple(ops)
        used = self.ports.union(*((op.output, *(operand.tensor for operand in op.operands)) for op in ops))
        return dataclasses.replace(
            self,
            ops=ops,
            tensors={name: tensor for name, tensor in self.tensors.items() if name in used},
            values={name: value for name, value in self.values.items() if value.tensor in used},
        )

    @property
    def body(self) -> int:
        """How many operators come before the COMMITs."""
        return len(self.ops) - len(self.states)
