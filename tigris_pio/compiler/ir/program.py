"""The program: kernel calls with row maps, sizes and weights. Lowering makes it, the planner reads it.

Activations are [batch, height, width, channels], with channels fastest in memory. The planner knows no geometry but the
row maps. Nothing in a program depends on a memory budget, and nothing behind it depends on ONNX.
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
    """The input rows that output rows need.

    Output rows [a, b) need input rows [(a * numerator + first) // denominator,
    ((b - 1) * numerator + last) // denominator + 1), before clipping to the tensor.
    """

    numerator: int
    denominator: int
    first: int
    last: int

    def rows_read(self, made: int) -> int:
        """Input rows that `made` output rows need, before clipping to the tensor."""
        return ((made - 1) * self.numerator + self.last - self.first) // self.denominator + 1

    @staticmethod
    def same() -> RowMap:
        """For pointwise operators: output row r needs input row r."""
        return RowMap(1, 1, 0, 0)

    @staticmethod
    def whole(height: int) -> RowMap:
        """Every output row needs all `height` input rows."""
        return RowMap(0, 1, 0, height - 1)

    @staticmethod
    def window(kernel: int, stride: int, dilation: int, pad_top: int) -> RowMap:
        """For convolutions and pools along the rows; all arguments are in rows."""
        return RowMap(stride, 1, -pad_top, (kernel - 1) * dilation - pad_top)

    @staticmethod
    def shifted(rows: int) -> RowMap:
        """For Slice, Pad and Concat along the rows: output row r needs input row r + rows."""
        return RowMap(1, 1, rows, rows)


@dataclasses.dataclass(frozen=True)
class ProgramTensor:
    """One stored activation, or a constant operand if `constant` is set.

    folded: all rows have one address, so the tensor takes one row of memory. Its operator adds each input row: row r is
    the sum of input rows 0 to r.

    state: it has a value before the first operator, and a COMMIT writes the value for the next run.

    sequential: each row is computed from the row before, so rows are made in order, each once, and one row is kept.

    streamed: firmware provides or takes each row, so all rows are made in order, each once, even rows that nothing
    reads.
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
    """One activation that an operator reads, and the rows of it."""

    tensor: str
    rows: RowMap


@dataclasses.dataclass(frozen=True)
class Alias:
    """An operand and the output share bytes: the operand starts at byte `offset` of the output. With an `offset` below
    0, the output starts at byte -`offset` of the operand. An operator with aliases for all operands copies nothing."""

    operand: int  #: index among the operands
    offset: int


@dataclasses.dataclass(frozen=True)
class ProgramOp:
    """One kernel call.

    params: the kernel's record, with 0 in every field that is named in `blobs`. Emission places the blobs in the
        stage's weight block and fills these fields in
    images: the batch if the kernel is called once for each image, 1 if it takes the tensors whole
    macs: multiply-accumulates of all images
    in_place: indices of operands that the output may overwrite, from the same address on, if one call makes all rows
    aliases: operands that share bytes with the output
    backend: the kernel library that runs it; "" for the portable kernel
    accelerated_by: the instruction set that runs the loops of its portable kernel, or ""
    packing: the order of its weights in the plan
    stream: replaces the weights in the plan if the kernel needs another form than an order of them
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
    accelerated_by: str = ""
    packing: Packing = Packing.PORTABLE
    stream: np.ndarray | None = None

    @cached_property
    def digests(self) -> Mapping[str, bytes]:
        """The digest of each of `blobs`, and of the stream under the name `stream`."""
        arrays = self.blobs if self.stream is None else {**self.blobs, "stream": self.stream}
        return {name: digest(array) for name, array in arrays.items()}


@dataclasses.dataclass(frozen=True)
class ProgramIo:
    """A model input or output, and the mapping of its stored form to the model's own.

    model array = stored.reshape(stored_shape).transpose(permutation).reshape(shape). It is dequantised if `dtype` is
    float32 and the stored tensor is quantised. 128 is added if `dtype` is uint8 and the stored tensor int8.
    """

    name: str
    tensor: str
    dtype: DType
    shape: tuple[int, ...]
    stored_shape: tuple[int, ...]
    permutation: tuple[int, ...]
    labels: tuple[str, ...] = ()  #: names of classes, if it is the index of a class or has a number for each


@dataclasses.dataclass(frozen=True)
class StoredValue:
    """The program tensor that holds a tensor of the model.

    model array = stored.reshape(stored_shape).transpose(permutation).reshape(shape), in the program tensor's element
    type. If nothing needs the rest, the program tensor holds only a part of `stored`, from element `start` on.
    """

    tensor: str
    shape: tuple[int, ...]
    stored_shape: tuple[int, ...]
    permutation: tuple[int, ...]
    start: int = 0


@dataclasses.dataclass(frozen=True)
class Program:
    """A lowered model. Operators are in execution order, and each defines one tensor.

    values: the model's own tensors that are stored, by name; verification compares them
    states: tensors that are kept between runs; the last operators are their COMMITs, in this order
    repeated_macs: multiply-accumulates of columns that several tiles compute
    rounding: the rounding of float32 inputs that are stored as integers
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
        """The operator index of each FETCH and TAKE, by kind and index of the input or output that it streams."""
        steps = ((step, op) for step, op in enumerate(self.ops))
        return {(op.kind, op.params.port): step for step, op in steps if isinstance(op.params, RowsParams)}

    @property
    def ports(self) -> frozenset[str]:
        """The tensors of inputs, outputs and states, which stay when operators change."""
        return frozenset(io.tensor for io in (*self.inputs, *self.outputs, *self.states))

    def with_ops(self, ops: Iterable[ProgramOp]) -> Program:
        """This program with other operators, and without tensors and values that these do not use."""
        ops = tuple(ops)
        used = self.ports.union(*((op.output, *(operand.tensor for operand in op.operands)) for op in ops))
        return dataclasses.replace(
            self,
            ops=ops,
            tensors={name: tensor for name, tensor in self.tensors.items() if name in used},
            values={name: value for name, value in self.values.items() if value.tensor in used},
        )

    @property
    def body_count(self) -> int:
        """The number of operators before the COMMITs."""
        return len(self.ops) - len(self.states)
