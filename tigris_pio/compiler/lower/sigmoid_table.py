"""The sigmoid table of TensorFlow Lite's int16 functions (kernels/internal/common.h, sigmoid_table_uint16)."""

from __future__ import annotations

import numpy as np

_ENTRIES, _STEPS_OF_ONE = 256, 24
#: Entries of TensorFlow Lite's table that are one more than the nearest integer, because it lacks full precision.
_ONE_MORE = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45, 46,
    49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)


def sigmoid_table() -> np.ndarray:
    """The values sigmoid(i / 24) for i = 0 … 255 as Q0.16, uint16."""
    exact = 65536 / (1 + np.exp(-np.arange(_ENTRIES) / _STEPS_OF_ONE))
    table: np.ndarray = np.rint(exact).astype(np.uint16)
    table[list(_ONE_MORE)] += 1
    return table
