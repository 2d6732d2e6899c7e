"""Plain convolutions of every geometry that a plan may have, for kernel libraries."""

import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tests.runtime.kernel_harness import Operator, Way, operator, plan_for
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import OpKind, WeightMode
from tigris_pio.format.params import ConvInt8Params

CONV, DEPTHWISE = OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D


class Axis(NamedTuple):
    """One direction of a convolution."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    dilation: int = 1

    @property
    def output(self) -> int:
        """Windows that fit."""
        reach = (self.kernel - 1) * self.dilation + 1
        return (self.size + self.before + self.after - reach) // self.stride + 1


def conv(kind: OpKind, rows: Axis, columns: Axis, channels: int, outputs: int, choose: random.Random) -> Operator:
    """A plain convolution of random numbers."""
    numbers = np.random.default_rng(choose.randrange(1 << 30))
    shape = (outputs, rows.kernel, columns.kernel, channels)
    blobs: dict[str, np.ndarray] = {
        "weights": numbers.integers(-128, 128, shape if kind is CONV else (*shape[1:3], outputs)).astype(np.int8),
        "bias": numbers.integers(-9999, 9999, outputs).astype(np.int32),
        "multiplier": numbers.integers(1 << 30, (1 << 31) - 1, outputs).astype(np.int32),
        "shift": numbers.integers(-12, -4, outputs).astype(np.int32),
    }
    params = ConvInt8Params(
        rows.kernel, columns.kernel, rows.stride, columns.stride, rows.dilation, columns.dilation, columns.before, 1,
        int(numbers.integers(-128, 128)), -5, -128, 127, 0, 0, 0, 0,
    )  # fmt: skip
    x = numbers.integers(-128, 128, (1, rows.size, columns.size, channels)).astype(np.int8)
    return operator(kind, params, x, rows=RowMap.window(rows.kernel, rows.stride, rows.dilation, rows.before),
                    out=(1, rows.output, columns.output, outputs), **blobs)  # fmt: skip


def axes(dilated: bool) -> list[Axis]:
    """Sizes, odd and even; kernels up to 5; padding up to what a window reaches, equal or not."""
    found = [
        Axis(size, kernel, stride, before, after, dilation)
        for size, kernel, stride, dilation in itertools.product(
            (1, 2, 3, 7, 8), (1, 2, 3, 5), (1, 2, 3), (1, 2) if dilated else (1,))
        for before, after in itertools.product(range((kernel - 1) * dilation + 1), repeat=2)
        if size + before + after > (kernel - 1) * dilation
    ]  # fmt: skip
    return [axis for axis in found if (axis.output - 1) * axis.stride < axis.size + axis.before]


def geometries(count: int, dilated: bool) -> Iterator[bytes]:
    """Random ones: whole, in bands, through windows, with weights in all places."""
    choose = random.Random(5)
    found = axes(dilated)
    usual = [axis for axis in found if axis.kernel == 3 and axis.size > 3]
    for _ in range(count):
        kind = choose.choice((CONV, DEPTHWISE, DEPTHWISE))
        rows, columns = choose.choice(found), choose.choice(found)
        if choose.random() < 0.4:
            rows, columns = choose.choice(usual), choose.choice(usual)
        channels = choose.choice((1, 3, 4, 8, 16, 24))
        outputs = choose.choice((1, 5, 8)) if kind is CONV else channels * choose.choice((1, 1, 1, 2, 4))
        op = conv(kind, rows, columns, channels, outputs, choose)
        windows = choose.random() < 0.5
        yield plan_for(op, Way(choose.randint(1, rows.output), windows, windows and choose.random() < 0.5,
                               choose.choice(list(WeightMode))))  # fmt: skip
