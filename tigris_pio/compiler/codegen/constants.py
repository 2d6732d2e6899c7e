"""Writes C constants: numbers, arrays, parameter records and structs of weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tigris_pio.format.record import Record

#: Longest line of generated C, in characters.
LINE = 116
C_TYPES = {
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t", "int32": "int32_t",
    "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t", "float32": "float", "bool": "uint8_t",
}  # fmt: skip


def number(value: Any, c_type: str) -> str:
    """A C literal with exactly this value."""
    if c_type == "float":
        return float_literal(float(value))
    value = int(value)
    if c_type.startswith("uint") and c_type not in ("uint8_t", "uint16_t"):
        return f"{value}U" if value < 1 << 32 else f"UINT64_C({value})"
    if value in (-(1 << 31), -(1 << 63)):
        return "INT32_MIN" if value == -(1 << 31) else "INT64_MIN"
    return str(value) if abs(value) < 1 << 31 else f"INT64_C({value})"


def float_literal(value: float) -> str:
    """A C literal of a binary32 value; nine digits distinguish any two of them."""
    if math.isinf(value) or math.isnan(value):
        return "NAN" if math.isnan(value) else "-INFINITY" if value < 0 else "INFINITY"
    text = f"{value:.9g}"
    return f"{text}F" if any(mark in text for mark in ".e") else f"{text}.0F"


def array(elements: np.ndarray, indent: str = "    ") -> str:
    """The elements of an array's initialiser, in lines."""
    flat = np.atleast_1d(elements).reshape(-1)
    c_type = C_TYPES[flat.dtype.name]
    plain = c_type in ("int8_t", "uint8_t", "int16_t", "uint16_t")
    values = flat.astype(np.int64).tolist() if flat.dtype.kind != "f" else flat.tolist()
    return lines_of(map(str, values) if plain else (number(value, c_type) for value in values), indent)


def lines_of(texts: Iterable[str], indent: str) -> str:
    """`texts` with commas, in lines of at most LINE characters."""
    iterator = iter(texts)
    lines: list[str] = []
    while group := list(islice(iterator, 24)):
        line: list[str] = []
        length = len(indent)
        for text in group:
            if length + len(text) + 2 > LINE:
                lines.append(indent + " ".join(line))
                line, length = [], len(indent)
            line.append(text + ",")
            length += len(text) + 2
        lines.append(indent + " ".join(line))
    return "\n".join(lines)


def record(value: Record, indent: str = "    ") -> str:
    """A record's designated initialiser, without its braces."""
    lines = []
    for field in value.layout():
        found = getattr(value, field.name)
        if field.count == 1:
            text = number(found, field.c_type)
        else:
            text = "{" + ", ".join(number(item, field.c_type) for item in found) + "}"
        lines.append(f"{indent}.{field.name} = {text},")
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Member:
    """An array in a struct of constants. padding: bytes behind it."""

    name: str
    values: np.ndarray
    padding: int


def struct(name: str, members: Sequence[Member], aligned: str) -> str:
    """`static const struct {…} name`; padding keeps members on multiples of 16 bytes. aligned: macro before struct."""
    declared, given = [], []
    for place, member in enumerate(members):
        c_type = C_TYPES[member.values.dtype.name]
        declared.append(f"    {c_type} {member.name}[{max(member.values.size, 1)}];")
        given.append(f"    .{member.name} = {{\n{array(member.values, ' ' * 8)}\n    }},")
        if member.padding:
            declared.append(f"    uint8_t padding_{place}[{member.padding}];")
    body, values = "\n".join(declared), "\n".join(given)
    return f"static const {aligned} struct {{\n{body}\n}} {name} = {{\n{values}\n}};\n"
