"""Weights in every packing: the place of each weight, the padding, and unpacking."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tigris_pio.compiler.backends.pie_scales import Scale
from tigris_pio.compiler.backends.pie_streams import Layer, dense, depthwise
from tigris_pio.format import enums
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.packing import (
    PACKED_KINDS,
    PACKINGS,
    PackingLayout,
    Padding,
    _pack_channels,
    packed_blobs,
    packed_bytes,
    unpacked_weights,
)
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params
from tigris_pio.format.pie import Ending, stream_bytes, stream_weights
from tigris_pio.format.record import Record

sizes = st.integers(1, 3)


def params_of(kind: OpKind, groups: int) -> Record:
    record = FullyConnectedInt8Params if kind is OpKind.FULLY_CONNECTED else ConvInt8Params
    values = {field.name: 0 for field in record.layout()}
    return record(**values | ({} if kind is OpKind.FULLY_CONNECTED else {"groups": groups}))


def shape_of(kind: OpKind, numbers: tuple[int, int], kernel: tuple[int, int], groups: int) -> tuple[int, ...]:
    outputs, inputs = numbers
    if kind is OpKind.FULLY_CONNECTED:
        return outputs, inputs
    return (*kernel, outputs) if kind is OpKind.DEPTHWISE_CONV_2D else (outputs * groups, *kernel, inputs)


@pytest.mark.parametrize("kind", sorted(PACKED_KINDS))
@pytest.mark.parametrize("packing", PACKINGS)
@settings(max_examples=examples(25, 100))
@given(numbers=st.tuples(st.integers(1, 40), st.integers(1, 40)), kernel=st.tuples(sizes, sizes), groups=sizes)
def test_every_weight_comes_back_and_the_rest_is_zero(kind, packing, numbers, kernel, groups) -> None:
    params, shape = params_of(kind, groups), shape_of(kind, numbers, kernel, groups)
    weights = np.random.default_rng(1).integers(1, 128, shape).astype(np.int8)
    packed = packed_blobs(kind, DType.INT8, params, {"weights": weights}, packing)["weights"]
    assert packed.dtype == np.int8
    assert packed.nbytes == packed_bytes(kind, params, "weights", weights, packing)
    np.testing.assert_array_equal(unpacked_weights(kind, params, packed, shape, packing), weights)
    assert np.count_nonzero(packed) == weights.size


@given(numbers=st.tuples(st.integers(1, 9), st.integers(1, 40)), kernel=st.tuples(sizes, sizes), groups=sizes)
def test_rows_are_the_model_s_own_order(numbers, kernel, groups) -> None:
    for kind in PACKED_KINDS:
        params, shape = params_of(kind, groups), shape_of(kind, numbers, kernel, groups)
        weights = np.random.default_rng(2).integers(-128, 128, shape).astype(np.int8)
        packed = packed_blobs(kind, DType.INT8, params, {"weights": weights}, enums.Packing.ROWS)["weights"]
        np.testing.assert_array_equal(packed, weights.reshape(-1))


@given(outputs=st.integers(1, 5), inputs=st.integers(1, 35), kernel=st.tuples(sizes, sizes))
def test_lanes_of_a_pixel_begin_on_a_tile(outputs, inputs, kernel) -> None:
    weights = np.random.default_rng(3).integers(1, 128, (outputs, *kernel, inputs)).astype(np.int8)
    params = params_of(OpKind.CONV_2D, 1)
    packed = packed_blobs(OpKind.CONV_2D, DType.INT8, params, {"weights": weights}, enums.Packing.LANES_16)["weights"]
    lanes = -(-inputs // 16) * 16
    for place, at in enumerate(itertools.product(range(outputs), range(kernel[0]), range(kernel[1]))):
        pixel = packed[place * lanes : (place + 1) * lanes]
        assert pixel.tolist() == weights[at].tolist() + [0] * (lanes - inputs)


@pytest.mark.parametrize("padding", [Padding.CHANNEL, Padding.ROW, Padding.PIXEL])
def test_blocks_and_tiles_are_filled_up(padding: Padding) -> None:
    """Three channels of 2x2 kernels of three inputs, blocks of two, tiles of four in the order 1 0 3 2."""
    weights = np.arange(1, 37, dtype=np.int8).reshape(3, 2, 2, 3)
    parts = {Padding.CHANNEL: (1, 12), Padding.ROW: (2, 6), Padding.PIXEL: (4, 3)}[padding]
    expected = []
    for block in ((0, 1), (2, None)):
        for part in range(parts[0]):
            for tile in range(0, parts[1], 4):
                for channel in block:
                    taps = [] if channel is None else weights[channel].reshape(parts)[part, tile : tile + 4].tolist()
                    taps += [0] * (4 - len(taps))
                    expected += [taps[tap] for tap in (1, 0, 3, 2)]
    packed = _pack_channels(weights, PackingLayout("test", 2, 4, (1, 0, 3, 2), padding, 0))
    assert packed.tolist() == expected


# Weights in the streams of the ESP32-S3's kernels: where they lie, by a stream made another way.

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
    np.testing.assert_array_equal(stream_weights(kind, shape, stream + b"more"), weights)
    with pytest.raises(ValueError, match=f"the stream has {len(stream) - 1} bytes, not {len(stream)}"):
        stream_weights(kind, shape, stream[:-1])


def test_an_ending_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="7 is not a valid Ending"):
        stream_weights(OpKind.FULLY_CONNECTED, (8, 16), bytes([7]) + bytes(1000))
    with pytest.raises(ValueError, match="has 0 bytes"):
        stream_weights(OpKind.FULLY_CONNECTED, (8, 16), b"")
