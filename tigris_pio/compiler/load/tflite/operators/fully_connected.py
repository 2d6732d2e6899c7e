"""Layers that multiply by a matrix."""

from __future__ import annotations

import math

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.kernel_size import sum_bits
from tigris_pio.compiler.load.tflite.operators.registry import handler


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
