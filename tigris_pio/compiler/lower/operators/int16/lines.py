"""int16 functions as tables of 513 entries with straight lines between them, and the error of these lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.storage import Numeric

_ENTRIES, _STEP = 513, 128
#: Fraction bits of an entry, and the largest entry.
_FRACTION, _LARGEST = 4, float(1 << 22)


def line_table(function: Callable[[Any], Any], source: Numeric, result: Numeric,
               between: bool = True) -> tuple[np.ndarray, float]:
    """The table, and the largest error in output steps, rounding included. Both types are symmetric.

    between: whether inputs lie between entries. If so, each entry is moved by half of the line's error at its middle;
      if not, entries are the function's values.
    """
    codes = np.arange(numerics.INT16_MIN, numerics.INT16_MAX + 2, dtype=np.float64)
    with np.errstate(all="ignore"):
        exact = np.asarray(function(codes * source.scale), np.float64) / result.scale
    if not np.all(np.isfinite(exact)):
        return np.zeros(_ENTRIES, np.int32), np.inf
    values, middles = exact[::_STEP], exact[_STEP // 2 :: _STEP]
    missed = np.append((values[:-1] + values[1:]) / 2 - middles, 0.0)
    moved = values - missed / 2 if between else values
    table: np.ndarray = np.clip(np.rint(moved * (1 << _FRACTION)), -_LARGEST, _LARGEST).astype(np.int32)
    wanted = np.clip(exact[:-1], numerics.INT16_MIN, numerics.INT16_MAX)
    off = np.abs(interpolate(table, codes[:-1].astype(np.int64)) - wanted)
    return table, float(off.max() if between else off[::_STEP].max())


def interpolate(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The results of LOOKUP for int16 values."""
    place, wide = (values >> 7) + 256, table.astype(np.int64)
    total = _STEP * wide[place] + (values & 127) * (wide[place + 1] - wide[place])
    result: np.ndarray = np.clip((total + (1 << (_FRACTION + 6))) >> (_FRACTION + 7), numerics.INT16_MIN,
                                 numerics.INT16_MAX)
    return result


def populate_lut(function: Callable[[np.ndarray], np.ndarray], span: float, zero_point: int) -> np.ndarray:
    """TensorFlow Lite's LUTPopulate in single precision, int16 [513].

    function: from float64 to float64
    span: the input range of 65535 steps, after the zero point is subtracted; output steps are 2 / 65535
    """
    one, steps = np.float32, np.float32(65535)
    source, result = one(span) / steps, one(2) / steps
    low, high = (source * one(end - zero_point) for end in (numerics.INT16_MIN, numerics.INT16_MAX))
    inverse = one(65536) / (result * one(numerics.INT16_MAX) - result * one(numerics.INT16_MIN))
    step = (high - low) / one(512)
    places = np.arange(512).astype(np.float32)

    def at(numbers: np.ndarray) -> np.ndarray:
        return function(numbers.astype(np.float64)).astype(np.float32)

    def rounded(numbers: np.ndarray) -> np.ndarray:
        return numerics.round_half_away(numbers.astype(np.float64)).astype(np.float32)

    starts = low + places * step
    sample = rounded(at(starts) * inverse)
    between = rounded((at(low + (places + one(1)) * step) * inverse + sample) / one(2))
    error = between - rounded(at(starts + step / one(2)) * inverse)
    table = np.append(sample - rounded(error / one(2)), rounded(at(np.array([high], np.float32)) * inverse))
    entries: np.ndarray = np.clip(table, numerics.INT16_MIN, numerics.INT16_MAX).astype(np.int16)
    return entries
