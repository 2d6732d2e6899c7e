"""Reductions over axes."""

from __future__ import annotations

import math

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler

_OPS = {"MEAN": "ReduceMean", "SUM": "ReduceSum", "REDUCE_MAX": "ReduceMax", "REDUCE_MIN": "ReduceMin",
        "REDUCE_PROD": "ReduceProd", "REDUCE_ANY": "ReduceMax", "REDUCE_ALL": "ReduceMin"}


@handler(*_OPS, summary="any constant axes")
def read_reduction(layer: Layer) -> None:
    """ReduceMean and other reductions. Over rows and columns they read an image, so that a mean becomes a pool."""
    keep = bool(layer.options("ReducerOptions")["KeepDims"])
    shape = layer.shape(0)
    axes = layer.axes(1, len(shape))
    result = tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)
    op = _OPS[layer.operator.name]
    if not axes:
        layer.write("Identity", [layer.input(0)], shape)
    elif len(shape) == 4 and axes == [1, 2]:
        attributes = {"keepdims": 1}
        if keep:
            layer.write(op, [layer.image(0), layer.numbers((2, 3))], result, attributes, image=True)
            return
        full = (shape[0], shape[3], 1, 1)
        inner = layer.part(op, [layer.image(0), layer.numbers((2, 3))], full, attributes)
        layer.write("Reshape", [inner, layer.numbers(result)], result)
    else:
        layer.write(op, [layer.input(0), layer.numbers(axes)], result, {"keepdims": int(keep)})


_ARGS = {"ARG_MAX": ("ArgMax", "ArgMaxOptions"), "ARG_MIN": ("ArgMin", "ArgMinOptions")}


@handler(*_ARGS, summary="constant axis")
def read_arg(layer: Layer) -> None:
    """ArgMax, ArgMin; among equal elements the first."""
    op, kind = _ARGS[layer.operator.name]
    layer.options(kind)
    shape = layer.shape(0)
    axis = layer.axis(1, len(shape))
    if not math.prod(shape):
        raise layer.fault(f"axis {axis} of {list(shape)}")
    result = shape[:axis] + shape[axis + 1 :]
    layer.write(op, [layer.input(0)], result, {"axis": axis, "keepdims": 0})


@handler("LOCAL_RESPONSE_NORMALIZATION", summary="along the last axis; computed in float32")
def read_local_response_normalization(layer: Layer) -> None:
    """LRN. ONNX divides alpha by the number of channels in a sum, TensorFlow Lite does not."""
    options, shape = layer.options("LocalResponseNormalizationOptions"), layer.shape(0)
    radius = int(options["Radius"])
    if len(shape) != 4 or radius < 0:
        raise layer.fault(f"radius {radius} on {list(shape)}")
    attributes = {"size": 2 * radius + 1, "alpha": float(options["Alpha"]) * (2 * radius + 1),
                  "beta": float(options["Beta"]), "bias": float(options["Bias"])}
    layer.write("LRN", [layer.image(0)], shape, attributes, image=True)


@handler("L2_NORMALIZATION", summary="along the last axis; computed in float32")
def read_l2_normalization(layer: Layer) -> None:
    """Each vector divided by its length, which is at least 1e-6 (micro/kernels/l2norm.cc)."""
    activation = layer.options("L2NormOptions")["FusedActivationFunction"]
    shape = layer.shape(0)
    if not shape:
        raise layer.fault("it normalises vectors; its input has no axis")
    one = (*shape[:-1], 1)
    length = layer.part("ReduceL2", [layer.input(0), layer.numbers([len(shape) - 1])], one, {"keepdims": 1}, real=True)
    longer = layer.part("Max", [length, layer.number(1e-6)], one, real=True)
    layer.write("Div", [layer.input(0), longer], shape, activation=activation)
