"""What the kernels in the ESP32-S3's vector instructions do (runtime/src/kernels/pie), for their instructions.

Sums go over vectors of 16 bytes for 8 outputs at a time, `product`; a `block` of 8 outputs is scaled. A window that is
no run of whole vectors is copied first: row by row where it lies inside, `gathered`, by bytes elsewhere, `copied`.
Depthwise kernels make the outputs of a row whose windows lie inside in one go, all others from a `patch`.
"""

from __future__ import annotations

import math
from typing import Any

from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.format.enums import OpKind

_LANES, _BLOCK = 16, 8
#: Vectors of an input for which a kernel of its own has no loop over them.
_SHORT = (1, 2, 4)


def work_of(call: Call) -> Work:
    """What a call of a kernel does."""
    params: Any = call.op.params
    if call.op.kind is OpKind.FULLY_CONNECTED:
        return _dense(params.in_features, params.out_features, call.elements // params.out_features, 0.0)
    if call.op.kind is OpKind.DEPTHWISE_CONV_2D:
        return _depthwise(call)
    channels = call.inputs[0].channels
    if name_of(call) == "CONV_2D 1x1":
        return _dense(channels, call.output.channels, call.pixels, 0.0)
    kernel = params.kernel_height, params.kernel_width
    whole = kernel[1] * channels % _LANES == call.inputs[0].width * channels % _LANES == 0
    rows, columns = _inside(call)
    aligned = whole and params.stride_width * channels % _LANES == 0 and params.dilation_width == 1
    gathered = call.pixels * rows * columns if aligned else 0.0
    window = kernel[0] * kernel[1] * channels
    work = _dense(window, call.output.channels, call.pixels, gathered)
    other = call.pixels - gathered
    return {**work, "copied": other, "copied row": other * kernel[0], "copied byte": other * window}


def name_of(call: Call) -> str:
    """The kernel that runs an operator."""
    params: Any = call.op.params
    if call.op.kind is OpKind.CONV_2D:
        is_point = (params.kernel_height, params.kernel_width, params.stride_height, params.stride_width) == (1,) * 4
        return "CONV_2D 1x1" if is_point else "CONV_2D"
    return call.op.kind.name


def _dense(inputs: int, outputs: int, pixels: int, gathered: float) -> Work:
    blocks, vectors = math.ceil(outputs / _BLOCK), math.ceil(inputs / _LANES)
    uneven = pixels if inputs % _LANES or outputs % _BLOCK else 0
    of = "short " if vectors in _SHORT else ""
    return {"call": 1, "pixel": pixels, f"{of}block": pixels * blocks, f"{of}product": pixels * blocks * vectors,
            "uneven": uneven, "gathered": gathered}  # fmt: skip


def _depthwise(call: Call) -> Work:
    channels, vectors = call.output.channels, math.ceil(call.output.channels / _LANES)
    params: Any = call.op.params
    rows, columns = _inside(call)
    if channels % _LANES or (params.dilation_height, params.dilation_width) != (1, 1):
        rows = 0.0
    inside = call.pixels * rows * columns
    patches = call.pixels - inside
    return {"call": 1, "row": call.images * call.rows * rows, "row vector": call.images * call.rows * rows * vectors,
            "inside": inside, "inside vector": inside * vectors, "patch": patches, "patch vector": patches * vectors}


def _inside(call: Call) -> tuple[float, float]:
    """The shares of rows and of columns whose windows lie inside of the input."""
    params: Any = call.op.params
    source, result, above = call.inputs[0], call.output, -call.op.operands[0].rows.first
    reach = (params.kernel_height - 1) * params.dilation_height, (params.kernel_width - 1) * params.dilation_width
    return (_share(result.height, source.height, params.stride_height, reach[0], above),
            _share(result.width, source.width, params.stride_width, reach[1], params.pad_left))  # fmt: skip


def _share(outputs: int, size: int, stride: int, reach: int, pad: int) -> float:
    first, end = -(-pad // stride), min(outputs, (size - 1 - reach + pad) // stride + 1)
    return max(0, end - first) / outputs
