"""QuantizeLinear and its relatives that normalisation could not fold into their neighbours."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.conversion import dequantise, quantise, rescale
from tigris_pio.compiler.lower.operators.calls import emit_same
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.compiler.normalise.integers import RECODE
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams
from tigris_pio.format.record import Record

#: Bytes of the widest quantised integer.
_WIDEST = 2


@operator("QuantizeLinear", summary="per tensor, int8, uint8, int16 and uint16; folded into its neighbours "
          "where possible")
def lower_quantize(builder: Builder, node: Node) -> None:
    """QUANTIZE, or a requantisation if the input is quantised already."""
    name, output = node.inputs[0], node.outputs[0]
    if builder.tensors[output].quantisation is None:
        _quantise_in_float(builder, node)
        return
    value = builder.value(name) if builder.tensors[name].quantisation else builder.value(name, FLOAT)
    builder.convert(output, value, builder.numeric(output), output)


@operator("DequantizeLinear", summary="per tensor, int8, uint8, int16 and uint16; constants also per channel and "
          "narrower")
def lower_dequantize(builder: Builder, node: Node) -> None:
    """Sub and Mul. The remaining nodes have unquantised integers as input, or a scale computed at run time."""
    composer = Composer(builder, node)
    source = node.inputs[0]
    scale, zero_point = _broadcastable(composer, 1), _broadcastable(composer, 2)
    if zero_point:
        source = composer.add("Sub", [source, zero_point], builder.shape(source))
    composer.finish("Mul", [source, scale])


def _quantise_in_float(builder: Builder, node: Node) -> None:
    """Emits Div, Round, Add and Clip in float32, for scales that are computed at run time."""
    composer, output = Composer(builder, node), node.outputs[0]
    dtype = builder.tensors[output].dtype
    if dtype.kind not in "iu" or dtype.itemsize > _WIDEST:
        raise Refusal(f"it quantises to {dtype}; integers of 8 and 16 bits are supported")
    shape = builder.shape(output)
    name = composer.add("Div", [node.inputs[0], _broadcastable(composer, 1)], shape)
    name = composer.add("Round", [name], shape)
    zero_point = _broadcastable(composer, 2)
    if zero_point:
        name = composer.add("Add", [name, zero_point], shape)
    limits = np.iinfo(dtype)
    composer.finish("Clip", [name], {"min": float(limits.min), "max": float(limits.max)})


@operator("DynamicQuantizeLinear", summary="uint8, computed in float32")
def lower_dynamic_quantize(builder: Builder, node: Node) -> None:
    """Quantises the data's range, extended to 0, to 255 steps."""
    composer, name = Composer(builder, node), node.inputs[0]
    shape = builder.shape(name)
    codes, scale, zero_point = (*node.outputs, "", "")[:3]
    zero, flat = composer.constant(0.0), composer.add("Reshape", [name], (math.prod(shape),))
    every = {"axes": (0,), "keepdims": 0}
    low, high = (composer.add(end, [composer.add(f"Reduce{end}", [flat], (), every), zero], ())
                 for end in ("Min", "Max"))
    extent = composer.add("Sub", [high, low], ())
    step = composer.add("Div", [extent, composer.constant(255.0)], ())
    # If all data are 0, the scale is 0; any divisor then gives the right code.
    divisor = composer.add("Where", [composer.add("Greater", [step, zero], ()), step, composer.constant(1.0)], ())
    limits = {"min": 0.0, "max": 255.0}
    offset = composer.add("Div", [composer.add("Neg", [low], ()), divisor], ())
    offset = composer.add("Clip", [composer.add("Round", [offset], ())], (), limits)
    rounded = composer.add("Round", [composer.add("Div", [name, divisor], shape)], shape)
    shifted = composer.add("Add", [rounded, offset], shape)
    if builder.tensors[codes].quantisation is not None:
        raise Refusal(f"its output {codes} is dequantised with a constant scale")
    composer.finish("Clip", [shifted], limits)
    for output, value in ((scale, step), (zero_point, offset)):
        if output and builder.is_read(output):
            composer.add_as("Identity", [value], output)


def _broadcastable(composer: Composer, index: int) -> str:
    """The scale or the zero point in a shape that broadcasts with the input."""
    builder, node = composer.builder, composer.node
    name = node.inputs[index] if index < len(node.inputs) else ""
    if not name:
        return ""
    shape, own = builder.shape(node.inputs[0]), builder.shape(name)
    if len(own) == len(shape) and len(own) > 1:
        return _expanded_blocks(composer, name)
    if math.prod(own) == 1:
        wanted: tuple[int, ...] = ()
    else:
        axis = int(node.attributes.get("axis", 1)) % len(shape)
        wanted = (own[0], *(1,) * (len(shape) - axis - 1))
    if builder.is_constant(name):
        return composer.constant(builder.float_constant(name).reshape(wanted))
    return composer.add("Reshape", [name], wanted)


def _expanded_blocks(composer: Composer, name: str) -> str:
    """Scales or zero points of blocks, expanded to one for each element."""
    builder, node = composer.builder, composer.node
    if not builder.is_constant(name):
        raise Refusal(f"its scales of blocks ({name}) are computed at run time")
    axis, block = int(node.attributes.get("axis", 1)), int(node.attributes.get("block_size", 1))
    extent = builder.shape(node.inputs[0])[axis]
    return composer.constant(np.repeat(builder.float_constant(name), block, axis).take(range(extent), axis))


@operator(RECODE, summary="integers of a quantised tensor read otherwise")
def lower_recode(builder: Builder, node: Node) -> None:
    """The same stored integers with another quantisation: LOOKUP, RESCALE, or a conversion with scale 1."""
    source, result = builder.tensors[node.inputs[0]], builder.tensors[node.outputs[0]]
    written = FLOAT if result.quantisation is None else builder.numeric(result.name)
    value = builder.value(source.name)
    params: Record
    blobs: dict[str, np.ndarray] = {}
    if source.quantisation is not None and result.quantisation is not None:
        kind, params, blobs = OpKind.LOOKUP, LookupParams(0), {"table": np.arange(-128, 128).astype(np.int8)}
        if builder.numeric(source.name).dtype is DType.INT16:
            same = Numeric(DType.INT16, 1.0)
            kind, params, blobs = OpKind.RESCALE, rescale(same, same), {}
    elif result.quantisation is None:
        kind, params, blobs = dequantise(Numeric(builder.numeric(source.name).dtype, 1.0, _shift(result)))
    else:
        kind, params, blobs = quantise(Numeric(written.dtype, 1.0, _shift(source)), builder.graph.rounding)
    dtype = DType.INT16 if _is_int16(source) or _is_int16(result) else DType.INT8
    emit_same(builder, kind, dtype, value, result.name, written, params, blobs)


def _shift(numbers: Tensor) -> int:
    """The stored integer of zero, because uint8 is stored as int8 minus 128, and uint16 as int16 minus 32768."""
    return {"uint8": -128, "uint16": -(1 << 15)}.get(numbers.dtype.name, 0)


def _is_int16(tensor: Tensor) -> bool:
    return tensor.quantisation is not None and tensor.quantisation.dtype == np.int16
