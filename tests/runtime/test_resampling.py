"""Kernels that select, interpolate and convolve transposed, whole and in bands."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime.kernel_harness import Operator, Way, operator, plan_for, run_all_ways
from tests.runtime.references import requantise
from tests.runtime.strategies import array_of, seeds
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.selection import needed_rows, select_params, selected_rows
from tigris_pio.errors import PlanError
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.packing import phase_weights
from tigris_pio.format.params import ResampleParams, TransposeConvFloatParams, TransposeConvInt8Params
from tigris_pio.host import Session

DTYPES = st.sampled_from([DType.INT8, DType.FLOAT32])
SMALL = st.integers(1, 5)


def rows_or_all(rows: RowMap | None, height: int) -> RowMap:
    return RowMap.whole(height) if rows is None else rows


def picked(x: np.ndarray, axis: int, indices: np.ndarray, fill: float) -> np.ndarray:
    inside = (indices >= 0) & (indices < x.shape[axis])
    taken = np.take(x, np.where(inside, indices, 0), axis)
    mask = inside.reshape([-1 if k == axis else 1 for k in range(4)])
    return np.where(mask, taken, np.array(fill, x.dtype))


def selection(x: np.ndarray, tables: list[np.ndarray], fill: float) -> tuple[Operator, np.ndarray]:
    dtype = DType.INT8 if x.dtype == np.int8 else DType.FLOAT32
    params, blobs = select_params((tables[0], tables[1], tables[2]), x.shape[1:], fill, dtype)  # type: ignore[arg-type]
    rows = rows_or_all(selected_rows(tables[0], x.shape[1]), x.shape[1])
    expected = x
    for axis, table in enumerate(tables):
        expected = picked(expected, axis + 1, table, fill)
    return operator(OpKind.SELECT, params, x, rows=rows, out=expected.shape, images=len(x), **blobs), expected


@st.composite
def index_tables(draw: st.DrawFn, size: int) -> np.ndarray:
    """A slice, a padded axis, an upsampling, or anything."""
    form = draw(st.sampled_from(["same", "slice", "pad", "up", "any"]))
    if form == "slice":
        step = draw(st.sampled_from([-2, -1, 1, 2, 3]))
        taken = np.arange(size)[draw(st.integers(0, size - 1)) :: step]
        return taken if len(taken) else np.arange(size)
    if form == "pad":
        return np.arange(-draw(st.integers(0, 3)), size + draw(st.integers(0, 3)))
    if form == "up":
        return np.arange(size).repeat(draw(st.integers(1, 4)))
    if form == "any":
        return np.array(draw(st.lists(st.integers(-1, size), min_size=1, max_size=7)))
    return np.arange(size)


@settings(max_examples=examples(60, 150), deadline=None)
@given(st.data(), DTYPES, st.integers(1, 2), st.tuples(st.integers(1, 8), SMALL, SMALL), seeds)
def test_select(data: st.DataObject, dtype: DType, batch: int, extents: tuple[int, int, int], seed: int) -> None:
    x = array_of(dtype, (batch, *extents), seed)
    op, expected = selection(x, [data.draw(index_tables(size)) for size in extents], -7)
    np.testing.assert_array_equal(run_all_ways(op), expected)


def resampling(x: np.ndarray, counts: tuple[int, int], taps: tuple[int, int], seed: int) -> tuple[Operator, np.ndarray]:
    """Random ascending starts and random weights."""
    random = np.random.default_rng(seed)
    int8 = x.dtype == np.int8
    blobs: dict[str, np.ndarray] = {}
    expected = x.astype(np.float64)
    for axis, (name, count, width) in enumerate(zip(("row", "column"), counts, taps, strict=True), 1):
        starts = np.sort(random.integers(0, x.shape[axis] - width + 1, count))
        weights = random.integers(-700, 1400, (count, width)) if int8 else random.standard_normal((count, width))
        blobs[f"{name}_start"] = starts.astype(np.int32)
        blobs[f"{name}_weight"] = weights.astype(np.int16 if int8 else np.float32)
        weights = blobs[f"{name}_weight"].astype(np.float64)
        shape = [-1 if k == axis else 1 for k in range(4)]
        expected = sum(weights[:, k].reshape(shape) * np.take(expected, starts + k, axis) for k in range(width))
    if int8:
        rounded = np.trunc((expected + np.where(expected > 0, 1 << 19, -(1 << 19))) / (1 << 20))
        expected = np.clip(rounded, -128, 127).astype(np.int8)
    starts = blobs["row_start"].astype(np.int64)
    rows = rows_or_all(needed_rows(starts, starts + taps[0] - 1, x.shape[1]), x.shape[1])
    op = operator(OpKind.RESAMPLE, ResampleParams(*taps, 0, 0, 0, 0), x, rows=rows, out=expected.shape, images=len(x),
                  **blobs)
    return op, expected


@settings(max_examples=examples(32, 80), deadline=None)
@given(DTYPES, st.tuples(st.integers(1, 2), st.integers(1, 9), st.integers(1, 6), st.integers(1, 3)),
       st.tuples(st.integers(1, 12), SMALL), st.tuples(st.integers(1, 4), st.integers(1, 4)), seeds)
def test_resample(dtype: DType, shape: tuple[int, ...], counts: tuple[int, int], taps: tuple[int, int],
                  seed: int) -> None:
    x = array_of(dtype, shape, seed)
    op, expected = resampling(x, counts, (min(taps[0], shape[1]), min(taps[1], shape[2])), seed)
    got = run_all_ways(op)
    if dtype == DType.INT8:
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_indices_that_overflow_and_tables_outside_the_block_are_refused() -> None:
    """The harness places what the block has, so tables of RESAMPLE are left out of it."""
    select, _ = selection(array_of(DType.INT8, (1, 4, 4, 4), 1), [np.arange(4)] * 3, 0)
    resample, _ = resampling(array_of(DType.INT8, (1, 6, 4, 2), 1), (8, 8), (2, 2), 1)
    of_select = ({"numerator": (1 << 30, 1, 1)}, {"denominator": (1, 0, 1)}, {"denominator": (1, 1, -1)},
                 {"first": (2**31 - 1, 0, 0)}, {"row_table": 0}, {"channel_table": 3})
    of_resample = ({"row_taps": 0}, {"column_taps": 65}, {"row_taps": 9}, {"column_start": 1 << 20}, {"row_weight": 8})
    for op, changes in (*itertools.product((select,), of_select), *itertools.product((resample,), of_resample)):
        params: Any = dataclasses.replace(op.params, **changes)  # type: ignore[type-var]
        blobs = {key: blob for key, blob in op.blobs.items() if key not in changes}
        with pytest.raises(PlanError):
            Session(plan_for(dataclasses.replace(op, params=params, blobs=blobs), Way(op.output_shape[1])))


@dataclasses.dataclass(frozen=True)
class Transposed:
    """(rows, columns) of a transposed convolution."""

    input: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pad: tuple[int, int]
    extra: tuple[int, int]

    def output(self) -> tuple[int, int]:
        """The output size: all scattered rows and columns, less the padding, plus the extra ones at the end."""
        full = [(size - 1) * s + (k - 1) * d + 1 - p + e for size, k, s, d, p, e in zip(
            self.input, self.kernel, self.stride, self.dilation, self.pad, self.extra, strict=True)]
        return max(1, full[0]), max(1, full[1])


pair = st.tuples(st.integers(1, 4), st.integers(1, 4))
transposed = st.builds(
    Transposed, st.tuples(st.integers(1, 6), st.integers(1, 5)), pair, pair, pair,
    st.tuples(st.integers(0, 3), st.integers(0, 3)), st.tuples(st.integers(-3, 3), st.integers(-3, 3)))


def scattered(x: np.ndarray, weights: np.ndarray, form: Transposed, groups: int) -> np.ndarray:
    """Float64 sums, each input element added where it goes. weights [O, KH, KW, I/g]."""
    height, width = form.output()
    total = np.zeros((x.shape[0], height, width, weights.shape[0]))
    each_out, each_in = weights.shape[0] // groups, weights.shape[3]
    for i, j, a, b in np.ndindex(*form.input, *form.kernel):
        row = i * form.stride[0] + a * form.dilation[0] - form.pad[0]
        column = j * form.stride[1] + b * form.dilation[1] - form.pad[1]
        if 0 <= row < height and 0 <= column < width:
            for out in range(weights.shape[0]):
                first = out // each_out * each_in
                total[:, row, column, out] += x[:, i, j, first : first + each_in] @ weights[out, a, b]
    return total


def row_map(form: Transposed) -> RowMap:
    first = form.pad[0] - (form.kernel[0] - 1) * form.dilation[0] + form.stride[0] - 1
    return RowMap(1, form.stride[0], min(first, form.pad[0]), form.pad[0])


@settings(max_examples=examples(32, 80), deadline=None)
@given(transposed, DTYPES, st.integers(1, 2), st.tuples(st.integers(1, 9), st.integers(1, 5)), st.integers(1, 2), seeds)
def test_transpose_conv(form: Transposed, dtype: DType, groups: int, channels: tuple[int, int], batch: int,
                        seed: int) -> None:
    random = np.random.default_rng(seed)
    each_in, outputs = channels[0], channels[1] * groups
    x = array_of(dtype, (batch, *form.input, each_in * groups), seed)
    weights = array_of(dtype, (outputs, *form.kernel, each_in), seed + 1)
    geometry = {
        "kernel_height": form.kernel[0], "kernel_width": form.kernel[1], "stride_height": form.stride[0],
        "stride_width": form.stride[1], "dilation_height": form.dilation[0], "dilation_width": form.dilation[1],
        "pad_top": form.pad[0], "pad_left": form.pad[1], "groups": groups, "weights": 0, "bias": 0,
    }
    stored: dict[str, Any] = {"rows": row_map(form), "out": (batch, *form.output(), outputs), "images": batch}
    if dtype == DType.FLOAT32:
        bias = random.standard_normal(outputs).astype(np.float32)
        params = TransposeConvFloatParams(**geometry, activation_min=-math.inf, activation_max=1.5)
        op = operator(OpKind.TRANSPOSE_CONV, params, x, **stored, weights=weights, bias=bias)
        expected = np.minimum(scattered(x.astype(np.float64), weights.astype(np.float64), form, groups) + bias, 1.5)
        np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-5)
        return
    zero, out_zero = (int(value) for value in random.integers(-128, 128, 2))
    bias = random.integers(-9999, 9999, outputs)
    phases = [bias - zero * part.sum(axis=(1, 2, 3)) for part in phase_weights(weights, form.stride, form.dilation)]
    blobs = {
        "weights": weights, "bias": np.concatenate(phases).astype(np.int32),
        "multiplier": random.integers(1 << 30, (1 << 31) - 1, outputs).astype(np.int32),
        "shift": random.integers(-10, -4, outputs).astype(np.int8),
    }
    int8 = TransposeConvInt8Params(**geometry, input_zero_point=zero, output_zero_point=out_zero, activation_min=-100,
                                   activation_max=127, multiplier=0, shift=0)
    op = operator(OpKind.TRANSPOSE_CONV, int8, x, **stored, **blobs)
    sums = scattered(x.astype(np.float64) - zero, weights.astype(np.float64), form, groups) + bias
    scaled = requantise(sums.astype(np.int64), blobs["multiplier"], blobs["shift"]) + out_zero
    np.testing.assert_array_equal(run_all_ways(op), np.clip(scaled, -100, 127))
