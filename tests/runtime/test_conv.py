"""Conv2D and depthwise Conv2D against numpy, in every way a stage can run them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import Operator, Way, run, run_all_ways
from tests.runtime.strategies import Window, int8_array, seeds, windows
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConvFloatParams, ConvInt8Params


def row_map(window: Window) -> RowMap:
    return RowMap.window(window.kernel[0], window.stride[0], window.dilation[0], window.pads[0])


def geometry(window: Window, groups: int) -> dict[str, int]:
    return {
        "kernel_height": window.kernel[0],
        "kernel_width": window.kernel[1],
        "stride_height": window.stride[0],
        "stride_width": window.stride[1],
        "dilation_height": window.dilation[0],
        "dilation_width": window.dilation[1],
        "pad_left": window.pads[2],
        "groups": groups,
    }


def requantisation(random: np.random.Generator, channels: int, fan_in: int) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers and shifts that bring typical sums into the int8 range."""
    real = random.uniform(0.2, 3.0, channels) * 60 / (128 * 60 * np.sqrt(fan_in))
    pairs = [references.quantised_multiplier(value) for value in real]
    return np.array([p[0] for p in pairs], np.int32), np.array([p[1] for p in pairs], np.int8)


#: Multipliers, shifts and biases that are rare: of channels that training switched off, of outputs whose steps are as
#: small as the products', of small multipliers, of more than lines double.
STRAYS = (
    (0, 0, -(1 << 30)), (1518500250, -1, 500), (1518500250, 0, -300), (1 << 30, 1, 40), (1 << 30, 3, -9),
    (2000000000, -22, 1 << 30), (1 << 30, -30, 1 << 30), (1518500250, -5, -(1 << 29) - 7), (1 << 29, -6, 9000),
    (1518500250, -19, -(1 << 30) - 54321),
)  # fmt: skip


def patches(x: np.ndarray, window: Window) -> np.ndarray:
    padded = references.pad_rows_and_columns(x, window.pads, 0)
    return references.windows(padded, window.kernel, window.stride, window.dilation, window.output)


def conv_sum(x: np.ndarray, weights: np.ndarray, window: Window, groups: int) -> np.ndarray:
    """Sums of Conv2D; weights [out][kernel height][kernel width][in / groups]."""
    taps = patches(x, window)
    out_group, in_group = weights.shape[0] // groups, weights.shape[3]
    parts = [
        np.einsum(
            "nyxijc,oijc->nyxo",
            taps[..., g * in_group : (g + 1) * in_group],
            weights[g * out_group : (g + 1) * out_group],
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=-1)


def depthwise_sum(x: np.ndarray, weights: np.ndarray, window: Window) -> np.ndarray:
    """Sums of depthwise Conv2D; weights [kernel height][kernel width][out]."""
    multiplier = weights.shape[2] // x.shape[3]
    return np.einsum("nyxijc,ijc->nyxc", np.repeat(patches(x, window), multiplier, axis=-1), weights)


def int8_case(
    kind: OpKind, window: Window, batch: int, groups: int, group_inputs: int, group_outputs: int, seed: int,
    strays: bool = False,
) -> tuple[Operator, np.ndarray]:  # fmt: skip
    """An int8 operator and its expected output. For depthwise, `groups` counts the input channels. `strays`: two of
    three channels are scaled as few are in networks."""
    random = np.random.default_rng(seed)
    in_zero, out_zero = int(random.integers(-128, 128)), int(random.integers(-128, 128))
    low, high = sorted(random.integers(-128, 128, 2).tolist()) if random.random() < 0.5 else (-128, 127)
    inputs, outputs = groups * group_inputs, groups * group_outputs
    x = int8_array(random, (batch, *window.input, inputs))
    depthwise = kind == OpKind.DEPTHWISE_CONV_2D
    shape = (*window.kernel, outputs) if depthwise else (outputs, *window.kernel, group_inputs)
    weights = int8_array(random, shape)
    bias = random.integers(-20000, 20000, outputs)
    multiplier, shift = requantisation(random, outputs, window.kernel[0] * window.kernel[1] * group_inputs)
    for channel in [channel for channel in range(outputs) if strays and (2 * channel + seed) % 3]:
        multiplier[channel], shift[channel], bias[channel] = STRAYS[(channel + seed) % len(STRAYS)]
    centred = x.astype(np.int64) - in_zero
    wide = weights.astype(np.int64)
    sums = depthwise_sum(centred, wide, window) if depthwise else conv_sum(centred, wide, window, groups)
    expected = np.clip(references.requantise(sums + bias, multiplier, shift) + out_zero, low, high)
    folded = bias - in_zero * (wide.sum((0, 1)) if depthwise else wide.sum((1, 2, 3)))
    params = ConvInt8Params(
        **geometry(window, 1 if depthwise else groups),
        input_zero_point=in_zero,
        output_zero_point=out_zero,
        activation_min=int(low),
        activation_max=int(high),
        weights=0,
        bias=0,
        multiplier=0,
        shift=0,
    )
    blobs = {"weights": weights, "bias": folded.astype(np.int32), "multiplier": multiplier, "shift": shift}
    shape = (batch, *window.output, outputs)
    return (
        Operator(kind, DType.INT8, params, (x,), (row_map(window),), shape, DType.INT8, blobs, images=batch),
        expected,
    )


@settings(max_examples=examples(24, 60), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 6), st.integers(1, 9), seeds)
def test_conv_int8_is_exact(w: Window, batch: int, groups: int, inputs: int, outputs: int, seed: int) -> None:
    op, expected = int8_case(OpKind.CONV_2D, w, batch, groups, inputs, outputs, seed)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@settings(max_examples=examples(24, 60), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 9), st.integers(1, 3), seeds)
def test_depthwise_int8_is_exact(w: Window, batch: int, channels: int, multiplier: int, seed: int) -> None:
    op, expected = int8_case(OpKind.DEPTHWISE_CONV_2D, w, batch, channels, 1, multiplier, seed)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@settings(max_examples=examples(24, 60), deadline=None)
@given(windows(only=(3, 2, 1)), st.integers(1, 9), seeds)
def test_depthwise_along_lines_is_exact(w: Window, channels: int, seed: int) -> None:
    """What the kernel computes along rows or columns: 3x3, at most one position of padding."""
    op, expected = int8_case(OpKind.DEPTHWISE_CONV_2D, w, 1, channels, 1, 1, seed)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 6])
def test_depthwise_rows_by_themselves_are_exact(columns: int) -> None:
    window = Window((4, columns), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), (4, columns))
    op, expected = int8_case(OpKind.DEPTHWISE_CONV_2D, window, 1, 8, 1, 1, seed=columns)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [(4, 5), (9, 4), (5, 8), (1, 3)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (1, 2)])
def test_depthwise_channels_of_rare_scales_are_exact(size: tuple[int, int], stride: tuple[int, int], seed: int) -> None:
    output = tuple(-(-extent // step) for extent, step in zip(size, stride, strict=True))
    window = Window(size, (3, 3), stride, (1, 1), (1, 1, 1, 1), (output[0], output[1]))
    for channels in (8, 9):
        op, expected = int8_case(OpKind.DEPTHWISE_CONV_2D, window, 1, channels, 1, 1, seed, strays=True)
        np.testing.assert_array_equal(run_all_ways(op), expected)


@pytest.mark.parametrize("shape", [(6, 5, 3), (4, 4, 1), (1, 7, 1)])
def test_channels_of_rare_scales_are_exact(shape: tuple[int, int, int]) -> None:
    height, width, size = shape
    window = Window((height, width), (size, size), (1, 1), (1, 1), (size // 2,) * 4, (height, width))
    op, expected = int8_case(OpKind.CONV_2D, window, 1, 1, 16, 17, seed=1, strays=True)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (5, 1), (7, 6)])
@pytest.mark.parametrize("channels", [(1, 1), (3, 4), (8, 3), (16, 17)])
def test_1x1_conv_int8_is_exact(size: tuple[int, int], channels: tuple[int, int]) -> None:
    window = Window(size, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), size)
    op, expected = int8_case(OpKind.CONV_2D, window, 1, 1, *channels, seed=size[0] * 100 + channels[1])
    np.testing.assert_array_equal(run_all_ways(op), expected)


def test_1x1_conv_with_more_padding_than_needed_is_exact() -> None:
    window = Window((3, 3), (1, 1), (1, 1), (1, 1), (2, 1, 1, 2), (6, 6))
    op, expected = int8_case(OpKind.CONV_2D, window, 1, 1, 5, 6, seed=3)
    np.testing.assert_array_equal(run_all_ways(op), expected)


def float_case(
    kind: OpKind, window: Window, batch: int, groups: int, group_inputs: int, group_outputs: int, seed: int
) -> tuple[Operator, np.ndarray]:
    random = np.random.default_rng(seed)
    depthwise = kind == OpKind.DEPTHWISE_CONV_2D
    inputs, outputs = groups * group_inputs, groups * group_outputs
    x = random.standard_normal((batch, *window.input, inputs)).astype(np.float32)
    shape = (*window.kernel, outputs) if depthwise else (outputs, *window.kernel, group_inputs)
    weights = random.standard_normal(shape).astype(np.float32)
    bias = random.standard_normal(outputs).astype(np.float32)
    low, high = (-1.0, 2.5) if random.random() < 0.5 else (-np.inf, np.inf)
    wide, taps = x.astype(np.float64), weights.astype(np.float64)
    sums = depthwise_sum(wide, taps, window) if depthwise else conv_sum(wide, taps, window, groups)
    params = ConvFloatParams(
        **geometry(window, 1 if depthwise else groups), activation_min=low, activation_max=high, weights=0, bias=0
    )
    shape = (batch, *window.output, outputs)
    blobs = {"weights": weights, "bias": bias}
    op = Operator(kind, DType.FLOAT32, params, (x,), (row_map(window),), shape, DType.FLOAT32, blobs, images=batch)
    return op, np.clip(sums + bias, low, high)


@settings(max_examples=examples(12, 30), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), seeds)
def test_conv_float_agrees(w: Window, batch: int, groups: int, inputs: int, outputs: int, seed: int) -> None:
    op, expected = float_case(OpKind.CONV_2D, w, batch, groups, inputs, outputs, seed)
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-4)


@settings(max_examples=examples(12, 30), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 6), st.integers(1, 3), seeds)
def test_depthwise_float_agrees(w: Window, batch: int, channels: int, multiplier: int, seed: int) -> None:
    op, expected = float_case(OpKind.DEPTHWISE_CONV_2D, w, batch, channels, 1, multiplier, seed)
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-4)


def test_saturating_sums_stay_exact() -> None:
    """Every product at its extreme, and a bias that brings the sum near the 32-bit limits."""
    window = Window((1, 1), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (1, 1))
    depth = 64
    x = np.full((1, 1, 1, depth), -128, np.int8)
    weights = np.full((4, 1, 1, depth), -128, np.int8)
    sums = np.int64(depth * 128 * 128) + np.array([0, 2**30, -(2**31), 2**31 - 1 - depth * 128 * 128])
    bias = (sums - depth * 128 * 128).astype(np.int32)
    multiplier, shift = np.full(4, 2**31 - 1, np.int32), np.full(4, -24, np.int8)
    params = ConvInt8Params(
        **geometry(window, 1),
        input_zero_point=0,
        output_zero_point=0,
        activation_min=-128,
        activation_max=127,
        weights=0,
        bias=0,
        multiplier=0,
        shift=0,
    )
    blobs = {"weights": weights, "bias": bias, "multiplier": multiplier, "shift": shift}
    op = Operator(
        OpKind.CONV_2D, DType.INT8, params, (x,), (row_map(window),), (1, 1, 1, 4), DType.INT8, blobs
    )
    expected = np.clip(references.requantise(sums, multiplier, shift), -128, 127)
    np.testing.assert_array_equal(run(op, Way(1)).ravel(), expected)
