"""Kernel, strides, dilations and padding of convolutions and pools."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite

from tigris_pio.compiler.load.tflite.layer import Layer

SAME, VALID = 0, 1


@dataclasses.dataclass(frozen=True)
class Window:
    """(rows, columns) each."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: int

    def extent(self, axis: int) -> int:
        """Rows or columns from the first tap to the last."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1


def window(layer: Layer, kernel: Sequence[int], options: Any, *, dilated: bool = False) -> Window:
    """A layer's window; a fault where it says zero or less."""
    strides = (int(options["StrideH"]), int(options["StrideW"]))
    dilations = (int(options["DilationHFactor"]), int(options["DilationWFactor"])) if dilated else (1, 1)
    if min(*kernel, *strides, *dilations) < 1 or options["Padding"] not in (SAME, VALID):
        raise layer.fault(f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)}, padding "
                          f"{options['Padding']}")
    return Window(tuple(kernel), strides, dilations, int(options["Padding"]))


def output_size(layer: Layer, size: Sequence[int], found: Window) -> tuple[int, int]:
    """Rows and columns of the result of a window that moves over rows and columns."""
    result = []
    for axis in (0, 1):
        moving = size[axis] if found.padding == SAME else size[axis] - found.extent(axis) + 1
        if moving < 1:
            raise layer.fault(f"a kernel of {list(found.kernel)} on {list(size)}")
        result.append(-(-moving // found.strides[axis]))
    return result[0], result[1]


def attributes(size: Sequence[int], result: Sequence[int], found: Window) -> dict[str, Any]:
    """The attributes of ONNX's Conv and pools. The odd row or column of padding goes below or to the right."""
    begin, end = [], []
    for axis in (0, 1):
        total = 0
        if found.padding == SAME:
            total = max((result[axis] - 1) * found.strides[axis] + found.extent(axis) - size[axis], 0)
        begin.append(total // 2)
        end.append(total - total // 2)
    return {"kernel_shape": found.kernel, "strides": found.strides, "dilations": found.dilations,
            "pads": (*begin, *end)}


def sum_bits(layer: Layer, position: int, bias: int | None = None, options: Any = None) -> dict[str, int]:
    """In how many bits TensorFlow Lite Micro adds up a layer with an int16 input at `place`, as a node's attribute.

    64, or 32 where a layer that may has a bias of int32, or none and says so.
    """
    quantisation = layer.quantisation(position)
    if quantisation is None or quantisation.dtype != np.int16:
        return {}
    narrow = False
    if bias is not None:
        narrow = (layer.declared(bias).type == "int32" if layer.has(bias)
                  else options.get("QuantizedBiasType") == tflite.TensorType.INT32)
    return {"sum_bits": 32 if narrow else 64}
