"""CMSIS-NN (github.com/ARM-software/CMSIS-NN): kernels for Cortex-M, with DSP and MVE instructions where there are."""

from __future__ import annotations

from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.sizes import round_up

_MVE_CHIPS = ("cortex-m52", "cortex-m55", "cortex-m85")
#: Channels that the MVE depthwise kernel takes at a time (arm_nnsupportfunctions.h, CH_IN_BLOCK_MVE).
_MVE_CHANNELS = 124


def refuses(shape: PlainShape) -> str | None:
    """Groups are left to the portable kernel: older versions of the library lack them."""
    if shape.groups != 1 and not shape.depthwise:
        return f"cmsis-nn is not asked for convolutions of {shape.groups} groups"
    if not shape.is_usual():
        return "cmsis-nn is not asked for padding beyond the kernel's reach"
    if not shape.is_small():
        return "cmsis-nn keeps sizes in 16 bits"
    if shape.depthwise and shape.kernel[1] == 3 and shape.dilation[1] == 1 and shape.pad_end[1] > 1:
        return f"cmsis-nn's kernel of 3 columns has no more than one of padding on the right, not {shape.pad_end[1]}"
    return None


def scratch_bytes(shape: PlainShape, chip: str) -> int:
    """At least what arm_convolve_wrapper_s8_get_buffer_size and its like answer (version 2.3.0 of
    arm_convolve_get_buffer_sizes_s8.c and its like)."""
    dsp, mve = _dsp(shape), _mve(shape)
    if not chip:
        return max(dsp, mve)
    return mve if chip in _MVE_CHIPS else dsp


def _dsp(shape: PlainShape) -> int:
    if shape.dense:
        return 0
    if shape.depthwise:
        return 2 * shape.inputs * shape.window
    return 4 * round_up(shape.window, 4)


def _mve(shape: PlainShape) -> int:
    if shape.dense:
        return 4 * shape.outputs
    columns = 4 * round_up(shape.kernel[0] * shape.kernel[1] * shape.inputs, 16)
    one_row = (shape.kernel[1] + max(1, shape.pad[1]) * shape.kernel[1]) * shape.inputs
    if shape.depthwise:
        return max(4 * _MVE_CHANNELS * shape.window, max(columns, one_row) + shape.outputs * shape.window)
    return max(columns, one_row)
