"""Weights in the streams of the ESP32-S3's kernels: where they lie, by a stream made another way."""

from __future__ import annotations

import numpy as np
import pytest

from tigris_pio.compiler.backends.pie_scales import Scale
from tigris_pio.compiler.backends.pie_streams import Layer, dense, depthwise
from tigris_pio.compiler.weights.pie import Ending, stream_bytes, weights_of
from tigris_pio.format.enums import OpKind

LIMITS = {"all": (-128, 127), "some": (-100, 90)}


def layer_of(kind: OpKind, weights: np.ndarray, zero_point: int, limits: tuple[int, int]) -> Layer:
    outputs = weights.shape[-1] if kind is OpKind.DEPTHWISE_CONV_2D else len(weights)
    own = Scale(np.full(outputs, 3 << 29), np.full(outputs, -9), np.zeros(outputs, np.int64), zero_point, *limits)
    found = depthwise(weights, own) if kind is OpKind.DEPTHWISE_CONV_2D else dense(weights.reshape(outputs, -1), own)
    assert found is not None
    return found


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("zero_point", [-128, 3])
@pytest.mark.parametrize(("kind", "shape"), [
    (OpKind.DEPTHWISE_CONV_2D, (3, 3, 16)), (OpKind.DEPTHWISE_CONV_2D, (3, 3, 37)), (OpKind.CONV_2D, (11, 3, 2, 5)),
    (OpKind.CONV_2D, (16, 1, 1, 32)), (OpKind.FULLY_CONNECTED, (8, 64)), (OpKind.FULLY_CONNECTED, (1, 100)),
])  # fmt: skip
def test_they_are_found_again(kind: OpKind, shape: tuple[int, ...], zero_point: int, limits: tuple[int, int]) -> None:
    weights = np.random.default_rng(3).integers(-127, 128, shape).astype(np.int8)
    layer = layer_of(kind, weights, zero_point, limits)
    stream = layer.stream.tobytes()
    assert stream_bytes(kind, shape, Ending(stream[0])) == len(stream)
    assert len(stream) % 16 == 0
    np.testing.assert_array_equal(weights_of(kind, shape, stream + b"more"), weights)
    with pytest.raises(ValueError, match=f"the stream has {len(stream) - 1} bytes, not {len(stream)}"):
        weights_of(kind, shape, stream[:-1])


def test_an_ending_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="7 is not a valid Ending"):
        weights_of(OpKind.FULLY_CONNECTED, (8, 16), bytes([7]) + bytes(1000))
    with pytest.raises(ValueError, match="has 0 bytes"):
        weights_of(OpKind.FULLY_CONNECTED, (8, 16), b"")
