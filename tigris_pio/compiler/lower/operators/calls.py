"""Kernel calls in forms that several families of operators share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last
from tigris_pio.compiler.lower.operators.kernel_geometry import image_dims
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Cell, Numeric, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams
from tigris_pio.format.record import Record

Blobs = Mapping[str, np.ndarray]


def int8_types(builder: Builder, node: Node) -> tuple[Numeric, Numeric]:
    """The types of a node's first input and first output. Refuses other types than int8 with a scale."""
    name, output = node.inputs[0], node.outputs[0]
    if not builder.is_int8(name, output):
        raise Refusal("its input and output are not both int8 with a scale")
    return builder.numeric(name), builder.numeric(output)


def emit_same(builder: Builder, kind: OpKind, dtype: DType, value: Value, output: str, numeric: Numeric, params: Record,
              blobs: Blobs | None = None) -> None:
    """Emits a call whose result has the element order and the dimensions of `value`, and reads the same row of it."""
    builder.emit(kind, dtype, [(value.storage, RowMap.same())], output, value.layout, numeric,
                 builder.storages[value.storage].cell, params, blobs=blobs)


def emit_table(builder: Builder, name: str, output: str, table: np.ndarray) -> None:
    """Emits LOOKUP between int8 tensors. table: the output byte of each input from -128 on"""
    emit_same(builder, OpKind.LOOKUP, DType.INT8, builder.value(name), output, builder.numeric(output), LookupParams(0),
              {"table": table})


def image(builder: Builder, name: str, numeric: Numeric) -> str:
    """A storage of the tensor as an image [batch, height, width, channels], in the element type `numeric`."""
    shape = builder.shape(name)
    return builder.with_dims(builder.value_in_order(name, channels_last(shape), numeric), image_dims(shape))


def emit_image(builder: Builder, node: Node, kind: OpKind, source: tuple[str, RowMap], numeric: Numeric, params: Record,
               blobs: Blobs) -> None:
    """Emits a call that computes an image of type `numeric` from the image `source`, a storage with its row map."""
    shape = builder.shape(node.outputs[0])
    builder.emit(kind, numeric.dtype, [source], node.outputs[0], channels_last(shape), numeric,
                 Cell(image_dims(shape), fixed=True), params, blobs=blobs)
