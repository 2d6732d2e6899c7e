"""A kernel call in numbers: which kernel runs, and the amounts of each term that its instructions depend on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import SelectParams

#: The terms of a call:
#:   call        1
#:   row         rows of the output
#:   line        rows of one channel, or columns where these are fewer
#:   pixel       pixels of the output
#:   output      elements of the output
#:   read        elements that the windows of all pixels hold; of a kernel without windows the elements of its inputs
#:   window row  rows of the windows of all pixels
#:   weight      weights, which each call reads from flash
#:   mac         multiply-accumulates
#:   odd mac     those of the last pixel if their number is odd
TERMS = ("mac", "output", "call", "pixel", "row", "read", "weight", "line", "window row", "odd mac")
#: A kernel rounds these amounts up to multiples of its tile.
TILED = ("rows", "pixels", "channels", "window")

#: Windows of fewer elements a row than a vector of 16 bytes.
_VECTOR = 16
#: Inputs of one, two and four vectors, for which the ESP32-S3's kernels have no loop.
_SHORT = (16, 32, 64)
#: Depthwise maps up to this width have rows shorter than a tile's.
_NARROW = 5


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The kernel of an operator, and its sizes.

    name: kind, type and variant
    columns: pixels of a row of the output, in all images that one call takes
    window: multiply-accumulates for an element of the output
    window_rows, read: for a pixel of the output; of a kernel that makes passes, elements that all of them read
    weights: all weights if the kernel has any, else 0
    """

    name: str
    columns: float
    channels: int
    window: float
    window_rows: int
    read: float
    weights: float

    def amounts(self, rows: int, tile: Mapping[str, int]) -> dict[str, float]:
        """The amount of each term in a call that makes `rows` rows."""
        made = _up(rows, tile, "rows")
        pixels = _up(made * self.columns, tile, "pixels")
        channels = _up(self.channels, tile, "channels")
        window = _up(self.window, tile, "window")
        longer = window / self.window if self.weights else 1.0
        return {
            "call": 1.0,
            "row": made,
            "line": self.channels * min(made, self.columns),
            "pixel": pixels,
            "output": pixels * channels,
            "read": pixels * self.read * longer,
            "window row": pixels * self.window_rows,
            "weight": self.weights,
            "mac": pixels * channels * window,
            "odd mac": made * self.columns % 2 * channels * window,
        }


def kernel_of(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> Kernel:
    """The kernel that runs an operator."""
    output, inputs = tensors[op.output], [tensors[operand.tensor] for operand in op.operands]
    params = op.params
    images = output.batch if op.images == 1 else 1
    elements = output.height * output.width * output.channels * images
    channels: int = getattr(params, "out_features", output.channels)
    pixels = max(1, elements // channels)
    window = op.macs / op.images / max(1, elements)
    window_rows: int = getattr(params, "kernel_height", 0)
    read: float
    if window_rows:
        passes = math.ceil(channels / getattr(params, "pass_channels", channels))  # each fills its patches
        read = passes * window_rows * getattr(params, "kernel_width", 1) * inputs[0].channels
    elif hasattr(params, "out_features"):
        read = window
    else:
        read = sum(one.height * one.width * one.channels * (1 if op.images > 1 else one.batch) for one in inputs)
        read /= pixels
    weights = window * channels if "weights" in op.blobs else 0.0
    return Kernel(_name(op, output, inputs), pixels / output.height, channels, window, window_rows, read, weights)


def _name(op: ProgramOp, output: ProgramTensor, inputs: list[ProgramTensor]) -> str:
    params = op.params
    kind = OpKind(op.kind).name.removeprefix("PLAIN_")
    size = getattr(params, "kernel_height", 0), getattr(params, "kernel_width", 0)
    stride = getattr(params, "stride_height", 1), getattr(params, "stride_width", 1)
    words = [kind, op.dtype.name]
    if kind == "CONV_2D":
        words += _conv(op, inputs[0].channels, output.channels, size, stride)
    elif kind == "TABLE_CONV_2D":
        words += ["1x1"] if size == stride == (1, 1) else []
    elif kind == "DEPTHWISE_CONV_2D" and size == (3, 3):
        words += ["3x3"] if stride == (1, 1) else ["3x3", "stride"]
        words += ["uneven"] if op.backend and output.channels % _VECTOR else []
        words += ["narrow"] if output.width <= _NARROW and stride == (1, 1) else []
    elif kind.endswith("_POOL"):
        words += ["2x2"] if size == (2, 2) else []
        words += ["rescaled"] if getattr(params, "rescale", 0) == 1 else []
    elif kind == "RESAMPLE":
        words.append(f"{getattr(params, 'row_taps', 0)}x{getattr(params, 'column_taps', 0)}")
    elif isinstance(params, SelectParams) and (params.numerator[2], params.denominator[2]) != (1, 1):
        words.append("channels")
    words += ["aliased"] if op.aliases else []
    function = getattr(params, "function", None)
    return " ".join([*words, str(int(function))] if isinstance(function, int) else words)


def _conv(op: ProgramOp, depth: int, outputs: int, size: tuple[int, int], stride: tuple[int, int]) -> list[str]:
    """The variant of a convolution; libraries have loops of their own for more shapes."""
    even = depth % _VECTOR == 0
    if size == stride == (1, 1):
        short = "short" if depth in _SHORT else "" if even else "uneven"
        return ["1x1", short] if op.backend and short else ["1x1"]
    if depth * size[1] < _VECTOR:
        return ["few"]
    if even and outputs % 4 == 0 and getattr(op.params, "groups", 1) == 1:
        return ["deep", "stride"] if op.backend and stride != (1, 1) else ["deep"]
    return []


def _up(amount: float, tile: Mapping[str, int], name: str) -> float:
    return math.ceil(amount / tile[name]) * tile[name] if name in tile else amount
