"""The backend of the ESP32-S3's vector instructions ("PIE"), with kernels in runtime/src/kernels/pie."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from tigris_pio.compiler.backends.pie_scales import Scale
from tigris_pio.compiler.backends.pie_streams import Layer, dense, depthwise
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import PLAIN_KINDS
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params
from tigris_pio.format.pie import LANES
from tigris_pio.sizes import round_up

CHIP = "esp32s3"
ALIGNMENT = LANES
KINDS = {kind: kind for kind in (*PLAIN_KINDS, OpKind.ADD, OpKind.SUB)}
#: Layers whose words are cached: the search takes up to seconds, and a model is planned many times.
_KEPT = 512


def refuses(shape: PlainShape) -> str | None:
    """Why no kernel can run a shape, whatever its weights, or None."""
    if shape.groups != 1 and not shape.depthwise:
        return f"pie has no kernel for convolutions of {shape.groups} groups"
    if shape.depthwise and shape.outputs != shape.inputs:
        return f"pie has no depthwise kernel of {shape.outputs // shape.inputs} outputs per channel"
    return None


def scratch_bytes(shape: PlainShape, chip: str) -> int:
    """Bytes of a patch and of an output pixel, each in whole vectors."""
    result = round_up(shape.outputs, LANES)
    return (shape.patch_size + 1) * result if shape.depthwise else round_up(shape.patch_size, LANES) + result


def stream(op: ProgramOp) -> NDArray[np.int8] | str:
    """The stream of an operator that is not refused, or the reason why there is none."""
    layer = layer_of(op)
    return "pie has no constants that give the same bytes for its scales" if layer is None else layer.stream


def layer_of(op: ProgramOp) -> Layer | None:
    """The constants of a kernel for an operator of KINDS; None if vector arithmetic cannot give the portable bytes."""
    params, weights = op.params, op.blobs["weights"]
    assert isinstance(params, ConvInt8Params | FullyConnectedInt8Params)
    is_depthwise = op.kind is OpKind.DEPTHWISE_CONV_2D
    outputs = weights.shape[-1] if is_depthwise else weights.shape[0]
    matrix = weights.reshape(*weights.shape[-3:]) if is_depthwise else weights.reshape(outputs, -1)
    scales = (np.broadcast_to(op.blobs[name], outputs).astype("<i8").tobytes() for name in ("multiplier", "shift"))
    return _layer(is_depthwise, matrix.shape, matrix.astype(np.int8).tobytes(), *scales,
                  op.blobs["bias"].astype("<i8").tobytes(), params.output_zero_point,
                  (params.activation_min, params.activation_max))  # fmt: skip


@functools.lru_cache(_KEPT)
def _layer(is_depthwise: bool, shape: tuple[int, ...], weights: bytes, multiplier: bytes, shift: bytes, bias: bytes,
           zero_point: int, limits: tuple[int, int]) -> Layer | None:  # fmt: skip
    """`layer_of` for arguments that can be cached. The bias has the input's zero point folded in."""
    words = [np.frombuffer(part, "<i8") for part in (multiplier, shift, bias)]
    own = Scale(words[0], words[1], words[2], zero_point, *limits)
    make = depthwise if is_depthwise else dense
    return make(np.frombuffer(weights, np.int8).reshape(shape), own)
