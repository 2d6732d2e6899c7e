"""Declarative fixed-size binary records: one definition serves Python and the generated C header.

A record is a class whose fields are made by `u8`, `u16`, … below; its base makes it a frozen dataclass. The field order
is the byte order. `Record.layout` checks that every field lies on its natural alignment, without implicit padding. The
C compiler's layout is therefore the same. All integers are little-endian.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

_CODES = {
    "uint8_t": ("B", 1),
    "int8_t": ("b", 1),
    "uint16_t": ("H", 2),
    "int16_t": ("h", 2),
    "uint32_t": ("I", 4),
    "int32_t": ("i", 4),
    "float": ("f", 4),
    "char": ("s", 1),
}


def _field(c_type: str, doc: str, count: int, default: Any) -> Any:
    metadata = {"c_type": c_type, "doc": doc, "count": count}
    if default is None:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def u8(doc: str, default: int | None = None) -> Any:
    """An unsigned byte."""
    return _field("uint8_t", doc, 1, default)


def u16(doc: str, default: int | None = None) -> Any:
    """An unsigned 16-bit integer."""
    return _field("uint16_t", doc, 1, default)


def u32(doc: str, default: int | None = None) -> Any:
    """An unsigned 32-bit integer."""
    return _field("uint32_t", doc, 1, default)


def i32(doc: str) -> Any:
    """A signed 32-bit integer."""
    return _field("int32_t", doc, 1, None)


def f32(doc: str) -> Any:
    """An IEEE-754 binary32."""
    return _field("float", doc, 1, None)


def u8_array(count: int, doc: str, default: tuple[int, ...] | None = None) -> Any:
    """`count` unsigned bytes."""
    return _field("uint8_t", doc, count, default)


def u32_array(count: int, doc: str, default: tuple[int, ...] | None = None) -> Any:
    """`count` unsigned 32-bit integers."""
    return _field("uint32_t", doc, count, default)


def i32_array(count: int, doc: str) -> Any:
    """`count` signed 32-bit integers."""
    return _field("int32_t", doc, count, None)


def f32_array(count: int, doc: str) -> Any:
    """`count` IEEE-754 binary32."""
    return _field("float", doc, count, None)


def text(count: int, doc: str, default: bytes | None = None) -> Any:
    """`count` bytes of UTF-8, zero-padded; the last byte is always zero."""
    return _field("char", doc, count, default)


R = TypeVar("R", bound="Record")


@dataclasses.dataclass(frozen=True)
class FieldLayout:
    """A field's place in its record."""

    name: str
    c_type: str
    count: int
    offset: int
    doc: str


def snake_case(name: str) -> str:
    """The name in C of a Python class: `weight_mode` of WeightMode, `dtype` of DType."""
    return re.sub("(?<=.)(?=[A-Z])", "_", name.replace("DType", "Dtype")).lower()


class _Embedded(NamedTuple):
    record: type[Record]
    docs: Mapping[str, str]


class Record:
    """Base of all records, whose subclasses become frozen dataclasses. `PREFIX` begins their names in C.

    They can embed another record: `shape = embed(ConvShape)` stands for its fields, which become their own.
    """

    PREFIX: ClassVar[str] = "tigris"
    C_NAME: ClassVar[str]
    EMBEDDED: ClassVar[tuple[type[Record], ...]] = ()  #: records whose fields are among its own
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        if "C_NAME" not in vars(cls):
            cls.C_NAME = f"{cls.PREFIX}_{snake_case(cls.__name__)}"
        base: Any = cls.__base__
        cls.EMBEDDED = (base,) if getattr(base, "__dataclass_fields__", None) else ()
        types: dict[str, Any] = {}
        for name, value in list(vars(cls).items()):
            if isinstance(value, dataclasses.Field):
                types[name] = cls.__annotations__[name]
            elif isinstance(value, _Embedded):
                delattr(cls, name)
                cls.EMBEDDED += (value.record,)
                for field in dataclasses.fields(cast(Any, value.record)):
                    types[field.name] = field.type
                    doc = value.docs.get(field.name, field.metadata["doc"])
                    setattr(cls, field.name, dataclasses.field(metadata={**field.metadata, "doc": doc}))
        cls.__annotations__ = types
        dataclasses.dataclass(frozen=True)(cls)

    @classmethod
    def layout(cls) -> tuple[FieldLayout, ...]:
        """The fields with their offsets, in order."""
        return _layout(cls)  # type: ignore[arg-type]  # mypy takes a dataclass's __hash__ for its class's

    @classmethod
    def _walk(cls) -> Iterator[FieldLayout]:
        offset = 0
        for field in dataclasses.fields(cast(Any, cls)):
            c_type, count = field.metadata["c_type"], field.metadata["count"]
            size = _CODES[c_type][1]
            if offset % size:
                raise TypeError(f"{cls.__name__}.{field.name} at offset {offset} is not {size}-byte aligned")
            yield FieldLayout(field.name, c_type, count, offset, field.metadata["doc"])
            offset += size * count

    @classmethod
    def size(cls) -> int:
        """Size of a record in bytes, a multiple of four."""
        last = cls.layout()[-1]
        total = last.offset + _CODES[last.c_type][1] * last.count
        if total % 4:
            raise TypeError(f"{cls.__name__} is {total} bytes, not a multiple of 4")
        return total

    @classmethod
    def _struct(cls) -> struct.Struct:
        return _struct(cls)  # type: ignore[arg-type]

    def pack(self) -> bytes:
        """The record's bytes. A value outside its field's range raises ValueError naming the field."""
        values: list[Any] = []
        for field in self.layout():
            value = getattr(self, field.name)
            flat = [value] if field.count == 1 or field.c_type == "char" else list(value)
            if field.c_type != "char" and len(flat) != field.count:
                raise ValueError(f"{type(self).__name__}.{field.name} takes {field.count} values, got {len(flat)}")
            values.extend(flat)
        try:
            return self._struct().pack(*values)
        except struct.error as error:
            raise ValueError(f"{type(self).__name__}: {error} in {self}") from error

    @classmethod
    def unpack(cls: type[R], data: bytes | memoryview, offset: int = 0) -> R:
        """The record that starts at `offset` of `data`."""
        flat = iter(cls._struct().unpack_from(data, offset))
        values: dict[str, Any] = {}
        for field in cls.layout():
            if field.count == 1 or field.c_type == "char":
                values[field.name] = next(flat)
            else:
                values[field.name] = tuple(next(flat) for _ in range(field.count))
        return cls(**values)


def embed(record: type[Record], **docs: str) -> Any:
    """The fields of `record` in this place of a parameter record; `docs` has the comments that differ here."""
    for name in docs.keys() - {field.name for field in record.layout()}:
        raise TypeError(f"{record.__name__} has no field '{name}'")
    return _Embedded(record, docs)


if not TYPE_CHECKING:

    def dataclass_transform(**_: Any) -> Any:
        """Does nothing: only type checkers need it, and Python before 3.11 lacks it."""
        return lambda kind: kind


@dataclass_transform(frozen_default=True, field_specifiers=(u8, u16, u32, i32, f32, u8_array, u32_array, text))
class PlainRecord(Record):
    """Base of records that embed no others, so that a type checker knows all their fields."""


class Params(Record):
    """Base of the parameter records, whose embedded fields exist at run time only."""

    if TYPE_CHECKING:

        def __init__(self, *values: Any, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


@functools.cache
def _layout(kind: Any) -> tuple[FieldLayout, ...]:
    return tuple(kind._walk())


@functools.cache
def _struct(kind: Any) -> struct.Struct:
    parts = [f"{field.count}{_CODES[field.c_type][0]}" for field in kind.layout()]
    return struct.Struct("<" + "".join(parts))
