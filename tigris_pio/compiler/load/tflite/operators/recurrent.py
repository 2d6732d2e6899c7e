"""UNIDIRECTIONAL_SEQUENCE_LSTM, which keeps its memory between runs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.graph import Tensor
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import DOMAIN, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_TANH = 4
#: Indices of the inputs: weights, recurrent weights and biases of the gates input, forget, cell and output.
_WEIGHTS, _RECURRENT, _BIASES = (1, 2, 3, 4), (5, 6, 7, 8), (12, 13, 14, 15)
_PEEPHOLES, _PROJECTION, _NORMALISED = (9, 10, 11), (16, 17), (20, 21, 22, 23)
_HIDDEN, _CELL = 18, 19
#: The order of the gates in ONNX's LSTM: input, output, forget, cell.
_ORDER = (0, 3, 1, 2)
#: An attribute for lowering: the bound of the cell's values.
_CELL_CLIP = "tigris_cell_clip"


@handler("UNIDIRECTIONAL_SEQUENCE_LSTM", summary="float32, and int8 with a cell of int16; constant weights; no "
         "peepholes and no projection")
def read_lstm(layer: Layer) -> None:
    """LSTM with the time axis first; its final states are the initial ones of the next run."""
    options = layer.options("UnidirectionalSequenceLSTMOptions")
    _check(layer, options["FusedActivationFunction"])
    shape = layer.shape(0)
    if len(shape) != 3:
        raise layer.fault(f"its input has shape {list(shape)} instead of three axes")
    first = bool(options["TimeMajor"])
    steps, batch = (shape[0], shape[1]) if first else (shape[1], shape[0])
    if layer.declared(0).type == "int8":
        _read_int8(layer, (steps, batch, shape[2]), first, float(options["CellClip"]))
        return
    weights, recurrent = (_gates(layer, indices) for indices in (_WEIGHTS, _RECURRENT))
    units = weights.shape[0] // 4
    if weights.shape[1] != shape[2] or recurrent.shape != (4 * units, units):
        raise layer.fault(f"weights {list(weights.shape)} and {list(recurrent.shape)} for {list(shape)}")
    bias = _gates(layer, _BIASES) if layer.has_input(_BIASES[1]) else np.zeros(4 * units, np.float32)
    if bias.shape != (4 * units,):
        raise layer.fault(f"biases of {list(bias.shape)} instead of [{4 * units}]")
    source = _time_first(layer, first)
    constants = [layer.network.add_constant(f"{layer.name}/{name}", value[np.newaxis]) for name, value in (
        ("weights", weights), ("recurrent", recurrent), ("bias", np.concatenate([bias, np.zeros_like(bias)])))]
    memory = [layer.reshaped(layer.state(index), (1, batch, units)) for index in (_HIDDEN, _CELL)]
    clip = float(options["CellClip"])
    attributes = {"hidden_size": units, **({_CELL_CLIP: clip} if clip > 0 else {})}
    _emit(layer, [source, *constants, "", *memory], (steps, batch, units), first, attributes)


def _emit(layer: Layer, inputs: list[str], size: tuple[int, int, int], first: bool,
          attributes: Mapping[str, float]) -> None:
    network, (steps, batch, units) = layer.network, size
    dtype = np.dtype(np.float32)
    names = [network.add_tensor(network.fresh(f"{layer.name}/{name}"), shape, dtype) for name, shape in (
        ("sequence", (steps, 1, batch, units)), ("hidden", (1, batch, units)), ("cell", (1, batch, units)))]
    network.add_node(network.fresh(layer.name), "LSTM", inputs, names, attributes)
    for index, name in zip((_HIDDEN, _CELL), names[1:], strict=True):
        layer.set_state(index, layer.reshaped(name, layer.declared(index).shape))
    _write(layer, layer.reshaped(names[0], (steps, batch, units)), (steps, batch, units), first)


def _time_first(layer: Layer, first: bool) -> str:
    """The sequence [steps, batch, inputs]."""
    source = layer.input(0)
    return source if first else layer.network.transposed(source, (1, 0, 2), f"{layer.name}/time_first")


def _write(layer: Layer, result: str, size: tuple[int, int, int], first: bool) -> None:
    """Writes the output, from the hidden values of all steps."""
    steps, batch, units = size
    if first:
        layer.write("Identity", [result], size)
    else:
        layer.write("Transpose", [result], (batch, steps, units), {"perm": (1, 0, 2)})


def _read_int8(layer: Layer, size: tuple[int, int, int], first: bool, clip: float) -> None:
    """LSTM with TensorFlow Lite Micro's arithmetic. The output has the hidden values' bytes, whatever its scale."""
    network, (steps, batch, inputs) = layer.network, size
    hidden, cell = layer.input_like(_HIDDEN), layer.declared(_CELL)
    if cell.type != "int16" or len(cell.scale) != 1 or any(cell.zero_point) or cell.scale[0] <= 0:
        raise Unsupported(f"its cell {cell.name} is not int16 with one scale and no zero point")
    if hidden.quantisation is None or hidden.quantisation.axis is not None or layer.declared(_HIDDEN).type != "int8":
        raise Unsupported(f"its hidden values {layer.declared(_HIDDEN).name} are not int8 with one scale")
    units = math.prod(hidden.shape) // batch
    if units * batch != math.prod(hidden.shape) or math.prod(cell.shape) != units * batch:
        raise layer.fault(f"states of {list(hidden.shape)} and {list(cell.shape)} for {batch} sequences")
    constants = [
        network.add_constant(f"{layer.name}/{name}", _int8_gates(layer, indices, shape)) for name, indices, shape in (
            ("weights", _WEIGHTS, (units, inputs)), ("recurrent", _RECURRENT, (units, units)),
            ("bias", _BIASES, (units,)))]
    held = Tensor("", cell.shape, np.dtype(np.int16))
    variables = layer.scope.variables
    memory = [variables.read(layer.variable(index), like) for index, like in ((_HIDDEN, hidden), (_CELL, held))]
    whole = (steps, batch, units)
    sizes = {"sequence": whole, "hidden": (batch, units), "cell": (batch, units)}
    names = [network.add_tensor(network.fresh(f"{layer.name}/{name}"), shape,
                                np.dtype(np.int16 if name == "cell" else np.int8),
                                None if name == "cell" else hidden.quantisation) for name, shape in sizes.items()]
    attributes = {"cell_scale": float(cell.scale[0]), "cell_clip": clip, "scales": _scales(layer, _WEIGHTS),
                  "recurrent_scales": _scales(layer, _RECURRENT)}
    initial = [layer.reshaped(name, (batch, units)) for name in memory]
    network.add_node(layer.name, layer.operator.name, [_time_first(layer, first), *constants, *initial], names,
                     attributes, DOMAIN)
    for index, name in zip((_HIDDEN, _CELL), names[1:], strict=True):
        variables.assign(layer.variable(index), layer.reshaped(name, layer.declared(index).shape))
    _, quantisation = layer.annotation()
    result = Tensor("", whole, np.dtype(np.int8), quantisation)
    _write(layer, network.recoded(names[0], result), whole, first)


def _scales(layer: Layer, indices: tuple[int, ...]) -> tuple[float, ...]:
    """The scale of each gate's weights. Raises Unsupported unless they are int8 with one scale and no zero point."""
    found = []
    for index in indices:
        own = layer.quantisation(index)
        if own is None or own.axis is not None or own.zero_point or layer.declared(index).type != "int8":
            raise Unsupported(f"its weights {layer.declared(index).name} are not int8 with one scale and no zero point")
        found.append(float(own.scale))
    return tuple(found)


def _int8_gates(layer: Layer, indices: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """The stored constants of all gates, with axes [unit][gate] first."""
    values = []
    for index in indices:
        value = layer.constant(index) if layer.has_input(index) else np.zeros(shape, np.int32)
        if value is None:
            raise Unsupported("its weights are computed at run time")
        if value.shape != shape or value.dtype not in (np.int8, np.int32):
            shown = f"{value.dtype} {list(value.shape)}"
            raise layer.fault(f"{layer.declared(index).name} is {shown} instead of {list(shape)}")
        values.append(value)
    return np.stack(values, 1)


def _check(layer: Layer, activation: int) -> None:
    """Raises Unsupported for features that ONNX's LSTM lacks here."""
    for indices, what in ((_PEEPHOLES, "peepholes"), (_PROJECTION, "a projection"), (_NORMALISED, "normalised gates")):
        if any(layer.has_input(index) for index in indices):
            raise Unsupported(what)
    if not all(layer.has_input(index) for index in (*_WEIGHTS, *_RECURRENT)):
        raise Unsupported("coupled input and forget gates")
    if activation != _TANH:
        raise Unsupported("an activation that is not tanh")
    types = layer.declared(0).type, layer.output().type
    if types not in (("float32", "float32"), ("int8", "int8")):
        raise Unsupported(f"{types[0]} to {types[1]}; it runs in float32 and int8")


def _gates(layer: Layer, indices: tuple[int, ...]) -> np.ndarray:
    """The constants of all gates as float32, stacked in ONNX's order."""
    values = []
    for index in (indices[number] for number in _ORDER):
        if layer.constant(index) is None:
            raise Unsupported("its weights are computed at run time")
        if layer.quantisation(index) is not None and layer.name not in layer.network.hybrid:
            layer.network.hybrid.append(layer.name)
        values.append(layer.network.real(layer.input(index)).astype(np.float32))
    if any(value.shape != values[0].shape for value in values):
        raise layer.fault("gates of different shapes")
    return np.concatenate(values)
