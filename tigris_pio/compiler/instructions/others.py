"""What operators without weights do, as their kernels do it (runtime/src/kernels)."""

from __future__ import annotations

from typing import Any

from tigris_pio.compiler.instructions.call import Call, Work


def elements(call: Call) -> Work:
    """Each element of the output from one or a few of the input."""
    return {
        "call": 1,
        "row": call.images * call.rows,
        "pixel": call.pixels,
        "element": call.elements,
    }


def called(_: Call) -> Work:
    """Rows come and go by the firmware's hooks, whose own instructions are not counted."""
    return {"call": 1}


def reduced(call: Call) -> Work:
    """A few elements of the output from all of the input."""
    return {
        "call": 1,
        "row": call.images * call.rows,
        "element": call.elements,
        "read": call.read,
    }


def pool(call: Call) -> Work:
    """Windows of taps, a pixel's channels at a time."""
    params: Any = call.op.params
    return {**elements(call), "tap": call.elements * params.kernel_height * params.kernel_width}


def sum_map(call: Call) -> Work:
    """Channels in blocks of four, pixel by pixel."""
    channels = call.output.channels
    pixels = call.read // channels
    return {
        "call": 1,
        "block": channels // 4 + channels % 4,
        "cleared": channels * call.rows / call.output.height,
        "read": pixels * (channels // 4 * 4),
        "rest": pixels * (channels % 4),
    }
