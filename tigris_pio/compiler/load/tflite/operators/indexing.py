"""Operators that read or write elements at indices, which may be computed at run time."""

from __future__ import annotations

import math

import numpy as np
import onnx

from tigris_pio.compiler.ir.graph import Quantisation
from tigris_pio.compiler.load.tflite.annotation import stored
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler


@handler("TOPK_V2", summary="along the last axis; constant k")
def read_top_k(layer: Layer) -> None:
    """TopK; among equal elements, the one with the lower index comes first."""
    shape, (k, *more) = layer.shape(0), layer.integers(1, "k") or [-1]
    if not shape or more or not 0 < k <= shape[-1]:
        raise layer.fault(f"the largest {k} of {list(shape)}")
    result = (*shape[:-1], k)
    layer.write_all("TopK", [layer.input(0), layer.numbers([k])], (result, result))


@handler("ONE_HOT", summary="constant depth, any axis and values")
def read_one_hot(layer: Layer) -> None:
    """Equal with every index, and Where. Indices outside of the depth, and negative ones, have no hot element."""
    shape, (depth, *_) = layer.shape(0), layer.integers(1, "depth") or [-1]
    axis = int(layer.options("OneHotOptions")["Axis"])
    if depth < 0 or not -1 <= axis <= len(shape) or any(math.prod(layer.shape(position)) != 1 for position in (2, 3)):
        raise layer.fault(f"depth {depth} along axis {axis} of {list(shape)}")
    axis = len(shape) if axis < 0 else axis
    result = (*shape[:axis], depth, *shape[axis:])
    spread = layer.reshaped(layer.real(layer.input(0)), (*shape[:axis], 1, *shape[axis:]))
    numbers = np.arange(depth, dtype=np.float32).reshape(-1, *(1,) * (len(shape) - axis))
    name = layer.network.fresh(f"{layer.name}/hot")
    hot = layer.network.add_tensor(name, result, np.dtype(np.bool_))
    layer.network.add_node(layer.network.fresh(f"{layer.name}/equal"), "Equal",
                           (spread, layer.network.add_constant(f"{layer.name}/depth", numbers)), (hot,))
    layer.write("Where", [hot, *(layer.reshaped(layer.input(position), ()) for position in (2, 3))], result)


@handler("SCATTER_ND", summary="constant shape, any indices; updates of one element are added")
def read_scatter_nd(layer: Layer) -> None:
    """ScatterND on zeros. Quantised integers are added without regard to scale and zero point."""
    positions, updates, target = layer.shape(0), layer.shape(1), tuple(layer.integers(2, "sizes"))
    depth = positions[-1] if positions else 0
    if not 0 < depth <= len(target) or min(target) < 0 or updates != (*positions[:-1], *target[depth:]):
        raise layer.fault(f"{list(updates)} at {list(positions)} of {list(target)}")
    layer.network.limits.check("elements", math.prod(target), layer.where)
    given, network, source, quantisation = layer.constant(0), layer.network, layer.input(1), layer.quantisation(1)
    if given is not None and (np.any(given < 0) or np.any(given >= np.array(target[:depth]))):
        raise layer.fault(f"an index outside of {list(target)}")
    once = given is not None and len(np.unique(given.reshape(-1, depth), axis=0)) == math.prod(positions[:-1])
    attributes = {} if once else {"reduction": "add"}
    number = network.tensors[source].dtype
    if quantisation is None:
        added = number.kind in "iu" and not once
        zeros = network.add_constant(f"{layer.name}/zeros", np.zeros(target, np.float32 if added else number))
        if not added:
            layer.write("ScatterND", [zeros, layer.whole(layer.input(0)), source], target, attributes)
            return
        network.warnings.append(f"node {layer.name}: results beyond {1 << 24} are rounded, because integers are "
                                "computed in float32")
        inputs = [zeros, layer.whole(layer.input(0)), layer.real(source)]
        result = layer.part("ScatterND", inputs, target, attributes, real=True)
        layer.write("Cast", [result], target, {"to": onnx.helper.np_dtype_to_tensor_dtype(layer.annotation()[0])})
        return
    nothing = stored(np.zeros(1, layer.declared(1).type))
    steps = Quantisation(np.array(1, np.float32), nothing.astype(np.int64).reshape(()), quantisation.dtype)
    zeros = network.add_constant(f"{layer.name}/zeros", np.broadcast_to(nothing, target).copy(), steps)
    source = network.recoded(source, network.tensors[zeros])
    result = layer.part("ScatterND", [zeros, layer.whole(layer.input(0)), source], target, attributes, quantised=steps)
    layer.write("Identity", [network.recoded(result, layer.output_like())], target)


@handler("REVERSE_SEQUENCE", summary="any axes and lengths")
def read_reverse_sequence(layer: Layer) -> None:
    """Gather of all steps of all sequences, at computed indices."""
    options, shape = layer.options("ReverseSequenceOptions"), layer.shape(0)
    batch, time, rank = int(options["BatchDim"]), int(options["SeqDim"]), len(shape)
    if not (0 <= batch < rank and 0 <= time < rank) or batch == time or layer.shape(1) != (shape[batch],):
        raise layer.fault(f"lengths {list(layer.shape(1))} along axis {batch}, steps along {time}, of {list(shape)}")
    count, steps, name = shape[batch], shape[time], layer.input(0)
    lengths = layer.constant(1)
    if lengths is not None and (lengths.min(initial=0) < 0 or lengths.max(initial=0) > steps):
        raise layer.fault(f"lengths {lengths.tolist()} of {steps} steps")
    order = (batch, time, *(axis for axis in range(rank) if axis not in (batch, time)))
    inside = tuple(shape[axis] for axis in order)
    if order != tuple(range(rank)):
        name = layer.network.transposed(name, order, f"{layer.name}/sequences")
    name = layer.reshaped(name, (count * steps, *inside[2:]))
    grid, number = (count, steps), np.tile(np.arange(steps, dtype=np.float32), (count, 1))
    own = number + steps * np.arange(count, dtype=np.float32)[:, np.newaxis]
    step, odd, position = (layer.network.add_constant(f"{layer.name}/{what}", value) for what, value in (
        ("step", number), ("odd", 2 * number + 1), ("place", own)))
    length = layer.reshaped(layer.real(layer.input(1)), (count, 1))
    # A step s below `length` gets the element of step length - 1 - s: it lies length - (2 s + 1) steps behind.
    left = layer.part("Sub", [length, step], grid, real=True)
    moves = layer.part("Clip", [left, layer.number(0.0), layer.number(1.0)], grid, real=True)
    further = layer.part("Mul", [moves, layer.part("Sub", [length, odd], grid, real=True)], grid, real=True)
    position = layer.part("Add", [position, further], grid, real=True)
    flat = layer.whole(layer.reshaped(position, (count * steps,)))
    gathered = layer.part("Gather", [name, flat], (count * steps, *inside[2:]), {"axis": 0}, like=name)
    back = tuple(int(axis) for axis in np.argsort(order))
    layer.write("Transpose", [layer.reshaped(gathered, inside)], shape, {"perm": back})


@handler("DYNAMIC_UPDATE_SLICE", summary="any start indices")
def read_dynamic_update_slice(layer: Layer) -> None:
    """ScatterND. A slice that would exceed the tensor is moved inside (micro/kernels/dynamic_update_slice.cc)."""
    shape, part = layer.shape(0), layer.shape(1)
    if len(part) != len(shape) or layer.shape(2) != (len(shape),) or any(
            more > full for more, full in zip(part, shape, strict=True)):
        raise layer.fault(f"{list(part)} at {list(layer.shape(2))} numbers of {list(shape)}")
    free = [full - more for full, more in zip(shape, part, strict=True)]
    moved = max((axis + 1 for axis, room in enumerate(free) if room), default=0)  # later axes are written as a whole
    if not moved:
        layer.write("Identity", [layer.input(1)], shape)
        return
    begin = layer.part("Slice", [layer.real(layer.input(2)), *layer.limits([0], [moved], [0])], (moved,), real=True)
    begin = layer.part("Max", [begin, layer.number(0.0)], (moved,), real=True)
    most = layer.network.add_constant(f"{layer.name}/most", np.array(free[:moved], np.float32))
    begin = layer.part("Min", [begin, most], (moved,), real=True)
    positions = (*part[:moved], moved)
    offsets = np.moveaxis(np.indices(part[:moved], np.float32), 0, -1)
    offset = layer.network.add_constant(f"{layer.name}/offsets", np.ascontiguousarray(offsets))
    indices = layer.whole(layer.part("Add", [begin, offset], positions, real=True))
    layer.write("ScatterND", [layer.input(0), indices, layer.input(1)], shape)
