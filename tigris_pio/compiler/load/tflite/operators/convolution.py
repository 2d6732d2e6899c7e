"""Convolutions. Weights are [O, H, W, I]; those of depthwise convolutions are [1, H, W, O]."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.kernel_size import (
    SAME,
    VALID,
    KernelSize,
    attributes,
    kernel_size,
    output_size,
    sum_bits,
)
from tigris_pio.compiler.load.tflite.operators.registry import handler


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
    given = {**attributes(size, result, found), "group": channels // inputs, **sum_bits(layer, 0, 2, options)}
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
                {**attributes(size, result, found), "group": channels, **sum_bits(layer, 0)}, image=True,
                activation=options["FusedActivationFunction"])


@handler("TRANSPOSE_CONV", summary="any strides; constant weights and output shape")
def read_transpose_conv(layer: Layer) -> None:
    """ConvTranspose. Its pads are the rows and columns that SAME or VALID removes from the output."""
    options = layer.options("TransposeConvOptions")
    # TensorFlow Lite Micro uses the output's declared shape, and so does this if the sizes are computed.
    sizes = layer.integers(0, "output sizes") if layer.constant(0) is not None else list(layer.output().shape)
    if len(sizes) != 4 or min(sizes) < 1:
        raise Unsupported("its output sizes are computed at run time")
    _transposed(layer, 2, 3, sizes, kernel_size(layer, _image_shape(layer, 1)[1:3], options),
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
    _transposed(layer, 0, 2, target, found, 0)


def _transposed(layer: Layer, image: int, bias: int, target: Sequence[int], found: KernelSize, activation: int) -> None:
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
