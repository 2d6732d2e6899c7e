"""Writes C constants: numbers, arrays, parameter records and structs of weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.format.record import Record

#: Longest line of generated C, in characters.
LINE = 116
C_TYPES = {
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t", "int32": "int32_t",
    "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t", "float32": "float", "bool": "uint8_t",
}  # fmt: skip


def signature(head: str, parameters: Sequence[str]) -> str:
    """The head of a C function, on one line or with a line for each parameter."""
    line = f"{head}({', '.join(parameters) or 'void'})"
    return line if len(line) <= LINE else f"{head}(" + (",\n" + " " * (len(head) + 1)).join(parameters) + ")"


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
    texts = [number(value, c_type) for value in flat.tolist()]
    line = {1: 18, 2: 12}.get(flat.dtype.itemsize, 6)
    return "\n".join(f"{indent}{', '.join(texts[at : at + line])}," for at in range(0, len(texts), line))


def record(value: Record, texts: Mapping[str, str]) -> str:
    """A record's designated initialiser, without its braces. texts: C expressions of some fields."""
    lines = []
    for field in value.layout():
        found = getattr(value, field.name)
        if field.count == 1:
            text = texts.get(field.name) or number(found, field.c_type)
        else:
            text = "{" + ", ".join(number(item, field.c_type) for item in found) + "}"
        lines.append(f"    .{field.name} = {text},")
    return "\n".join(lines)
