"""CUMSUM of int8, as in TensorFlow Lite Micro's kernels/cumsum.cc."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.vectors import rowwise_map, settle_vector_rows, vectors
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CumulativeInt8Params

#: The left shift of inputs, which are also halved.
_LEFT_SHIFT = 20


@operator("CUMSUM", domain=TFLITE, summary="int8, constant axis")
def lower_cumsum(builder: Builder, node: Node) -> None:
    """VECTOR in int8. As in the reference, sums begin with the stored input 0, whatever its real value is."""
    name, output = node.inputs[0], node.outputs[0]
    if not builder.is_int8(name, output):
        raise Refusal("its input and output are not both int8 with a scale")
    source, result = builder.numeric(name), builder.numeric(output)
    real = 2 * source.scale / ((1 << _LEFT_SHIFT) * result.scale)
    if real >= 1:
        raise Refusal(f"its output's scale {result.scale:g} is too fine for its input's, {source.scale:g}")
    found = vectors(builder, name, (int(node.attributes["axis"]),), ordered=True, numeric=source)
    params = CumulativeInt8Params(found.length, found.inner, int(node.attributes.get("exclusive", 0)),
                                  int(node.attributes.get("reverse", 0)), -source.zero_point, source.zero_point,
                                  *numerics.quantize_multiplier(real), result.zero_point)
    rows = settle_vector_rows(builder, found)
    storage = found.value.storage if rows is None else rows[0]
    dims = builder.dims(storage)
    whole_image = dims[1] * dims[2] * dims[3] % (found.length * found.inner) == 0
    if rows is None and whole_image:
        storage = builder.with_dims(found.value, dims)
    builder.emit(OpKind.VECTOR, DType.INT8, [(storage, rowwise_map(rows is not None))], output, found.value.layout,
                 result, builder.storages[storage].cell, params, per_image=whole_image)
