"""Int8 operators whose kernels depend on the processor, of random sizes."""

import dataclasses
import random
from collections.abc import Iterator

import numpy as np

from tests.runtime.kernel_harness import Operator, Way, operator, plan_for
from tests.runtime.strategies import Window, output_extent
from tests.runtime.test_conv import int8_case
from tests.runtime.test_pool import int8_params, row_maps, step_fields
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.format.enums import OpKind

CONV, DEPTHWISE = OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D
FULL_RANGE, PART_RANGE = 41, 42  #: seeds of cases with outputs of the whole int8 range and of a part
Pair = tuple[int, int]
PADS = tuple[int, int, int, int]  #: top, bottom, left, right


def window(size: Pair, kernel: Pair, stride: Pair, pads: PADS, dilation: Pair = (1, 1)) -> Window:
    """A window with the output size that follows from it."""
    rows = output_extent(size[0], kernel[0], stride[0], dilation[0], pads[0] + pads[1])
    columns = output_extent(size[1], kernel[1], stride[1], dilation[1], pads[2] + pads[3])
    return Window(size, kernel, stride, dilation, pads, (rows, columns))


def scaled(op: Operator, seed: int) -> Operator:
    """The operator with a range of outputs, and shifts of all sizes to both sides in place of usual ones."""
    choose = np.random.default_rng(seed)
    count = op.blobs["shift"].size
    shift = choose.choice((-31, -30, -12, -9, -8, -7, -2, -1, 0, 1, 3), count).astype(np.int8)
    multiplier = choose.integers(0, 1 << 31, count).astype(np.int32)
    low, high = sorted(choose.integers(-128, 128, 2).tolist())
    params = dataclasses.replace(op.params, activation_min=low, activation_max=high)  # type: ignore[type-var]
    return dataclasses.replace(op, params=params, blobs={**op.blobs, "multiplier": multiplier, "shift": shift})


def addition(kind: OpKind, channels: int, seed: int, first: Pair = (3, 5), second: Pair = (3, 5)) -> Operator:
    """ADD, SUB or MUL of maps of these heights and widths, of which the larger are the output's."""
    values = np.random.default_rng(seed)
    a, b = (1, *first, channels), (1, *second, channels)
    out = (1, max(first[0], second[0]), max(first[1], second[1]), channels)
    inputs = tuple(values.integers(-128, 128, shape).astype(np.int8) for shape in (a, b))
    params = int8_params(kind, values, step_fields(a, b, out))
    return operator(kind, params, *inputs, rows=row_maps(out, *inputs), out=out)


def random_window(choose: random.Random, kernels: tuple[Pair, ...], stride: Pair) -> Window:
    """One of the kernels, at times dilated, on a map of a few positions more, padded as far as it reaches halfway."""
    kernel, dilation = choose.choice(kernels), choose.choice(((1, 1),) * 4 + ((2, 1), (1, 2)))
    reach = ((kernel[0] - 1) * dilation[0], (kernel[1] - 1) * dilation[1])
    top, bottom, left, right = (choose.randint(0, reach[i // 2]) for i in range(4))
    least = [max(1, reach[0] + 1 - top - bottom), max(1, reach[1] + 1 - left - right)]
    size = (choose.randint(least[0], least[0] + 5), choose.randint(least[1], least[1] + 6))
    return window(size, kernel, stride, (top, bottom, left, right), dilation)


def _sliding(choose: random.Random, number: int) -> Operator:
    kind = choose.choice((CONV, DEPTHWISE))
    kernels = ((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (2, 5), (5, 4), (10, 1), (1, 4))
    shape = random_window(choose, kernels, (choose.choice((1, 1, 2)), choose.choice((1, 1, 2))))
    if kind == DEPTHWISE:
        groups = choose.choice((1, 3, 6, 8, 11, 16, 40))
        form = (groups, 1, choose.choice((1, 8, 9, 20)) if groups == 1 else choose.choice((1, 1, 1, 2)))
    else:
        form = (choose.choice((1, 1, 2)), choose.choice((1, 2, 3, 4, 7, 8, 13, 16, 21, 33)),
                choose.choice((1, 3, 4, 8, 9, 14, 16, 23)))  # fmt: skip
    return int8_case(kind, shape, 1, *form, number, strays=number % 4 == 1)[0]


def random_layers(count: int, seed: int) -> Iterator[tuple[Operator, Way]]:
    """Whole, in bands, and rolling through windows."""
    choose = random.Random(seed)
    for number in range(count):
        what = choose.random()
        if what < 0.7:
            op = _sliding(choose, number)
        elif what < 0.85:
            vectors, inputs = choose.randint(1, 9), choose.choice((1, 3, 4, 16, 22, 64, 131))
            op = fully_connected_case(vectors, inputs, choose.randint(1, 40), 0, choose.random() < 0.7, number)[0]
        else:
            op = addition(choose.choice((OpKind.ADD, OpKind.SUB)), choose.randint(1, 5), number)
        if "shift" in op.blobs and choose.random() < 0.5:
            op = scaled(op, number)
        height = op.output_shape[1]
        keep = op.kind in (CONV, DEPTHWISE)
        yield op, choose.choice((Way(height), Way(min(2, height)), Way(1, windows=True, keep=keep)))


def tiled_layers(layers: tuple[tuple[Pair, int, int, int], ...], widths: tuple[int, ...]) -> Iterator[Operator]:
    """Convolutions of each (kernel, stride, dilation, input channels) on maps whose outputs have these widths; with
    padding on all sides, on one or none."""
    choose = random.Random(5)
    for kernel, stride, dilation, inputs in layers:
        for columns in widths:
            reach = ((kernel[0] - 1) * dilation, (kernel[1] - 1) * dilation)
            even = (reach[0] // 2, (reach[0] + 1) // 2, reach[1] // 2, (reach[1] + 1) // 2)
            padding = choose.choice((even, even, (0, 0, 0, 0), (reach[0], 0, reach[1], 0)))
            size = (choose.randint(1, 3) + reach[0], (columns - 1) * stride + 1 + reach[1] - sum(padding[2:]))
            if size[1] < 1:
                padding, size = (0, 0, 0, 0), (size[0], size[1] + sum(padding[2:]))
            shape = window(size, kernel, (stride, stride), padding, (dilation, dilation))
            outputs, seed = choose.choice((4, 8, 20, 32, 36, 68, 7)), choose.choice((FULL_RANGE, PART_RANGE))
            assert shape.output[1] == columns
            yield int8_case(CONV, shape, 1, 1, inputs, outputs, seed)[0]


def plans_of(ops: Iterator[Operator], windows: bool = False) -> list[bytes]:
    """Each whole and in bands of a row or two; and rolling through windows."""
    choose, plans = random.Random(6), []
    for op in ops:
        height = op.output_shape[1]
        plans += [plan_for(op, Way(height)), plan_for(op, choose.choice((Way(1), Way(min(2, height)))))]
        plans += [plan_for(op, Way(1, windows=True, keep=True))] * windows
    return plans
