"""LSTM, GRU and RNN: one RECURRENT for each direction, which takes a step for each row of its input.

A forward layer computes its rows in order from the previous row, so it rolls like a convolution along time. If only the
last state is read, the output is a folded tensor. A reverse layer needs its whole input.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import row_major
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import emit_selection
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import select_params, selected_rows
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Value
from tigris_pio.format.enums import DType, OpKind, RecurrentCell, RecurrentFunction
from tigris_pio.format.params import MeanOfSumsFloatParams, RecurrentParams
from tigris_pio.format.work import GATES

_F = RecurrentFunction
_CELLS = {"LSTM": RecurrentCell.LSTM, "GRU": RecurrentCell.GRU, "RNN": RecurrentCell.RNN}
_DEFAULTS = {
    RecurrentCell.LSTM: ("sigmoid", "tanh", "tanh"), RecurrentCell.GRU: ("sigmoid", "tanh"),
    RecurrentCell.RNN: ("tanh",),
}
_FUNCTIONS = {item.name.replace("_", "").lower(): item for item in RecurrentFunction}
#: Defaults of alpha and beta for the functions that have them.
_ALPHA = {_F.AFFINE: 1.0, _F.LEAKY_RELU: 0.01, _F.THRESHOLDED_RELU: 1.0, _F.SCALED_TANH: 1.0, _F.HARD_SIGMOID: 0.2,
          _F.ELU: 1.0}
_BETA = {_F.AFFINE: 0.0, _F.SCALED_TANH: 1.0, _F.HARD_SIGMOID: 0.5}
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_LARGEST = 65535
#: An attribute of LSTM that ONNX lacks: TensorFlow Lite's limit of the cell's magnitude.
CELL_CLIP = "tigris_cell_clip"


@dataclasses.dataclass(frozen=True)
class _Layer:
    """The names of a node's inputs, with the sequence axis first, and its sizes."""

    cell: RecurrentCell
    source: str
    weights: str
    recurrent: str
    bias: str
    hidden: str
    cells: str
    peepholes: str
    reverse: tuple[bool, ...]
    steps: int
    batch: int
    inputs: int
    units: int

    @property
    def state(self) -> int:
        """Elements of the state of one sequence."""
        return 2 * self.units if self.cell is RecurrentCell.LSTM else self.units


@operator(*_CELLS, summary="constant weights, any direction and activations; float32, weights also int8")
def lower_recurrent(builder: Builder, node: Node) -> None:
    """RECURRENT for each direction, and SELECTs of the outputs from its states."""
    composer = Composer(builder, node)
    layer = _layer(composer)
    full, last, cells = ((*node.outputs, "", "", "")[:3])
    full, last, cells = (name if name and builder.is_read(name) else "" for name in (full, last, cells))
    states = [_emit_direction(composer, layer, place, bool(full)) for place in range(len(layer.reverse))]
    hidden, cell = np.arange(layer.units), np.arange(layer.units, 2 * layer.units)
    if full:
        _emit_output(composer, layer, full, [_select_states(composer, name, None, hidden) for name in states], 1)
    for output, units in ((last, hidden), (cells, cell)):
        if output:
            ends = [_select_states(composer, name, 0 if turned else -1, units)
                    for name, turned in zip(states, layer.reverse, strict=True)]
            _emit_output(composer, layer, output, ends, 0)


def _layer(composer: Composer) -> _Layer:
    builder, node = composer.builder, composer.node
    names = (*node.inputs, *("",) * 8)[:8]
    source, weights, recurrent, bias, lengths, hidden, cells, peepholes = names
    for name in filter(None, (weights, recurrent, bias, peepholes)):
        if not builder.is_constant(name):
            raise Refusal(f"its weights {name} are computed at run time")
    direction = node.attributes.get("direction", "forward")
    if direction not in _DIRECTIONS:
        raise Refusal(f"direction {direction}")
    if node.attributes.get("layout", 0):
        source, hidden, cells = (_time_first(composer, name) for name in (source, hidden, cells))
    steps, batch, inputs = builder.shape(source)
    units = builder.shape(recurrent)[-1]
    if int(node.attributes.get("hidden_size", units)) != units or max(units, inputs) > _LARGEST:
        raise Refusal(f"hidden_size {node.attributes.get('hidden_size')} with recurrent weights for {units}")
    if lengths and not (builder.is_constant(lengths) and np.all(builder.graph.weights[lengths] == steps)):
        raise Refusal(f"its sequence_lens {lengths} are not all {steps}, the length of its input; leave them out")
    layer = _Layer(_CELLS[node.op], source, weights, recurrent, bias, hidden, cells, peepholes, _DIRECTIONS[direction],
                   steps, batch, inputs, units)
    rows, count = GATES[layer.cell] * units, len(layer.reverse)
    wanted = {weights: (count, rows, inputs), recurrent: (count, rows, units), bias: (count, 2 * rows),
              hidden: (count, batch, units), cells: (count, batch, units), peepholes: (count, 3 * units)}
    for name, shape in wanted.items():
        if name and builder.shape(name) != shape:
            raise Refusal(f"its input {name} has shape {list(builder.shape(name))}, which should be {list(shape)}")
    return layer


def _time_first(composer: Composer, name: str) -> str:
    """The name of a tensor with its first two axes exchanged."""
    if not name:
        return name
    builder = composer.builder
    first, second, third = builder.shape(name)
    if builder.is_constant(name):
        return composer.constant(builder.float_constant(name).transpose(1, 0, 2))
    return composer.add("Transpose", [name], (second, first, third), {"perm": (1, 0, 2)})


def _emit_direction(composer: Composer, layer: _Layer, place: int, full: bool) -> str:
    """Emits one direction; returns the tensor of its states [steps][batch][state], or of the last state only."""
    builder, node = composer.builder, composer.node
    turned = layer.reverse[place]
    by_row = not turned
    kept = layer.steps if full else 1
    folded = by_row and layer.steps > 1 and not full
    height = layer.steps if by_row else 1
    steps = layer.steps // height
    pixels = layer.batch * (kept // height if kept > 1 else 1)
    dims: Dims = (1, height, 1, layer.batch * layer.state) if folded else (1, height, pixels, layer.state)
    value = builder.value_in_order(layer.source, row_major(builder.shape(layer.source)), FLOAT)
    source = builder.with_dims(value, (1, height, layer.batch * steps, layer.inputs))
    initial = [_initial_state(composer, layer, layer.hidden, place)]
    if layer.cell is RecurrentCell.LSTM:
        initial.append(_initial_state(composer, layer, layer.cells, place))
    dtype, params, blobs = _params(builder, node, layer, place, steps)
    name = builder.fresh(f"{node.outputs[0] or node.name}/{'reverse' if turned else 'forward'}")
    scratch = layer.units * (2 if layer.cell is RecurrentCell.GRU else 1)
    storage = builder.emit_part(
        f"{name}/states", OpKind.RECURRENT, dtype, [(source, RowMap.same()), *((item, RowMap(0, 1, 0, 0))
                                                                               for item in initial)],
        Cell(dims, fixed=True), FLOAT, params, blobs, folded=folded, sequential=height > 1 and not folded,
        scratch_bytes=4 * scratch,
    )
    if folded:
        storage = builder.emit_part(f"{name}/last", OpKind.MEAN_OF_SUMS, DType.FLOAT32,
                                    [(storage, RowMap.whole(height))],
                                    Cell((1, 1, 1, dims[3]), fixed=True), FLOAT,
                                    MeanOfSumsFloatParams(1, activation_min=-math.inf, activation_max=math.inf))
    shape = (kept, layer.batch, layer.state)
    builder.tensors[name] = Tensor(name, shape, np.dtype(np.float32))
    builder.add_value(name, Value(storage, row_major(shape)))
    return name


def _initial_state(composer: Composer, layer: _Layer, name: str, place: int) -> str:
    """The storage of the state before the first step; zeros if the model has none."""
    builder = composer.builder
    dims: Dims = (1, 1, layer.batch, layer.units)
    if not name or builder.is_constant(name):
        array = builder.float_constant(name)[place] if name else np.zeros(dims[2:], np.float32)
        return builder.add_constant(f"{name or composer.node.outputs[0] or composer.node.name}/initial",
                                    np.ascontiguousarray(array, np.float32), FLOAT, dims)
    if len(layer.reverse) > 1:
        part = builder.declare(f"{name}/initial", (1, *dims[2:]))
        emit_selection(builder, name, part, {0: np.array([place])})
        name = part
    return builder.with_dims(builder.value_in_order(name, row_major(builder.shape(name)), FLOAT), dims)


def _select_states(composer: Composer, states: str, step: int | None, units: np.ndarray) -> str:
    """Emits a SELECT of the hidden or cell values of all steps, or of one step; returns its tensor."""
    builder = composer.builder
    kept, batch, state = builder.shape(states)
    chosen = np.arange(kept) if step is None else np.array([step % kept])
    if len(chosen) == kept and len(units) == state:
        return states
    value = builder.value(states)
    _, height, width, _ = builder.dims(value.storage)
    height, width = (height, width) if kept > 1 else (1, batch)
    storage = builder.with_dims(value, (1, height, width, state))
    rows = chosen if height > 1 else np.zeros(1, np.int64)
    columns = np.arange(batch) if height > 1 else (chosen[:, np.newaxis] * batch + np.arange(batch)).reshape(-1)
    params, blobs = select_params((rows, columns, units), (height, width, state), 0.0, DType.FLOAT32)
    shape = (len(chosen), batch, len(units))
    part = builder.declare(f"{states}/picked", shape)
    builder.emit(OpKind.SELECT, DType.FLOAT32, [(storage, selected_rows(rows, height))], part, row_major(shape), FLOAT,
                 Cell((1, len(rows), len(columns), len(units)), fixed=True), params, blobs=blobs)
    return part


def _emit_output(composer: Composer, layer: _Layer, output: str, parts: list[str], axis: int) -> None:
    """Joins the directions' parts along a new axis, in the model's order of axes."""
    kept, batch, units = composer.builder.shape(parts[0])
    one = (kept, 1, batch, units) if axis else (1, batch, units)
    batch_first = bool(composer.node.attributes.get("layout", 0))
    if len(parts) == 1 and not batch_first:
        composer.add_as("Reshape", parts, output)
        return
    whole = [composer.add("Reshape", [part], one) for part in parts]
    if len(parts) > 1:
        joined = (kept, 2, batch, units) if axis else (2, batch, units)
        if not batch_first:
            composer.add_as("Concat", whole, output, {"axis": axis})
            return
        whole = [composer.add("Concat", whole, joined, {"axis": axis})]
    composer.add_as("Transpose", whole, output, {"perm": (2, 0, 1, 3) if axis else (1, 0, 2)})


def _params(builder: Builder, node: Node, layer: _Layer, place: int,
            steps: int) -> tuple[DType, RecurrentParams, dict[str, np.ndarray]]:
    functions, alphas, betas = _activations(node, layer, place)
    dtype, blobs = _weights(builder, layer, place)
    blobs["bias"] = _bias(builder, node, layer, place)
    if layer.cell is RecurrentCell.LSTM:
        blobs["peepholes"] = (builder.float_constant(layer.peepholes)[place] if layer.peepholes
                              else np.zeros(3 * layer.units, np.float32))
    params = RecurrentParams(
        layer.cell, steps, layer.batch, layer.inputs, layer.units, int(layer.reverse[place]),
        int(bool(node.attributes.get("linear_before_reset", 0))), int(bool(node.attributes.get("input_forget", 0))),
        float(node.attributes.get("clip", math.inf)), float(node.attributes.get(CELL_CLIP, math.inf)), functions,
        alphas, betas, 0, 0, 0, 0, 0, 0,
    )
    return dtype, params, blobs


def _activations(node: Node, layer: _Layer, place: int) -> tuple[tuple[int, ...], tuple[float, ...],
                                                                 tuple[float, ...]]:
    """Three functions with alpha and beta. The model lists numbers only for functions that take them."""
    defaults = _DEFAULTS[layer.cell]
    names = [str(name).lower() for name in node.attributes.get("activations", defaults * len(layer.reverse))]
    if len(names) != len(defaults) * len(layer.reverse):
        raise Refusal(f"activations of size {len(names)} instead of {len(defaults) * len(layer.reverse)}")
    given: dict[str, Any] = {key: list(node.attributes.get(f"activation_{key}", ())) for key in ("alpha", "beta")}
    found = []
    for name in names:
        if name not in _FUNCTIONS:
            raise Refusal(f"activation {name}")
        function = _FUNCTIONS[name]
        alpha, beta = (
            (float(given[key].pop(0)) if given[key] else usual[function]) if function in usual else 0.0
            for key, usual in (("alpha", _ALPHA), ("beta", _BETA))
        )
        found.append((int(function), alpha, beta))
    own = found[place * len(defaults) : (place + 1) * len(defaults)]
    own += own[-1:] * (3 - len(own))
    functions, alphas, betas = zip(*own, strict=True)
    return functions, alphas, betas


def _weights(builder: Builder, layer: _Layer, place: int) -> tuple[DType, dict[str, np.ndarray]]:
    """Both matrices as int8 with scales if both are symmetric int8, as float32 otherwise."""
    scales = [_scales(builder, name, place) for name in (layer.weights, layer.recurrent)]
    if scales[0] is None or scales[1] is None:
        names = {"input_weights": layer.weights, "recurrent_weights": layer.recurrent}
        return DType.FLOAT32, {field: np.ascontiguousarray(builder.float_constant(name)[place])
                               for field, name in names.items()}
    return DType.INT8, {
        "input_weights": np.ascontiguousarray(builder.graph.weights[layer.weights][place]),
        "recurrent_weights": np.ascontiguousarray(builder.graph.weights[layer.recurrent][place]),
        "input_scales": scales[0], "recurrent_scales": scales[1],
    }


def _scales(builder: Builder, name: str, place: int) -> np.ndarray | None:
    """A scale for each gate and unit; None unless the weights are symmetric int8 with scales along their rows."""
    quantisation = builder.tensors[name].quantisation
    if quantisation is None or quantisation.dtype != np.int8 or np.any(quantisation.zero_point):
        return None
    directions, rows, _ = builder.shape(name)
    if quantisation.axis not in (None, 0, 1):
        return None
    scale = quantisation.scale.reshape(-1)
    if quantisation.axis == 0:
        scale = scale[place : place + 1] if directions > 1 else scale
    return np.ascontiguousarray(np.broadcast_to(scale, (rows,)), np.float32)


def _bias(builder: Builder, node: Node, layer: _Layer, place: int) -> np.ndarray:
    """The sum of ONNX's two biases, [gate][unit]; the one inside a GRU's reset product is appended instead of added."""
    rows = GATES[layer.cell] * layer.units
    both = builder.float_constant(layer.bias)[place] if layer.bias else np.zeros(2 * rows, np.float32)
    total = both[:rows] + both[rows:]
    if layer.cell is not RecurrentCell.GRU:
        return np.ascontiguousarray(total, np.float32)
    inner = np.zeros(layer.units, np.float32)
    if node.attributes.get("linear_before_reset", 0):
        inner = both[-layer.units :]
        total[-layer.units :] = both[rows - layer.units : rows]
    return np.concatenate([total, inner]).astype(np.float32)
