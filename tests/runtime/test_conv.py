"""Conv2D and depthwise Conv2D, packed and plain, against numpy, in every way a stage can run them."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import Operator, Way, operator, run, run_all_ways
from tests.runtime.strategies import Window, int8_array, seeds, windows
from tigris_pio.compiler.lower.pack_int4 import tables_of
from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import PLAIN_KINDS
from tigris_pio.format.params import ConvFloatParams, ConvInt8Params, TableConvInt8Params, TableFullyConnectedInt8Params

CONV, DEPTHWISE = OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D
OFFSETS = {"weights": 0, "bias": 0, "multiplier": 0, "shift": 0}


def requantisation(random: np.random.Generator, channels: int, fan_in: int) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers and shifts that bring typical sums into the int8 range."""
    real = random.uniform(0.2, 3.0, channels) * 60 / (128 * 60 * np.sqrt(fan_in))
    return references.multipliers(real)


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
    pairs = zip(np.split(patches(x, window), groups, -1), np.split(weights, groups), strict=True)
    return np.concatenate([np.einsum("nyxijc,oijc->nyxo", taps, own) for taps, own in pairs], axis=-1)


def depthwise_sum(x: np.ndarray, weights: np.ndarray, window: Window) -> np.ndarray:
    """Sums of depthwise Conv2D; weights [kernel height][kernel width][out]."""
    multiplier = weights.shape[2] // x.shape[3]
    return np.einsum("nyxijc,ijc->nyxc", np.repeat(patches(x, window), multiplier, axis=-1), weights)


def int8_case(kind: OpKind, window: Window, batch: int, groups: int, group_inputs: int, group_outputs: int, seed: int,
              strays: bool = False, bits: int = 8, own: bool | None = None) -> tuple[Operator, np.ndarray]:  # fmt: skip
    """An int8 operator and its expected output. For depthwise, `groups` counts the input channels. `strays`: two of
    three channels are scaled as few are in networks. `bits`: of a weight. `own`: as few_values has it."""
    random = np.random.default_rng(seed)
    in_zero, out_zero = int(random.integers(-128, 128)), int(random.integers(-128, 128))
    low, high = sorted(random.integers(-128, 128, 2).tolist()) if random.random() < 0.5 else (-128, 127)
    inputs, outputs = groups * group_inputs, groups * group_outputs
    x = int8_array(random, (batch, *window.input, inputs))
    depthwise = kind == DEPTHWISE
    weights = int8_array(random, (*window.kernel, outputs) if depthwise else (outputs, *window.kernel, group_inputs))
    weights = weights >> 8 - bits
    weights = weights if own is None else few_values(random, weights, own)
    bias = random.integers(-20000, 20000, outputs)
    multiplier, shift = requantisation(random, outputs, window.kernel[0] * window.kernel[1] * group_inputs)
    for channel in [channel for channel in range(outputs) if strays and (2 * channel + seed) % 3]:
        multiplier[channel], shift[channel], bias[channel] = STRAYS[(channel + seed) % len(STRAYS)]
    centred, wide = x.astype(np.int64) - in_zero, weights.astype(np.int64)
    sums = depthwise_sum(centred, wide, window) if depthwise else conv_sum(centred, wide, window, groups)
    expected = np.clip(references.requantise(sums + bias, multiplier, shift) + out_zero, low, high)
    folded = bias - in_zero * (wide.sum((0, 1)) if depthwise else wide.sum((1, 2, 3)))
    params = ConvInt8Params(**window.geometry, groups=1 if depthwise else groups, input_zero_point=in_zero,
                            output_zero_point=out_zero, activation_min=int(low), activation_max=int(high), **OFFSETS)
    op = operator(kind, params, x, rows=window.rows, out=(batch, *window.output, outputs), images=batch,
                  weights=weights, bias=folded.astype(np.int32), multiplier=multiplier, shift=shift)
    return op, expected


def plain(op: Operator) -> Operator:
    """The operator of kernel libraries: the zero point taken out of its biases, and wide shifts."""
    bias, weights = op.blobs["bias"].astype(np.int64), op.blobs["weights"].astype(np.int64)
    if isinstance(op.params, ConvInt8Params):
        bias += op.params.input_zero_point * weights.sum((0, 1) if op.kind == DEPTHWISE else (1, 2, 3))
    blobs = {**op.blobs, "bias": bias.astype(np.int32), "shift": op.blobs["shift"].astype(np.int32)}
    return dataclasses.replace(op, kind=PLAIN_KINDS[op.kind], blobs=blobs)


def tabulated(op: Operator, own: bool, channels: int = 8) -> Operator:
    """The operator with tables instead of weights of 16 values: `own` ones of the channels, or one. A convolution makes
    passes of so many channels."""
    weights = op.blobs["weights"]
    found = tables_of(weights.reshape(len(weights) if own else 1, -1))
    assert found is not None
    tables, indices = found[0], found[1].reshape(weights.shape)
    given = dataclasses.asdict(op.params)
    if isinstance(op.params, ConvInt8Params):
        conv = TableConvInt8Params(**given, tables=0, table_step=16 * own, pass_channels=channels)
        return dataclasses.replace(op, kind=OpKind.TABLE_CONV_2D, params=conv,
                                   scratch_bytes=channels * weights.size // len(weights),
                                   blobs={**op.blobs, "weights": indices, "tables": tables})
    return dataclasses.replace(op, kind=OpKind.TABLE_FULLY_CONNECTED, scratch_bytes=1024,
                               params=TableFullyConnectedInt8Params(**given, table=0),
                               blobs={**op.blobs, "weights": indices, "table": tables})


def few_values(random: np.random.Generator, weights: np.ndarray, own: bool) -> np.ndarray:
    """Weights of 16 values: all the same ones, or each output its `own`."""
    tables = random.integers(-127, 128, (len(weights) if own else 1, 16)).astype(np.int8)
    rows = np.arange(len(weights)).reshape(-1, *(1,) * (weights.ndim - 1)) % len(tables)
    result: np.ndarray = tables[rows, weights & 15]
    return result


#: Groups or channels, inputs of a group, outputs of a group or channel.
FORMS = (st.tuples(st.just(CONV), st.integers(1, 3), st.integers(1, 6), st.integers(1, 9))
         | st.tuples(st.just(DEPTHWISE), st.integers(1, 9), st.just(1), st.integers(1, 3)))  # fmt: skip
Form = tuple[OpKind, int, int, int]


@settings(max_examples=examples(48, 120), deadline=None)
@given(windows(), FORMS, st.integers(1, 2), seeds)
def test_int8_is_exact(w: Window, form: Form, batch: int, seed: int) -> None:
    op, expected = int8_case(form[0], w, batch, *form[1:], seed)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@settings(max_examples=examples(24, 80), deadline=None)
@given(windows(usual=True), FORMS, st.integers(1, 2), seeds)
def test_plain_int8_is_exact(w: Window, form: Form, batch: int, seed: int) -> None:
    op, expected = int8_case(form[0], w, batch, *form[1:], seed)
    np.testing.assert_array_equal(run_all_ways(plain(op)), expected)


@settings(max_examples=examples(24, 60), deadline=None)
@given(windows(only=(3, 2, 1)), st.integers(1, 9), seeds)
def test_depthwise_along_lines_is_exact(w: Window, channels: int, seed: int) -> None:
    """Layers that the kernel computes along rows or columns: 3x3, at most one position of padding."""
    op, expected = int8_case(DEPTHWISE, w, 1, channels, 1, 1, seed)
    np.testing.assert_array_equal(run_all_ways(op), expected)


def same(size: tuple[int, int], kernel: int, stride: tuple[int, int] = (1, 1)) -> Window:
    """A window with padding on all sides: at stride 1 each position of the input has an output."""
    output = (-(-size[0] // stride[0]), -(-size[1] // stride[1]))
    return Window(size, (kernel, kernel), stride, (1, 1), (kernel // 2,) * 4, output)


#: Kind, window, channels as int8_case takes them, seed, and whether scales are rare: rows by themselves, rare scales
#: along lines and in each kernel, 1x1 kernels of all sizes and with more padding than they need, weights of several
#: passes.
SPECIAL = [
    *((DEPTHWISE, same((4, columns), 3), (8, 1, 1), columns, False) for columns in (1, 2, 3, 5, 6)),
    *((DEPTHWISE, same(size, 3, stride), (channels, 1, 1), seed, True) for size, stride, seed, channels in
      itertools.product(((4, 5), (9, 4), (5, 8), (1, 3)), ((1, 1), (2, 2), (1, 2)), range(3), (8, 9))),
    *((CONV, same((height, width), size), (1, 16, 17), 1, True) for height, width, size in
      ((6, 5, 3), (4, 4, 1), (1, 7, 1))),
    *((CONV, same(size, 1), (1, *channels), size[0] * 100 + channels[1], False) for size, channels in
      itertools.product(((1, 1), (1, 5), (5, 1), (7, 6)), ((1, 1), (3, 4), (8, 3), (16, 17)))),
    (CONV, Window((3, 3), (1, 1), (1, 1), (1, 1), (2, 1, 1, 2), (6, 6)), (1, 5, 6), 3, False),
    *((CONV, same(size, kernel), channels, 4, True) for size, kernel, channels in
      (((3, 5), 3, (1, 48, 38)), ((1, 5), 1, (1, 256, 68)), ((1, 1), 1, (1, 512, 36)), ((3, 5), 3, (2, 48, 38)))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "window", "channels", "seed", "strays"), SPECIAL)
def test_special_shapes_are_exact(kind: OpKind, window: Window, channels: tuple[int, int, int], seed: int,
                                  strays: bool) -> None:  # fmt: skip
    op, expected = int8_case(kind, window, 1, *channels, seed, strays)
    np.testing.assert_array_equal(run_all_ways(op), expected)


def check_4_bits(window: Window, batch: int, inputs: int, outputs: int, seed: int) -> None:
    op, expected = int8_case(CONV, window, batch, 1, inputs, outputs, seed, bits=4)
    packed = dataclasses.replace(op, kind=OpKind.INT4_CONV_2D)
    np.testing.assert_array_equal(run_all_ways(packed), expected)


@settings(max_examples=examples(32, 90), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 9), st.integers(1, 37), seeds)
def test_weights_of_4_bits_are_exact(w: Window, batch: int, inputs: int, outputs: int, seed: int) -> None:
    check_4_bits(w, batch, inputs, outputs, seed)


@pytest.mark.parametrize(("window", "inputs", "outputs"), [
    *((window, inputs, outputs) for kind, window, (groups, inputs, outputs), _, _ in SPECIAL
      if kind is CONV and groups == 1 and inputs >= 16),
    (same((3, 4), 3), 22, 36), (same((2, 3), 3), 132, 300),
])  # fmt: skip
def test_many_weights_of_4_bits_are_exact(window: Window, inputs: int, outputs: int) -> None:
    """Several patches, batches of channels, and passes over the pixels."""
    check_4_bits(window, 1, inputs, outputs, 6)


def check_tables(window: Window, batch: int, inputs: int, outputs: int, seed: int, channels: int = 8) -> None:
    for own in (False, True):
        op, expected = int8_case(CONV, window, batch, 1, inputs, outputs, seed, own=own)
        np.testing.assert_array_equal(run_all_ways(tabulated(op, own, channels)), expected)


@settings(max_examples=examples(24, 60), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 9), seeds)
def test_weights_by_tables_are_exact(w: Window, batch: int, inputs: int, outputs: int, seed: int) -> None:
    check_tables(w, batch, 4 * inputs, 4 * outputs, seed)


@pytest.mark.parametrize(("window", "inputs", "outputs", "channels"), [
    (same((7, 6), 1), 64, 40, 16), (same((1, 5), 1), 256, 68, 32), (same((4, 8), 3), 32, 36, 24),
    (same((3, 4), 3), 20, 36, 8), (same((5, 5), 1), 8, 4, 4),
])  # fmt: skip
def test_passes_of_tables_are_exact(window: Window, inputs: int, outputs: int, channels: int) -> None:
    """The loops of each shape."""
    check_tables(window, 1, inputs, outputs, 6, channels)


@settings(max_examples=examples(24, 60), deadline=None)
@given(windows(), FORMS, st.integers(1, 2), seeds)
def test_float_agrees(w: Window, form: Form, batch: int, seed: int) -> None:
    kind, groups, group_inputs, group_outputs = form
    random = np.random.default_rng(seed)
    outputs = groups * group_outputs
    x = random.standard_normal((batch, *w.input, groups * group_inputs)).astype(np.float32)
    shape = (*w.kernel, outputs) if kind == DEPTHWISE else (outputs, *w.kernel, group_inputs)
    weights, bias = (random.standard_normal(size).astype(np.float32) for size in (shape, outputs))
    low, high = (-1.0, 2.5) if random.random() < 0.5 else (-np.inf, np.inf)
    wide, taps = x.astype(np.float64), weights.astype(np.float64)
    sums = depthwise_sum(wide, taps, w) if kind == DEPTHWISE else conv_sum(wide, taps, w, groups)
    params = ConvFloatParams(**w.geometry, groups=1 if kind == DEPTHWISE else groups, activation_min=low,
                             activation_max=high, weights=0, bias=0)
    op = operator(kind, params, x, rows=w.rows, out=(batch, *w.output, outputs), images=batch, weights=weights,
                  bias=bias)
    np.testing.assert_allclose(run_all_ways(op), np.clip(sums + bias, low, high), rtol=1e-5, atol=1e-4)


def test_saturating_sums_stay_exact() -> None:
    """Every product at its extreme, and a bias that brings the sum near the 32-bit limits."""
    depth = 64
    x, weights = np.full((1, 1, 1, depth), -128, np.int8), np.full((4, 1, 1, depth), -128, np.int8)
    sums = np.int64(depth * 128 * 128) + np.array([0, 2**30, -(2**31), 2**31 - 1 - depth * 128 * 128])
    bias = (sums - depth * 128 * 128).astype(np.int32)
    multiplier, shift = np.full(4, 2**31 - 1, np.int32), np.full(4, -24, np.int8)
    window = same((1, 1), 1)
    params = ConvInt8Params(**window.geometry, groups=1, input_zero_point=0, output_zero_point=0, activation_min=-128,
                            activation_max=127, **OFFSETS)
    op = operator(CONV, params, x, rows=window.rows, out=(1, 1, 1, 4), weights=weights, bias=bias,
                  multiplier=multiplier, shift=shift)
    expected = np.clip(references.requantise(sums, multiplier, shift), -128, 127)
    np.testing.assert_array_equal(run(op, Way(1)).ravel(), expected)
