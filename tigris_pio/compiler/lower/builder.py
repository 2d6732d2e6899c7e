"""Builds a program: keeps track of where each graph tensor is stored and brings it into the form an
operator needs (element type, element order, row structure), moving data only when it must."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation, Tensor
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, ProgramOp, RowMap, StoredValue
from tigris_pio.compiler.lower import element_types, numerics
from tigris_pio.compiler.lower.conversion import dequantise, quantise, rescale
from tigris_pio.compiler.lower.element_order import Layout, fold, plain, same_bytes, steps
from tigris_pio.compiler.lower.in_place import with_sharing
from tigris_pio.compiler.lower.islands import island_warning
from tigris_pio.compiler.lower.rearrange import banded_transpose
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric, PendingOp, Storage, Value
from tigris_pio.compiler.normalise.editor import dequantised
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CastParams, CommitParams, CopyParams, LookupParams, TransposeParams
from tigris_pio.format.record import Record
from tigris_pio.format.records import MAX_RANK


class Builder:
    """State of one lowering. Operator contracts call its methods; `finish` returns the program."""

    def __init__(self, graph: Graph):
        self.graph = dataclasses.replace(graph, weights=dict(graph.weights))
        self.tensors: dict[str, Tensor] = dict(graph.tensors)
        self.storages: dict[str, Storage] = {}
        self.values: dict[str, list[Value]] = {}
        self.pending: list[PendingOp] = []
        self.warnings: list[str] = list(graph.warnings)
        self._names = Names(graph.tensors)
        self._op_names = Names()
        self._node = ""
        self._copies: dict[tuple[str, Dims], str] = {}
        self._read = {name for node in graph.nodes for name in node.inputs} | set(graph.results)

    # What the graph says.

    def shape(self, name: str) -> tuple[int, ...]:
        """A graph tensor's shape."""
        return self.tensors[name].shape

    def is_constant(self, name: str) -> bool:
        """Whether a graph tensor is known now."""
        return name in self.graph.weights

    def define_constant(self, name: str, value: np.ndarray) -> None:
        """Adds a constant that the model does not have."""
        self.graph.weights[name] = value  # type: ignore[index]  # its own dictionary, see above
        self.tensors[name] = Tensor(name, value.shape, value.dtype)

    def real(self, name: str) -> np.ndarray:
        """A constant's values as float32 (dequantised when it is annotated)."""
        stored = self.graph.weights[name]
        quantisation = self.tensors[name].quantisation
        if quantisation is not None:
            return dequantised(stored, quantisation)
        return stored if stored.dtype == np.float32 else element_types.exact_float(name, stored)

    def numeric(self, name: str) -> Numeric:
        """How a graph tensor is stored between operators. Refuses types without kernels."""
        tensor = self.tensors[name]
        if tensor.quantisation is not None:
            if tensor.quantisation.axis is not None or tensor.quantisation.dtype not in (np.int8, np.int16):
                raise Refusal(f"tensor {name} is not quantised per tensor to int8 or int16")
            return _quantised(tensor.quantisation)
        return element_types.carried(tensor)

    def is_int8(self, *names: str) -> bool:
        """Whether all these graph tensors are stored as int8, so that integer kernels can be used."""
        return all(self.tensors[name].quantisation is not None
                   and self.numeric(name).dtype == DType.INT8 for name in names)

    def is_quantised(self, *names: str) -> bool:
        """Whether all these graph tensors are stored as int8 or int16."""
        return all(self.tensors[name].quantisation is not None
                   and self.numeric(name).dtype in (DType.INT8, DType.INT16) for name in names)

    def is_read(self, name: str) -> bool:
        """Whether any node or the user reads a graph tensor."""
        return name in self._read

    # Names.

    def enter(self, node: Node) -> None:
        """Operators emitted from here on belong to this node."""
        self._node = node.name

    def fresh(self, base: str) -> str:
        """A name that no storage and no graph tensor has."""
        return self._names.fresh(base)

    # Values.

    def add_storage(self, name: str, numeric: Numeric, cell: Cell, constant: np.ndarray | None = None,
                    folded: bool = False, state: bool = False, sequential: bool = False) -> str:
        """Declares a stored tensor and returns its unique name. Refuses empty ones: a plan holds none."""
        if 0 in cell.dims:
            raise Refusal(f"tensor {name} has shape {list(self._model_shape(name, cell))}, which is empty")
        unique = self._own_name(name)
        self.storages[unique] = Storage(unique, numeric, cell, constant, folded, state, sequential)
        return unique

    def _own_name(self, name: str) -> str:
        """A graph tensor's first storage has its name; all others have names that no graph tensor has."""
        return self.fresh(name) if name in self.storages or name not in self.tensors else name

    def _model_shape(self, name: str, cell: Cell) -> Sequence[int]:
        return self.shape(name) if name in self.tensors else cell.dims

    def add_value(self, name: str, value: Value) -> None:
        """Says where a graph tensor can be found."""
        self.values.setdefault(name, []).append(value)

    def dims(self, storage: str) -> Dims:
        """[batch, height, width, channels] as chosen so far."""
        return self.storages[storage].cell.dims

    def value(self, name: str, numeric: Numeric | None = None) -> Value:
        """A graph tensor in the element type asked for (its own by default), in any element order."""
        wanted = numeric or self.numeric(name)
        if self.is_constant(name) and name not in self.values:
            return self._constant_value(name, plain(self.shape(name)), wanted)
        for value in self.values[name]:
            if self.storages[value.storage].numeric == wanted:
                return value
        return self.convert(name, self.values[name][0], wanted, f"{name}/{wanted.dtype.name.lower()}")

    def arranged(self, name: str, layout: Layout, numeric: Numeric | None = None) -> Value:
        """A graph tensor in a given element order; a TRANSPOSE is emitted when it is stored otherwise."""
        wanted = numeric or self.numeric(name)
        if self.is_constant(name):
            return self._constant_value(name, layout, wanted)
        candidates = sorted(self.values[name], key=lambda item: self.storages[item.storage].numeric != wanted)
        for value in candidates:
            if same_bytes(value.layout, layout):
                if self.storages[value.storage].numeric != wanted:
                    value = self.convert(name, value, wanted, f"{name}/{wanted.dtype.name.lower()}")  # noqa: PLW2901
                return Value(value.storage, layout)
        return self._transposed(name, self.value(name, wanted), layout)

    def _constant_value(self, name: str, layout: Layout, numeric: Numeric) -> Value:
        real = self.real(name)
        stored = real if numeric.dtype == DType.FLOAT32 else self._quantised_constant(name, numeric)
        array = layout.apply(stored)
        return Value(self.add_constant(name, array, numeric, fold(array.shape)), layout)

    def _quantised_constant(self, name: str, numeric: Numeric) -> np.ndarray:
        quantisation = self.tensors[name].quantisation
        if quantisation is not None and quantisation.axis is None and self.numeric(name) == numeric:
            return self.graph.weights[name]
        return numerics.quantize(self.real(name), numeric.scale, numeric.zero_point, numeric.dtype)

    def add_constant(self, name: str, array: np.ndarray, numeric: Numeric, dims: Dims) -> str:
        """A constant operand; returns its storage."""
        return self.add_storage(name, numeric, Cell(dims), array)

    def with_dims(self, value: Value, dims: Dims) -> str:
        """The value's storage with these dimensions; a COPY is emitted when another operator needs others."""
        storage = self.storages[value.storage]
        if storage.cell.settle(dims):
            return storage.name
        key = (storage.name, dims)
        if key not in self._copies:
            if storage.constant is not None:
                self._copies[key] = self.add_constant(storage.name, storage.constant, storage.numeric, dims)
            else:
                self._copies[key] = self._copy(storage, f"{storage.name}/rows", Cell(dims, fixed=True))
        return self._copies[key]

    def _copy(self, source: Storage, name: str, cell: Cell) -> str:
        target = self.add_storage(name, source.numeric, cell)
        count = math.prod(cell.dims) * source.numeric.dtype.bytes
        self._append("copy", OpKind.COPY, source.numeric.dtype, ((source.name, None),), target, CopyParams(count), {},
                     False, 0)
        return target

    def _transposed(self, name: str, value: Value, layout: Layout) -> Value:
        moves = steps(value.layout, layout)
        if moves is None:  # no common factors: by way of the row-major order
            value = self._transposed(name, value, plain(value.layout.factors))
            moves = steps(plain(layout.factors), layout)
        if moves is None or len(moves[0]) > MAX_RANK:
            raise Refusal(f"its input {name} needs a transposition of more than {MAX_RANK} axes")
        sizes, step = moves
        source = self.storages[value.storage]
        if len(sizes) == 1:  # the same order after all, under other factors
            return Value(value.storage, layout)
        dims = fold(layout.stored_shape)
        banded = banded_transpose(sizes, step, source.cell.dims, dims)
        rows = None
        if banded is not None:
            source.cell.settle(source.cell.dims)  # the row map relies on both
            sizes, step, rows = banded.sizes, banded.steps, banded.rows
        pad = MAX_RANK - len(sizes)
        params = TransposeParams(len(sizes), source.numeric.dtype.bytes, sizes + (1,) * pad, step + (0,) * pad)
        target = self.add_storage(f"{name}/transposed", source.numeric, Cell(dims, fixed=banded is not None))
        self._append("transpose", OpKind.TRANSPOSE, source.numeric.dtype, ((source.name, rows),), target, params, {},
                     banded is not None, 0)
        result = Value(target, layout)
        self.add_value(name, result)
        return result

    def convert(self, name: str, value: Value, numeric: Numeric, target_name: str) -> Value:
        """Quantises, dequantises, requantises or casts a stored value, element by element."""
        source = self.storages[value.storage]
        if source.numeric.is_plain and source.numeric != FLOAT and not numeric.is_plain:  # QUANTIZE reads float32
            numbers = self.add_storage(f"{target_name}/float", FLOAT, source.cell)
            self._append("cast", OpKind.CAST, DType.FLOAT32, ((source.name, RowMap.same()),), numbers,
                         CastParams(source.numeric.dtype, DType.FLOAT32), {}, True, 0)
            value, source = Value(numbers, value.layout), self.storages[numbers]
        target = self.add_storage(target_name, numeric, source.cell)
        blobs: dict[str, np.ndarray] = {}
        params: Record
        dtype = DType.INT8
        if source.numeric.is_plain and numeric.is_plain:
            kind, suffix, params = OpKind.CAST, "cast", CastParams(source.numeric.dtype, numeric.dtype)
            dtype = DType.FLOAT32
        elif source.numeric.dtype == DType.FLOAT32:
            suffix, dtype = "quantize", numeric.dtype
            kind, params, blobs = quantise(numeric, self.graph.rounding)
        elif numeric.dtype == DType.FLOAT32:
            suffix, dtype = "dequantize", source.numeric.dtype
            kind, params, blobs = dequantise(source.numeric)
        elif DType.INT16 in (source.numeric.dtype, numeric.dtype):
            suffix, dtype = "requantize", DType.INT16
            kind, params = OpKind.RESCALE, rescale(source.numeric, numeric)
        else:
            kind, suffix, params = OpKind.LOOKUP, "requantize", LookupParams(0)
            codes = (np.arange(-128, 128) - source.numeric.zero_point) * source.numeric.scale
            blobs = {"table": numerics.quantize(codes, numeric.scale, numeric.zero_point)}
        self._append(suffix, kind, dtype, ((source.name, RowMap.same()),), target, params, blobs, True, 0)
        result = Value(target, value.layout)
        self.add_value(name, result)
        return result

    # Operators.

    def emit(self, kind: OpKind, dtype: DType, sources: Sequence[tuple[str, RowMap | None]], output: str,
             layout: Layout, numeric: Numeric, cell: Cell, params: Record, *,
             blobs: Mapping[str, np.ndarray] | None = None, per_image: bool = True, macs: int = 0) -> str:
        """Emits the node's kernel call.

        `numeric` is what the kernel writes; when the graph tensor is stored otherwise a conversion
        follows. A source's row map is None when the kernel reads the whole of it. Returns the
        storage the kernel writes.
        """
        final = self.numeric(output) == numeric
        name = output if final else f"{output}/{'float' if numeric == FLOAT else 'raw'}"
        target = self.add_storage(name, numeric, cell)
        self._append("", kind, dtype, tuple(sources), target, params, dict(blobs or {}), per_image, macs)
        value = Value(target, layout)
        if final:
            self.add_value(output, value)
        else:
            self.convert(output, value, self.numeric(output), output)
        return target

    def _append(self, suffix: str, kind: OpKind, dtype: DType, sources: tuple[tuple[str, RowMap | None], ...],
                target: str, params: Record, blobs: Mapping[str, np.ndarray], per_image: bool, macs: int,
                scratch_bytes: int = 0) -> None:
        try:
            params.pack()
        except ValueError as error:
            raise Refusal(f"a parameter is out of range: {error}") from None
        name = self._op_names.fresh(f"{self._node}/{suffix}" if suffix else self._node)
        op = ProgramOp(name, kind, dtype, (), target, params, blobs, 1, macs, scratch_bytes)
        self.pending.append(PendingOp(op, sources, per_image))

    def emit_part(self, name: str, kind: OpKind, dtype: DType, sources: Sequence[tuple[str, RowMap | None]], cell: Cell,
                  numeric: Numeric, params: Record, blobs: Mapping[str, np.ndarray] | None = None,
                  folded: bool = False, sequential: bool = False, macs: int = 0, scratch_bytes: int = 0) -> str:
        """Emits a kernel call whose result is no graph tensor; returns its storage."""
        target = self.add_storage(name, numeric, cell, folded=folded, sequential=sequential)
        self._append("part", kind, dtype, tuple(sources), target, params, dict(blobs or {}), True, macs, scratch_bytes)
        return target

    def alias(self, source: str, output: str, layouts: Sequence[Layout | None]) -> None:
        """`output` is `source` under another description: one layout for each of the source's values."""
        numeric = self.numeric(output)
        values = [Value(value.storage, layout) for value, layout in zip(self.values[source], layouts, strict=True)
                  if layout is not None]
        same = [value for value in values if self.storages[value.storage].numeric == numeric]
        for value in same:
            self.add_value(output, value)
        if not same:
            self.convert(output, values[0], numeric, output)

    def stub(self, node: Node) -> None:
        """Stands in for the outputs of a refused node, so that the nodes after it can be checked too."""
        for name in filter(None, node.outputs):
            if name not in self.values and name in self.tensors:
                layout = plain(self.shape(name))
                numeric = FLOAT
                quantisation = self.tensors[name].quantisation
                if quantisation is not None and quantisation.axis is None:
                    numeric = _quantised(quantisation)
                self.add_value(name, Value(self.add_storage(name, numeric, Cell(fold(layout.stored_shape))), layout))

    # The end.

    def copied(self, name: str, value: Value) -> Value:
        """A value in a storage of its own, for outputs that would share one with an input or constant."""
        source = self.storages[value.storage]
        self._node = name
        return Value(self._copy(source, f"{name}/output", Cell(source.cell.dims)), value.layout)

    def commit(self, state: ProgramIo, sources: Sequence[str], params: CommitParams) -> None:
        """The last that a run does with a state."""
        self._node = state.name
        self._append("commit", OpKind.COMMIT, DType.INT8, tuple((name, None) for name in sources), state.tensor, params,
                     {}, False, 0)

    def finish(self, inputs: tuple[ProgramIo, ...], outputs: tuple[ProgramIo, ...],
               states: tuple[ProgramIo, ...] = ()) -> Program:
        """The program with all dimensions settled."""
        ops = tuple(self._resolved(item) for item in self.pending)
        used = {io.tensor for io in (*inputs, *outputs)} | {op.output for op in ops}
        used |= {operand.tensor for op in ops for operand in op.operands}
        tensors = {name: storage.tensor() for name, storage in self.storages.items() if name in used}
        ops = tuple(with_sharing(op, tensors) for op in ops)
        warnings = tuple(dict.fromkeys(filter(None, (*self.warnings, island_warning(ops, self.graph.nodes)))))
        values = {name: self._stored(name) for name in self.values
                  if name in self.graph.tensors and name not in self.graph.output_permutations}
        values = {name: value for name, value in values.items() if value.tensor in used}
        return Program(self.graph.name, self.graph.source_sha256, tensors, ops, inputs, outputs, warnings, values,
                       states, rounding=self.graph.rounding)

    def _stored(self, name: str) -> StoredValue:
        """Where a graph tensor lies in its own element type, or in the first it was given."""
        first, *others = self.values[name]
        own = self.numeric(name)
        value = next((item for item in (first, *others) if self.storages[item.storage].numeric == own), first)
        inverse = tuple(int(axis) for axis in np.argsort(value.layout.order))
        return StoredValue(value.storage, self.shape(name), value.layout.stored_shape, inverse)

    def _resolved(self, item: PendingOp) -> ProgramOp:
        operands = tuple(
            Operand(name, RowMap.whole(self.dims(name)[1]) if rows is None else rows) for name, rows in item.sources
        )
        images = self.dims(item.op.output)[0] if item.per_image else 1
        return dataclasses.replace(item.op, operands=operands, images=images)


def _quantised(quantisation: Quantisation) -> Numeric:
    dtype = DType.INT16 if quantisation.dtype == np.int16 else DType.INT8
    return Numeric(dtype, float(quantisation.scale), int(quantisation.zero_point))
