"""Bounds masks in front of a Softmax: values far below the scores have no effect, but would widen the int8 range."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.ir.names import Names

#: A score this far below the others has a share of e^-20, which is 0 in int8 and int16.
_FAR = 20.0
#: A computed operand with a range from at most here to 0 is a mask. Models use -1e4, -65504 and below.
_MASK = -1e3
#: Operators that compute masks from truth values or integers and large constants.
_MAKING = frozenset(("Add", "Concat", "Expand", "Gather", "Identity", "Max", "Min", "Mul", "Reshape", "Slice",
                     "Squeeze", "Sub", "Tile", "Transpose", "Unsqueeze", "Where"))
#: Smallest of such constants: a smaller factor may scale more than a truth value.
_TOO_LARGE = 9999.0


class _Masked:
    """A model during the bounding of its masks; nodes by their first output."""

    def __init__(self, model: onnx.ModelProto):
        self.graph = model.graph
        self.writers = {name: node for node in model.graph.node for name in node.output}
        self.constants = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
        self.readers: dict[str, set[str]] = {}
        for node in model.graph.node:
            for name in node.input:
                self.readers.setdefault(name, set()).add(node.output[0])
        self.ranks = {item.name: len(item.type.tensor_type.shape.dim) for item in model.graph.value_info}
        self.bounded: set[str] = set()  #: nodes that only masks read, and their readers
        self._names = Names([*self.constants, *self.writers, *(item.name for item in model.graph.input)])

    def masking(self) -> Iterator[tuple[onnx.NodeProto, onnx.NodeProto]]:
        """Yields each Softmax along the last axis with the Add or Where in front of it, behind an optional Max."""
        for softmax in (node for node in self.graph.node if node.op_type == "Softmax"):
            axis = next((item.i for item in softmax.attribute if item.name == "axis"), -1)
            node = self.writers.get(softmax.input[0])
            if axis not in (-1, self.ranks.get(softmax.input[0], 0) - 1):
                continue  # the checks of masks work along the last axis
            if node is not None and node.op_type == "Max":
                found = (self.writers.get(name) for name in node.input if name not in self.constants)
                node = next((item for item in found if item is not None), None)
            if node is not None and node.op_type in ("Add", "Where"):
                yield softmax, node

    def bound(self, node: onnx.NodeProto, index: int, floor: float, least: float) -> None:
        """Clips a constant that a node reads to -|floor| … |floor|, if its magnitude is at least `least`."""
        values = self.constants[node.input[index]]
        if values.dtype == np.float32 and values.size and np.abs(values).max() > max(least, -floor):
            name = self._names.fresh(node.input[index])
            clipped = np.clip(values, np.float32(floor), np.float32(-floor))
            self.graph.initializer.append(numpy_helper.from_array(clipped, name))
            node.input[index] = name

    def bound_sources(self, mask: str, floor: float) -> None:
        """Clips all constants from which only this mask is computed."""
        waiting = [mask]
        while waiting:
            name = waiting.pop()
            node = self.writers.get(name)
            if node is None or node.op_type not in _MAKING or not self.readers[name] <= self.bounded:
                continue
            self.bounded.add(node.output[0])
            for index, item in list(enumerate(node.input))[node.op_type == "Where" :]:
                if item in self.constants:
                    self.bound(node, index, floor, _TOO_LARGE)
                else:
                    waiting.append(item)


def may_mask(model: onnx.ModelProto) -> bool:
    """Whether the model has a Softmax with a possible mask."""
    return next(_Masked(model).masking(), None) is not None


def bound_masks(model: onnx.ModelProto, ranges: Any) -> bool:
    """Raises masks that are added to scores, or replace them, to a little below the lowest score.

    Constants change in the model; computed masks change in `ranges`, so that int8 saturates them. Returns whether there
    was a mask.
    """
    masked = _Masked(model)
    floors: dict[str, float] = {}
    computed: dict[str, float] = {}
    for softmax, node in masked.masking():
        first, second = list(node.input)[-2:]
        for mask, scores in ((first, second), (second, first)):
            if scores not in ranges or node.output[0] in masked.bounded:
                continue
            lowest, highest = (float(end.item()) for end in ranges[scores].range_value)
            chosen = node.op_type == "Where"
            floor = lowest - _FAR if chosen else lowest - highest - _FAR
            values = masked.constants.get(mask)
            if not np.isfinite(floor) or not _is_mask(mask, values, floor, ranges) or (
                    chosen and (values is None or values.min() != values.max())):
                continue
            clamp = masked.writers[softmax.input[0]]
            masked.bounded |= {node.output[0], clamp.output[0]}
            floors |= dict.fromkeys((node.output[0], clamp.output[0]), floor if chosen else lowest + floor)
            if values is None:
                computed[mask] = floors[mask] = min(floor, floors.get(mask, floor))
            for item, least in ((node, floor), (clamp, floors[clamp.output[0]])):
                for index, name in enumerate(item.input):
                    if name in masked.constants and name != scores:
                        masked.bound(item, index, least, 0.0)
    for mask, floor in computed.items():
        masked.bound_sources(mask, floor)
    for name, floor in floors.items():
        readers = (masked.writers[reader] for reader in masked.readers.get(name, ()))
        if name in ranges and all(node.op_type == "Softmax" or node.output[0] in masked.bounded for node in readers):
            ranges[name].lowest = np.maximum(ranges[name].lowest, np.float32(floor))
    return bool(floors)


def _is_mask(name: str, values: np.ndarray | None, floor: float, ranges: Any) -> bool:
    """Whether values below `floor` can be raised to it: each vector of the Softmax has a 0, or equal elements only."""
    if values is None:
        return name in ranges and ranges[name].range_value[0] <= _MASK and ranges[name].range_value[1] == 0
    if values.dtype != np.float32 or values.size == 0 or values.min() >= floor:
        return False
    most, least = (np.atleast_1d(values).max(axis=-1), np.atleast_1d(values).min(axis=-1))
    return bool(((most >= 0) | (most == least)).all())
