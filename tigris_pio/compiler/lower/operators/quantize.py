"""QuantizeLinear that stayed in the graph, because its input is needed unrounded too."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.conversion import dequantise, quantise, rescale
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.compiler.normalise.integers import RECODE
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams
from tigris_pio.format.record import Record

#: Bytes of the widest integer that is quantised to.
_WIDEST = 2


@operator("QuantizeLinear", summary="per tensor, int8, uint8, int16 and uint16; folded into its neighbours "
          "where possible")
def lower_quantize(builder: Builder, node: Node) -> None:
    """QUANTIZE, or a requantisation by table when the input is int8 already."""
    name, output = node.inputs[0], node.outputs[0]
    if builder.tensors[output].quantisation is None:
        _quantise_numbers(builder, node)
        return
    value = builder.value(name) if builder.tensors[name].quantisation else builder.value(name, FLOAT)
    builder.convert(output, value, builder.numeric(output), output)


@operator("DequantizeLinear", summary="per tensor, int8, uint8, int16 and uint16; constants also per channel and "
          "narrower")
def lower_dequantize(builder: Builder, node: Node) -> None:
    """Most are folded before lowering; what is left has integers for numbers, or a scale that is computed."""
    composer = Composer(builder, node)
    source = node.inputs[0]
    scale, zero_point = _along(composer, 1), _along(composer, 2)
    if zero_point:
        source = composer.part("Sub", [source, zero_point], builder.shape(source))
    composer.last("Mul", [source, scale])


def _quantise_numbers(builder: Builder, node: Node) -> None:
    """Divided, rounded and clipped in float32, as DynamicQuantizeLinear needs it."""
    composer, output = Composer(builder, node), node.outputs[0]
    dtype = builder.tensors[output].dtype
    if dtype.kind not in "iu" or dtype.itemsize > _WIDEST:
        raise Refusal(f"it quantises to {dtype}; integers of 8 and 16 bits are supported")
    shape = builder.shape(output)
    name = composer.part("Div", [node.inputs[0], _along(composer, 1)], shape)
    name = composer.part("Round", [name], shape)
    zero_point = _along(composer, 2)
    if zero_point:
        name = composer.part("Add", [name, zero_point], shape)
    limits = np.iinfo(dtype)
    composer.last("Clip", [name], {"min": float(limits.min), "max": float(limits.max)})


@operator("DynamicQuantizeLinear", summary="uint8, computed in float32")
def lower_dynamic_quantize(builder: Builder, node: Node) -> None:
    """The range of the data, 0 included, as 255 steps."""
    composer, name = Composer(builder, node), node.inputs[0]
    shape = builder.shape(name)
    codes, scale, zero_point = (*node.outputs, "", "")[:3]
    zero, flat = composer.constant(0.0), composer.part("Reshape", [name], (math.prod(shape),))
    every = {"axes": (0,), "keepdims": 0}
    low, high = (composer.part(end, [composer.part(f"Reduce{end}", [flat], (), every), zero], ())
                 for end in ("Min", "Max"))
    extent = composer.part("Sub", [high, low], ())
    step = composer.part("Div", [extent, composer.constant(255.0)], ())
    # Of data that are all 0 the scale is 0, and 0 divided by anything is their code.
    divisor = composer.part("Where", [composer.part("Greater", [step, zero], ()), step, composer.constant(1.0)], ())
    limits = {"min": 0.0, "max": 255.0}
    offset = composer.part("Div", [composer.part("Neg", [low], ()), divisor], ())
    offset = composer.part("Clip", [composer.part("Round", [offset], ())], (), limits)
    rounded = composer.part("Round", [composer.part("Div", [name, divisor], shape)], shape)
    shifted = composer.part("Add", [rounded, offset], shape)
    if builder.tensors[codes].quantisation is not None:
        raise Refusal(f"its output {codes} is read under a constant scale")
    composer.last("Clip", [shifted], limits)
    for output, value in ((scale, step), (zero_point, offset)):
        if output and builder.is_read(output):
            composer.into("Identity", [value], output)


def _along(composer: Composer, index: int) -> str:
    """The scale or the zero point in a shape that broadcasts with the input."""
    builder, node = composer.builder, composer.node
    name = node.inputs[index] if index < len(node.inputs) else ""
    if not name:
        return ""
    shape, own = builder.shape(node.inputs[0]), builder.shape(name)
    if len(own) == len(shape) and len(own) > 1:
        return _blocks(composer, name)
    if math.prod(own) == 1:
        wanted: tuple[int, ...] = ()
    else:
        axis = int(node.attributes.get("axis", 1)) % len(shape)
        wanted = (own[0], *(1,) * (len(shape) - axis - 1))
    if builder.is_constant(name):
        return composer.constant(builder.real(name).reshape(wanted))
    return composer.part("Reshape", [name], wanted)


def _blocks(composer: Composer, name: str) -> str:
    """Scales or zero points of blocks, one for each element."""
    builder, node = composer.builder, composer.node
    if not builder.is_constant(name):
        raise Refusal(f"its scales of blocks ({name}) are computed at run time")
    axis, block = int(node.attributes.get("axis", 1)), int(node.attributes.get("block_size", 1))
    extent = builder.shape(node.inputs[0])[axis]
    return composer.constant(np.repeat(builder.real(name), block, axis).take(range(extent), axis))


@operator(RECODE, summary="integers of a quantised tensor read otherwise")
def lower_recode(builder: Builder, node: Node) -> None:
    """The same integers: under another scale by a table, as numbers or from numbers with a scale of one."""
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
    builder.emit(kind, dtype, [(value.storage, RowMap.same())], result.name, value.layout, written,
                 builder.storages[value.storage].cell, params, blobs=blobs)


def _shift(numbers: Tensor) -> int:
    """The stored integer of zero: uint8 is stored as int8, less 128, and uint16 alike."""
    return {"uint8": -128, "uint16": -(1 << 15)}.get(numbers.dtype.name, 0)


def _is_int16(tensor: Tensor) -> bool:
    return tensor.quantisation is not None and tensor.quantisation.dtype == np.int16
