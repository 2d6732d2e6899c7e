"""Random operators for property tests: sizes, quantisation, data."""

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType

seeds = st.integers(0, 2**32 - 1)


@dataclasses.dataclass(frozen=True)
class Window:
    """A sliding kernel over an input: sizes, padding (top, bottom, left, right), output size."""

    input: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]
    output: tuple[int, int]

    @property
    def rows(self) -> RowMap:
        """Of its input."""
        return RowMap.window(self.kernel[0], self.stride[0], self.dilation[0], self.pads[0])

    @property
    def geometry(self) -> dict[str, int]:
        """The fields of parameters."""
        pairs = {"kernel": self.kernel, "stride": self.stride, "dilation": self.dilation}
        fields = {f"{name}_{side}": value for name, pair in pairs.items()
                  for side, value in zip(("height", "width"), pair, strict=True)}  # fmt: skip
        return {**fields, "pad_left": self.pads[2]}


def output_extent(extent: int, kernel: int, stride: int, dilation: int, pads: int) -> int:
    """Positions of a sliding kernel; 0 or less when it does not fit."""
    return (extent + pads - (kernel - 1) * dilation - 1) // stride + 1


@st.composite
def windows(draw: Any, largest: int = 11, only: tuple[int, int, int] | None = None, usual: bool = False) -> Window:
    """A sliding kernel that fits its padded input at least once; `only`: this kernel, strides up to, padding up to.
    `usual`: padding only as far as the kernel reaches, as kernel libraries expect it."""
    axes = []
    for _ in range(2):
        kernel, stride, dilation = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
        before, after = draw(st.integers(0, 4)), draw(st.integers(0, 4))
        if only is not None:
            kernel, stride, dilation = only[0], min(stride, only[1]), 1
            before, after = min(before, only[2]), min(after, only[2])
        reach = (kernel - 1) * dilation + 1
        if usual:
            before, after = min(before, reach - 1), min(after, reach - 1)
        extent = draw(st.integers(max(1, reach - before - after), max(largest, reach)))
        out = output_extent(extent, kernel, stride, dilation, before + after)
        axes.append((extent, kernel, stride, dilation, before, after, out))
    rows, columns = axes
    return Window((rows[0], columns[0]), (rows[1], columns[1]), (rows[2], columns[2]), (rows[3], columns[3]),
                  (rows[4], rows[5], columns[4], columns[5]), (rows[6], columns[6]))  # fmt: skip


def int8_array(random: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.int8) -> np.ndarray:
    """Values of the whole range of int8 or another type, the extremes more often."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    values = random.integers(low, high + 1, shape, np.int64)
    return np.where(random.random(shape) < 0.05, random.choice([low, high], shape), values).astype(dtype)


def array_of(dtype: DType, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Values of int8 or float32."""
    random = np.random.default_rng(seed)
    return int8_array(random, shape) if dtype == DType.INT8 else random.standard_normal(shape).astype(np.float32)
