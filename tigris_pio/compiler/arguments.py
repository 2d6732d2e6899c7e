"""Checks what callers of `compile_model` give: Python takes anything, and a mistake is named where it was made."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Mapping
from typing import SupportsIndex, cast

import onnx

from tigris_pio import spelling
from tigris_pio.errors import ArgumentError
from tigris_pio.sizes import parse_size

ALIGNMENTS = (4, 8, 16, 32, 64)


def model(value: object) -> None:
    """A path or a model in memory."""
    if not isinstance(value, str | os.PathLike | onnx.ModelProto):
        raise ArgumentError(f"model: {_shown(value)} is no model; give a path or an onnx.ModelProto")


def size(option: str, value: object) -> int | None:
    """Bytes, or None for no limit."""
    if value is None:
        return None
    return parse_size(value if isinstance(value, str) else whole(option, value, "bytes or a size like '64K'"), option)


def switch(option: str, value: object) -> bool:
    """True or False, not a text that means one of them."""
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's are as good
        raise ArgumentError(f"{option}: {_shown(value)} is neither True nor False")
    return bool(value)


def text(option: str, value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ArgumentError(f"{option}: {_shown(value)} is no string")
    return value


def alignment(value: object) -> int:
    """One of ALIGNMENTS."""
    if isinstance(value, bool) or value not in ALIGNMENTS:
        allowed = ", ".join(map(str, ALIGNMENTS))
        raise ArgumentError(f"{spelling.option('alignment')}: {_shown(value)} is none of {allowed}")
    return whole("alignment", value, "bytes")


def dims(value: object) -> dict[str, int]:
    """Sizes of free dimensions by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"dims: {_shown(value)} is no mapping of names to sizes, like {{'length': 512}}")
    right = "a positive whole number"
    return {text("dims", name): whole(f"dims[{name!r}]", item, right) for name, item in value.items()}


def whole(option: str, value: object, right: str) -> int:
    """A whole number of Python's or numpy's; `right` says what to give."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise ArgumentError(f"{option}: {_shown(value)} is no whole number; give {right}") from None


def unknown(names: Iterable[str], known: Iterable[str]) -> None:
    """What Python says of the first of `names`, with the nearest of `known`."""
    known = [name for name in known if name != "unknown"]
    for name in names:
        close = difflib.get_close_matches(name, known, n=1)
        remedy = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
        raise ArgumentError(f"compile_model() got an unexpected keyword argument '{name}'; {remedy}")


def _shown(value: object) -> str:
    """`value` in few characters, with its type where that is the mistake."""
    shown = repr(value) if value is None or isinstance(value, str | int | float) else f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else shown[:57] + "..."
