"""Gives the free dimensions of a model's inputs their sizes; both front ends call it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from tigris_pio import spelling
from tigris_pio.errors import ModelError, UsageError
from tigris_pio.text import visible_name

#: A shape as a model declares it; a free dimension is its symbol, or an empty text.
Declared = tuple[int | str, ...]


@dataclasses.dataclass(frozen=True)
class Binding:
    """Shapes of the inputs, sizes of the symbols, and warnings for the user."""

    shapes: Mapping[str, tuple[int, ...]]
    symbols: Mapping[str, int]
    warnings: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Free:
    """One free dimension; `names`: by which the user may set it, the preferred one first."""

    input: str
    axis: int
    symbol: str
    names: tuple[str, ...]


def bind_dimensions(shapes: Mapping[str, Declared], dims: Mapping[str, int], origin: str) -> Binding:
    """Gives every free dimension of the inputs a size: from `dims`, or else 1 for axis 0, with a warning.

    A dimension is named by its symbol or as INPUT:AXIS. A symbol has one size everywhere. Raises ModelError for a
    dimension without a size, and UsageError for a name in `dims` that the model does not have.
    """
    free = [_free(name, axis, dim) for name, shape in shapes.items() for axis, dim in enumerate(shape)
            if isinstance(dim, str)]
    _check_names(dims, free, origin)
    values: dict[tuple[str, int], int] = {}
    symbols = {name: value for name, value in dims.items() if any(name == dim.symbol for dim in free)}
    warnings: list[str] = []
    missing: list[_Free] = []
    for dim in sorted(free, key=lambda item: item.axis):  # axis 0 first: its symbol may recur in other axes
        given = next((dims[name] for name in dim.names if name in dims), None)
        if given is None:
            given = symbols.get(dim.symbol) if dim.symbol else None
        if given is None and dim.axis == 0:
            given = 1
            warnings.append(f"input {dim.input}: free first axis {dim.names[0]} taken as a batch of 1; set it with "
                            + spelling.dims({_name(dim): "VALUE"}))
        if given is None:
            missing.append(dim)
            continue
        if dim.symbol:
            symbols.setdefault(dim.symbol, given)
        values[dim.input, dim.axis] = given
    if missing:
        raise ModelError(_missing(missing, origin))
    bound = {
        name: tuple(values[name, axis] if isinstance(dim, str) else dim for axis, dim in enumerate(shape))
        for name, shape in shapes.items()
    }
    return Binding(bound, symbols, tuple(warnings))


def _missing(dims: list[_Free], origin: str) -> str:
    """The message for dimensions without a size; each is named as an option sets it."""
    dims = sorted(dims, key=lambda dim: (dim.input, dim.axis))
    names = {_name(dim): f"axis {dim.axis} of input {visible_name(dim.input)}" for dim in reversed(dims)}
    listed = ", ".join(f"{name} ({where})" for name, where in reversed(names.items()))
    what = "a free dimension" if len(names) == 1 else f"{len(names)} free dimensions"
    given = spelling.dims(dict.fromkeys(reversed(names), "VALUE"))
    return f"{origin}: it has {what} without a size: {listed}; give it with {given}"


def _name(dim: _Free) -> str:
    """The name that sets a dimension: its symbol, or INPUT:AXIS if the symbol is no name, such as `?`."""
    return dim.symbol if re.fullmatch(r"[^\W\d][\w.-]*", dim.symbol) else dim.names[-1]


def _free(name: str, axis: int, symbol: str) -> _Free:
    position = f"{name}:{axis}"
    return _Free(name, axis, symbol, (symbol, position) if symbol else (position,))


def _check_names(dims: Mapping[str, int], free: list[_Free], origin: str) -> None:
    known = {name for dim in free for name in dim.names}
    for name, value in dims.items():
        if name not in known:
            names = ", ".join(dim.names[0] for dim in free) or "none"
            given = spelling.dims({name: value})
            raise UsageError(f"{given}: {origin} has no free dimension of that name; it has: {names}")
        if value < 1:
            raise UsageError(f"{spelling.dims({name: value})}: a dimension must be at least 1")
