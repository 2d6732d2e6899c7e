"""Plain convolutions and fully connected layers: the results of their packed twins, from plain constants."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime.kernel_harness import Operator, run_all_ways
from tests.runtime.strategies import Window, seeds, windows
from tests.runtime.test_conv import int8_case
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConvInt8Params


def plain(op: Operator, kind: OpKind) -> Operator:
    """The operator with the zero point taken out of its biases, and wide shifts."""
    bias, weights = op.blobs["bias"].astype(np.int64), op.blobs["weights"].astype(np.int64)
    if isinstance(op.params, ConvInt8Params):
        depthwise = kind == OpKind.PLAIN_DEPTHWISE_CONV_2D
        sums = weights.sum((0, 1)) if depthwise else weights.sum((1, 2, 3))
        bias = bias + op.params.input_zero_point * sums
    blobs = {**op.blobs, "bias": bias.astype(np.int32), "shift": op.blobs["shift"].astype(np.int32)}
    return dataclasses.replace(op, kind=kind, blobs=blobs)


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(usual=True), st.integers(1, 2), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), seeds)
def test_conv_is_exact(w: Window, batch: int, groups: int, inputs: int, outputs: int, seed: int) -> None:
    op, expected = int8_case(OpKind.CONV_2D, w, batch, groups, inputs, outputs, seed)
    np.testing.assert_array_equal(run_all_ways(plain(op, OpKind.PLAIN_CONV_2D)), expected)


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(usual=True), st.integers(1, 2), st.integers(1, 6), st.integers(1, 3), seeds)
def test_depthwise_conv_is_exact(w: Window, batch: int, channels: int, multiplier: int, seed: int) -> None:
    op, expected = int8_case(OpKind.DEPTHWISE_CONV_2D, w, batch, channels, 1, multiplier, seed)
    np.testing.assert_array_equal(run_all_ways(plain(op, OpKind.PLAIN_DEPTHWISE_CONV_2D)), expected)


@settings(max_examples=examples(16, 40), deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 11), st.integers(0, 3), st.booleans(), seeds)
def test_fully_connected_is_exact(
    rows: int, inputs: int, outputs: int, form: int, per_channel: bool, seed: int
) -> None:
    op, expected = fully_connected_case(rows, inputs, outputs, form, per_channel, seed)
    result = run_all_ways(plain(op, OpKind.PLAIN_FULLY_CONNECTED))
    np.testing.assert_array_equal(result.reshape(rows, outputs), expected)
