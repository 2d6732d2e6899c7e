"""ESP-NN (github.com/espressif/esp-nn): kernels for Espressif's chips, in assembly for the ESP32-S3 and -P4.

The scratch is that of runtime/backends/esp_nn.c.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.backends.shape import PlainShape, refused_by_libraries
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.sizes import round_up

_VECTOR = 16


def refuses(shape: PlainShape) -> str | None:
    """Why the library cannot run a shape, or None.

    ESP-NN 1.2 ignores dilation, stores sizes in 16 bits, and pads the end as much as the begin. Only 1.2.3 supports
    groups, in C, and on the ESP32-P4 not all of them.
    """
    if (reason := refused_by_libraries(shape, "esp-nn")) is not None:
        return reason
    if shape.dilation != (1, 1):
        return f"esp-nn has no kernel for dilations {list(shape.dilation)}"
    if _widens_to_16_bits(shape) and max(*shape.pad, *shape.pad_end) > 1:
        return "esp-nn's depthwise 3x3 kernels of 16 bits support one row and column of padding only"
    right, most = shape.pad_end[1], shape.pad[1] if any(shape.pad) else shape.stride[1]
    if right > most:
        return f"esp-nn has no kernel for padding of {right} on the right and {shape.pad[1]} on the left"
    return None


#: The ESP32-P4's kernels read 24 bits of their accumulator.
_P4_SUM = 1 << 23
#: The most channels for which the ESP32-P4's depthwise kernel adds bias and zero point.
_P4_CHANNELS = 256


def refuses_on(op: ProgramOp, shape: PlainShape, chip: str) -> str | None:
    """Why ESP-NN 1.2's kernels for the ESP32-P4 compute an operator wrongly, or None."""
    if chip not in ("", "esp32p4"):
        return None
    if shape.depthwise:
        if shape.inputs == shape.outputs > _P4_CHANNELS:
            return f"esp-nn's depthwise kernel for the ESP32-P4 has no bias beyond {_P4_CHANNELS} channels"
        return None
    if not shape.dense and any(shape.pad) and shape.patch_size < _VECTOR:
        return "esp-nn uses more scratch on the ESP32-P4 than it requests for padded kernels of less than 16 weights"
    if _largest_sum(op) >= _P4_SUM:
        return "esp-nn reads 24 bits of a sum on the ESP32-P4, which the weights can exceed"
    return None


#: The fewest input channels of a 1x1 convolution for which the library is faster on the ESP32-P4; below the second
#: number only if fewer than the third remain after whole vectors.
_P4_PIXEL, _P4_MANY, _P4_LEFT = 32, 48, 8
#: The fewest weights of an output for which other convolutions are faster, and those with strides.
_P4_WEIGHTS, _P4_STRIDED = 64, 80


def slower_on(shape: PlainShape, chip: str) -> str | None:
    """Why ESP-NN 1.2 probably takes more instructions than the portable kernel on a chip, or None.

    The limits are those of the layers that `bench.p4` counts on the ESP32-P4 (docs/backends.md).
    """
    if chip != "esp32p4" or not _is_slower_on_p4(shape):
        return None
    kind = "fully connected layers" if shape.dense else "depthwise convolutions" if shape.depthwise else "convolutions"
    return f"the portable kernel takes fewer instructions on the ESP32-P4 in {kind} of this shape"


def _is_slower_on_p4(shape: PlainShape) -> bool:
    if shape.dense:
        return shape.inputs < _VECTOR
    if shape.depthwise:  # the library scales each result in C
        return shape.kernel == (3, 3) or shape.output_rows * shape.output_width == 1
    if max(shape.stride) > 1:  # the library copies weights and patches, for few outputs
        return shape.patch_size < (_P4_WEIGHTS if shape.kernel == (1, 1) else _P4_STRIDED)
    if shape.kernel == (1, 1):
        return shape.patch_size < _P4_MANY and (shape.patch_size < _P4_PIXEL or shape.patch_size % _VECTOR >= _P4_LEFT)
    return shape.patch_size < _P4_WEIGHTS


def _largest_sum(op: ProgramOp) -> int:
    """The largest magnitude of a sum of any int8 inputs with an output's weights."""
    weights = op.blobs["weights"]
    by_output = weights.reshape(len(weights), -1).astype(np.int64)
    high = np.maximum(127 * by_output, -128 * by_output).sum(axis=1)
    low = np.minimum(127 * by_output, -128 * by_output).sum(axis=1)
    return int(np.maximum(high, -low).max(initial=0))


def _widens_to_16_bits(shape: PlainShape) -> bool:
    """Whether the ESP32-S3's kernel is a depthwise 3x3 one that widens inputs to 16 bits."""
    multiplier = shape.outputs // shape.inputs
    return (
        shape.depthwise and shape.kernel == (3, 3) and (multiplier % 8 == 0 or (multiplier == 1 and shape.inputs == 8))
    )


def scratch_bytes(shape: PlainShape, chip: str) -> int:
    """The scratch that runtime/backends/esp_nn.c reserves, for bands with and without the padding above.

    It is the result of esp_nn_get_conv_scratch_size and its like in 1.2.3, or what the kernels write if that is more.
    Other chips' kernels take no scratch.
    """
    kinds = ((_conv_s3, _depthwise_s3, "esp32s3"), (_conv_p4, lambda *_: 0, "esp32p4"))
    if shape.dense:
        return 0
    return max((
        (depthwise if shape.depthwise else conv)(shape, above)
        for conv, depthwise, named in kinds if chip in ("", named)
        for above in ({shape.pad[0], 0} if shape.banded else {shape.pad[0]})
    ), default=0)  # fmt: skip


def _padded_pixels(shape: PlainShape, above: int) -> int:
    """Pixels of the input with equal padding at begin and end."""
    return (shape.rows + 2 * above) * (shape.width + 2 * shape.pad[1])


def _overhang(shape: PlainShape) -> tuple[int, int]:
    """Rows and columns by which the kernel, moved by a further stride, would exceed the input; negative if none."""
    rows = shape.output_rows * shape.stride[0] + shape.kernel[0] - 1 - shape.rows
    return rows, shape.output_width * shape.stride[1] + shape.kernel[1] - 1 - shape.width


def _is_pointwise(shape: PlainShape, above: int) -> bool:
    return shape.kernel == (1, 1) and shape.stride == (1, 1) and (above, shape.pad[1]) == (0, 0)


def _pointwise_scratch(shape: PlainShape) -> int:
    channels = round_up(shape.inputs, 8)
    pixels = shape.rows * shape.width
    return channels * (shape.outputs + (pixels if shape.inputs % 8 else 0) + (16 if pixels >= 8 else 0))


def _conv_s3(shape: PlainShape, above: int) -> int:
    if _is_pointwise(shape, above):
        return _pointwise_scratch(shape) + 64
    (height, width), outputs = shape.kernel, shape.outputs
    row, window = width * shape.inputs, width * height * shape.inputs
    if row < _VECTOR <= window:
        return outputs * (4 + round_up(window, _VECTOR)) + round_up(window, _VECTOR) + 96
    rows, columns = (max(0, size) for size in _overhang(shape))
    copies = _padded_pixels(shape, above) if above or shape.pad[1] else 0
    copies += (shape.rows + rows) * (shape.width + columns) if rows or columns else 0
    filters = width * round_up(shape.inputs, _VECTOR) + round_up(row, _VECTOR)
    return copies * shape.inputs + height * filters * outputs + 4 * outputs + 64


def _depthwise_s3(shape: PlainShape, above: int) -> int:
    """Scratch of the kernel that the library selects by the channels, with the copies that it does not count."""
    channels, taps = shape.inputs, shape.kernel[0] * shape.kernel[1]
    multiplier, pixels = shape.outputs // channels, shape.rows * shape.width
    if multiplier > 1:
        return 2 * channels * (taps * multiplier + pixels) + 32 if multiplier % 4 == 0 else 32
    if channels % 8 == 0 and shape.kernel == (3, 3) and channels > 8:
        return _whole_vectors_s3(shape, above) if channels % _VECTOR == 0 else _half_vectors_s3(shape, above)
    if channels % 8 == 0:
        whole = 2 * channels * (taps + pixels)
        tiled = shape.kernel != (3, 3) and whole > 48 * 1024
        return (2 * channels * (taps + shape.kernel[0] * shape.width) if tiled else whole) + 32
    if channels <= 3:
        return 32
    lanes = round_up(channels, 8)
    return sum(round_up(size, 16) for size in (
        2 * taps * lanes, 2 * pixels * lanes, shape.output_rows * shape.output_width * lanes,
    )) + 12 * lanes + 16  # fmt: skip


def _whole_vectors_s3(shape: PlainShape, above: int) -> int:
    """Scratch of 3x3 kernels whose channels are whole vectors."""
    channels, pads = shape.inputs, (above, shape.pad[1])
    if any(pads):  # the library copies three rows at a time of a large input
        whole = _padded_pixels(shape, above)
        copied = whole if whole * channels <= 40 * 1024 else 3 * (shape.width + 2 * pads[1])
    else:  # the library copies the whole input, but returns the size of three rows
        rows, more = _overhang(shape)
        copied = (shape.rows + rows) * (shape.width + more) if rows or more else 0
    bytes_ = (9 + copied) * channels + 16
    if pads in ((0, 0), (1, 1)):
        return bytes_
    rows, more = (max(0, size) for size in _overhang(shape))
    size = max(shape.rows + 2 * pads[0], shape.rows + rows), max(shape.width + 2 * pads[1], shape.width + more)
    output = shape.output_rows * shape.output_width
    return max(bytes_, (9 + size[0] * size[1] + output) * channels + 64)


def _half_vectors_s3(shape: PlainShape, above: int) -> int:
    """Scratch of 3x3 kernels whose last vector is half full."""
    channels = round_up(shape.inputs, _VECTOR)
    rows, columns = (
        size + 2 * pad + max(0, outputs * stride + 2 - size)
        for size, pad, outputs, stride in (
            (shape.rows, above, shape.output_rows, shape.stride[0]),
            (shape.width, shape.pad[1], shape.output_width, shape.stride[1]),
        )
    )
    return channels * (9 + rows * columns + shape.output_rows * shape.output_width) + 64


def _conv_p4(shape: PlainShape, above: int) -> int:
    """Scratch of a convolution on the ESP32-P4; `refuses_on` refuses padded kernels of less than a vector."""
    outputs, (height, width) = shape.outputs, shape.kernel
    if _is_pointwise(shape, above):
        return 20 * outputs + 64 if shape.inputs < _VECTOR else _pointwise_scratch(shape) + 32
    sums, is_padded = 4 * outputs + 32, above or shape.pad[1]
    if not is_padded and width * shape.inputs >= _VECTOR:
        return height * width * round_up(shape.inputs, _VECTOR) * outputs + sums
    if shape.patch_size >= _VECTOR or is_padded:
        return shape.patch_size + sums
    lanes = round_up(-(-_VECTOR // width), _VECTOR)
    return (height * width * outputs + shape.rows * shape.width) * lanes + sums
