"""Reads kernel, strides, dilations and padding of convolutions and pools."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite

from tigris_pio.compiler.load.tflite.layer import Layer

SAME, VALID = 0, 1


@dataclasses.dataclass(frozen=True)
class KernelSize:
    """KernelSize size, strides and dilations as (rows, columns); `padding`: SAME or VALID."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: int

    def extent(self, axis: int) -> int:
        """Rows or columns from the first tap to the last."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1


def kernel_size(layer: Layer, kernel: Sequence[int], options: Any, *, dilated: bool = False) -> KernelSize:
    """A layer's kernel shape. Raises ModelError for sizes below 1."""
    strides = (int(options["StrideH"]), int(options["StrideW"]))
    dilations = (int(options["DilationHFactor"]), int(options["DilationWFactor"])) if dilated else (1, 1)
    if min(*kernel, *strides, *dilations) < 1 or options["Padding"] not in (SAME, VALID):
        raise layer.fault(f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)}, padding "
                          f"{options['Padding']}")
    return KernelSize(tuple(kernel), strides, dilations, int(options["Padding"]))


def output_size(layer: Layer, size: Sequence[int], found: KernelSize) -> tuple[int, int]:
    """Rows and columns of a layer's output."""
    result = []
    for axis in (0, 1):
        moving = size[axis] if found.padding == SAME else size[axis] - found.extent(axis) + 1
        if moving < 1:
            raise layer.fault(f"a kernel of {list(found.kernel)} on {list(size)}")
        result.append(-(-moving // found.strides[axis]))
    return result[0], result[1]


def attributes(size: Sequence[int], result: Sequence[int], found: KernelSize) -> dict[str, Any]:
    """The attributes of ONNX's Conv and pools. An odd row or column of padding is added below or to the right."""
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
    """A node's attribute with the bits of TensorFlow Lite Micro's sums, for an int16 input at `position`; else empty.

    64 bits, or 32 if input `bias` is int32, or absent and the options ask for int32.
    """
    quantisation = layer.quantisation(position)
    if quantisation is None or quantisation.dtype != np.int16:
        return {}
    narrow = False
    if bias is not None:
        narrow = (layer.declared(bias).type == "int32" if layer.has_input(bias)
                  else options.get("QuantizedBiasType") == tflite.TensorType.INT32)
    return {"sum_bits": 32 if narrow else 64}
