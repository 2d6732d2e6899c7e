"""Reads a .tflite file into plain data.

The package `tflite` follows a flatbuffer's offsets without checks: an offset outside of the file raises one of _BROKEN,
which becomes a ModelError here. The lengths of vectors are added up and compared with the file's size, because vectors
of a hostile file may overlap.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from flatbuffers import number_types

from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.tflite.sparse import SparseAxis, Sparsity
from tigris_pio.errors import ModelError, ModelFileError
from tigris_pio.files import read_named
from tigris_pio.text import visible_name

IDENTIFIER = b"TFL3"
_VERSION = 3
_BROKEN = (struct.error, ValueError, TypeError, IndexError, OverflowError, AttributeError, MemoryError)
#: The lengths of all vectors may add up to so many times the file's size, because valid files share some vectors.
_SHARED = 16
#: Most elements of a vector among an operator's options.
_MOST_OPTIONS = 1 << 12
MOST_AXES = 16

TYPES = {number: name.lower() for name, number in vars(tflite.TensorType).items() if not name.startswith("_")}
TYPES[19] = "int2"
_OPERATORS = {number: name for name, number in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}
_OPTIONS, _OPTIONS_2 = ({number: name for name, number in vars(union).items() if not name.startswith("_")}
                        for union in (tflite.BuiltinOptions, tflite.BuiltinOptions2))
#: Vtable offsets of fields for which the package has no method.
_WIDE_CODE, _EXTERNAL_BUFFER = 10, 24
_BLOCK_SCALES, _BLOCK_ZERO_POINTS, _BLOCK_SIZE = 4, 6, 8
#: The union type BlockwiseQuantization of a quantisation's details.
_BLOCKWISE = 2
_SPARSE = {tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
           tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
           tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector}

Options = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Quantisation by blocks of `size` elements along the last axis. `scales` and `zero_points` are indices of tensors;
    an index of `zero_points` below 1 means none."""

    scales: int
    zero_points: int
    size: int


@dataclasses.dataclass(frozen=True, eq=False)
class FlatTensor:
    """A tensor as the file declares it. `signature`: its shape, with -1 for a free dimension."""

    index: int
    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    type: str
    data: np.ndarray | None  #: a constant's bytes; None for a computed tensor
    scale: np.ndarray
    zero_point: np.ndarray
    axis: int
    is_variable: bool
    sparsity: Sparsity | None = None
    blocks: Blocks | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class FlatOperator:
    """An operator; an absent optional input is -1.

    kind: the schema's name of the options; empty without options
    custom: the bytes of a custom operator's options
    """

    index: int
    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str
    options: Options
    custom: bytes = b""


@dataclasses.dataclass(frozen=True, eq=False)
class Subgraph:
    """Operators in execution order, and the tensors to which their indices refer."""

    index: int
    tensors: tuple[FlatTensor, ...]
    operators: tuple[FlatOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class FlatModel:
    """The whole file. `signatures`: for subgraphs that have one, the names of inputs and of outputs by tensor index."""

    name: str
    origin: str
    sha256: bytes
    subgraphs: tuple[Subgraph, ...]
    signatures: Mapping[int, tuple[Mapping[int, str], Mapping[int, str]]]


def read(source: Path | str | bytes, limits: Limits) -> FlatModel:
    """Reads a file, or its content. Raises ModelError."""
    if isinstance(source, bytes):
        name = origin = "model"
        data = source
    else:
        path = Path(source)
        name, origin = path.stem, str(path)
        data = read_named(path, "the path of a model", ModelFileError)
    if data[4:8] != IDENTIFIER:
        raise ModelError(f"{origin}: is no TensorFlow Lite model, or a truncated one ({len(data)} bytes); convert or "
                         "copy it again")
    reader = _Reader(data, origin, limits)
    return FlatModel(name, origin, hashlib.sha256(data).digest(), *reader.model())


class _Reader:
    """Reads the flatbuffer once; `_where` names the current part for messages."""

    def __init__(self, data: bytes, origin: str, limits: Limits) -> None:
        self._data, self._label, self._limits = data, origin, limits
        self._left = _SHARED * len(data)
        self._where = "the file"
        self._tensors = self._nodes = 0

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            raise self._error(f"points outside of the file ({error}); the file is truncated or damaged") from None

    def _error(self, text: str) -> ModelError:
        return ModelError(f"{self._label}: {self._where}: {text}")

    def _count(self, length: int) -> int:
        """Checks and returns the length of a vector."""
        self._left -= length
        if length < 0 or self._left < 0:
            raise self._error(f"a vector of {length} elements in a file of {len(self._data)} bytes; it is damaged")
        return length

    def model(self) -> tuple[tuple[Subgraph, ...], Mapping[int, tuple[Mapping[int, str], Mapping[int, str]]]]:
        """Subgraphs and signatures."""
        with self._checked():
            model = tflite.Model.GetRootAs(self._data, 0)
            if model.Version() != _VERSION:
                raise self._error(f"version {model.Version()} of TensorFlow Lite's format; version {_VERSION} is read")
            codes = [self._code(model, position) for position in range(self._count(model.OperatorCodesLength()))]
            buffers = self._count(model.BuffersLength())
            count = self._count(model.SubgraphsLength())
            if not count:
                raise self._error("it has no subgraph")
            subgraphs = tuple(self._subgraph(model, index, codes, buffers) for index in range(count))
            return subgraphs, self._signatures(model, subgraphs)

    def _code(self, model: Any, position: int) -> tuple[str, int]:
        """An operator's name and version.

        A writer may fill the wide field for the number, the narrow older one, or both; the larger value counts. The
        package's method for the wide field returns the narrow one, so the wide one is read by its vtable offset.
        """
        self._where = f"operator code {position}"
        code = model.OperatorCodes(position)
        number = max(_number(code, _WIDE_CODE), code.DeprecatedBuiltinCode())
        custom = self._text(code.CustomCode(), "custom code")
        return custom or _OPERATORS.get(number, f"operator {number}"), int(code.Version())

    def _text(self, text: bytes | None, what: str) -> str:
        if text is None:
            return ""
        self._count(len(text))
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            raise self._error(f"its {what} is no UTF-8 text; convert the model again") from None

    def _subgraph(self, model: Any, index: int, codes: list[tuple[str, int]], buffers: int) -> Subgraph:
        self._where = f"subgraph {index}"
        graph = model.Subgraphs(index)
        tensors, nodes = self._count(graph.TensorsLength()), self._count(graph.OperatorsLength())
        self._tensors, self._nodes = self._tensors + tensors, self._nodes + nodes
        self._limits.check("nodes", self._nodes, f"{self._label}: its subgraphs")
        self._limits.check("nodes", self._tensors // 8, f"{self._label}: its {self._tensors} tensors count as")
        inputs, outputs = (self._indices(graph, what, tensors) for what in ("Inputs", "Outputs"))
        found = tuple(self._tensor(model, graph.Tensors(item), item, index, buffers) for item in range(tensors))
        operators = tuple(self._operator(graph.Operators(position), position, index, codes, tensors)
                          for position in range(nodes))
        return Subgraph(index, found, operators, inputs, outputs)

    def _indices(self, table: Any, what: str, tensors: int) -> tuple[int, ...]:
        """Indices of tensors, checked; -1 means none."""
        numbers = self._vector(table, what)
        for number in numbers:
            if not -1 <= number < tensors:
                raise self._error(f"its {what.lower()} name tensor {number} of {tensors}; the file is damaged")
        return tuple(int(number) for number in numbers)

    def _vector(self, table: Any, what: str) -> np.ndarray:
        if not self._count(getattr(table, f"{what}Length")()):
            return np.zeros(0, np.int64)
        values: np.ndarray = getattr(table, f"{what}AsNumpy")()
        return values

    def _tensor(self, model: Any, tensor: Any, position: int, subgraph: int, buffers: int) -> FlatTensor:
        self._where = f"tensor {position}" + (f" of subgraph {subgraph}" if subgraph else "")
        name = self._text(tensor.Name(), "name")
        self._where += f" ({visible_name(name[:60])})"
        shape, signature = (self._shape(tensor, what) for what in ("Shape", "ShapeSignature"))
        if min(shape, default=0) < 0:
            raise self._error(f"shape {list(shape)}")
        if len(signature) != len(shape):
            signature = shape
        number = tensor.Type()
        if number not in TYPES:
            raise self._error(f"type {number}, which is not supported; convert the model to float32, int8 or int16")
        if tensor.Buffer() and tensor.Buffer() >= buffers:
            raise self._error(f"its data are in buffer {tensor.Buffer()} of {buffers}; the file is damaged")
        if _number(tensor, _EXTERNAL_BUFFER):
            raise self._error("its data are in another file; convert the model into one file")
        scale, zero_point, axis = self._quantisation(tensor)
        return FlatTensor(position, name, shape, signature, TYPES[number], self._data_of(model, tensor.Buffer()), scale,
                          zero_point, axis, bool(tensor.IsVariable()), self._sparsity(tensor), self._blocks(tensor))

    def _shape(self, tensor: Any, what: str) -> tuple[int, ...]:
        values = self._vector(tensor, what)
        if len(values) > MOST_AXES:
            raise self._error(f"{len(values)} axes; {MOST_AXES} are read")
        return tuple(int(size) for size in values)

    def _data_of(self, model: Any, number: int) -> np.ndarray | None:
        """A buffer's bytes as a view of the file; None for a computed tensor. Files beyond 2 GB store data behind the
        flatbuffer."""
        if not number:
            return None
        buffer = model.Buffers(number)
        if buffer.Offset() > 1:
            return self._large_data(buffer.Offset(), buffer.Size())
        if not buffer.DataLength():
            return None
        data: np.ndarray = buffer.DataAsNumpy()
        return data

    def _large_data(self, start: int, size: int) -> np.ndarray:
        if start + size > len(self._data):
            raise self._error(f"its {size} bytes of data at {start} are outside of the file; it is truncated")
        return np.frombuffer(self._data, np.uint8, size, start)

    def _quantisation(self, tensor: Any) -> tuple[np.ndarray, np.ndarray, int]:
        found = tensor.Quantization()
        if found is None:
            return np.zeros(0, np.float32), np.zeros(0, np.int64), 0
        return self._vector(found, "Scale"), self._vector(found, "ZeroPoint"), int(found.QuantizedDimension())

    def _blocks(self, tensor: Any) -> Blocks | None:
        found = tensor.Quantization()
        if found is None or found.DetailsType() != _BLOCKWISE:
            return None
        table = found.Details()
        return Blocks(*(_number(table, slot) for slot in (_BLOCK_SCALES, _BLOCK_ZERO_POINTS, _BLOCK_SIZE)))

    def _sparsity(self, tensor: Any) -> Sparsity | None:
        found = tensor.Sparsity()
        if found is None:
            return None
        if found.DimMetadataLength() > 2 * MOST_AXES:
            raise self._error(f"{found.DimMetadataLength()} axes of sparse elements; {2 * MOST_AXES} are read")
        order, blocks = (tuple(map(int, self._vector(found, what))) for what in ("TraversalOrder", "BlockMap"))
        axes = tuple(self._sparse_axis(found.DimMetadata(position)) for position in range(found.DimMetadataLength()))
        return Sparsity(order, blocks, axes)

    def _sparse_axis(self, axis: Any) -> SparseAxis:
        if not axis.Format():
            return SparseAxis(int(axis.DenseSize()))
        parts = []
        for kind, table in ((axis.ArraySegmentsType(), axis.ArraySegments()),
                            (axis.ArrayIndicesType(), axis.ArrayIndices())):
            if kind not in _SPARSE or table is None:
                raise self._error(f"sparse indices of kind {kind}")
            vector = _SPARSE[kind]()
            vector.Init(table.Bytes, table.Pos)
            parts.append(self._vector(vector, "Values"))
        return SparseAxis(int(axis.DenseSize()), *parts)

    def _operator(self, operator: Any, index: int, subgraph: int, codes: list[tuple[str, int]],
                  tensors: int) -> FlatOperator:
        self._where = f"operator {index}" + (f" of subgraph {subgraph}" if subgraph else "")
        number = operator.OpcodeIndex()
        if number >= len(codes):
            raise self._error(f"its code is number {number} of {len(codes)}; the file is damaged")
        name, version = codes[number]
        self._where += f" ({name})"
        inputs, outputs = (self._indices(operator, what, tensors) for what in ("Inputs", "Outputs"))
        if -1 in outputs:
            raise self._error("an output that is no tensor")
        kind = _OPTIONS.get(operator.BuiltinOptionsType(), "")
        table = operator.BuiltinOptions() if kind else None
        if table is None:
            kind = _OPTIONS_2.get(operator.BuiltinOptions2Type(), "")
            table = operator.BuiltinOptions2() if kind else None
        options = {} if table is None else self._options(kind, table)
        custom = bytes(self._vector(operator, "CustomOptions").astype(np.uint8))
        if operator.LargeCustomOptionsOffset() > 1:
            custom = bytes(self._large_data(operator.LargeCustomOptionsOffset(), operator.LargeCustomOptionsSize()))
        return FlatOperator(index, name, version, inputs, outputs, kind if table is not None else "", options, custom)

    def _options(self, kind: str, table: Any) -> Options:
        """The fields of an options table by the schema's names, in CamelCase."""
        known = getattr(tflite, kind, None)
        if known is None:
            return {}
        item = known()
        item.Init(table.Bytes, table.Pos)
        options: dict[str, Any] = {}
        for field in _fields(known):
            if hasattr(known, f"{field}Length"):
                if getattr(item, f"{field}Length")() > _MOST_OPTIONS:
                    raise self._error(f"its option {field} has more than {_MOST_OPTIONS} elements")
                values = self._vector(item, field) if hasattr(known, f"{field}AsNumpy") else ()
                options[field] = tuple(int(value) for value in values)
            else:
                value = getattr(item, field)()
                options[field] = self._text(value, field) if isinstance(value, bytes) else value
        return options

    def _signatures(self, model: Any, subgraphs: tuple[Subgraph, ...]
                    ) -> Mapping[int, tuple[Mapping[int, str], Mapping[int, str]]]:
        found: dict[int, tuple[Mapping[int, str], Mapping[int, str]]] = {}
        for position in range(self._count(model.SignatureDefsLength())):
            self._where = f"signature {position}"
            signature = model.SignatureDefs(position)
            inputs = self._names(signature.Inputs, self._count(signature.InputsLength()))
            outputs = self._names(signature.Outputs, self._count(signature.OutputsLength()))
            if signature.SubgraphIndex() < len(subgraphs):
                found.setdefault(signature.SubgraphIndex(), (inputs, outputs))
        return found

    def _names(self, entry: Any, count: int) -> dict[int, str]:
        entries = (entry(position) for position in range(count))
        return {int(item.TensorIndex()): self._text(item.Name(), "name") for item in entries}


def _number(table: Any, slot: int) -> int:
    """A field of 32 bits by its vtable offset, for fields that the package's methods do not return; 0 if absent."""
    table = getattr(table, "_tab", table)
    position = table.Offset(slot)
    return int(table.Get(number_types.Int32Flags, position + table.Pos)) if position else 0


def _fields(known: type) -> Iterator[str]:
    """The names of an options table's fields, from its generated methods."""
    helpers = ("AsNumpy", "Length", "IsNone", "BufferHasIdentifier")
    for name in vars(known):
        if not name.startswith(("_", "GetRootAs")) and name != "Init" and not name.endswith(helpers):
            yield name


def defaults(kind: str) -> Options:
    """The schema's default options, for an operator that stores none."""
    known = getattr(tflite, kind)
    item = known()
    item.Init(struct.pack("<HHi", 4, 4, 4), 4)  # a table without fields behind its vtable
    return {field: () if hasattr(known, f"{field}Length") else getattr(item, field)() for field in _fields(known)}
