"""Layers with a memory.

SVDF keeps its features of earlier runs, CIRCULAR_BUFFER the newest rows of its input, one more in each run.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Quantisation, Tensor
from tigris_pio.compiler.load.tflite.custom import number
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import DOMAIN, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_NONE = 0
_FEATURES, _TIME, _BIAS, _MEMORY = 1, 2, 3, 4


@handler("SVDF", summary="float32, and int8 with a memory of int8 or int16; any rank; constant weights, one "
         "sequence")
def read_svdf(layer: Layer) -> None:
    """Gemm computes the newest row of the memory, and Conv along the rows computes the output.

    The memory is an image [1, filters, rows, 1], the oldest row first; each run drops the oldest row.
    """
    options = layer.options("SVDFOptions")
    rank, shape = int(options["Rank"]), layer.shape(0)
    features, time = layer.constant(_FEATURES), layer.constant(_TIME)
    if features is None or time is None:
        raise Unsupported("its weights are computed at run time")
    if len(shape) != 2 or features.ndim != 2 or time.ndim != 2 or features.shape != (len(time), shape[1]):
        raise layer.fault(f"weights {list(features.shape)} and {list(time.shape)} for {list(shape)}")
    filters, rows = time.shape
    if rank < 1 or filters % rank or not rows:
        raise layer.fault(f"time weights {list(time.shape)} of rank {rank}")
    if shape[0] != 1:
        raise Unsupported(f"{shape[0]} sequences")
    memory = _memory(layer, filters, rows)
    held = layer.scope.variables.read(layer.variable(_MEMORY), memory)
    parts = [layer.reshaped(_newest(layer, filters, memory), (1, filters, 1, 1))]
    if rows > 1:
        kept = _add_like(layer, "kept", (1, filters, rows - 1, 1), memory)
        layer.network.add_node(layer.network.fresh(f"{layer.name}/kept"), "Slice",
                               [held, *layer.limits([1], [rows], [2])], (kept,))
        parts.insert(0, kept)
    present = _add_like(layer, "memory", (1, filters, rows, 1), memory)
    layer.network.add_node(layer.network.fresh(f"{layer.name}/memory"), "Concat", parts, (present,), {"axis": 2})
    layer.scope.variables.assign(layer.variable(_MEMORY), present)
    _emit(layer, present, rank, options["FusedActivationFunction"])


def _newest(layer: Layer, filters: int, memory: Tensor) -> str:
    """The row that this run adds. It is clamped without the zero point, which is added then, as in TensorFlow Lite."""
    own = memory.quantisation
    plain = memory
    if own is not None:
        plain = dataclasses.replace(memory, quantisation=dataclasses.replace(own, zero_point=np.zeros((), np.int64)))
    result = _add_like(layer, "newest", (1, filters), plain)
    layer.network.add_node(layer.network.fresh(f"{layer.name}/features"), "Gemm",
                           [layer.input(0), layer.weights(_FEATURES)], (result,), {"transB": 1, **_sums(memory)})
    if plain == memory:
        return result
    shifted = _add_like(layer, "newest", (1, filters), memory)
    layer.network.add_node(layer.network.fresh(f"{layer.name}/zero_point"), "SVDF", (result,), (shifted,), {}, DOMAIN)
    return shifted


def _memory(layer: Layer, filters: int, rows: int) -> Tensor:
    """The memory's type and shape."""
    memory = layer.input_like(_MEMORY)
    time = layer.declared(_TIME).type
    if memory.dtype not in (np.float32, np.int8, np.int16) or (memory.dtype == np.int16) != (time == "int16"):
        raise Unsupported(f"a memory of {layer.declared(_MEMORY).type} and time weights of {time}")
    if memory.shape != (1, filters * rows):
        raise layer.fault(f"a memory of {list(memory.shape)} instead of {[1, filters * rows]}")
    return dataclasses.replace(memory, shape=(1, filters, rows, 1))


def _sums(memory: Tensor) -> dict[str, int]:
    """Attributes of the nodes of an SVDF with int16 memory: TensorFlow Lite Micro's sums and rescaling."""
    return {"sum_bits": 32, "single": 1} if memory.dtype == np.int16 else {}


def _add_like(layer: Layer, base: str, shape: tuple[int, ...], memory: Tensor) -> str:
    name = layer.network.fresh(f"{layer.name}/{base}")
    return layer.network.add_tensor(name, shape, memory.dtype, memory.quantisation)


def _emit(layer: Layer, memory: str, rank: int, activation: int) -> None:
    """Writes the output. In int8 the zero point implies the activation, so it is left out."""
    network = layer.network
    weights = network.weights[layer.weights(_TIME)]
    quantisation = network.tensors[layer.weights(_TIME)].quantisation
    filters, rows = weights.shape
    units = filters // rank
    kernel = network.add_constant(f"{layer.name}/time", weights.reshape(units, rank, rows, 1), quantisation)
    inputs = [memory, kernel, *_bias(layer, units, network.tensors[memory].quantisation, quantisation)]
    attributes = {"kernel_shape": (rows, 1), "group": units, **_sums(network.tensors[memory])}
    fused = _NONE if layer.annotation()[1] is not None else activation
    result = layer.activated("Conv", inputs, (1, units, 1, 1), attributes, fused)
    layer.write("Reshape", [result, layer.numbers((1, units))], (1, units))


def _bias(layer: Layer, units: int, memory: Quantisation | None, time: Quantisation | None) -> list[str]:
    if not layer.has_input(_BIAS):
        return []
    value = layer.constant(_BIAS)
    if value is None or value.shape != (units,):
        raise layer.fault(f"a bias of shape {list(layer.shape(_BIAS))} for {units} outputs")
    if memory is None or time is None:
        return [layer.input(_BIAS)]
    scale = np.asarray(np.float64(memory.scale) * np.float64(time.scale), np.float32)
    quantisation = Quantisation(scale, np.zeros((), np.int64), np.dtype(np.int32))
    return [layer.network.add_constant(f"{layer.name}/bias", value.astype(np.int32), quantisation)]


#: Buffers of so many rows run in each run of the model, unless their options give a number of cycles
#: (micro/kernels/circular_buffer_common.cc).
_EACH_RUN = (5, 13, 25)


@handler("CIRCULAR_BUFFER", summary="TensorFlow Lite Micro's custom operator: int8, one row a run")
def read_circular_buffer(layer: Layer) -> None:
    """A state that drops its oldest row and appends the input."""
    output = layer.output_like()
    shape, rows = output.shape, layer.shape(0)
    if len(shape) != 4 or len(rows) != 4 or (*rows[:1], *rows[2:]) != (*shape[:1], *shape[2:]) or rows[1] != 1:
        raise layer.fault(f"rows of {list(rows)} for a buffer of {list(shape)}")
    if layer.declared(0).type != "int8" or layer.quantisation(0) != output.quantisation or shape[0] != 1:
        raise Unsupported(f"{layer.declared(0).type} of {shape[0]} sequences; only one sequence of int8 with one scale "
                          "is supported")
    cycles = int(number(layer, "cycles_max", 0.0))
    if cycles <= 0:
        cycles = 1 if shape[1] in _EACH_RUN else 2
    if cycles != 1:
        raise Unsupported(f"it skips the rest of the model in all but one of {cycles} runs; make the rest a model of "
                          "its own")
    network, variables, tensor = layer.network, layer.scope.variables, layer.output()
    key = (layer.scope.prefix, "ring", tensor.index)
    variables.declare(key, f"{layer.name}/ring")
    held = variables.read(key, output)
    limits = layer.limits([1], [shape[1]], [2])
    kept = (shape[0], shape[3], shape[1] - 1, shape[2])
    parts = [layer.image(0)]
    if shape[1] > 1:
        parts.insert(0, layer.part("Slice", [network.image(held), *limits], kept))
    layer.write("Concat", parts, shape, {"axis": 2}, image=True)
    variables.assign(key, layer.scope.names[tensor.index])
