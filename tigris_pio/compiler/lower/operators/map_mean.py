"""The mean of a whole map as SUM_MAP, a folded tensor, and MEAN_OF_SUMS.

The map never needs to be in memory as a whole, so a rolling stage can include global average pooling.
"""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.kernel_geometry import KernelGeometry
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric
from tigris_pio.compiler.normalise.rules import MEAN
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import MeanOfSumsFloatParams, MeanOfSumsInt8Params, SumMapParams
from tigris_pio.format.record import Record

#: The most int8 elements whose sum always fits 32 bits.
LARGEST_MAP = 1 << 22


def is_whole_map(geometry: KernelGeometry, dims: Dims) -> bool:
    """Whether the kernel covers exactly one image, of several rows."""
    _, height, width, _ = dims
    plain = geometry.pad_begin == geometry.pad_end == (0, 0) and geometry.dilation == (1, 1)
    return plain and height > 1 and geometry.kernel == (height, width) and height * width <= LARGEST_MAP


def emit_map_mean(builder: Builder, node: Node, storage: str, source: Numeric, result: Numeric) -> None:
    """Emits SUM_MAP and MEAN_OF_SUMS for a node with one output pixel; `source` and `result` are FLOAT or int8."""
    batch, height, width, channels = builder.dims(storage)
    output, int8 = node.outputs[0], source.dtype == DType.INT8
    dtype, taps = DType.INT8 if int8 else DType.FLOAT32, height * width
    cell = Cell((batch, height, 1, channels), fixed=True)
    sums = builder.emit_part(f"{output}/sums", OpKind.SUM_MAP, dtype, [(storage, RowMap.same())], cell,
                             Numeric(DType.INT32) if int8 else FLOAT, SumMapParams(taps), folded=True)
    params: Record = MeanOfSumsFloatParams(taps, **fused.float_fields(node))
    if int8:
        params = _int8_mean(node, taps, source, result)
    builder.emit(OpKind.MEAN_OF_SUMS, dtype, [(sums, RowMap(height, 1, 0, height - 1))], output,
                 channels_last(builder.shape(output)), result, Cell((batch, 1, 1, channels), fixed=True), params)


def is_tflite_mean(node: Node, source: Numeric, result: Numeric) -> bool:
    """Whether an int8 node follows TensorFlow Lite's MEAN instead of AVERAGE_POOL_2D, which needs equal scales."""
    return source != result or bool(node.attributes.get(MEAN))


#: An attribute of pools: the file's tensors are uint8, for which TensorFlow Lite rounds halves up.
HALF_UP = "half_up"


def rescale_mode(node: Node, rescale: bool) -> int:
    """The field `rescale` of a pool: 1 rescales, 2 rounds halves up, 0 rounds halves away from zero."""
    return 1 if rescale else 2 if node.attributes.get(HALF_UP) else 0


def _int8_mean(node: Node, taps: int, source: Numeric, result: Numeric) -> MeanOfSumsInt8Params:
    multiplier, shift = 0, 0
    rescale = is_tflite_mean(node, source, result)
    if rescale:
        multiplier, shift = numerics.mean_multiplier(source.scale / result.scale, taps)
    return MeanOfSumsInt8Params(
        taps=taps, rescale=rescale_mode(node, rescale), input_zero_point=source.zero_point,
        output_zero_point=result.zero_point, **fused.int8_fields(node, result), multiplier=multiplier, shift=shift,
    )
