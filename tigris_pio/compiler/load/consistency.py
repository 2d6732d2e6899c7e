"""Checks of a loaded model beside shape inference: sizes that no plan can hold, and moves that lose elements.

`origin` is the model's file or name, for messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.limits import Limits
from tigris_pio.errors import ModelError

#: A plan counts bytes in 32 bits, and sums of two sizes must not overflow.
MOST_BYTES = (1 << 31) - 1


def check_sizes(
    nodes: Sequence[Node], tensors: Mapping[str, Tensor], inputs: Sequence[str], weights: Mapping[str, np.ndarray],
    origin: str, limits: Limits,
) -> None:  # fmt: skip
    """Raises ModelError for a tensor of 2 GB or more, or beyond the limit, and for weights of 2 GB or more in all."""
    for name in inputs:
        _check_tensor(tensors[name], f"graph input {name}", origin, limits)
    for node in nodes:
        for name in filter(None, node.outputs):
            if name in tensors:
                _check_tensor(tensors[name], f"node {node.name} ({node.op})", origin, limits)
    total = sum(value.nbytes for value in weights.values())
    if total > MOST_BYTES:
        largest = max(weights, key=lambda name: weights[name].nbytes)
        raise ModelError(
            f"{origin}: its weights take {total} bytes, a plan holds less than 2 GB; the largest is {largest} with "
            f"{weights[largest].nbytes}"
        )


def _check_tensor(tensor: Tensor, where: str, origin: str, limits: Limits) -> None:
    size = math.prod(tensor.shape) * tensor.dtype.itemsize
    if size > MOST_BYTES:
        raise ModelError(
            f"{origin}: {where}: tensor {tensor.name} of shape {list(tensor.shape)} takes {size} bytes; "
            "a plan's tensors are smaller than 2 GB"
        )
    limits.check("elements", math.prod(tensor.shape), f"{origin}: {where}: tensor {tensor.name} {list(tensor.shape)}")


def check_empty(
    nodes: Sequence[Node], tensors: Mapping[str, Tensor], inputs: Sequence[str], outputs: Sequence[str], origin: str
) -> None:
    """Raises ModelError for an input or output of the model without elements. Its message names the first empty tensor.

    Empty tensors within the model are constants, which folding removes.
    """
    producer = {name: node for node in nodes for name in node.outputs if name}
    for name in (*inputs, *outputs):
        if name in tensors and 0 in tensors[name].shape:
            what = f"graph {'input' if name in inputs else 'output'} {name}"
            made, node = name, producer.get(name)
            while node is not None:  # back to the first empty tensor
                made = next(item for item in node.outputs if item in tensors and 0 in tensors[item].shape)
                empty = (item for item in node.inputs if item in producer and 0 in tensors[item].shape)
                before = next(empty, None)
                if before is None:
                    what = f"node {node.name} ({node.op}): {made}" + (f", and with it {what}," if made != name else "")
                node = None if before is None else producer[before]
            raise ModelError(
                f"{origin}: {what} has shape {list(tensors[made].shape)}, which is empty; a plan's inputs and outputs "
                "have elements"
            )


def check_moves(nodes: Sequence[Node], tensors: Mapping[str, Tensor], origin: str) -> None:
    """Raises ModelError for a Reshape that changes the number of elements, or a Transpose of other axes than it has."""
    for node in nodes:
        moves = node.op in ("Reshape", "Transpose") and not node.domain
        if not moves or not {node.inputs[0], node.outputs[0]} <= tensors.keys():
            continue
        source, result = tensors[node.inputs[0]].shape, tensors[node.outputs[0]].shape
        permutation = node.attributes.get("perm")
        if node.op == "Transpose" and permutation is not None and sorted(permutation) != [*range(len(source))]:
            raise ModelError(f"{origin}: node {node.name} (Transpose): perm {list(permutation)} is no permutation of "
                             f"the axes of {list(source)}; export the model again")
        if node.op == "Reshape" and math.prod(source) != math.prod(result):
            raise ModelError(
                f"{origin}: node {node.name} (Reshape): {list(source)} and {list(result)} differ in their number of "
                "elements; export the model again"
            )


def check_computed(node: Node, values: Mapping[str, np.ndarray], origin: str, limits: Limits) -> None:
    """Raises ModelError for a node of known inputs whose result would be too large."""
    shape = _computed_shape(node, values)
    if shape is not None and min(shape, default=0) < 0:
        raise ModelError(f"{origin}: node {node.name} ({node.op}): a constant of shape {shape}, which is negative")
    if shape is not None and math.prod(shape) > MOST_BYTES // 4:
        raise ModelError(
            f"{origin}: node {node.name} ({node.op}): a constant of shape {shape} takes 2 GB or more"
        )
    if shape is not None:
        where = f"{origin}: node {node.name} ({node.op}): a constant of shape {shape}"
        limits.check("elements", math.prod(shape), where)


def _computed_shape(node: Node, values: Mapping[str, np.ndarray]) -> list[int] | None:
    read = [values.get(name) for name in node.inputs]
    if node.op == "ConstantOfShape" and read and read[0] is not None:
        return [int(size) for size in read[0].ravel()]
    if node.op == "Expand" and len(read) == 2 and read[1] is not None:
        return [int(size) for size in read[1].ravel()]
    if node.op == "Tile" and len(read) == 2 and read[0] is not None and read[1] is not None:
        return [*read[0].shape, *(int(count) for count in read[1].ravel())]
    if node.op == "Range" and len(read) == 3:
        start, limit, step = (0.0 if value is None else float(value.ravel()[0]) for value in read)
        return [max(0, math.ceil((limit - start) / step))] if step else None
    return None
