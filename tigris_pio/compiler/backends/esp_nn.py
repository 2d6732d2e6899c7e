"""ESP-NN (github.com/espressif/esp-nn): kernels for Espressif's chips, in assembly for the ESP32-S3 and -P4."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.sizes import round_up

_VECTOR = 16


def refuses(shape: PlainShape) -> str | None:
    """ESP-NN 1.2's kernels ignore dilation, keep sizes in 16 bits, and pad as much behind the input as before it."""
    if not shape.is_usual():
        return "esp-nn is not asked for padding beyond the kernel's reach"
    if shape.dilation != (1, 1):
        return f"esp-nn has no kernel for dilations {list(shape.dilation)}"
    if _is_half_wide(shape) and max(*shape.pad, *shape.pad_end) > 1:
        return "esp-nn's depthwise 3x3 kernels of 16 bits know one row and column of padding"
    if not shape.is_small():
        return "esp-nn keeps sizes in 16 bits"
    right, most = shape.pad_end[1], shape.pad[1] if any(shape.pad) else shape.stride[1]
    if right > most:
        return f"esp-nn has no kernel for {right} columns of padding on the right with {shape.pad[1]} on the left"
    return None


#: Sums of products that the ESP32-P4's kernels read of their accumulator: 24 bits.
_P4_SUM = 1 << 23
#: Channels beyond which its depthwise kernel adds neither bias nor zero point.
_P4_CHANNELS = 256


def refuses_on(op: ProgramOp, shape: PlainShape, chip: str) -> str | None:
    """What ESP-NN 1.2's kernels for the ESP32-P4 do not do as the others do."""
    if chip not in ("", "esp32p4"):
        return None
    if shape.depthwise:
        if shape.inputs == shape.outputs > _P4_CHANNELS:
            return f"esp-nn's depthwise kernel for the ESP32-P4 has no bias beyond {_P4_CHANNELS} channels"
        return None
    if not shape.dense and any(shape.pad) and shape.window < _VECTOR:
        return "esp-nn takes more scratch for padded windows of less than 16 values on the ESP32-P4 than it asks for"
    if _largest_sum(op) >= _P4_SUM:
        return "esp-nn reads 24 bits of a sum on the ESP32-P4, which the weights can pass"
    return None


#: Values that a pixel of a 1x1 convolution has at least for its kernel to take less than the portable one; and with
#: what is left of a vector, where they are few.
_P4_PIXEL, _P4_MANY, _P4_LEFT = 32, 48, 8
#: The same of the windows of others, and of those with strides.
_P4_WINDOW, _P4_STRIDED = 64, 80


def slower_on(shape: PlainShape, chip: str) -> str | None:
    """Why a kernel of ESP-NN 1.2 is expected to take more instructions than the portable one on a chip, None where it
    is not: on the ESP32-P4, by the layers that were counted (`bench.p4`; docs/backends.md)."""
    if chip != "esp32p4" or not _is_slower_on_p4(shape):
        return None
    kind = "fully connected layers" if shape.dense else "depthwise convolutions" if shape.depthwise else "convolutions"
    return f"the portable kernel takes fewer instructions on the ESP32-P4 in {kind} of this shape"


def _is_slower_on_p4(shape: PlainShape) -> bool:
    if shape.dense:
        return shape.inputs < _VECTOR
    if shape.depthwise:  # each result is scaled in C
        return shape.kernel == (3, 3) or shape.output_rows * shape.output_width == 1
    if max(shape.stride) > 1:  # weights and windows are copied for few outputs
        return shape.window < (_P4_WINDOW if shape.kernel == (1, 1) else _P4_STRIDED)
    if shape.kernel == (1, 1):
        return shape.window < _P4_MANY and (shape.window < _P4_PIXEL or shape.window % _VECTOR >= _P4_LEFT)
    return shape.window < _P4_WINDOW


def _largest_sum(op: ProgramOp) -> int:
    """How far from 0 a sum of any inputs with an output's weights can be."""
    weights = op.blobs["weights"]
    by_output = weights.reshape(len(weights), -1).astype(np.int64)
    high = np.maximum(127 * by_output, -128 * by_output).sum(axis=1)
    low = np.minimum(127 * by_output, -128 * by_output).sum(axis=1)
    return int(np.maximum(high, -low).max(initial=0))


def _is_half_wide(shape: PlainShape) -> bool:
    """Depthwise 3x3 kernels of the ESP32-S3 that widen inputs to 16 bits."""
    multiplier = shape.outputs // shape.inputs
    return shape.depthwise and shape.kernel == (3, 3) and (
        multiplier % 8 == 0 or (multiplier == 1 and shape.inputs == 8)
    )


def scratch_bytes(shape: PlainShape, chip: str) -> int:
    """At least what esp_nn_get_conv_scratch_size and its like answer (esp_nn_conv_esp32s3.c and its like, 1.2.3).

    Only the kernels of the ESP32-S3 and -P4 take scratch.
    """
    if shape.dense or (chip and chip not in ("esp32s3", "esp32p4")):
        return 0
    s3 = _depthwise_s3(shape) if shape.depthwise else _conv_s3(shape)
    p4 = 0 if shape.depthwise else _conv_p4(shape)
    return {"esp32s3": s3, "esp32p4": p4}.get(chip, max(s3, p4))


def _padded(shape: PlainShape, channels: int, more: tuple[int, int] = (0, 0)) -> int:
    """The input with padding on all sides, and with what the kernel may read beyond it."""
    rows = max(shape.rows + 2 * shape.pad[0], shape.output_rows * shape.stride[0] + shape.kernel[0] - 1)
    columns = max(shape.width + 2 * shape.pad[1], shape.output_width * shape.stride[1] + shape.kernel[1] - 1)
    return (rows + more[0]) * (columns + more[1]) * channels


def _conv_s3(shape: PlainShape) -> int:
    (height, width), outputs = shape.kernel, shape.outputs
    if shape.kernel == (1, 1) and shape.stride == (1, 1) and shape.pad == (0, 0):
        channels = round_up(shape.inputs, 8)
        copied = shape.rows * shape.width * channels if shape.inputs % 8 else 0
        return copied + channels * outputs + 2 * 8 * channels + 64
    row, window = width * shape.inputs, width * height * shape.inputs
    if row < 16 <= window:
        return outputs * 4 + 16 + outputs * round_up(window, 16) + 16 + round_up(window, 16) + 64
    filters = height * width * round_up(shape.inputs, 16) * outputs + round_up(row, 16) * height * outputs
    return 2 * _padded(shape, shape.inputs) + filters + 64 + outputs * 4


def _depthwise_s3(shape: PlainShape) -> int:
    """The largest of the library's cases for the channels: aligned copies of the weights, the input and the output."""
    channels = round_up(shape.inputs, 16)
    taps = shape.kernel[0] * shape.kernel[1]
    multiplier = shape.outputs // shape.inputs
    weights = taps * channels * multiplier
    output = shape.output_rows * shape.output_width * channels
    if multiplier == 1 and shape.inputs % 16 == 0 and shape.kernel == (3, 3):
        if shape.pad == (0, 0):
            return weights + _padded(shape, channels) + 64
        whole = weights + min(_padded(shape, channels), max(40 * 1024, _strip(shape, channels))) + 64
        # Bands without padding above, and padding that is not 1, have input and output copied: more than is answered.
        copied = weights + _padded(shape, channels) + output + 64
        return max(whole, copied) if shape.banded or shape.pad != (1, 1) else whole
    if multiplier == 1 and shape.inputs % 8 == 0 and shape.kernel != (3, 3):
        copied = 2 * (weights + shape.rows * shape.width * channels)
        strip = 2 * weights + 2 * shape.width * shape.kernel[0] * channels
        return (copied if copied <= 48 * 1024 else max(48 * 1024, strip)) + 32
    if multiplier == 1 and shape.inputs > 3:
        return 2 * weights + 2 * _padded(shape, channels, (2, 2)) + output + 12 * channels + 128
    if multiplier % 4 == 0:
        return 2 * (weights + shape.rows * shape.width * channels) + 32
    return 32


def _strip(shape: PlainShape, channels: int) -> int:
    return (shape.width + 2 * max(shape.pad[1], shape.stride[1] + shape.kernel[1])) * shape.kernel[0] * channels


def _conv_p4(shape: PlainShape) -> int:
    (height, width), outputs = shape.kernel, shape.outputs
    channels = max(round_up(shape.inputs, 16), round_up(-(-16 // width), 16))
    filters = height * width * channels * outputs + 4 * outputs
    copied = _padded(shape, channels, (2 * height, 0))
    return filters + copied + 2 * 8 * round_up(shape.inputs, 8) + 64
