"""int8 LOG_SOFTMAX, as in TensorFlow Lite Micro's kernels/log_softmax.cc."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import fixed_point, numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.exponential import softmax_exponentials
from tigris_pio.compiler.lower.operators.softmax import last_axis_vectors
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LogSoftmaxInt8Params

_LONGEST = 4096
_CODES = 256


@operator("LOG_SOFTMAX", domain=TFLITE, summary="int8, along the last axis")
def lower_log_softmax(builder: Builder, node: Node) -> None:
    """LOG_SOFTMAX."""
    name, output = node.inputs[0], node.outputs[0]
    if not builder.is_int8(name, output):
        raise Refusal("its input and output are not both int8 with a scale")
    shape, source = builder.shape(name), builder.numeric(name)
    length = shape[-1] if shape else 1
    if length > _LONGEST:
        raise Refusal(f"vectors of {length} elements; at most {_LONGEST} are supported")
    multiplier, shift, least = numerics.softmax_scaling(max(source.scale, 2 * numerics.SMALLEST_SOFTMAX_SCALE))
    reverse = numerics.quantize_multiplier(math.ldexp(1.0, 31 - shift) / multiplier)
    differences = [fixed_point.multiply(-code, multiplier, shift) for code in range(min(_CODES, 1 - least))]
    blobs = {"exponentials": softmax_exponentials(multiplier, shift, least),
             "differences": np.array([*differences, *([0] * (_CODES - len(differences)))], np.int32)}
    storage, layout = last_axis_vectors(builder, name, source)
    params = LogSoftmaxInt8Params(length, least, *reverse, 0, 0)
    builder.emit(OpKind.LOG_SOFTMAX, DType.INT8, [(storage, RowMap.same())], output, layout, builder.numeric(output),
                 builder.storages[storage].cell, params, blobs=blobs)
