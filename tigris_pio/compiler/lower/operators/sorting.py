"""TopK and OneHot."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import row_major
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.gather import emit_gather
from tigris_pio.compiler.lower.operators.select import integer_input
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import TopKParams

_LONGEST = 1 << 24


@operator("TopK", summary="constant k, any axis; sorted in either case")
def lower_top_k(builder: Builder, node: Node) -> None:
    """TOP_K for the positions, GATHER for the values."""
    name = node.inputs[0]
    values, positions = (*node.outputs, "")[:2]
    shape = builder.shape(name)
    axis = int(node.attributes.get("axis", -1)) % len(shape)
    if shape[axis] > _LONGEST:
        raise Refusal(f"its axis has {shape[axis]} elements; at most {_LONGEST} are supported")
    count = builder.shape(values or positions)[axis]
    inner, outer = math.prod(shape[axis + 1 :]), math.prod(shape[:axis])
    target = positions
    if not target or not builder.is_read(target):
        target = builder.fresh(f"{values}/positions")
        builder.tensors[target] = Tensor(target, (*shape[:axis], count, *shape[axis + 1 :]), np.dtype(np.float32))
    found = builder.value_in_order(name, row_major(shape), FLOAT)
    params = TopKParams(int(not node.attributes.get("largest", 1)), count, shape[axis], inner)
    builder.emit(OpKind.TOP_K, DType.FLOAT32, [(found.storage, None)], target, row_major(builder.shape(target)), FLOAT,
                 Cell((1, 1, 1, outer * count * inner), fixed=True), params, per_image=False)
    if values and builder.is_read(values):
        emit_gather(builder, name, target, values, (outer, shape[axis], inner, count), (count * inner, inner, 1))


@operator("OneHot", summary="constant depth, any axis")
def lower_one_hot(builder: Builder, node: Node) -> None:
    """Where the index, counted from the start or from the end, equals each position."""
    composer = Composer(builder, node)
    indices, _, values = node.inputs
    target = builder.shape(node.outputs[0])
    axis = int(node.attributes.get("axis", -1)) % len(target)
    depth = integer_input(builder, node, 1, "depth")
    if depth is None or int(depth.reshape(-1)[0]) != target[axis]:
        raise Refusal("its depth contradicts its output")
    shape = builder.shape(indices)
    spread = composer.add("Reshape", [indices], (*shape[:axis], 1, *shape[axis:]))
    counted = np.arange(target[axis]).reshape(-1, *(1,) * (len(target) - axis - 1))
    here = composer.add("Equal", [spread, composer.constant(counted)], target)
    from_end = composer.add("Equal", [spread, composer.constant(counted - target[axis])], target)
    hot = composer.add("Or", [here, from_end], target)
    if builder.is_constant(values):
        off, on = (composer.constant(value) for value in builder.float_constant(values).reshape(-1))
    else:
        off, on = (composer.add("Gather", [values, _index(builder, composer, place)], ()) for place in (0, 1))
    composer.finish("Where", [hot, on, off])


def _index(builder: Builder, composer: Composer, place: int) -> str:
    name = builder.fresh(f"{composer.node.outputs[0]}/index")
    builder.define_constant(name, np.array(place, np.int64))
    return name
