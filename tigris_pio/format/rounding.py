"""Rounds float32 to integers; halves follow the rule of the model's format."""

import numpy as np

from tigris_pio.format.enums import Rounding


def rounded(values: np.ndarray, rule: Rounding) -> np.ndarray:
    """Rounds float32 or float64 numbers to integers in float64; exact below 2**52."""
    wide = np.asarray(values, np.float64)
    found: np.ndarray = np.rint(wide) if rule is Rounding.HALF_EVEN else np.trunc(wide + np.copysign(0.5, wide))
    return found
