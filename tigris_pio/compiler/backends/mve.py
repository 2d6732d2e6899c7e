"""The backend of the vector instructions of Cortex-M52, -M55 and -M85 ("MVE"), with kernels in runtime/src/kernels/mve.

Kernels of other kinds than KINDS have MVE, too, and read weights in the portable order.
"""

from __future__ import annotations

from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.format.enums import OpKind, Packing
from tigris_pio.format.packing import PACKINGS

CHIPS = ("cortex-m52", "cortex-m55", "cortex-m85")
KINDS = {kind: kind for kind in (OpKind.CONV_2D, OpKind.FULLY_CONNECTED)}
#: Bytes of half a patch in conv_2d_int8.c: the taps of a pixel.
_TAPS = 576
_BLOCK = PACKINGS[Packing.ROWS_16].channel_block


def refuses(shape: PlainShape) -> str | None:
    """Why no kernel can run a shape, or None."""
    if shape.dense:
        return None
    if shape.groups != 1:
        return f"mve has no kernel for convolutions of {shape.groups} groups"
    if shape.outputs % _BLOCK or shape.outputs >= (1 << 16) - 1 - _BLOCK:
        return f"mve has no kernel for {shape.outputs} output channels"
    return f"mve has no kernel for {shape.patch_size} weights of a channel" if shape.patch_size > _TAPS else None
