"""Recurrent layers, whose memory lives from run to run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_TANH = 4
#: Places of the inputs: weights, recurrent weights and biases of the gates input, forget, cell and output.
_WEIGHTS, _RECURRENT, _BIASES = (1, 2, 3, 4), (5, 6, 7, 8), (12, 13, 14, 15)
_PEEPHOLES, _PROJECTION, _NORMALISED = (9, 10, 11), (16, 17), (20, 21, 22, 23)
_HIDDEN, _CELL = 18, 19
#: The order of the gates in ONNX's LSTM: input, output, forget, cell.
_ORDER = (0, 3, 1, 2)
#: See the lowering of LSTM.
_CELL_CLIP = "tigris_cell_clip"


@handler("UNIDIRECTIONAL_SEQUENCE_LSTM", summary="float32, constant weights; no peepholes and no projection")
def read_lstm(layer: Layer) -> None:
    """LSTM, along time first; what it ends with is what the next run begins with."""
    options = layer.options("UnidirectionalSequenceLSTMOptions")
    _check(layer, options["FusedActivationFunction"])
    shape = layer.shape(0)
    if len(shape) != 3:
        raise layer.fault(f"its input has {len(shape)} axes instead of three")
    first = bool(options["TimeMajor"])
    steps, batch = (shape[0], shape[1]) if first else (shape[1], shape[0])
    weights, recurrent = (_gates(layer, places) for places in (_WEIGHTS, _RECURRENT))
    units = weights.shape[0] // 4
    if weights.shape[1] != shape[2] or recurrent.shape != (4 * units, units):
        raise layer.fault(f"weights {list(weights.shape)} and {list(recurrent.shape)} for {list(shape)}")
    bias = _gates(layer, _BIASES) if layer.has(_BIASES[1]) else np.zeros(4 * units, np.float32)
    if bias.shape != (4 * units,):
        raise layer.fault(f"biases of {list(bias.shape)} for {units} units")
    source = layer.input(0)
    if not first:
        source = layer.network.transposed(source, (1, 0, 2), f"{layer.name}/time_first")
    constants = [layer.network.add_constant(f"{layer.name}/{name}", value[np.newaxis]) for name, value in (
        ("weights", weights), ("recurrent", recurrent), ("bias", np.concatenate([bias, np.zeros_like(bias)])))]
    memory = [layer.reshaped(layer.state(place), (1, batch, units)) for place in (_HIDDEN, _CELL)]
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
    for place, name in zip((_HIDDEN, _CELL), names[1:], strict=True):
        layer.set_state(place, layer.reshaped(name, layer.declared(place).shape))
    result = layer.reshaped(names[0], (steps, batch, units))
    if first:
        layer.write("Identity", [result], (steps, batch, units))
    else:
        layer.write("Transpose", [result], (batch, steps, units), {"perm": (1, 0, 2)})


def _check(layer: Layer, activation: int) -> None:
    """Refuses what an LSTM of ONNX has not."""
    for places, what in ((_PEEPHOLES, "peepholes"), (_PROJECTION, "a projection"), (_NORMALISED, "normalised gates")):
        if any(layer.has(place) for place in places):
            raise Unsupported(what)
    if not all(layer.has(place) for place in (*_WEIGHTS, *_RECURRENT)):
        raise Unsupported("coupled input and forget gates")
    if activation != _TANH:
        raise Unsupported("an activation that is not tanh")
    if layer.output().type != "float32" or layer.declared(0).type != "float32":
        raise Unsupported(f"{layer.declared(0).type}; it runs in float32")


def _gates(layer: Layer, places: tuple[int, ...]) -> np.ndarray:
    """The constants of all gates, one below the other in the order that ONNX has them."""
    values = []
    for place in (places[number] for number in _ORDER):
        if layer.constant(place) is None:
            raise Unsupported("its weights are computed at run time")
        if layer.quantisation(place) is not None and layer.name not in layer.network.hybrid:
            layer.network.hybrid.append(layer.name)
        values.append(layer.network.real(layer.input(place)).astype(np.float32))
    if any(value.shape != values[0].shape for value in values):
        raise layer.fault("gates of different shapes")
    return np.concatenate(values)
