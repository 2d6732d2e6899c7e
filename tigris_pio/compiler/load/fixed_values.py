"""Converts values for inputs that the user sets to the input's own type and shape."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from tigris_pio import spelling
from tigris_pio.errors import UsageError
from tigris_pio.text import suggest_names, visible_name

_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def check_name(name: str, value: object, known: Collection[str], origin: str) -> None:
    """Raises UsageError for an input that the model does not have."""
    if name not in known:
        raise UsageError(f"{given(name, value)}: {origin} has no input of that name; {suggest_names(name, known)}")


def given(name: str, value: object) -> str:
    """The option as the user wrote it."""
    shown = value if isinstance(value, str) else ",".join(str(item) for item in np.asarray(value).reshape(-1)[:8])
    return spelling.fixed(visible_name(name), shown)


def fixed_array(name: str, dtype: np.dtype, declared: Sequence[int], value: object) -> np.ndarray:
    """The value of an input as an array of its type and shape. Raises UsageError.

    declared: the shape, with 0 for a free axis; one free axis gets its size from the number of values
    value: a number, several numbers, or their text with commas; one number fills the whole input
    """
    numbers = [_number(item, dtype, name, value) for item in _items(value)]
    free = [axis for axis, size in enumerate(declared) if not size]
    shape = [size or 1 for size in declared]
    if len(free) == 1 and len(numbers) % math.prod(shape) == 0:
        shape[free[0]] = max(1, len(numbers) // math.prod(shape))
    if len(numbers) not in (1, math.prod(shape)):
        raise UsageError(
            f"{given(name, value)}: {len(numbers)} values for an input of shape {shape}; give one for all of its "
            f"elements, or {math.prod(shape)}"
        )
    array = np.array(numbers, dtype).reshape(shape if len(numbers) > 1 else ())
    return np.array(np.broadcast_to(array, shape))


def _items(value: object) -> Sequence[object]:
    if isinstance(value, str):
        return [item.strip() for item in value.split(",")]
    return list(np.asarray(value).reshape(-1).tolist())


def _number(item: object, dtype: np.dtype, name: str, value: object) -> object:
    """One number, checked against the range of `dtype`."""
    text = str(item).strip().lower()
    try:
        if dtype == np.bool_:
            if text not in _TRUE + _FALSE:
                raise ValueError
            return text in _TRUE
        if dtype.kind == "f":
            return float(text)
        number = int(text) if isinstance(item, str) else item
        if int(number) != number:  # type: ignore[call-overload]
            raise ValueError
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:  # type: ignore[operator]
            raise ValueError
        return int(number)  # type: ignore[call-overload]
    except (ValueError, TypeError, OverflowError):
        right = "true or false" if dtype == np.bool_ else "a number" if dtype.kind == "f" else _whole(dtype)
        raise UsageError(f"{given(name, value)}: the input is {dtype}; give {right}, or several with commas "
                         "between") from None


def _whole(dtype: np.dtype) -> str:
    limits = np.iinfo(dtype)
    return f"a whole number from {limits.min} to {limits.max}"
