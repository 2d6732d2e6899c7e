"""Builds a program from the calls of operator contracts.

The builder knows the storages of each graph tensor. It converts element type, element order and dimensions as an
operator needs them, and emits a kernel call only if bytes must change.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation, Tensor
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, ProgramOp, RowMap, StoredValue
from tigris_pio.compiler.lower import element_types, numerics
from tigris_pio.compiler.lower.conversion import dequantise, quantise, requantise, rescale
from tigris_pio.compiler.lower.element_order import Layout, default_dims, row_major, same_bytes, transpose_strides
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.islands import island_warning
from tigris_pio.compiler.lower.rearrange import banded_transpose
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric, PendingOp, Storage, Value
from tigris_pio.compiler.normalise.editor import dequantised
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CastParams, CommitParams, CopyParams, TransposeParams
from tigris_pio.format.record import Record
from tigris_pio.format.records import MAX_RANK


class Builder:
    """The program in the making. Operator contracts call its methods; `finish` returns the program.

    graph: the normalised graph; contracts may add constants
    tensors: the graph's tensors by name, and added constants
    storages: stored tensors by their names in the program
    values: the storages and element orders in which each graph tensor exists, the first made first
    pending: operators so far, in order
    warnings: of the graph and of lowering
    """

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

    # Facts of the graph.

    def shape(self, name: str) -> tuple[int, ...]:
        """A graph tensor's shape. Raises Refusal for an absent operand."""
        if not name:
            raise Refusal("it lacks an operand")
        return self.tensors[name].shape

    def is_constant(self, name: str) -> bool:
        """Whether a graph tensor is a constant."""
        return name in self.graph.weights

    def define_constant(self, name: str, value: np.ndarray) -> None:
        """Adds a constant to the graph."""
        self.graph.weights[name] = value  # type: ignore[index]  # __init__ copied this dictionary
        self.tensors[name] = Tensor(name, value.shape, value.dtype)

    def declare(self, base: str, shape: Sequence[int], like: str = "") -> str:
        """Declares a graph tensor between two kernel calls, of the type of `like` or float32; returns its name."""
        name = self.fresh(base)
        tensor = self.tensors[like] if like else Tensor(name, (), np.dtype(np.float32))
        self.tensors[name] = dataclasses.replace(tensor, name=name, shape=tuple(shape))
        return name

    def float_constant(self, name: str) -> np.ndarray:
        """A constant's real values as float32, dequantised if it is quantised. Refuses values that float32 rounds."""
        stored = self.graph.weights[name]
        quantisation = self.tensors[name].quantisation
        if quantisation is not None:
            return dequantised(stored, quantisation)
        return stored if stored.dtype == np.float32 else element_types.exact_float(name, stored)

    def numeric(self, name: str) -> Numeric:
        """The element type in which a graph tensor is stored between operators. Refuses types without kernels."""
        tensor = self.tensors[name]
        if tensor.quantisation is not None:
            if tensor.quantisation.axis is not None or tensor.quantisation.dtype not in (np.int8, np.int16):
                raise Refusal(f"tensor {name} is not quantised per tensor to int8 or int16")
            return _quantised(tensor.quantisation)
        return element_types.activation_numeric(tensor)

    def is_int8(self, *names: str) -> bool:
        """Whether all these graph tensors are quantised to int8."""
        return all(self.tensors[name].quantisation is not None
                   and self.numeric(name).dtype == DType.INT8 for name in names)

    def is_quantised(self, *names: str) -> bool:
        """Whether all these graph tensors are quantised to int8 or int16."""
        return all(self.tensors[name].quantisation is not None
                   and self.numeric(name).dtype in (DType.INT8, DType.INT16) for name in names)

    def is_read(self, name: str) -> bool:
        """Whether a node, an output or a state reads a graph tensor."""
        return name in self._read

    # Names.

    def begin_node(self, node: Node) -> None:
        """Names the operators emitted from now on after this node."""
        self._node = node.name

    def fresh(self, base: str) -> str:
        """A name that no storage and no graph tensor has."""
        return self._names.fresh(base)

    # Values.

    def add_storage(self, name: str, numeric: Numeric, cell: Cell, constant: np.ndarray | None = None,
                    folded: bool = False, state: bool = False, sequential: bool = False) -> str:
        """Declares a stored tensor and returns its unique name. Refuses a tensor without elements.

        folded, state, sequential: as in ProgramTensor
        """
        if 0 in cell.dims:
            raise Refusal(f"tensor {name} has shape {list(self._model_shape(name, cell))}, which is empty")
        unique = self._unique_name(name)
        self.storages[unique] = Storage(unique, numeric, cell, constant, folded, state, sequential)
        return unique

    def _unique_name(self, name: str) -> str:
        """A graph tensor's own name for its first storage; for others a name that no graph tensor has."""
        return self.fresh(name) if name in self.storages or name not in self.tensors else name

    def _model_shape(self, name: str, cell: Cell) -> Sequence[int]:
        return self.shape(name) if name in self.tensors else cell.dims

    def add_value(self, name: str, value: Value) -> None:
        """Records that a storage holds a graph tensor."""
        self.values.setdefault(name, []).append(value)

    def dims(self, storage: str) -> Dims:
        """A storage's [batch, height, width, channels] as chosen so far."""
        return self.storages[storage].cell.dims

    def value(self, name: str, numeric: Numeric | None = None) -> Value:
        """A graph tensor in the element type `numeric`, by default its own, and in any element order."""
        wanted = numeric or self.numeric(name)
        if self.is_constant(name) and name not in self.values:
            return self._constant_value(name, row_major(self.shape(name)), wanted)
        for value in self.values[name]:
            if self.storages[value.storage].numeric == wanted:
                return value
        return self.convert(name, self.values[name][0], wanted, f"{name}/{wanted.dtype.name.lower()}")

    def value_in_order(self, name: str, layout: Layout, numeric: Numeric | None = None) -> Value:
        """A graph tensor in the element order `layout`. Emits a TRANSPOSE if no storage has this order."""
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
        real = self.float_constant(name)
        stored = real if numeric.dtype == DType.FLOAT32 else self._quantised_constant(name, numeric)
        array = layout.apply(stored)
        return Value(self.add_constant(name, array, numeric, default_dims(array.shape)), layout)

    def _quantised_constant(self, name: str, numeric: Numeric) -> np.ndarray:
        quantisation = self.tensors[name].quantisation
        if quantisation is not None and quantisation.axis is None and self.numeric(name) == numeric:
            return self.graph.weights[name]
        return numerics.quantize(self.float_constant(name), numeric.scale, numeric.zero_point, numeric.dtype)

    def add_constant(self, name: str, array: np.ndarray, numeric: Numeric, dims: Dims) -> str:
        """Declares a constant operand and returns its storage."""
        return self.add_storage(name, numeric, Cell(dims), array)

    def with_dims(self, value: Value, dims: Dims) -> str:
        """The value's storage with these dimensions. Emits a COPY if another operator relies on other dimensions."""
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
        self._add_op("copy", OpKind.COPY, source.numeric.dtype, ((source.name, None),), target, CopyParams(count), {},
                     False)
        return target

    def _transposed(self, name: str, value: Value, layout: Layout) -> Value:
        moves = transpose_strides(value.layout, layout)
        if moves is None:  # without common factors two TRANSPOSEs are needed, the first to row-major order
            value = self._transposed(name, value, row_major(value.layout.factors))
            moves = transpose_strides(row_major(layout.factors), layout)
        if moves is None or len(moves[0]) > MAX_RANK:
            raise Refusal(f"its input {name} needs a transposition of more than {MAX_RANK} axes")
        sizes, step = moves
        source = self.storages[value.storage]
        if len(sizes) == 1:  # the same order under other factors
            return Value(value.storage, layout)
        dims = default_dims(layout.stored_shape)
        banded = banded_transpose(sizes, step, source.cell.dims, dims)
        rows = None
        if banded is not None:
            source.cell.settle(source.cell.dims)  # the row map relies on the source's dims, too
            sizes, step, rows = banded.sizes, banded.steps, banded.rows
        pad = MAX_RANK - len(sizes)
        params = TransposeParams(len(sizes), source.numeric.dtype.bytes, sizes + (1,) * pad, step + (0,) * pad)
        target = self.add_storage(f"{name}/transposed", source.numeric, Cell(dims, fixed=banded is not None))
        self._add_op("transpose", OpKind.TRANSPOSE, source.numeric.dtype, ((source.name, rows),), target, params, {},
                     banded is not None)
        result = Value(target, layout)
        self.add_value(name, result)
        return result

    def convert(self, name: str, value: Value, numeric: Numeric, target_name: str) -> Value:
        """Emits a quantisation, dequantisation, requantisation or cast of `value`, and adds its result to `name`."""
        source = self.storages[value.storage]
        if source.numeric.is_unquantised and source.numeric != FLOAT and not numeric.is_unquantised:
            # QUANTIZE reads float32 only.
            numbers = self.add_storage(f"{target_name}/float", FLOAT, source.cell)
            self._add_op("cast", OpKind.CAST, DType.FLOAT32, ((source.name, RowMap.same()),), numbers,
                         CastParams(source.numeric.dtype, DType.FLOAT32), {}, True)
            value, source = Value(numbers, value.layout), self.storages[numbers]
        target = self.add_storage(target_name, numeric, source.cell)
        blobs: dict[str, np.ndarray] = {}
        params: Record
        dtype = DType.INT8
        if source.numeric.is_unquantised and numeric.is_unquantised:
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
            suffix = "requantize"
            kind, params, blobs = requantise(source.numeric, numeric, self.graph.rounding)
        self._add_op(suffix, kind, dtype, ((source.name, RowMap.same()),), target, params, blobs, True)
        result = Value(target, value.layout)
        self.add_value(name, result)
        return result

    # Kernel calls.

    def emit(self, kind: OpKind, dtype: DType, sources: Sequence[tuple[str, RowMap | None]], output: str,
             layout: Layout, numeric: Numeric, cell: Cell, params: Record, *,
             blobs: Mapping[str, np.ndarray] | None = None, per_image: bool = True,
             scratch_bytes: int = 0) -> str:
        """Emits the kernel call that computes a node's output; returns the storage that the kernel writes.

        sources: storages with their row maps; None if the kernel reads all rows
        output: the graph tensor
        layout, numeric, cell: element order, element type and dimensions of the kernel's result. If the graph tensor
          has another element type, a conversion follows. Readers convert integers without a scale
        blobs: arrays by the names of their fields in `params`
        per_image: whether the kernel is called once for each image of the output's batch
        """
        final = self.numeric(output) == numeric or (numeric.is_unquantised and numeric != FLOAT)
        name = output if final else f"{output}/{'float' if numeric == FLOAT else 'raw'}"
        target = self.add_storage(name, numeric, cell)
        self._add_op("", kind, dtype, tuple(sources), target, params, dict(blobs or {}), per_image, scratch_bytes)
        value = Value(target, layout)
        if final:
            self.add_value(output, value)
        else:
            self.convert(output, value, self.numeric(output), output)
        return target

    def _add_op(self, suffix: str, kind: OpKind, dtype: DType, sources: tuple[tuple[str, RowMap | None], ...],
                target: str, params: Record, blobs: Mapping[str, np.ndarray], per_image: bool,
                scratch_bytes: int = 0) -> None:
        try:
            params.pack()
        except ValueError as error:
            raise Refusal(f"a parameter is out of range: {error}") from None
        name = self._op_names.fresh(f"{self._node}/{suffix}" if suffix else self._node)
        op = ProgramOp(name, kind, dtype, (), target, params, blobs, scratch_bytes=scratch_bytes)
        self.pending.append(PendingOp(op, sources, per_image))

    def emit_part(self, name: str, kind: OpKind, dtype: DType, sources: Sequence[tuple[str, RowMap | None]], cell: Cell,
                  numeric: Numeric, params: Record, blobs: Mapping[str, np.ndarray] | None = None,
                  folded: bool = False, sequential: bool = False, scratch_bytes: int = 0) -> str:
        """Emits a kernel call whose result is no graph tensor; returns its storage. Arguments are those of `emit`."""
        target = self.add_storage(name, numeric, cell, folded=folded, sequential=sequential)
        self._add_op("part", kind, dtype, tuple(sources), target, params, dict(blobs or {}), True, scratch_bytes)
        return target

    def add_alias(self, source: str, output: str, layouts: Sequence[Layout | None]) -> None:
        """Makes `output` another view of the storages of `source`.

        layouts: the element order of `output` in each of the source's values, None if it has none
        """
        numeric = self.numeric(output)
        values = [Value(value.storage, layout) for value, layout in zip(self.values[source], layouts, strict=True)
                  if layout is not None]
        same = [value for value in values if self.storages[value.storage].numeric == numeric]
        for value in same:
            self.add_value(output, value)
        if not same:
            self.convert(output, values[0], numeric, output)

    def add_stub(self, node: Node) -> None:
        """Declares the outputs of a refused node, so that the nodes after it are checked, too."""
        for name in filter(None, node.outputs):
            if name not in self.values and name in self.tensors:
                layout = row_major(self.shape(name))
                numeric = FLOAT
                quantisation = self.tensors[name].quantisation
                if quantisation is not None and quantisation.axis is None:
                    numeric = _quantised(quantisation)
                cell = Cell(default_dims(layout.stored_shape))
                self.add_value(name, Value(self.add_storage(name, numeric, cell), layout))

    # Outputs and states.

    def add_copy(self, name: str, value: Value) -> Value:
        """Emits a COPY for an output whose storage is an input or a constant."""
        source = self.storages[value.storage]
        self._node = name
        return Value(self._copy(source, f"{name}/output", Cell(source.cell.dims)), value.layout)

    def add_commit(self, state: ProgramIo, sources: Sequence[str], params: CommitParams) -> None:
        """Emits the COMMIT of a state, after all other operators."""
        self._node = state.name
        self._add_op("commit", OpKind.COMMIT, DType.INT8, tuple((name, None) for name in sources), state.tensor, params,
                     {}, False)

    def finish(self, inputs: tuple[ProgramIo, ...], outputs: tuple[ProgramIo, ...],
               states: tuple[ProgramIo, ...] = ()) -> Program:
        """The program, with final dimensions. Drops storages that no operator uses."""
        ops = tuple(self._resolved_op(item) for item in self.pending)
        used = {io.tensor for io in (*inputs, *outputs)} | {op.output for op in ops}
        used |= {operand.tensor for op in ops for operand in op.operands}
        tensors = {name: storage.tensor() for name, storage in self.storages.items() if name in used}
        ops = tuple(with_derived(op, tensors) for op in ops)
        warnings = tuple(dict.fromkeys(filter(None, (*self.warnings, island_warning(ops, self.graph.nodes)))))
        values = {name: self._stored_value(name) for name in self.values
                  if name in self.graph.tensors and name not in self.graph.output_permutations}
        values = {name: value for name, value in values.items() if value.tensor in used}
        return Program(self.graph.name, self.graph.source_sha256, tensors, ops, inputs, outputs, warnings, values,
                       states, rounding=self.graph.rounding)

    def _stored_value(self, name: str) -> StoredValue:
        """The value of a graph tensor in its own element type, or its first one, for reports and `verify`."""
        values = self.values[name]
        own = self.numeric(name)
        value = next((item for item in values if self.storages[item.storage].numeric == own), values[0])
        inverse = tuple(int(axis) for axis in np.argsort(value.layout.order))
        return StoredValue(value.storage, self.shape(name), value.layout.stored_shape, inverse)

    def _resolved_op(self, item: PendingOp) -> ProgramOp:
        operands = tuple(
            Operand(name, RowMap.whole(self.dims(name)[1]) if rows is None else rows) for name, rows in item.sources
        )
        images = self.dims(item.op.output)[0] if item.per_image else 1
        return dataclasses.replace(item.op, operands=operands, images=images)


def _quantised(quantisation: Quantisation) -> Numeric:
    dtype = DType.INT16 if quantisation.dtype == np.int16 else DType.INT8
    return Numeric(dtype, float(quantisation.scale), int(quantisation.zero_point))
