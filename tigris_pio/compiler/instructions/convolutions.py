"""What convolutions and products of matrices do, as their kernels do it (runtime/src/kernels)."""

from __future__ import annotations

import functools
import math
from collections import Counter
from typing import Any

import numpy as np

from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.format.enums import OpKind

#: TIGRIS_CHANNEL_BLOCK, TIGRIS_TILE_TAPS, TIGRIS_PATCH_TAPS, BATCH of conv_2d_int8.h, TIGRIS_ROWS, and of DSP
#: instructions TIGRIS_VECTOR_TAPS.
_BLOCK, _TILE, _PATCH, _BATCH, _ROWS, _VECTOR = 4, 4, 64, 24, 32, 128
#: TIGRIS_IM2COL_TAPS of dsp/im2col_int8.h; OWN_TILES, PIXELS3_BATCH, SHARED_COLUMNS of conv_pixels3_int8.h.
_IM2COL_TAPS, _OWN_TILES, _PIXELS3_BATCH, _SHARED_COLUMNS = 16, 2, 32, 4

#: Multipliers up to this one are not usual with DSP instructions (scale_int8.h).
_USUAL_ABOVE = (1 << 30) - 1


def _unusual(call: Call, dsp: bool) -> int:
    """Channels of the output whose sums take the long way: shifts of less than two to the right, and with DSP
    instructions small multipliers, and activations that do not leave all of int8 (scale_int8.h)."""
    params = call.op.params
    channels: int = getattr(params, "out_features", call.output.channels)
    if not {"shift", "multiplier"} <= call.op.blobs.keys():
        return 0
    usual = call.op.blobs["shift"] < -1
    if dsp:
        ranged = (getattr(params, "activation_min", -128), getattr(params, "activation_max", 127)) != (-128, 127)
        usual = usual & (call.op.blobs["multiplier"] > _USUAL_ABOVE) & (not ranged)
    return channels - int(np.count_nonzero(np.broadcast_to(usual, (channels,))))


def _unusual_on_lines(call: Call, dsp: bool) -> int:
    """The same of channels of a depthwise convolution that goes along lines (depthwise_int8.h): by other shifts than
    right ones, or where sums are doubled, with a large bias."""
    if not {"shift", "bias"} <= call.op.blobs.keys():
        return 0
    shift, bias = call.op.blobs["shift"], call.op.blobs["bias"].astype(np.int64)
    usual = shift < -1 if dsp else (shift >= -20) & (shift < 0) & (np.abs(bias) < 1 << 29)
    return call.output.channels - int(np.count_nonzero(usual))


def conv_int8(call: Call, dsp: bool) -> Work:
    """Pairs of pixels: their taps are gathered into patches, from which the channels of a group are computed. The last
    of an odd number goes with the pair before it, or by itself, or is computed twice. With DSP instructions most layers
    go by threes."""
    params: Any = call.op.params
    if dsp and _has_pixels3(call):
        return _in_im2col_tiles(call)
    groups = params.groups
    inputs, outputs = call.inputs[0].channels // groups, call.output.channels // groups
    taps = params.kernel_height * params.kernel_width * inputs
    batches = math.ceil(outputs / _BATCH)
    parts = math.ceil(taps / _PATCH)
    gathers = 1 if parts == 1 else parts * batches
    fills = 1 if parts == 1 else batches
    inside = _inside(call) if groups == 1 and params.dilation_width == 1 else 0.0
    runs = params.kernel_height * (inside + (1 - inside) * params.kernel_width)
    twos, threes = _dense_1x1(call, dsp)
    close = 2 * twos + 3 * threes
    singles = 0 if close else call.pixels % 2 * int(_is_together(call) or taps <= _PATCH)
    pairs = -(-(call.pixels - close - singles) // 2)
    of_groups = pairs * groups
    blocks, rest = divmod(outputs, _BLOCK)
    whole = taps // _TILE * _TILE
    return {
        "call": 1,
        "row": call.images * call.rows,
        "pair": pairs,
        "group": of_groups,
        "gather": of_groups * gathers,
        "run": of_groups * (runs * fills + gathers - fills),
        "tap": of_groups * taps * fills,
        "batch": of_groups * batches * parts,
        "block": of_groups * blocks * parts,
        "block tap": of_groups * blocks * whole,
        "block rest": of_groups * blocks * (taps - whole),
        "channel": of_groups * rest * parts,
        "channel tap": of_groups * rest * taps,
        "output": pairs * call.output.channels,
        "unusual output": (pairs + twos + threes + singles / 2) * _unusual(call, dsp),
        "two": twos,
        "two output": twos * call.output.channels,
        "two tap": twos * call.output.channels * taps,
        "three": threes,
        "three output": threes * call.output.channels,
        "three tap": threes * call.output.channels * taps,
        "single": singles * groups,
        "single output": singles * call.output.channels,
        "single tap": singles * call.output.channels * taps,
    }


def _is_together(call: Call) -> bool:
    """Whether the taps of a pixel's group are neighbours."""
    params: Any = call.op.params
    return (params.kernel_height, params.kernel_width) == (1, 1)


def _dense_1x1(call: Call, dsp: bool) -> tuple[int, int]:
    """Tiles of two and of three pixels of a dense 1x1 convolution (conv_1x1_int8.h), else (0, 0). With DSP instructions
    as many tiles of three as leave no single pixel; else one if the number of pixels is odd, and none of two."""
    params: Any = call.op.params
    channels, outputs, width = call.inputs[0].channels, call.output.channels, call.output.width
    plain = _is_together(call) and _strides(call) == (1, 1) and params.groups == 1 and call.inputs[0].width == width
    whole = channels <= _PATCH and channels % _TILE == outputs % _BLOCK == params.pad_left == 0
    pixels = call.rows * width
    if not (plain and whole and pixels >= 2):
        return 0, 0
    threes = (pixels - 4 * (pixels % 3 == 1)) // 3 if dsp else pixels % 2
    return call.images * (pixels - 3 * threes) // 2 if dsp else 0, call.images * threes


def _has_pixels3(call: Call) -> bool:
    """has_pixels3 of conv_pixels3_int8.h, for calls that are not dense 1x1."""
    params: Any = call.op.params
    whole = call.inputs[0].channels % _IM2COL_TAPS == call.output.channels % _BLOCK == 0
    plain = call.op.kind is not OpKind.ASYMMETRIC_CONV_2D and params.groups == 1
    return plain and whole and call.output.width > 1 and _dense_1x1(call, True) == (0, 0)


def _in_im2col_tiles(call: Call) -> Work:
    """Tiles of three pixels of a row, or two, whose taps are copied into im2col tiles, for a batch of channels."""
    params: Any = call.op.params
    width, outputs, depth = call.output.width, call.output.channels, call.inputs[0].channels // _IM2COL_TAPS
    threes = (width - 4 * (width % 3 == 1)) // 3
    pairs = (width - 3 * threes) // 2
    rows, columns = call.images * call.rows, params.kernel_width
    strided = params.stride_width != 1 or params.dilation_width != 1
    shared = not strided and 1 < columns <= _SHARED_COLUMNS
    at_once = columns if shared else _OWN_TILES
    filled = math.ceil(depth / at_once) if columns == 1 else depth * math.ceil(columns / at_once)
    slots = [depth * (pixels + columns - 1 if shared else pixels * columns) for pixels in (3, 2)]
    fills = rows * params.kernel_height * filled * (threes + pairs)
    batches, taps = math.ceil(outputs / _PIXELS3_BATCH), params.kernel_height * columns * depth * _IM2COL_TAPS * outputs
    return {
        "call": 1,
        "row": rows,
        "slot group": rows * (threes + pairs) * batches,
        "slot fill": fills * batches,
        "slot": rows * params.kernel_height * (threes * slots[0] + pairs * slots[1]) * batches,
        "slot block": fills * outputs // _BLOCK,
        "slot output": rows * (threes + pairs) * outputs,
        "sharing three tap": rows * threes * taps if shared else 0,
        "slot three tap": 0 if shared else rows * threes * taps,
        "slot pair tap": rows * pairs * taps,
        "unusual slot output": rows * (threes + pairs) * _unusual(call, True),
    }


def _inside(call: Call) -> float:
    """The share of pairs of pixels whose windows lie inside the columns."""
    params: Any = call.op.params
    width, reach = call.inputs[0].width, int(params.kernel_width) - 1
    starts: list[int] = [x * params.stride_width - params.pad_left for x in range(call.output.width)]
    inside = [start >= 0 and start + reach < width for start in starts]
    if len(inside) == 1:
        return float(inside[0])
    return sum(a and b for a, b in zip(inside, (*inside[1:], inside[0]), strict=True)) / len(inside)


def depthwise_int8(call: Call, dsp: bool) -> Work:
    """Kernels of 3 x 3 go along lines of outputs, a channel at a time; others pixel by pixel."""
    params: Any = call.op.params
    plain = (params.kernel_height, params.kernel_width, params.dilation_height, params.dilation_width) == (3, 3, 1, 1)
    if plain and call.inputs[0].channels == call.output.channels and max(_strides(call)) <= 2:
        return _lines(call, dsp)
    return _pixels(call)


def _strides(call: Call) -> tuple[int, int]:
    params: Any = call.op.params
    return params.stride_height, params.stride_width


def _lines(call: Call, dsp: bool) -> Work:
    params: Any = call.op.params
    channels = call.output.channels
    down = call.rows > call.output.width
    along, across = (call.rows, call.output.width) if down else (call.output.width, call.rows)
    stride = params.stride_height if down else params.stride_width
    padded = 0 if not down else int(params.pad_left > 0) + int(across > 1)
    plain = 0.0 if down or not _has_plain_rows(call, dsp) else _rows_inside(call)
    lines, walks = channels * (across - plain), channels * min(across - plain, 1 + padded)
    return {
        "call": 1,
        "channel": channels,
        "walk": walks,
        "line": lines if stride == 1 else 0,
        "line of stride 2": lines if stride == 2 else 0,
        "line output": lines * along if stride == 1 else 0,
        "line output of stride 2": lines * along if stride == 2 else 0,
        "plain row": channels * plain,
        "plain row output": channels * plain * along,
        "unusual line output": call.pixels * _unusual_on_lines(call, dsp),
    }


def _has_plain_rows(call: Call, dsp: bool) -> bool:
    """Whether inner rows have a loop of their own: tigris_is_fast_row of portable/ and dsp/depthwise_int8.h."""
    params: Any = call.op.params
    width = call.output.width
    padded = params.pad_left == 1 and call.inputs[0].width == width
    return padded and _strides(call) == (1, 1) and call.output.channels % _BLOCK == 0 and (not dsp or width == 5)


def _rows_inside(call: Call) -> float:
    """Of the rows of a call those that have a row above and one below, on average over a run."""
    above = max(0, -call.op.operands[0].rows.first)
    height, inputs = call.output.height, call.inputs[0].height
    below = max(0, height + call.op.operands[0].rows.last - inputs)
    return call.rows * max(0, height - above - below) / height


def _pixels(call: Call) -> Work:
    params: Any = call.op.params
    channels = call.output.channels
    blocks = channels // _BLOCK if call.inputs[0].channels == channels else 0
    rest = channels - blocks * _BLOCK
    taps = params.kernel_height * params.kernel_width
    return {
        "call": 1,
        "row": call.images * call.rows,
        "pixel": call.pixels,
        "pixel batch": call.pixels * math.ceil(blocks / 4),
        "pixel block": call.pixels * blocks,
        "pixel run": call.pixels * blocks * _runs(call),
        "pixel tap": call.pixels * blocks * taps,
        "pixel channel": call.pixels * rest,
        "pixel channel tap": call.pixels * rest * taps,
    }


def _runs(call: Call) -> float:
    """Runs of taps of a block of channels, inputs or padding, of a pixel on average over the image (add_runs and
    add_padded of depthwise_conv_2d_int8.c)."""
    params: Any = call.op.params
    rows = (params.kernel_height, params.stride_height, params.dilation_height, -call.op.operands[0].rows.first,
            call.inputs[0].height, call.output.height)  # fmt: skip
    columns = (params.kernel_width, params.stride_width, params.dilation_width, params.pad_left,
               call.inputs[0].width, call.output.width)  # fmt: skip
    outer, inner = (columns, rows) if params.kernel_width == 1 else (rows, columns)
    total = sum(
        times * often * _runs_of_pixel(outer[0], inner[0], taps, within)
        for taps, times in _taps_inside(*outer).items()
        for within, often in _taps_inside(*inner).items()
    )
    return total / (call.output.height * call.output.width)


def _runs_of_pixel(outer: int, inner: int, taps: tuple[int, int], within: tuple[int, int]) -> int:
    """`taps`, `within`: those inside, the first and the end, of `outer` and `inner`."""
    (first, end), (begin, last) = taps, within
    if end <= first or last <= begin:
        return 1
    gaps = (end - first - 1) * (last - begin < inner)
    return end - first + gaps + (first > 0 or begin > 0) + (end < outer or last < inner)


@functools.cache
def _taps_inside(
    taps: int, stride: int, dilation: int, pad: int, inputs: int, outputs: int
) -> Counter[tuple[int, int]]:
    """The taps of a kernel that lie inside, the first and the end, and at how many outputs along an axis."""
    found: Counter[tuple[int, int]] = Counter()
    for place in range(outputs):
        inside = [tap for tap in range(taps) if 0 <= place * stride - pad + tap * dilation < inputs]
        found[(inside[0], inside[-1] + 1) if inside else (taps, taps)] += 1
    return found


def fully_connected_int8(call: Call, dsp: bool) -> Work:
    """Vectors: up to 32 outputs are summed together, eight or two side by side. One that DSP instructions want widened
    is so for each batch of outputs, or once if it is short."""
    params: Any = call.op.params
    inputs, outputs = params.in_features, params.out_features
    vectors = call.elements // outputs
    whole = inputs // _TILE * _TILE
    eights = sum(min(_ROWS, outputs - first) // 8 * 8 for first in range(0, outputs, _ROWS))
    batches = math.ceil(outputs / _ROWS)
    return {
        "call": 1,
        "vector": vectors,
        "batch": vectors * batches,
        "batch tap": vectors * (1 if dsp and inputs <= _VECTOR else batches) * inputs,
        "output": vectors * outputs,
        "eight tap": vectors * eights * whole,
        "two tap": vectors * (outputs - eights) * whole,
        "rest": vectors * outputs * (inputs > whole),
        "rest tap": vectors * outputs * (inputs - whole),
        "unusual output": vectors * _unusual(call, dsp),
    }


def conv(call: Call) -> Work:
    """Float32 and int16: pixels, blocks of channels, kernel rows, products; taps in the padding are left out."""
    params: Any = call.op.params
    groups = getattr(params, "groups", 1)
    inputs, outputs = call.inputs[0].channels // groups, call.output.channels // groups
    rows, columns = taps_inside(call)
    blocks, rest = divmod(outputs, _BLOCK)
    run = 1 if groups == 1 and params.dilation_width == 1 else columns
    return {
        "call": 1,
        "row": call.images * call.rows,
        "pixel": call.pixels,
        "group": call.pixels * groups * (blocks + (rest > 0)),
        "output": call.elements,
        "block run": call.pixels * groups * blocks * rows * run,
        "block tap": call.pixels * groups * blocks * _BLOCK * rows * columns * inputs,
        "rest run": call.pixels * groups * rest * rows * run,
        "rest tap": call.pixels * groups * rest * rows * columns * inputs,
    }


def depthwise(call: Call) -> Work:
    """Float32 and int16."""
    rows, columns = taps_inside(call)
    return {
        "call": 1,
        "row": call.images * call.rows,
        "pixel": call.pixels,
        "output": call.elements,
        "run": call.elements * rows,
        "tap": call.elements * rows * columns,
    }


def taps_inside(call: Call) -> tuple[float, float]:
    """Rows and columns of the kernel that lie inside, on average."""
    params: Any = call.op.params
    return (
        _inside_on_average(call.output.height, call.inputs[0].height, params.kernel_height, params.stride_height,
                           params.dilation_height, -call.op.operands[0].rows.first),
        _inside_on_average(call.output.width, call.inputs[0].width, params.kernel_width, params.stride_width,
                           params.dilation_width, params.pad_left),
    )  # fmt: skip


def _inside_on_average(outputs: int, size: int, kernel: int, stride: int, dilation: int, pad: int) -> float:
    # 0 <= output * stride - pad + tap * dilation < size, for each tap
    count = 0
    for tap in range(kernel):
        first = max(0, -(-(pad - tap * dilation) // stride))
        end = min(outputs, -(-(size + pad - tap * dilation) // stride))
        count += max(0, end - first)
    return count / outputs


def fully_connected(call: Call) -> Work:
    """Float32 and int16: a sum of products an output."""
    params: Any = call.op.params
    inputs, outputs = params.in_features, params.out_features
    vectors = call.elements // outputs
    return {
        "call": 1,
        "vector": vectors,
        "output": call.elements,
        "tap": call.elements * (inputs // 8 * 8),
        "rest tap": call.elements * (inputs % 8),
    }


def products(call: Call) -> Work:
    """Any other operator of multiplications: as many as the program says, evenly over the rows."""
    share = call.rows / max(1, call.output.height)
    return {
        "call": 1,
        "row": call.images * call.rows,
        "output": call.elements,
        "read": call.read,
        "product": call.op.macs * share / call.op.images,
    }
