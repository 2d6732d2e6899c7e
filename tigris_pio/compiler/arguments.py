"""Checks the arguments of `compile_model`, and converts each to the type that CompileOptions holds.

A wrong type raises ArgumentError, a wrong value UsageError; both name the argument and what to give.
"""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Mapping
from typing import SupportsIndex, cast

import numpy as np
import onnx

from tigris_pio import spelling
from tigris_pio.compiler.load.model import is_tflite
from tigris_pio.errors import ArgumentError, UsageError
from tigris_pio.sizes import parse_size

ALIGNMENTS = (4, 8, 16, 32, 64)


def check_model(value: object) -> None:
    """Raises ArgumentError unless `value` is a path or a model in memory."""
    known = isinstance(value, bytes) and is_tflite(value)
    if not known and not isinstance(value, str | os.PathLike | onnx.ModelProto):
        raise ArgumentError(f"model: {_shown(value)} is no model; give a path or an onnx.ModelProto, or the bytes of a "
                            ".tflite file")


def size(option: str, value: object) -> int | None:
    """Bytes of a number or a text like "64K"; None for no limit."""
    if value is None:
        return None
    return parse_size(value if isinstance(value, str) else integer(option, value, "bytes or a size like '64K'"), option)


def switch(option: str, value: object) -> bool:
    """True or False; a text that means one of them is refused."""
    if type(value).__name__ not in ("bool", "bool_"):  # bool_ is numpy's
        raise ArgumentError(f"{option}: {_shown(value)} is neither True nor False")
    return bool(value)


def text(option: str, value: object) -> str:
    """`value`, which must be a string."""
    if not isinstance(value, str):
        raise ArgumentError(f"{option}: {_shown(value)} is no string")
    return value


def alignment(value: object) -> int:
    """Bytes, one of ALIGNMENTS."""
    if isinstance(value, bool) or value not in ALIGNMENTS:
        allowed = ", ".join(map(str, ALIGNMENTS))
        raise ArgumentError(f"{spelling.option('alignment')}: {_shown(value)} is none of {allowed}")
    return integer("alignment", value, "bytes")


def dims(value: object) -> dict[str, int]:
    """Sizes of free dimensions, by name."""
    given = _mapping("dims", value, "names to sizes, like {'length': 512}")
    right = "a positive whole number"
    return {text("dims", name): integer(f"dims[{name!r}]", item, right) for name, item in given.items()}


def fixed(value: object) -> dict[str, object]:
    """Values of inputs, by name: a number, several numbers, or their text."""
    given = _mapping("set", value, "inputs to values, like {'sr': 16000}")
    for name, item in given.items():
        kind = np.asarray(item).dtype.kind
        if kind not in "biufU":
            raise ArgumentError(f"set[{name!r}]: {_shown(item)} is no number; give one, or as many as the input has")
    return {text("set", name): item for name, item in given.items()}


def _mapping(option: str, value: object, right: str) -> Mapping[object, object]:
    """A mapping, empty for None; the message asks for one of `right`."""
    if value is not None and not isinstance(value, Mapping):
        raise ArgumentError(f"{option}: {_shown(value)} is no mapping of {right}")
    return value or {}


def states(value: object) -> tuple[tuple[str, str], ...]:
    """Pairs of an output and the input that it becomes in the next run, from a mapping or from texts OUT=IN."""
    if isinstance(value, Mapping):
        return tuple((text("state", output), text(f"state[{output!r}]", held)) for output, held in value.items())
    if value is not None and (isinstance(value, str | bytes) or not isinstance(value, Iterable)):
        raise ArgumentError(f"state: {_shown(value)} is no mapping of outputs to inputs, like {{'h_out': 'h'}}")
    return parse_ties(tuple(text("state", item) for item in value or ()))


def streams(value: object) -> tuple[str, ...]:
    """Names of inputs and outputs, from one name or several."""
    if isinstance(value, bytes) or (value is not None and not isinstance(value, str | Iterable)):
        raise ArgumentError(f"stream: {_shown(value)} is no name of an input or output, nor several")
    return tuple(text("stream", name) for name in ((value,) if isinstance(value, str) else value or ()))


def parse_ties(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of an output and an input, from texts OUT=IN. Raises UsageError."""
    ties = []
    for item in texts:
        output, equals, held = item.partition("=")
        if not output or not equals or not held:
            raise UsageError(f"{spelling.option('state')}: '{item}' is not OUT=IN, like h_out=h")
        ties.append((output, held))
    return tuple(ties)


def cores(value: object) -> int:
    """The number of cores, 1 or 2."""
    number = integer(spelling.option("cores"), value, "1 or 2")
    if number not in (1, 2):
        raise UsageError(f"{spelling.option('cores')}: {number} is neither 1 nor 2")
    return number


def hop(value: object) -> int:
    """The hop size in input rows, from a number or its text."""
    name = spelling.option("hop")
    if isinstance(value, str):
        if not value.strip().isdecimal():
            raise UsageError(f"{name}: '{value}' is no number of rows, like 1")
        value = int(value)
    rows = integer(name, value, "a number of rows")
    if rows < 1:
        raise UsageError(f"{name}: {rows} rows are no hop; give at least 1")
    return rows


def integer(option: str, value: object, right: str) -> int:
    """`value` as an int, from Python's or numpy's integers; the message asks for `right` instead."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise ArgumentError(f"{option}: {_shown(value)} is no whole number; give {right}") from None


def refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    """Raises Python's message for an unexpected keyword argument if there are `names`, with the nearest of `known`."""
    known = [name for name in known if name != "unknown"]
    for name in names:
        close = difflib.get_close_matches(name, known, n=1)
        remedy = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
        raise ArgumentError(f"compile_model() got an unexpected keyword argument '{name}'; {remedy}")


def _shown(value: object) -> str:
    """`value` in at most 60 characters; a value that is neither text nor number is shown by its type."""
    shown = repr(value) if value is None or isinstance(value, str | int | float) else f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else shown[:57] + "..."
