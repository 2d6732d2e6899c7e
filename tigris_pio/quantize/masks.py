"""Masks in front of a Softmax: what is far below the scores counts for nothing there, and must not take their range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.ir.names import Names

#: A share of e^-20 is nothing in int8 and int16.
_FAR = 20.0
#: A computed operand that goes from here to 0 is a mask. The values in use are -1e4, -65504 and below.
_MASK = -1e3


def bound_masks(model: onnx.ModelProto, ranges: Any) -> None:
    """Raises masks that are added to scores, or chosen in their place, to a little below the lowest score: constants in
    the model, computed ones in `ranges`, where int8 saturates them."""
    writers = {name: node for node in model.graph.node for name in node.output}
    constants = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    names = Names([*constants, *writers, *(item.name for item in model.graph.input)])
    ranks = {item.name: len(item.type.tensor_type.shape.dim) - 1 for item in model.graph.value_info}
    floors: dict[str, float] = {}
    bounded: list[onnx.NodeProto] = []
    for softmax in (node for node in model.graph.node if node.op_type == "Softmax"):
        node = writers.get(softmax.input[0])
        if node is None or node.op_type not in ("Add", "Where") or node in bounded:
            continue
        axis = next((item.i for item in softmax.attribute if item.name == "axis"), -1)
        if axis not in (-1, ranks.get(node.output[0])):
            continue  # vectors of a mask are looked at along its last axis
        first, second = list(node.input)[-2:]
        for mask, scores in ((first, second), (second, first)):
            if scores not in ranges:
                continue
            lowest, highest = (float(end.item()) for end in ranges[scores].range_value)
            floor = lowest - _FAR if node.op_type == "Where" else lowest - highest - _FAR
            if not np.isfinite(floor) or not _is_mask(mask, floor, constants, ranges):
                continue
            if node.op_type == "Where" and (mask not in constants or constants[mask].min() != constants[mask].max()):
                continue
            bounded.append(node)
            floors[softmax.input[0]] = floor if node.op_type == "Where" else lowest + floor
            if mask in constants:
                own = names.fresh(mask)
                values = np.maximum(constants[mask], np.float32(floor))
                model.graph.initializer.append(numpy_helper.from_array(values, own))
                node.input[list(node.input).index(mask)] = own
            else:
                floors[mask] = min(floor, floors.get(mask, floor))
            break
    for name, floor in floors.items():
        readers = [node for node in model.graph.node if name in node.input]
        if name in ranges and all(node.op_type == "Softmax" or node in bounded for node in readers):
            ranges[name].lowest = np.maximum(ranges[name].lowest, np.float32(floor))


def _is_mask(name: str, floor: float, constants: Mapping[str, np.ndarray], ranges: Any) -> bool:
    """Whether values below `floor` can be raised to it: each vector of the Softmax has one of 0, or all alike."""
    if name not in constants:
        return name in ranges and ranges[name].range_value[0] <= _MASK and ranges[name].range_value[1] == 0
    values = constants[name]
    if values.dtype != np.float32 or values.size == 0 or values.min() >= floor:
        return False
    most, least = (np.atleast_1d(values).max(axis=-1), np.atleast_1d(values).min(axis=-1))
    return bool(((most >= 0) | (most == least)).all())
