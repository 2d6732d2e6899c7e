"""Convolutions of three pixels of a row at a time, as with DSP instructions: on this machine, with C in place of the
instructions, under AddressSanitizer and UndefinedBehaviorSanitizer, and a few on an emulated Cortex-M4. The bytes are
those of pairs, which other tests hold to numpy's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.kernel_harness import Operator, Way, plan_for, run
from tests.runtime.test_conv import int8_case
from tests.runtime.test_dsp import CONV, FULL_RANGE, PART_RANGE, is_right, program, window
from tests.runtime.test_dsp_in_c import assert_same, replay

__all__ = ["program", "replay"]  # fixtures

#: Kernel, stride, dilation, input channels: of shared columns, of slots of their own, of 1x1 kernels.
LAYERS = (
    ((3, 3), 1, 1, 16), ((3, 3), 1, 1, 48), ((2, 2), 1, 1, 32), ((4, 4), 1, 1, 16), ((1, 3), 1, 1, 16),
    ((3, 3), 2, 1, 16), ((3, 3), 1, 2, 32), ((5, 5), 1, 1, 16), ((7, 7), 2, 1, 16), ((2, 3), 3, 1, 16),
    ((1, 1), 1, 1, 80), ((1, 1), 1, 1, 128), ((1, 1), 2, 1, 16), ((1, 1), 2, 1, 48), ((3, 1), 1, 1, 16),
    ((3, 1), 2, 1, 80),
)  # fmt: skip
#: Rows of threes alone, of pairs alone, and of both; of a single pixel, which goes with others.
WIDTHS = (1, 2, 3, 4, 5, 7, 9)


def layers() -> Iterator[tuple[Operator, int]]:
    """Each layer on maps of these widths, its padding on all sides, on one or none; and its output's rows."""
    choose = random.Random(5)
    for kernel, stride, dilation, inputs in LAYERS:
        for columns in WIDTHS:
            reach = ((kernel[0] - 1) * dilation, (kernel[1] - 1) * dilation)
            even = (reach[0] // 2, (reach[0] + 1) // 2, reach[1] // 2, (reach[1] + 1) // 2)
            padding = choose.choice((even, even, (0, 0, 0, 0), (reach[0], 0, reach[1], 0)))
            size = (choose.randint(1, 3) + reach[0], (columns - 1) * stride + 1 + reach[1] - sum(padding[2:]))
            if size[1] < 1:
                padding, size = (0, 0, 0, 0), (size[0], size[1] + sum(padding[2:]))
            shape = window(size, kernel, (stride, stride), padding, (dilation, dilation))
            outputs, seed = choose.choice((4, 8, 32, 36, 68, 7)), choose.choice((FULL_RANGE, PART_RANGE))
            assert shape.output[1] == columns
            yield int8_case(CONV, shape, 1, 1, inputs, outputs, seed)[0], shape.output[0]


def test_layers(replay: Path) -> None:
    """Whole, in bands of a row or two, and rolling through windows."""
    choose, plans = random.Random(6), []
    for op, height in layers():
        plans += [plan_for(op, Way(height)), plan_for(op, choose.choice((Way(1), Way(min(2, height)))))]
        plans.append(plan_for(op, Way(1, windows=True, keep=True)))
    assert_same(replay, plans)


@pytest.mark.parametrize("place", range(0, len(LAYERS) * len(WIDTHS), 5))
def test_on_the_machine(program: Path, place: int) -> None:
    op, height = list(layers())[place]
    assert is_right(program, op, Way(height), run(op, Way(height)))
