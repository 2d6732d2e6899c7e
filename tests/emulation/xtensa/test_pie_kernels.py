"""This project's kernels for the ESP32-S3 under the interpreter: the portable kernels' bytes, within their operands,
in no more instructions than they are said to take."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.xtensa import base, pie
from bench.xtensa import kernels as pie_kernels
from tests.runtime.pie_cases import sum_params
from tests.runtime.test_pool import int8_expected
from tigris_pio.compiler.backends import pie_streams
from tigris_pio.compiler.backends.pie_scales import Scale, VectorScale
from tigris_pio.compiler.backends.pie_sums import with_words
from tigris_pio.format.enums import OpKind

Ints = NDArray[np.int64]


def scale(choose: np.random.Generator, channels: int, terms: int, zero_point: int, low: int = -128,
          high: int = 127) -> Scale:  # fmt: skip
    right = int(np.log2(terms) / 2 + 6)
    return Scale(choose.integers(1 << 30, (1 << 31) - 1, channels), -choose.integers(right - 1, right + 2, channels),
                 choose.integers(-9000, 9000, channels), zero_point, low, high)  # fmt: skip


def weights(choose: np.random.Generator, *shape: int) -> NDArray[np.int8]:
    return np.clip(choose.normal(0, 40, shape), -127, 127).astype(np.int8)


def values(choose: np.random.Generator, *shape: int) -> NDArray[np.int8]:
    return choose.integers(-128, 128, shape).astype(np.int8)


def layer_of(weights: NDArray[np.int8], own: Scale) -> pie_streams.Layer:
    """A dense layer, or a depthwise one of weights with three axes."""
    layer = (pie_streams.depthwise if weights.ndim == 3 else pie_streams.dense)(weights, own)
    assert layer is not None
    return layer


def products(x: NDArray[np.int8], w: NDArray[np.int8]) -> Ints:
    return x.astype(np.int64) @ w.T.astype(np.int64)


#: inputs, outputs, zero point, the activation's limits, pixels, and most instructions a product.
DENSE = [
    (32, 32, -128, (-128, 127), 20, 0.203), (32, 64, -128, (-128, 127), 12, 0.199), (32, 32, 5, (-128, 127), 20, 0.211),
    (32, 8, 5, (-100, 90), 3, 0.30), (64, 64, -128, (-128, 127), 5, 0.134), (64, 64, 7, (-128, 127), 3, 0.155),
    (64, 10, 7, (0, 127), 2, 0.26), (16, 8, 3, (-128, 127), 20, 0.42), (16, 96, -128, (-128, 127), 9, 0.33),
    (27, 16, -128, (-128, 127), 2, 0.272), (96, 24, 0, (-128, 127), 3, 0.22), (144, 24, 0, (-128, 100), 2, 0.20),
    (256, 10, 3, (-128, 127), 1, 0.27), (640, 16, 3, (-128, 127), 1, 0.15), (1, 1, 0, (-128, 127), 1, 500),
]  # fmt: skip


@pytest.mark.parametrize("inputs, outputs, zero_point, limits, pixels, most", DENSE)
def test_dense(inputs: int, outputs: int, zero_point: int, limits: tuple[int, int], pixels: int, most: float) -> None:
    choose = np.random.default_rng(2)
    w, own = weights(choose, outputs, inputs), scale(choose, outputs, inputs, zero_point, *limits)
    layer = layer_of(w, own)
    x = values(choose, pixels, inputs)
    got, executed = pie_kernels.dense(layer, x, outputs)
    np.testing.assert_array_equal(got, own.outputs(products(x, w)))
    assert executed <= most * pixels * outputs * inputs


#: Kernels and channels of depthwise layers, by a number that stands for the function.
DEPTHWISE = {6: ((2, 3), 32), 8: ((3, 3), 8), 9: ((3, 3), 16)}
NAMES = {6: "depthwise", 8: "depthwise_3x3_pairs", 9: "depthwise_3x3", 80: "dense"}
FUNCTIONS = (*DEPTHWISE, 16, 32, 64, 80)


@pytest.mark.parametrize("inputs", FUNCTIONS)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("zero_point, low, high", [(-128, -128, 127), (3, -128, 127), (3, -100, 90)])
def test_every_function(inputs: int, whole: bool, zero_point: int, low: int, high: int,
                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """With all digits of the multipliers, too, where few would do."""
    original = pie_streams.vector_scale

    def chosen(scale: Scale, bound: Ints, left: int | None = None, **options: Any) -> VectorScale | None:
        return original(scale, bound, left, **options) if options.get("whole") or not whole else None

    monkeypatch.setattr(pie_streams, "vector_scale", chosen)
    choose = np.random.default_rng(inputs)
    kernel, channels = DEPTHWISE.get(inputs, ((1, inputs), 16))
    own, w = scale(choose, channels, inputs, zero_point, low, high), weights(choose, *kernel, channels)
    if inputs in DEPTHWISE:
        layer, x = layer_of(w, own), values(choose, 4, 6, channels)
        if channels == 8:
            layer = replace(layer, function=layer.function.replace("3x3", "3x3_pairs"))
        windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64), kernel, (0, 1))
        sums = np.einsum("yxcij,ijc->yxc", windows, w.astype(np.int64))
        got = pie_kernels.depthwise(layer, x, kernel)
    else:
        layer, x = layer_of(w[0].T, own), values(choose, 2, inputs)
        sums = products(x, w[0].T)
        got = pie_kernels.dense(layer, x, channels, skip=8 * (inputs % 3))[0]
    np.testing.assert_array_equal(got, own.outputs(sums))
    assert layer.function == expected_function(inputs, whole, zero_point, (low, high))


def expected_function(inputs: int, whole: bool, zero_point: int, limits: tuple[int, int]) -> str:
    clamped = "_clamped" if limits != (-128, 127) else ""
    name = "tigris_pie_" + NAMES.get(inputs, f"dense_{inputs}")
    if inputs == 80:
        return name + clamped
    if whole:
        return f"{name}_whole{clamped}"
    return f"{name}_above" if zero_point == limits[0] else name + clamped


def test_no_function_is_left_out() -> None:
    limits_of = ((-128, (-128, 127)), (3, (-128, 127)), (3, (-100, 90)))
    cases = itertools.product(FUNCTIONS, (False, True), limits_of)
    named = {expected_function(inputs, whole, *limits) for inputs, whole, limits in cases}
    labels = {name for name in pie_kernels.program().labels if "@" not in name}
    assert labels == named | {"tigris_pie_copy", "tigris_pie_add", "tigris_pie_sum_pixels", "tigris_pie_max_pool",
                               "tigris_pie_average_pool", "tigris_pie_sum_rows", "tigris_pie_sum_eight"}  # fmt: skip
    header = (pie_kernels.SOURCES / "pie_int8.h").read_text()
    assert all(f" {name}" in header for name in named)


@pytest.mark.parametrize("kind", [OpKind.ADD, OpKind.SUB])
def test_sums_of_all_pairs(kind: OpKind) -> None:
    """Every pair of bytes; in place, too."""
    own = with_words(sum_params(np.random.default_rng(4), kind), kind)
    assert own is not None
    a, b = (part.ravel().astype(np.int8) for part in np.mgrid[-128:128, -128:128])
    got, executed = pie_kernels.add(a, b, own.words)
    np.testing.assert_array_equal(got, int8_expected(kind, own, a, b))
    assert executed <= 1.63 * a.size


@pytest.mark.parametrize("pixels, channels, most", [(1, 16, 85), (5, 64, 320), (4096, 32, 8400)])
def test_sums_of_pixels(pixels: int, channels: int, most: int) -> None:
    """Random bytes, and all of them at either limit, added to sums of 32 bits."""
    choose = np.random.default_rng(3)
    before = choose.integers(-(1 << 30), 1 << 30, channels).astype(np.int32)
    for x in (values(choose, pixels, channels), *(np.full((pixels, channels), n, np.int8) for n in (-128, 127))):
        got, executed = pie_kernels.sum_pixels(x, before)
        np.testing.assert_array_equal(got, before + x.sum(axis=0, dtype=np.int64))
        assert executed <= most


POOLS = [(2, 2, 16), (3, 3, 32), (3, 3, 24), (1, 5, 8), (8, 8, 16)]


@pytest.mark.parametrize("rows, columns, channels", POOLS)
def test_maxima(rows: int, columns: int, channels: int) -> None:
    """With limits, too; the instructions of an output pixel."""
    x = values(np.random.default_rng(5), 9, rows, columns, channels)
    for limits in ((-128, 127), (-3, 5)):
        got, executed = pie_kernels.pool(x, limits)
        np.testing.assert_array_equal(got, np.clip(x.max((1, 2)), *limits))
    step = 8 if channels % 16 else 16
    assert executed <= 9 * (channels / step * (2 * rows * columns + 4 * rows + 9) + 7) + 20


@pytest.mark.parametrize("rows, columns, channels", POOLS)
@pytest.mark.parametrize("padded", [0, 1])
def test_averages(rows: int, columns: int, channels: int, padded: int) -> None:
    """In the arithmetic of pie_int8.h; with all taps at a limit, too."""
    count = rows * columns + padded
    shift = 14 + (count - 1).bit_length()
    constants = (shift, -7 * padded, (1 << shift) // count + 1, 1 << shift - 8, 128)
    x = values(np.random.default_rng(5), 9, rows, columns, channels)
    x[0], x[1] = -128, 127
    got, executed = pie_kernels.pool(x, (-128, 120), constants)
    mean = (x.sum((1, 2), dtype=np.int64) - 7 * padded) / count
    np.testing.assert_array_equal(got, np.clip(np.sign(mean) * np.floor(np.abs(mean) + 0.5), -128, 120))
    step = 8 if channels % 16 else 16
    assert executed <= 9 * (channels / step * (5 * rows * columns + 4 * rows + 24) + 7) + 25


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 31, 64, 256])
@pytest.mark.parametrize("place", [0, 1, 8, 15])
def test_products_of_int16(count: int, place: int) -> None:
    """With the largest products, too. Weights lie anywhere."""
    choose = np.random.default_rng(count)
    x, w = choose.integers(-32768, 32768, count).astype(np.int16), weights(choose, 4, count)
    for inputs, by in ((x, w), (np.full_like(x, -32768), np.full_like(w, -128))):
        got, executed = pie_kernels.sum_rows(inputs, by, place)
        np.testing.assert_array_equal(got, by.astype(np.int64) @ inputs)
        assert executed <= 4 * (7 * -(-count // 16) + 20) + 8


@pytest.mark.parametrize("rows, columns, channels", [(3, 3, 8), (1, 5, 24), (16, 16, 8)])
def test_depthwise_sums_of_int16(rows: int, columns: int, channels: int) -> None:
    choose = np.random.default_rng(4)
    w = weights(choose, rows, columns, channels)
    for x in (choose.integers(-32768, 32768, w.shape), np.full(w.shape, -32768)):
        got, executed = pie_kernels.sum_eight(x.astype(np.int16), w)
        np.testing.assert_array_equal(got, (x * w.astype(np.int64)).sum((0, 1))[:8])
        assert executed <= 5 * rows * columns + 5 * rows + 40


@pytest.mark.parametrize("size, to_step, from_step, place, most", [
    (48, 48, 160, 0, 68), (40, 48, 40, 8, 80), (12, 16, 20, 4, 95), (9, 9, 33, 3, 180),
    (32, 32, 0, 0, 55)])  # fmt: skip
def test_copies_of_rows(size: int, to_step: int, from_step: int, place: int, most: int) -> None:
    """By vectors, halves of vectors, words and bytes; four rows, or one four times. Bytes between rows stay."""
    source = values(np.random.default_rng(1), 3 * from_step + size)
    got, executed = pie_kernels.copy(source, size, 4, to_step, from_step, place)
    for row in range(4):
        np.testing.assert_array_equal(got[row * to_step :][:size], source[row * from_step :][:size])
        assert len(set(got[row * to_step + size : (row + 1) * to_step])) <= 1
    assert executed <= most


def test_outputs_that_never_change() -> None:
    """With scales far from the others', or none."""
    choose = np.random.default_rng(8)
    w, usual = weights(choose, 16, 32), scale(choose, 16, 32, -128)
    own = replace(usual, multiplier=np.where(np.arange(16) % 3, usual.multiplier, 1 << 30),
                  shift=np.where(np.arange(16) % 3, usual.shift, -30),
                  offset=np.where(np.arange(16) % 3, usual.offset, 1 << 29))  # fmt: skip
    own = replace(own, multiplier=np.where(np.arange(16) == 9, 0, own.multiplier), offset=own.offset.astype(np.int64))
    layer = layer_of(w, own)
    x = values(choose, 3, 32)
    np.testing.assert_array_equal(pie_kernels.dense(layer, x, 16)[0], own.outputs(products(x, w)))
    none = replace(own, multiplier=np.zeros(16, np.int64))
    layer = layer_of(w, none)
    np.testing.assert_array_equal(pie_kernels.dense(layer, x, 16)[0], np.full((3, 16), -128))


def test_sums_at_their_limits() -> None:
    """All bytes -128: accumulators of 20 and of 40 bits, and sums of a pixel one after another."""
    own = Scale(np.full(16, 1 << 30), np.full(16, -9), np.zeros(16, np.int64), 0)
    for inputs in (32, 64, 96):
        w = np.where(np.arange(16)[:, None] % 2 == 0, -128, 127).astype(np.int8).repeat(inputs, axis=1)
        layer = layer_of(w, own)
        x = np.full((2, inputs), -128, np.int8)
        np.testing.assert_array_equal(pie_kernels.dense(layer, x, 16)[0], own.outputs(products(x, w)))
    w = np.full((3, 3, 16), -128, np.int8)
    layer = layer_of(w, own)
    got = pie_kernels.depthwise(layer, np.full((3, 3, 16), -128, np.int8))
    np.testing.assert_array_equal(got, own.outputs(np.full((1, 1, 16), 9 << 14)))


def test_loops_fit_their_encoding() -> None:
    """A zero-overhead loop ends within 256 bytes: 3 an instruction, 4 where a load rides on an addition or two moves
    on."""
    program = pie_kernels.program()
    loops = [(at, one) for at, one in enumerate(program.code) if one.name.startswith("loop")]
    for at, one in loops:
        body = program.code[at + 1 : program.labels[one.operands[1]]]
        assert sum(4 if ".incp" in each.name or ".ld." in each.name else 3 for each in body) <= 256, one.where
    assert len(loops) > 10
    assert {one.name for one in program.code} <= set(base.BUILDERS) | set(pie.BUILDERS)
