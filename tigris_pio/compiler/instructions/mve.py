"""What kernels do that have vector instructions of Armv8.1-M (MVE, runtime/src/kernels/mve).

Each function says None of a call that its kernel leaves to the portable one. Names are others than the portable
kernel's, but for that of a call: both have one set of coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.compiler.instructions.convolutions import taps_inside
from tigris_pio.format.enums import OpKind

#: Bytes of a vector, channels of a block of packed weights, bytes of four of its tiles.
_VECTOR, _BLOCK, _TILES = 16, 4, 64
#: PATCH_BYTES of conv_2d_int8.c, PART_BYTES of fully_connected_int8.c.
_PATCH, _PART = 1152, 1024
#: GROUP, ALONG and ACROSS of depthwise_3x3_int8.c, HALF_LANES and MOST_SHORT_SUM of pool_int8.c.
_GROUP, _ALONG, _ACROSS, _HALF, _SHORT_SUM = 16, 4, 2, 8, 255


def _vectors(count: int, size: int = _VECTOR) -> int:
    return math.ceil(count / size)


def _to_the_left(call: Call) -> np.ndarray:
    """Of each channel of the output whether its sums are not shifted to the right."""
    params = call.op.params
    channels: int = getattr(params, "out_features", call.output.channels)
    return np.broadcast_to(call.op.blobs.get("shift", np.int8(-1)) > -1, (channels,))


# ---- CONV_2D ----


def conv(call: Call) -> Work | None:
    """Strips of pixels, whose taps are copied into a patch; from it blocks of four channels, two pixels at a time."""
    params: Any = call.op.params
    channels = call.output.channels
    taps = params.kernel_height * params.kernel_width * call.inputs[0].channels
    pitch = -(-taps // 4) * 4
    if params.groups != 1 or channels % _BLOCK or 2 * pitch > _PATCH:
        return None
    most = _PATCH // pitch // 2 * 2
    full, last = divmod(call.rows * call.output.width, most)
    strips = call.images * (full + (last > 0))
    blocks, left = channels // _BLOCK, taps % _VECTOR
    pairs = call.images * (full * most // 2 + -(-last // 2)) * blocks
    plain = _is_plain(call) and pitch == taps
    copied = call.images * (full * _vectors(most * taps) + _vectors(last * taps))
    return {
        "call": 1,
        "shift vector": _vectors(channels),
        "strip": strips,
        "strip vector": copied if plain else 0,
        **({} if plain else _patches(call)),
        "strip tile": call.images * (full * _vectors(most * pitch, _TILES) + _vectors(last * pitch, _TILES)),
        "strip block": strips * blocks,
        "strip end": strips * blocks * (left > 0),
        "strip end tile": strips * blocks * (left // 4),
        "strip end tap": strips * blocks * (left % 4),
        "odd sums": call.images * (last % 2) * blocks,
        "long sums": pairs * bool(_to_the_left(call).any()),
        "sums end": pairs * (left > 0),
        "sums": pairs,
        "sums vector": pairs * _vectors(taps),
    }


def _is_plain(call: Call) -> bool:
    params: Any = call.op.params
    kernel = params.kernel_height, params.kernel_width, params.stride_height, params.stride_width
    return kernel == (1, 1, 1, 1) and params.pad_left == 0 and call.output.width == call.inputs[0].width


def _patches(call: Call) -> Work:
    """Windows inside are copied by rows; of others rows outside, and windows across a border, tap by tap."""
    params: Any = call.op.params
    depth, height, width = call.inputs[0].channels, params.kernel_height, params.kernel_width
    run = width * depth
    columns = sum(_whole(call.output.width, call.inputs[0].width, width, params.stride_width, params.pad_left))
    columns *= params.dilation_width == 1
    rows, _ = taps_inside(call)
    reach = (height - 1) * params.dilation_height + 1
    above = -call.op.operands[0].rows.first
    whole = _whole(call.output.height, call.inputs[0].height, reach, params.stride_height, above)
    share = sum(whole) / len(whole)
    lines = call.images * call.rows
    inside = lines * columns * share * height
    part = lines * columns * (rows - share * height)  # of windows some of whose rows are outside
    border = lines * call.output.width * height - inside - part
    short = run <= _VECTOR
    return {
        "patch": call.pixels,
        "short patch row": inside * short,
        "patch row": inside * (not short) + part,
        "patch row vector": (inside * (not short) + part) * _vectors(run),
        "border row": border,
        "border tap": border * width,
        "border vector": border * width * _vectors(depth),
    }


def _whole(outputs: int, size: int, reach: int, stride: int, pad: int) -> list[bool]:
    """Of each output along an axis whether all of its window is inside."""
    return [0 <= at * stride - pad <= size - reach for at in range(outputs)]


# ---- DEPTHWISE_CONV_2D ----


def depthwise(call: Call) -> Work | None:
    """Groups of sixteen channels: with kernels of 3 x 3 tiles of 2 x 4 outputs, with others pixels."""
    params: Any = call.op.params
    if call.inputs[0].channels != call.output.channels or call.output.channels % _BLOCK:
        return None
    plain = (params.kernel_height, params.kernel_width, params.dilation_height, params.dilation_width) == (3, 3, 1, 1)
    if plain and params.stride_height == params.stride_width <= 2:
        return _tiles(call, params.stride_width)
    return _lanes(call)


def _tiles(call: Call, stride: int) -> Work:
    params: Any = call.op.params
    height, width = call.rows, call.output.width
    by_rows = _tile_count(height, width) < _tile_count(width, height)
    along, across = (height, width) if by_rows else (width, height)
    source = call.inputs[0]
    is_whole = call.rows == call.output.height
    below = source.height if is_whole else (height - 1) * stride + 3
    pad = -call.op.operands[0].rows.first * is_whole
    extent, before = (below, pad) if by_rows else (source.width, params.pad_left)
    columns, padding = _columns(along, stride, extent, before)
    channels, groups = call.output.channels, _vectors(call.output.channels, _GROUP)
    lines = groups * (_vectors(across, _ACROSS) if stride == 1 else across)
    tiles = _tile_count(along, across)
    left = _to_the_left(call)
    long = sum(left[first : first + _GROUP].size for first in range(0, channels, _GROUP)
               if left[first : first + _GROUP].any())  # fmt: skip
    work = {
        "group": groups,
        "group block": channels // _BLOCK,
        "tile": groups * tiles,
        "tile line": lines * _vectors(along, _ALONG),
        "tile column": lines * columns,
        "tile padding": lines * padding,
        "long tile channel": long * tiles,
        "tile channel": channels * tiles * (stride == 1),
        "tile channel of stride 2": channels * tiles * (stride == 2),
    }
    return {"call": 1, **{name: call.images * amount for name, amount in work.items()}}


def _tile_count(along: int, across: int) -> int:
    return _vectors(along, _ALONG) * _vectors(across, _ACROSS)


def _columns(along: int, stride: int, extent: int, before: int) -> tuple[int, int]:
    """Of all tiles along a line of outputs: columns of inputs that are inside, and that are padding."""
    count = (_ALONG - 1) * stride + 3
    inside = 0
    for x in range(0, along, _ALONG):
        first = x * stride - before
        inside += max(0, min(extent, first + count) - max(0, first))
    return inside, count * _vectors(along, _ALONG) - inside


def _lanes(call: Call) -> Work:
    """Kernels go along rows or, where they have but one column, along that; taps in the padding are added too."""
    params: Any = call.op.params
    groups = _vectors(call.output.channels, _GROUP)
    height, width = params.kernel_height, params.kernel_width
    source, output, above = call.inputs[0], call.output, -call.op.operands[0].rows.first
    rows, columns = taps_inside(call)
    if width == 1:
        outer, inside, reach = 1, columns, (height - 1) * params.dilation_height + 1
        ends = _ends(output.height, source.height, reach, params.stride_height, above)
    else:
        outer, inside, reach = height, rows, (width - 1) * params.dilation_width + 1
        ends = _ends(output.width, source.width, reach, params.stride_width, params.pad_left)
    pixels = call.pixels * groups
    return {
        "call": 1,
        "lanes group": groups,
        "lanes row": call.images * call.rows * groups,
        "long lanes pixel": pixels * bool(_to_the_left(call).any()),
        "lanes pixel": pixels,
        "lanes run": pixels * (outer + inside * ends),
        "lanes tap": pixels * height * width,
    }


def _ends(outputs: int, size: int, reach: int, stride: int, pad: int) -> float:
    """Ends of windows along an axis that are outside, on average."""
    starts = [at * stride - pad for at in range(outputs)]
    return sum((start < 0) + (start + reach > size) for start in starts) / outputs


# ---- FULLY_CONNECTED ----


def fully_connected(call: Call) -> Work | None:
    """Vectors, copied once or, long ones, for each four outputs; blocks of four, and the last outputs one by one."""
    params: Any = call.op.params
    inputs, outputs = params.in_features, params.out_features
    vectors = call.elements // outputs
    blocks, rest = divmod(outputs, _BLOCK)
    taken = vectors * (1 if inputs <= _PART else blocks + (rest > 0))
    parts, left = _vectors(inputs, _PART), inputs % _VECTOR
    fours, ones = vectors * blocks, vectors * rest
    all_blocks = vectors * (blocks + (rest > 0))
    return {
        "call": 1,
        "shift vector": _vectors(outputs),
        "taken": taken * parts,
        "taken vector": taken * _vectors(inputs),
        "taken tile": taken * _vectors(inputs, _TILES),
        "four": all_blocks,
        "four part": all_blocks * parts,
        "long four": all_blocks * bool(_to_the_left(call).any()),
        "four end": fours * (left > 0),
        "four end tile": fours * (left // 4),
        "four end tap": fours * (left % 4),
        "one": ones * parts,
        "one vector": ones * _vectors(inputs // 4 * 4),
        "one tap": ones * (inputs % 4),
        "four vector": fours * (inputs // _VECTOR),
    }


# ---- others ----


def addition(call: Call) -> Work | None:
    """ADD and SUB."""
    params: Any = call.op.params
    return None if max(params.shift) > 0 else product(call)


def product(call: Call) -> Work | None:
    """MUL: eight elements at a time, of runs that lie side by side in all three tensors."""
    params: Any = call.op.params
    if params.output_shift >= 0 or tuple(params.channel_step) != (1, 1):
        return None
    channels = call.output.channels
    lines = call.images * call.rows
    side_by_side = tuple(params.column_step) == (channels, channels)
    runs, run = (lines, channels * call.output.width) if side_by_side else (lines * call.output.width, channels)
    return {"call": 1, "line": lines, "vector run": runs, "vector": runs * _vectors(run, _HALF)}


def max_pool(call: Call) -> Work | None:
    """Sixteen channels at a time."""
    return _pool(call, _VECTOR)


def average_pool(call: Call) -> Work | None:
    """Eight channels at a time."""
    params: Any = call.op.params
    return None if params.kernel_height * params.kernel_width > _SHORT_SUM else _pool(call, _HALF)


def _pool(call: Call, lanes: int) -> Work:
    rows, columns = taps_inside(call)
    vectors = call.pixels * _vectors(call.output.channels, lanes)
    return {
        "call": 1,
        "window": call.pixels,
        "window vector": vectors,
        "window row": vectors * rows,
        "window tap": vectors * rows * columns,
    }


def sum_map(call: Call) -> Work | None:
    """Eight channels at a time, over as many pixels as their sums of 16 bits may have."""
    channels = call.output.channels
    pixels = call.read // channels
    vectors = _vectors(channels, _HALF)
    return {
        "call": 1,
        "cleared": channels * call.rows / call.output.height,
        "sum": vectors * _vectors(pixels, _SHORT_SUM),
        "sum pixel": vectors * pixels,
    }


def softmax(call: Call) -> Work | None:
    """Vectors, four elements at a time, and their largest element by sixteens."""
    params: Any = call.op.params
    vectors = call.elements // params.length
    return {
        "call": 1,
        "vector": vectors,
        "sixteen": vectors * _vectors(params.length),
        "four": vectors * _vectors(params.length, 4),
    }


#: Of int8, by kind.
KERNELS: Mapping[OpKind, Callable[[Call], Work | None]] = {
    OpKind.CONV_2D: conv,
    OpKind.DEPTHWISE_CONV_2D: depthwise,
    OpKind.FULLY_CONNECTED: fully_connected,
    OpKind.ADD: addition,
    OpKind.SUB: addition,
    OpKind.MUL: product,
    OpKind.MAX_POOL: max_pool,
    OpKind.AVERAGE_POOL: average_pool,
    OpKind.SUM_MAP: sum_map,
    OpKind.SOFTMAX: softmax,
}
