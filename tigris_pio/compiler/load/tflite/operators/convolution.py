"""Convolutions. Weights are [O, H, W, I], of depthwise ones [1, H, W, O]."""

from __future__ import annotations

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler
from tigris_pio.compiler.load.tflite.operators.windows import SAME, attributes, output_size, window


@handler("CONV_2D", summary="any strides and dilations, groups; constant weights")
def read_conv(layer: Layer) -> None:
    """Conv. Groups are said by the weights alone, which have fewer input channels."""
    options = layer.options("Conv2DOptions")
    batch, *size, channels = _image_shape(layer, 0)
    count, *kernel, inputs = _image_shape(layer, 1)
    if not inputs or not count or channels % inputs or count % (channels // inputs or 1):
        raise layer.fault(f"weights {list(layer.shape(1))} on {channels} channels")
    found = window(layer, kernel, options, dilated=True)
    result = output_size(layer, size, found)
    weights = layer.network.transposed(layer.weights(1), (0, 3, 1, 2), f"{layer.name}/weights")
    layer.write("Conv", [layer.image(0), weights, *layer.bias(2, count)], (batch, *result, count),
                {**attributes(size, result, found), "group": channels // inputs}, image=True,
                activation=options["FusedActivationFunction"])


@handler("DEPTHWISE_CONV_2D", summary="any strides, dilations and depth multiplier; constant weights")
def read_depthwise(layer: Layer) -> None:
    """Conv with a group for each input channel. The multiplier is what the shapes say."""
    options = layer.options("DepthwiseConv2DOptions")
    batch, *size, channels = _image_shape(layer, 0)
    one, *kernel, count = _image_shape(layer, 1)
    if one != 1 or not channels or not count or count % channels:
        raise layer.fault(f"weights {list(layer.shape(1))} on {channels} channels")
    found = window(layer, kernel, options, dilated=True)
    result = output_size(layer, size, found)
    weights = layer.network.transposed(layer.weights(1), (3, 0, 1, 2), f"{layer.name}/weights")
    layer.write("Conv", [layer.image(0), weights, *layer.bias(2, count)], (batch, *result, count),
                {**attributes(size, result, found), "group": channels}, image=True,
                activation=options["FusedActivationFunction"])


@handler("TRANSPOSE_CONV", summary="any strides; constant weights and output shape")
def read_transpose_conv(layer: Layer) -> None:
    """ConvTranspose, whose pads are what SAME or VALID takes away from the output."""
    options = layer.options("TransposeConvOptions")
    wanted = layer.integers(0, "output sizes")
    count, *kernel, inputs = _image_shape(layer, 1)
    batch, *size, channels = _image_shape(layer, 2)
    if inputs != channels or len(wanted) != 4 or min(wanted) < 1 or wanted[0] != batch or wanted[3] != count:
        raise layer.fault(f"weights {list(layer.shape(1))} on {list(layer.shape(2))} give no {wanted}")
    found = window(layer, kernel, options)
    begin, extra = [], []
    for axis in (0, 1):
        real, stride = wanted[1 + axis], found.strides[axis]
        total = max((size[axis] - 1) * stride + kernel[axis] - real, 0) if found.padding == SAME else 0
        begin.append(total // 2)
        extra.append(real - (size[axis] - 1) * stride - kernel[axis] + total)
    ends = [max(((size[axis] - 1) * found.strides[axis] + kernel[axis] - wanted[1 + axis]), 0) - begin[axis]
            for axis in (0, 1)]
    if min(ends) < 0 or min(extra) < 0:
        raise Unsupported(f"an output of {wanted[1:3]} from {size}")
    weights = layer.network.transposed(layer.weights(1), (3, 0, 1, 2), f"{layer.name}/weights")
    given = {"kernel_shape": found.kernel, "strides": found.strides, "pads": (*begin, *ends),
             "output_padding": tuple(extra)}
    layer.write("ConvTranspose", [layer.image(2), weights, *layer.bias(3, count)], wanted, given, image=True,
                activation=options["FusedActivationFunction"])


def _image_shape(layer: Layer, place: int) -> tuple[int, ...]:
    shape = layer.shape(place)
    if len(shape) != 4:
        raise layer.fault(f"input {place} has {len(shape)} axes instead of four")
    return shape
