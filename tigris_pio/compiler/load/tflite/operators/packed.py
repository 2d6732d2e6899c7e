"""TFLM_DECODE: unpacks constants of TensorFlow Lite Micro's compressor when compiling.

Each output has two inputs: the codes, and their description, which starts with a header of 16 bytes.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.load.tflite.annotation import DTYPES
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_HEADER = 16
#: Offsets in the header: the method, its version, its parameters, and the number of elements of a table of values.
_METHOD, _VERSION, _PARAMETERS, _TABLE = 0, 4, 5, 6
#: The axis number with which all elements share one table.
_NO_AXIS = 15
#: Bits beyond the end of the codes that looking up the longest code may read.
_LONGEST = 31


@handler("TFLM_DECODE", summary="TensorFlow Lite Micro's custom operator: constants as tables, Huffman codes or pruned")
def read_decode(layer: Layer) -> None:
    """The unpacked constants."""
    if layer.count != 2 * len(layer.operator.outputs):
        raise layer.fault(f"inputs: {layer.count}, outputs: {len(layer.operator.outputs)}")
    for position in range(len(layer.operator.outputs)):
        tensor = layer.output(position)
        layer.network.limits.check("elements", math.prod(tensor.shape), layer.where)
        try:
            values = _unpacked(tensor, *(_bytes(layer, 2 * position + side) for side in (0, 1)))
        except (IndexError, ValueError) as error:
            raise layer.fault(f"its codes do not fit {tensor.type} {list(tensor.shape)} ({error})") from None
        data = np.frombuffer(values.tobytes(), np.uint8)
        layer.pass_on(layer.stored_constant(dataclasses.replace(tensor, data=data)), position)


def _bytes(layer: Layer, position: int) -> np.ndarray:
    """A constant input's bytes, without regard to its type and scales, which may be the packed tensor's."""
    data = layer.declared(position).data
    if data is None:
        raise Unsupported("its codes are computed at run time")
    return data


def _unpacked(tensor: FlatTensor, codes: np.ndarray, how: np.ndarray) -> np.ndarray:
    """The elements as the file stores them. Raises ValueError or IndexError for codes of another tensor."""
    if tensor.type not in DTYPES or tensor.type in ("float16", "int4", "int2"):
        raise Unsupported(f"packed {tensor.type}")
    methods = (_from_tables, _from_huffman, _from_pruned)
    if how[_METHOD] >= len(methods) or how[_VERSION] != 1:
        raise Unsupported(f"packed by method {how[_METHOD]} of version {how[_VERSION]}; methods 0 to 2 of version 1 "
                          "are supported: give the file from before the compression")
    return methods[how[_METHOD]](tensor, codes, how)


def _from_tables(tensor: FlatTensor, codes: np.ndarray, how: np.ndarray) -> np.ndarray:
    """Decodes indices of a few bits, the highest bit first, into a table of values: one table, or one a channel."""
    bits, axis, size = int(how[_PARAMETERS] & 7), int(how[_PARAMETERS] >> 4), int(how[_TABLE])
    count = math.prod(tensor.shape)
    indices = np.unpackbits(codes)[: count * bits].reshape(*tensor.shape, bits) @ (1 << np.arange(bits)[::-1])
    tables: np.ndarray = how[_HEADER:].view(DTYPES[tensor.type]).reshape(-1, size)
    if axis == _NO_AXIS or len(tables) == 1:
        axis, tables = 0, np.broadcast_to(tables[0], (tensor.shape[0], size))
    if tensor.shape[axis] != len(tables):  # older writers leave the axis to the scales
        axis = len(tensor.shape) - 1
    channels = np.arange(tensor.shape[axis]).reshape(-1, *(1,) * (len(tensor.shape) - 1 - axis))
    values: np.ndarray = tables[channels, indices]
    return values


def _from_huffman(tensor: FlatTensor, codes: np.ndarray, how: np.ndarray) -> np.ndarray:
    """Decodes Huffman codes by lookup tables.

    An entry has an end mark, a number of bits, and a symbol or the next table's offset. At a symbol, the number is the
    bits of the last lookup that belong to its code. At a table, it is the width of the next lookup, less 1.
    """
    wide = bool(how[_PARAMETERS] & 1)
    entries = how[_HEADER:].view(np.uint32 if wide else np.uint16).tolist()
    shift = 27 if wide else 11
    first, data, at = int(how[_PARAMETERS] >> 4) + 1, codes.tobytes(), 0
    symbols = np.zeros(math.prod(tensor.shape), np.int64)
    for position in range(symbols.size):
        width, entry, found = first, 0, 0
        while True:
            window = int.from_bytes(data[at >> 3 : (at >> 3) + 5].ljust(5, b"\0"), "big")
            found += (window >> (40 - (at & 7) - width)) & ((1 << width) - 1)
            at += width
            entry = entries[found]
            bits = entry >> shift & 15
            if entry >> (shift + 4) or at > 8 * len(data) + _LONGEST:
                break
            width, found = bits + 1, found + (entry & ((1 << shift) - 1))
        at -= max(width - bits, 0)
        if at > 8 * len(data):
            raise ValueError("the codes end too early")
        symbols[position] = entry
    return symbols.astype(DTYPES[tensor.type])


def _from_pruned(tensor: FlatTensor, codes: np.ndarray, how: np.ndarray) -> np.ndarray:
    """Decodes a bit for each element, the highest first: 1 is the next value of the table, 0 the zero point."""
    kept = np.unpackbits(codes)[: math.prod(tensor.shape)].reshape(tensor.shape).astype(bool)
    zero: np.ndarray = np.asarray(tensor.zero_point if len(tensor.zero_point) else 0)
    if zero.size > 1:
        zero = zero.reshape(-1, *(1,) * (len(tensor.shape) - 1 - tensor.axis))
    values: np.ndarray = np.zeros(tensor.shape, DTYPES[tensor.type]) + zero.astype(DTYPES[tensor.type])
    table = how[_HEADER:].view(values.dtype)[: int(kept.sum())]
    if len(table) < kept.sum():
        raise ValueError(f"{len(table)} of {kept.sum()} values")
    values[kept] = table
    return values
