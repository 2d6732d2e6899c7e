"""Kernels with Arm's vector instructions (MVE), which no host has: an emulated Cortex-M55 gives the portable kernels'
results, which other tests hold to numpy's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from bench.emulator import MACHINES, NETWORKS, build, measure, samples
from bench.instructions import Choice, layers, networks
from tests.runtime.kernel_harness import Operator, Way, plan_for, run
from tests.runtime.operators import operators
from tests.runtime.strategies import Window, int8_array
from tests.runtime.test_binary import int8_params, row_map, step_fields
from tests.runtime.test_conv import int8_case
from tests.runtime.test_dsp import window
from tests.runtime.test_pool import geometry
from tests.runtime.test_pool import row_map as pool_rows
from tests.runtime.test_vectors import exponentials_of, fully_connected_case, softmax_int8
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import PoolInt8Params

MACHINE = MACHINES["cortex-m55"]
CONV, DEPTHWISE = OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D
NONE, SAME = (0, 0, 0, 0), (1, 1, 1, 1)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(MACHINE, tmp_path_factory.mktemp("mve"))


def assert_agrees(program: Path, op: Operator, *rows: int) -> None:
    """In bands of so many rows."""
    expected = run(op, Way(op.output_shape[1]))
    content = samples(b"".join(array.tobytes() for array in op.inputs), expected.tobytes())
    for band in rows or (op.output_shape[1],):
        assert measure(MACHINE, program, plan_for(op, Way(band)), content, program.parent).right, band


def with_left_shifts(op: Operator) -> Operator:
    """Some channels scaled to the left, with small weights so that not all outputs saturate."""
    random = np.random.default_rng(3)
    shift = op.blobs["shift"].copy()
    shift[::3] = random.integers(-1, 4, len(shift[::3]))
    multiplier = op.blobs["multiplier"].copy()
    multiplier[::3] = random.integers(1 << 22, 1 << 26, len(shift[::3]))
    return dataclasses.replace(op, blobs={**op.blobs, "shift": shift, "multiplier": multiplier})


CONVS = [  # window, channels in and out
    (window((5, 7), (3, 3), (1, 1), SAME), 3, 16),
    (window((6, 5), (3, 3), (2, 2), (0, 1, 0, 1)), 5, 8),
    (window((4, 4), (3, 3), (1, 1), SAME), 32, 12),
    (window((3, 5), (1, 1), (1, 1), NONE), 8, 16),
    (window((3, 3), (1, 1), (1, 1), NONE), 5, 4),
    (window((1, 1), (1, 1), (1, 1), NONE), 16, 4),
    (window((7, 5), (1, 1), (2, 2), NONE), 36, 8),
    (window((12, 6), (10, 4), (2, 2), (4, 5, 1, 1)), 1, 8),
    (window((7, 6), (4, 5), (2, 2), (1, 1, 2, 2), (1, 2)), 6, 8),
    (window((6, 7), (3, 2), (1, 1), (2, 2, 0, 1), (2, 1)), 4, 4),
    (window((3, 3), (3, 3), (1, 1), SAME), 64, 4),
    (window((3, 3), (3, 3), (1, 1), SAME), 80, 4),
    (window((3, 5), (1, 1), (1, 1), NONE), 16, 6),
]
LINES = [  # 3x3 depthwise
    (window((5, 8), (3, 3), (1, 1), SAME), 16),
    (window((9, 4), (3, 3), (1, 1), (0, 1, 1, 0)), 20),
    (window((3, 6), (3, 3), (1, 1), NONE), 4),
    (window((1, 1), (3, 3), (1, 1), SAME), 8),
    (window((12, 3), (3, 3), (1, 1), SAME), 36),
    (window((6, 8), (3, 3), (2, 2), (0, 1, 0, 1)), 32),
    (window((9, 7), (3, 3), (2, 2), SAME), 12),
    (window((4, 19), (3, 3), (2, 2), (2, 2, 2, 2)), 16),
    (window((3, 3), (3, 3), (1, 1), (2, 2, 2, 2)), 8),
]
LANES = [  # other depthwise convolutions
    (window((7, 6), (5, 5), (1, 1), (2, 2, 2, 2)), 16),
    (window((7, 6), (5, 4), (1, 2), (2, 2, 1, 2)), 20),
    (window((12, 1), (5, 1), (1, 1), NONE), 40),
    (window((1, 9), (1, 4), (1, 2), (0, 0, 1, 1)), 4),
    (window((7, 7), (3, 3), (1, 1), (2, 2, 2, 2), (2, 2)), 8),
    (window((9, 9), (3, 3), (3, 3), SAME), 12),
]


@pytest.mark.parametrize(("shape", "inputs", "outputs"), CONVS)
def test_convolutions(program: Path, shape: Window, inputs: int, outputs: int) -> None:
    op, _ = int8_case(CONV, shape, 1, 1, inputs, outputs, inputs)
    assert_agrees(program, op, shape.output[0], 1)
    assert_agrees(program, with_left_shifts(op))


@pytest.mark.parametrize(("shape", "channels"), LINES + LANES)
def test_depthwise_convolutions(program: Path, shape: Window, channels: int) -> None:
    op, _ = int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels)
    assert_agrees(program, op, shape.output[0], 1)
    assert_agrees(program, with_left_shifts(op))
    assert_agrees(program, int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels, strays=True)[0])


def test_depthwise_convolutions_that_are_left_to_the_portable_kernel(program: Path) -> None:
    for channels, multiplier in ((6, 1), (4, 2)):
        assert_agrees(program, int8_case(DEPTHWISE, LINES[0][0], 1, channels, 1, multiplier, 5)[0])


@pytest.mark.parametrize("outputs", [1, 4, 11])
@pytest.mark.parametrize("inputs", [5, 16, 27, 640, 1061])
def test_fully_connected_layers(program: Path, inputs: int, outputs: int) -> None:
    op, _ = fully_connected_case(3, inputs, outputs, 0, inputs != 16, inputs)
    assert_agrees(program, op)
    assert_agrees(program, with_left_shifts(op))


@pytest.mark.parametrize("kind", [OpKind.ADD, OpKind.SUB, OpKind.MUL])
@pytest.mark.parametrize(
    "shapes", [((5, 3, 19), (5, 3, 19)), ((4, 3, 8), (1, 1, 8)), ((4, 3, 5), (4, 1, 5)), ((3, 2, 4), (3, 2, 1))]
)
def test_elementwise(program: Path, kind: OpKind, shapes: tuple[tuple[int, int, int], tuple[int, int, int]]) -> None:
    first, second = ((1, *shape) for shape in shapes)
    for seed in range(3):
        random = np.random.default_rng(seed)
        params = int8_params(kind, random, step_fields(first, second, first))
        inputs = int8_array(random, first), int8_array(random, second)
        rows = row_map(first, first), row_map(second, first)
        assert_agrees(program, Operator(kind, DType.INT8, params, inputs, rows, first, DType.INT8), first[1], 2)


@pytest.mark.parametrize("kind", [OpKind.AVERAGE_POOL, OpKind.MAX_POOL])
@pytest.mark.parametrize("shape", [window((7, 6), (2, 2), (2, 2), NONE), window((6, 7), (3, 3), (1, 2), SAME),
                                   window((5, 5), (3, 4), (2, 1), (2, 2, 3, 3), (2, 1))])
def test_pools(program: Path, kind: OpKind, shape: Window) -> None:
    random = np.random.default_rng(5)
    for channels, wanted, low in ((8, 0, -128), (19, 1, -128), (33, 2, -100)):
        rescale = wanted if kind == OpKind.AVERAGE_POOL else 0
        taps = shape.kernel[0] * shape.kernel[1]
        params = PoolInt8Params(
            **geometry(shape), rescale=rescale, include_pad=channels % 2, input_zero_point=-7,
            output_zero_point=4 if rescale == 1 else -7, activation_min=low, activation_max=120, multiplier=0, shift=0,
        )  # fmt: skip
        blobs = {"multiplier": np.array([(1 << 30) + (1 << 29) // k for k in range(1, taps + 1)], np.int32),
                 "shift": np.array([1 if k == 1 else -(k // 2) for k in range(1, taps + 1)], np.int8)}
        x = int8_array(random, (1, *shape.input, channels))
        output = (1, *shape.output, channels)
        op = Operator(kind, DType.INT8, params, (x,), (pool_rows(shape),), output, DType.INT8,
                      blobs if rescale == 1 else {})  # fmt: skip
        assert_agrees(program, op, shape.output[0], 1)


@pytest.mark.parametrize("length", [1, 4, 10, 67])
def test_softmax(program: Path, length: int) -> None:
    for scale in (2**-8, 0.1, 0.5):
        x = int8_array(np.random.default_rng(length), (1, 3, 2, length))
        assert_agrees(program, softmax_int8(x, exponentials_of(scale)))


@pytest.mark.parametrize("op", [op for op in operators() if op.dtype == DType.INT8], ids=lambda op: op.kind.name)
def test_the_machine_agrees_with_the_host(program: Path, op: Operator) -> None:
    assert_agrees(program, op)


#: Instructions a multiplication at most, an eighth above what was counted.
MOST = {
    "conv 3x3 16x16x32-32": 0.20, "depthwise 3x3 48x48x16": 0.98, "conv 1x1 24x24x32-64": 0.33,
    "fully connected 256-10": 0.51, "conv 3x3 32x32x3-16": 0.68, "depthwise 3x3 s2 24x24x32": 1.36,
    "fully connected 640-128": 0.23,
}  # fmt: skip


def test_layers_take_few_instructions(program: Path) -> None:
    """So that none of them runs a portable kernel."""
    rows = {row["name"]: row for row in layers(MACHINE, program, program.parent)}
    assert all(row["right"] for row in rows.values())
    assert {name: rows[name]["per_mac"] for name in MOST if rows[name]["per_mac"] > MOST[name]} == {}


def test_a_network_that_rolls_has_the_recorded_outputs(program: Path) -> None:
    """In bands of a row or two, with windows that keep rows."""
    for name, budget in (("kws", "6K"), ("sww", "4K"), ("resnet", "20K")):
        choice = Choice(NETWORKS, [name], [budget], with_ops=False)
        (row,) = networks(MACHINE, program, choice, program.parent)
        assert row["right"], name
