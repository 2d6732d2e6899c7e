"""CUMSUM and LOG_SOFTMAX of int8, as in TensorFlow Lite Micro's kernels/cumsum.cc and kernels/log_softmax.cc."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import fixed_point, numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.fixed_point import softmax_exponentials
from tigris_pio.compiler.lower.operators.calls import emit_same, int8_types
from tigris_pio.compiler.lower.operators.softmax import last_vectors
from tigris_pio.compiler.lower.operators.vectors import emit_vectors, vectors
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CumulativeInt8Params, LogSoftmaxInt8Params

#: The left shift of inputs, which are also halved.
_LEFT_SHIFT = 20


@operator("CUMSUM", domain=TFLITE, summary="int8, constant axis")
def lower_cumsum(builder: Builder, node: Node) -> None:
    """VECTOR in int8. As in the reference, sums begin with the stored input 0, whatever its real value is."""
    source, result = int8_types(builder, node)
    real = 2 * source.scale / ((1 << _LEFT_SHIFT) * result.scale)
    if real >= 1:
        raise Refusal(f"its output's scale {result.scale:g} is too fine for its input's, {source.scale:g}")
    found = vectors(builder, node.inputs[0], (int(node.attributes["axis"]),), ordered=True, numeric=source)
    params = CumulativeInt8Params(found.length, found.inner, int(node.attributes.get("exclusive", 0)),
                                  int(node.attributes.get("reverse", 0)), -source.zero_point, source.zero_point,
                                  *numerics.quantize_multiplier(real), result.zero_point)
    emit_vectors(builder, OpKind.VECTOR, found, node.outputs[0], result, params)


_LONGEST = 4096
_CODES = 256


@operator("LOG_SOFTMAX", domain=TFLITE, summary="int8, along the last axis")
def lower_log_softmax(builder: Builder, node: Node) -> None:
    """LOG_SOFTMAX."""
    name, output = node.inputs[0], node.outputs[0]
    source, result = int8_types(builder, node)
    shape = builder.shape(name)
    length = shape[-1] if shape else 1
    if length > _LONGEST:
        raise Refusal(f"vectors of {length} elements; at most {_LONGEST} are supported")
    multiplier, shift, least = numerics.softmax_scaling(max(source.scale, 2 * numerics.SMALLEST_SOFTMAX_SCALE))
    reverse = numerics.quantize_multiplier(math.ldexp(1.0, 31 - shift) / multiplier)
    differences = [fixed_point.multiply(-code, multiplier, shift) for code in range(min(_CODES, 1 - least))]
    blobs = {"exponentials": softmax_exponentials(multiplier, shift, least),
             "differences": np.array([*differences, *([0] * (_CODES - len(differences)))], np.int32)}
    value = last_vectors(builder, name, (len(shape) - 1,) if shape else (), source)
    params = LogSoftmaxInt8Params(length, least, *reverse, 0, 0)
    emit_same(builder, OpKind.LOG_SOFTMAX, DType.INT8, value, output, result, params, blobs)
