"""Kernels with Arm's DSP instructions, which no host has: an emulated Cortex-M4 gives the numpy results too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.emulator import MACHINES, Machine, build, measure, samples
from tests.runtime.kernel_harness import Operator, Way, plan_for, run
from tests.runtime.operators import operators
from tests.runtime.strategies import Window, output_extent
from tests.runtime.test_conv import int8_case
from tigris_pio.format.enums import DType, OpKind

MACHINE: Machine = MACHINES["cortex-m4"]
CONV, DEPTHWISE = OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D
FULL_RANGE, PART_RANGE = 41, 42  #: seeds of cases with outputs of the whole int8 range and of a part
Pair = tuple[int, int]
PADS = tuple[int, int, int, int]  #: top, bottom, left, right


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(MACHINE, tmp_path_factory.mktemp("dsp"), "-O1")


def is_right(program: Path, op: Operator, way: Way, expected: np.ndarray) -> bool:
    """Whether the machine's output is the expected one."""
    content = samples(b"".join(array.tobytes() for array in op.inputs), expected.tobytes())
    return measure(MACHINE, program, plan_for(op, way), content, program.parent).right


def window(size: Pair, kernel: Pair, stride: Pair, pads: PADS, dilation: Pair = (1, 1)) -> Window:
    rows = output_extent(size[0], kernel[0], stride[0], dilation[0], pads[0] + pads[1])
    columns = output_extent(size[1], kernel[1], stride[1], dilation[1], pads[2] + pads[3])
    return Window(size, kernel, stride, dilation, pads, (rows, columns))


WINDOWS = [
    (DEPTHWISE, window((5, 8), (3, 3), (1, 1), (1, 1, 1, 1))),
    (DEPTHWISE, window((9, 4), (3, 3), (1, 1), (0, 1, 1, 0))),
    (DEPTHWISE, window((3, 6), (3, 3), (1, 1), (0, 0, 0, 0))),
    (DEPTHWISE, window((2, 1), (3, 3), (1, 1), (1, 1, 1, 1))),
    (DEPTHWISE, window((6, 8), (3, 3), (2, 2), (0, 1, 0, 1))),
    (DEPTHWISE, window((9, 7), (3, 3), (2, 2), (1, 1, 1, 1))),
    (DEPTHWISE, window((8, 3), (3, 3), (1, 2), (2, 0, 1, 1))),
    (DEPTHWISE, window((12, 1), (5, 1), (1, 1), (0, 0, 0, 0))),
    (DEPTHWISE, window((7, 6), (5, 4), (1, 2), (2, 2, 1, 2))),
    (CONV, window((5, 6), (3, 3), (1, 1), (1, 1, 1, 1))),
    (CONV, window((3, 5), (1, 1), (1, 1), (0, 0, 0, 0))),
    (CONV, window((7, 6), (4, 5), (2, 2), (1, 1, 2, 2), (1, 2))),
]  # fmt: skip


#: depthwise, computed row by row where there are as many columns as the machine has registers for
ROWS = [window((4, columns), (3, 3), (1, 1), (1, 1, 1, 1)) for columns in (4, 5, 6)]


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("shape", ROWS)
def test_rows_by_themselves_are_exact(program: Path, shape: Window, rows: int) -> None:
    for seed in (FULL_RANGE, PART_RANGE):
        for strays in (False, True):
            op, expected = int8_case(DEPTHWISE, shape, 1, 8, 1, 1, seed, strays)
            assert is_right(program, op, Way(rows), expected.astype(np.int8)), (seed, strays)


@pytest.mark.parametrize(("kind", "shape"), WINDOWS)
def test_sliding_kernels_are_exact(program: Path, kind: OpKind, shape: Window) -> None:
    """Whole with the whole int8 range, and in bands of two rows with a part of it."""
    inputs, outputs = (1, 1) if kind == DEPTHWISE else (5, 9)
    ranges = set()
    for seed, rows in ((FULL_RANGE, shape.output[0]), (PART_RANGE, min(2, shape.output[0]))):
        op, expected = int8_case(kind, shape, 1, 6 if kind == DEPTHWISE else 1, inputs, outputs, seed)
        ranges.add((op.params.activation_min, op.params.activation_max) == (-128, 127))
        assert is_right(program, op, Way(rows), expected.astype(np.int8)), seed
    assert ranges == {True, False}


@pytest.mark.parametrize(
    "op", [op for op in operators() if op.dtype == DType.INT8 and len(op.inputs) == 1], ids=lambda op: op.kind.name
)
def test_the_machine_agrees_with_the_host(program: Path, op: Operator) -> None:
    way = Way(op.output_shape[1])
    assert is_right(program, op, way, run(op, way))
