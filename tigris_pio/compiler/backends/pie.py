"""The backend of the ESP32-S3's vector instructions ("PIE"), with kernels in runtime/src/kernels/pie."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from tigris_pio.compiler.backends.pie_scales import Scale
from tigris_pio.compiler.backends.pie_streams import Layer, dense, depthwise
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import PLAIN_KINDS
from tigris_pio.format.params import (
    ConvInt8Params,
    ConvInt16Params,
    FullyConnectedInt8Params,
    FullyConnectedInt16Params,
    PoolInt8Params,
)
from tigris_pio.format.pie import LANES
from tigris_pio.sizes import round_up

CHIP = "esp32s3"
ALIGNMENT = LANES
KINDS = {kind: kind for kind in (*PLAIN_KINDS, OpKind.ADD, OpKind.SUB)}
#: The most taps of a window that is averaged, and of a window of int16 that is copied.
_LARGEST_POOL, _LARGEST_PATCH = 64, 256
#: Layers whose words are cached: the search takes up to seconds, and a model is planned many times.
_KEPT = 512


def refuses(shape: PlainShape) -> str | None:
    """Why no kernel can run a shape, whatever its weights, or None."""
    if shape.groups != 1 and not shape.depthwise:
        return f"pie has no kernel for convolutions of {shape.groups} groups"
    if shape.depthwise and shape.outputs != shape.inputs:
        return f"pie has no depthwise kernel of {shape.outputs // shape.inputs} outputs per channel"
    return None


def accelerates(program: Program, op: ProgramOp) -> bool:
    """Whether the chip's instructions run a portable kernel's loops, as pool_int8.c, int16.c and map_mean_int8.c do."""
    channels, params = program.tensors[op.operands[0].tensor].channels if op.operands else 0, op.params
    if op.dtype is DType.INT8 and isinstance(params, PoolInt8Params):
        is_small: bool = params.kernel_height * params.kernel_width <= _LARGEST_POOL
        return channels % 8 == 0 and (op.kind is OpKind.MAX_POOL or (params.rescale != 1 and is_small))
    if isinstance(params, FullyConnectedInt16Params):
        features: int = params.in_features
        return features % 8 == 0
    if isinstance(params, ConvInt16Params) and op.kind is OpKind.DEPTHWISE_CONV_2D:
        return channels % 8 == 0 and program.tensors[op.output].channels == channels
    if isinstance(params, ConvInt16Params):
        in_place: bool = channels % 8 == 0 and params.dilation_width == 1
        copied: bool = params.kernel_height * params.kernel_width * channels <= _LARGEST_PATCH
        groups: int = params.groups
        return groups == params.weight_bytes == 1 and (in_place or copied)
    return op.kind is OpKind.SUM_MAP and op.dtype is DType.INT8 and channels % LANES == 0


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
