"""Layers: convolutions, pools, products of matrices.

Weights of convolutions are [O, H, W, I]; those of depthwise convolutions are [1, H, W, O].
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import TO_IMAGE, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

SAME, VALID = 0, 1


@handler("CONV_2D", summary="any strides and dilations, groups; constant weights")
def read_conv(layer: Layer) -> None:
    """Conv. The number of groups follows from the weights, which have fewer input channels than the image."""
    options = layer.options("Conv2DOptions")
    batch, *size, channels = _image_shape(layer, 0)
    count, *kernel, inputs = _image_shape(layer, 1)
    if not inputs or not count or channels % inputs or count % (channels // inputs or 1):
        raise layer.fault(f"weights {list(layer.shape(1))} on an input {list(layer.shape(0))}")
    found = kernel_size(layer, kernel, options, dilated=True)
    result = output_size(layer, size, found)
    weights = layer.network.transposed(layer.weights(1), (0, 3, 1, 2), f"{layer.name}/weights")
    given = {**window_attributes(size, result, found), "group": channels // inputs, **sum_bits(layer, 0, 2, options)}
    layer.write("Conv", [layer.image(0), weights, *layer.bias(2, count)], (batch, *result, count), given, image=True,
                activation=options["FusedActivationFunction"])


@handler("DEPTHWISE_CONV_2D", summary="any strides, dilations and depth multiplier; constant weights")
def read_depthwise(layer: Layer) -> None:
    """Conv with a group for each input channel. The depth multiplier follows from the shapes."""
    options = layer.options("DepthwiseConv2DOptions")
    batch, *size, channels = _image_shape(layer, 0)
    one, *kernel, count = _image_shape(layer, 1)
    if one != 1 or not channels or not count or count % channels:
        raise layer.fault(f"weights {list(layer.shape(1))} on an input {list(layer.shape(0))}")
    found = kernel_size(layer, kernel, options, dilated=True)
    result = output_size(layer, size, found)
    weights = layer.network.transposed(layer.weights(1), (3, 0, 1, 2), f"{layer.name}/weights")
    layer.write("Conv", [layer.image(0), weights, *layer.bias(2, count)], (batch, *result, count),
                {**window_attributes(size, result, found), "group": channels, **sum_bits(layer, 0)}, image=True,
                activation=options["FusedActivationFunction"])


@handler("TRANSPOSE_CONV", summary="any strides; constant weights and output shape")
def read_transpose_conv(layer: Layer) -> None:
    """ConvTranspose. Its pads are the rows and columns that SAME or VALID removes from the output."""
    options = layer.options("TransposeConvOptions")
    # TensorFlow Lite Micro uses the output's declared shape, and so does this if the sizes are computed.
    sizes = layer.integers(0, "output sizes") if layer.constant(0) is not None else list(layer.output().shape)
    if len(sizes) != 4 or min(sizes) < 1:
        raise Unsupported("its output sizes are computed at run time")
    _write_transposed(layer, 2, 3, sizes, kernel_size(layer, _image_shape(layer, 1)[1:3], options),
                options["FusedActivationFunction"])


#: TfLiteTransposeConvParams, the option bytes of MediaPipe's operator: padding (TfLitePadding), strides.
_CUSTOM, _PADDING = struct.Struct("<3i"), {1: SAME, 2: VALID}


@handler("Convolution2DTransposeBias", summary="MediaPipe's custom operator: any strides; constant weights and bias")
def read_transpose_conv_bias(layer: Layer) -> None:
    """TRANSPOSE_CONV whose output size follows from input, kernel and padding (MediaPipe's
    util/tflite/operations/transpose_conv_bias.cc)."""
    if len(layer.operator.custom) < _CUSTOM.size:
        raise layer.fault(f"{len(layer.operator.custom)} bytes of options instead of {_CUSTOM.size}")
    padding, columns, rows = _CUSTOM.unpack_from(layer.operator.custom)
    batch, *size, _ = _image_shape(layer, 0)
    count, *kernel, _ = _image_shape(layer, 1)
    found = kernel_size(layer, kernel, {"StrideH": rows, "StrideW": columns, "Padding": _PADDING.get(padding, padding)})
    target = [batch, *((number - 1) * stride + taps for number, stride, taps in
                       zip(size, found.strides, kernel, strict=True)), count]
    if found.padding == SAME:
        for axis in (0, 1):
            rest = (size[axis] - 1) % found.strides[axis]
            target[1 + axis] -= max(0, kernel[axis] - rest - 1)
    _write_transposed(layer, 0, 2, target, found, 0)


def _write_transposed(layer: Layer, image: int, bias: int, target: Sequence[int], found: KernelSize,
                      activation: int) -> None:
    """ConvTranspose of inputs `image` and `bias` with the weights at input 1, to an output of shape `target`."""
    count, *kernel, inputs = _image_shape(layer, 1)
    batch, *size, channels = _image_shape(layer, image)
    if inputs != channels or len(target) != 4 or min(target) < 1 or target[0] != batch or target[3] != count:
        raise layer.fault(f"weights {list(layer.shape(1))} on {list(layer.shape(image))} give no {list(target)}")
    begin, extra = [], []
    for axis in (0, 1):
        real, stride = target[1 + axis], found.strides[axis]
        total = max((size[axis] - 1) * stride + kernel[axis] - real, 0) if found.padding == SAME else 0
        begin.append(total // 2)
        extra.append(real - (size[axis] - 1) * stride - kernel[axis] + total)
    ends = [max(((size[axis] - 1) * found.strides[axis] + kernel[axis] - target[1 + axis]), 0) - begin[axis]
            for axis in (0, 1)]
    if min(ends) < 0 or min(extra) < 0:
        raise Unsupported(f"an output of {list(target[1:3])} from {size}")
    weights = layer.network.transposed(layer.weights(1), (3, 0, 1, 2), f"{layer.name}/weights")
    given = {"kernel_shape": found.kernel, "strides": found.strides, "pads": (*begin, *ends),
             "output_padding": tuple(extra), **sum_bits(layer, image)}
    layer.write("ConvTranspose", [layer.image(image), weights, *layer.bias(bias, count)], tuple(target), given,
                image=True, activation=activation)


def _image_shape(layer: Layer, position: int) -> tuple[int, ...]:
    shape = layer.shape(position)
    if len(shape) != 4:
        raise layer.fault(f"input {position} has shape {list(shape)} instead of four axes")
    return shape




@dataclasses.dataclass(frozen=True)
class KernelSize:
    """Kernel size, strides and dilations as (rows, columns); `padding`: SAME or VALID."""

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


def window_attributes(size: Sequence[int], result: Sequence[int], found: KernelSize) -> dict[str, Any]:
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


_OPS = {"AVERAGE_POOL_2D": "AveragePool", "MAX_POOL_2D": "MaxPool"}


@handler(*_OPS, summary="any window; padding does not count")
def read_pool(layer: Layer) -> None:
    """AveragePool, MaxPool."""
    options = layer.options("Pool2DOptions")
    given, result = _window(layer, options)
    if layer.declared(0).type == "uint8":
        given = {**given, "half_up": 1}
    layer.write(_OPS[layer.operator.name], [layer.image(0)], result, given, image=True,
                activation=options["FusedActivationFunction"])


@handler("L2_POOL_2D", summary="any window; computed in float32")
def read_l2_pool(layer: Layer) -> None:
    """The root of the mean of the squares."""
    options = layer.options("Pool2DOptions")
    given, result = _window(layer, options)
    source = layer.image(0)
    squares = layer.part("Mul", [source, source], [layer.shape(0)[axis] for axis in TO_IMAGE], real=True)
    means = layer.part("AveragePool", [squares], [result[axis] for axis in TO_IMAGE], given, real=True)
    layer.write("Sqrt", [means], result, image=True, activation=options["FusedActivationFunction"])


def _window(layer: Layer, options: Any) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The attributes of a pool, and the output's shape."""
    shape = layer.shape(0)
    if len(shape) != 4:
        raise layer.fault(f"its input has shape {list(shape)} instead of four axes")
    found = kernel_size(layer, (int(options["FilterHeight"]), int(options["FilterWidth"])), options)
    result = output_size(layer, shape[1:3], found)
    return window_attributes(shape[1:3], result, found), (shape[0], *result, shape[3])


@handler("FULLY_CONNECTED", summary="any rank; weights and bias may be computed in float32")
def read_fully_connected(layer: Layer) -> None:
    """Gemm of [rows, inputs] by the transposed weights [outputs, inputs], with the input flattened."""
    options = layer.options("FullyConnectedOptions")
    if options["WeightsFormat"]:
        raise Unsupported(f"weights in shuffled format {options['WeightsFormat']}")
    shape, matrix = layer.shape(0), layer.shape(1)
    if len(matrix) != 2 or not matrix[1] or math.prod(shape) % matrix[1]:
        raise layer.fault(f"weights {list(matrix)} on {list(shape)}")
    rows = math.prod(shape) // matrix[1]
    keep = options["KeepNumDims"] and len(shape) > 1
    if keep and shape[-1] != matrix[1]:
        raise layer.fault(f"weights {list(matrix)} on {list(shape)}")
    result = (*shape[:-1], matrix[0]) if keep else (rows, matrix[0])
    declared = layer.output().shape
    if not keep and len(declared) != 2 and math.prod(declared) == rows * matrix[0]:
        result = declared  # older converters declare the next operator's shape; TensorFlow Lite Micro accepts it
    source = layer.reshaped(layer.input(0), (rows, matrix[1]))
    inputs = [source, layer.weights(1), *layer.bias(2, matrix[0])]
    activation = options["FusedActivationFunction"]
    attributes = {"transB": 1, **sum_bits(layer, 0, 2, options)}
    if len(result) == 2:
        layer.write("Gemm", inputs, result, attributes, activation=activation)
        return
    inner = layer.activated("Gemm", inputs, (rows, matrix[0]), attributes, activation)
    layer.write("Reshape", [inner, layer.numbers(result)], result)


@handler("BATCH_MATMUL", summary="any broadcasting; either matrix transposed")
def read_batch_mat_mul(layer: Layer) -> None:
    """MatMul."""
    options = layer.options("BatchMatMulOptions")
    names, shapes = [], []
    for position, turned in ((0, options["AdjX"]), (1, options["AdjY"])):
        name, shape = layer.input(position), layer.shape(position)
        if len(shape) < 2:
            raise layer.fault(f"input {position} has shape {list(shape)}; a matrix has two axes")
        if turned:
            order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            name = layer.network.transposed(name, order, f"{layer.name}/adjoint")
        names.append(name)
        shapes.append(layer.network.tensors[name].shape)
    if shapes[0][-1] != shapes[1][-2]:
        raise layer.fault(f"matrices {list(shapes[0])} and {list(shapes[1])}")
    lead = layer.joint(shapes[0][:-2], shapes[1][:-2])
    layer.write("MatMul", names, (*lead, shapes[0][-2], shapes[1][-1]))
