"""CMSIS-NN (github.com/ARM-software/CMSIS-NN): kernels for Cortex-M in C, with DSP or MVE instructions.

The scratch is that of runtime/backends/cmsis_nn.c.
"""

from __future__ import annotations

import math

from tigris_pio.compiler.backends.shape import PlainShape, refused_by_libraries
from tigris_pio.sizes import round_up

_DSP_CHIPS = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p")
_MVE_CHIPS = ("cortex-m52", "cortex-m55", "cortex-m85")
#: Channels that the MVE depthwise kernel takes at a time (arm_nnsupportfunctions.h, CH_IN_BLOCK_MVE).
_MVE_CHANNELS = 124


def refuses(shape: PlainShape) -> str | None:
    """Why the library cannot run a shape, or None. Groups are refused, because older versions lack them."""
    if (reason := refused_by_libraries(shape, "cmsis-nn")) is not None:
        return reason
    if shape.depthwise and shape.kernel[1] == 3 and shape.dilation[1] == 1 and shape.pad_end[1] > 1:
        return f"cmsis-nn's kernel of 3 columns has no more than one of padding on the right, not {shape.pad_end[1]}"
    return None


def scratch_bytes(shape: PlainShape, chip: str) -> int:
    """The scratch that the library returns (arm_convolve_wrapper_s8_get_buffer_size and its like, July 2026) if GCC or
    Clang compiles it. Bands of fewer rows take no more."""
    if not chip:
        return max(_mve_bytes(shape), _dsp_bytes(shape))
    return _mve_bytes(shape) if chip in _MVE_CHIPS else _dsp_bytes(shape) if chip in _DSP_CHIPS else _c_bytes(shape)


def _dsp_bytes(shape: PlainShape) -> int:
    if not shape.depthwise:
        return _c_bytes(shape)
    is_own = shape.kernel == (3, 3) and max(shape.pad) <= 1
    return 0 if is_own or not _is_by_channel(shape) else 2 * shape.inputs * shape.patch_size


def _c_bytes(shape: PlainShape) -> int:
    if shape.dense or shape.depthwise or _is_pointwise(shape):
        return 0
    return 4 * round_up(shape.patch_size, 4)


def _mve_bytes(shape: PlainShape) -> int:
    if shape.dense:
        return 4 * shape.outputs
    if not shape.depthwise:
        return _conv_mve_bytes(shape)
    if shape.inputs == 1 < shape.outputs:  # the library runs a convolution with copied weights
        return _conv_mve_bytes(shape) + shape.outputs * shape.patch_size
    return 4 * _MVE_CHANNELS * shape.patch_size if _is_by_channel(shape) else 0


def _conv_mve_bytes(shape: PlainShape) -> int:
    """Scratch for the patches of four pixels; of a one-row kernel, for the patches at the row's ends."""
    if _is_pointwise(shape):
        return 0
    (height, width), stride, pad = shape.kernel, shape.stride[1], shape.pad[1]
    is_row = shape.rows == height == shape.dilation[1] == 1 and stride * shape.inputs % 4 == 0
    odd = math.fmod((shape.output_width - 1) * stride + width - shape.width, 2)
    right = max(1, int((pad + odd + stride - 1) / stride)) if pad + odd else 0
    left = max(1, (pad + stride - 1) // stride) if pad else 0
    if not is_row or left + right > shape.output_width:
        return 4 * round_up(height * width * shape.inputs, 16)
    return shape.inputs * max(width + pad, width - 1 + (right if odd else pad))


def _is_pointwise(shape: PlainShape) -> bool:
    return shape.kernel == shape.dilation == (1, 1) and shape.pad == (0, 0)


def _is_by_channel(shape: PlainShape) -> bool:
    """Whether a depthwise convolution has one output for each channel, and no dilation."""
    return shape.inputs == shape.outputs and shape.dilation == (1, 1)
