"""Recognises loops that compute a recurrent layer, by their results, and replaces them by one operator.

Keras writes LSTM, GRU and SimpleRNN as a loop whose body computes one step. read_cell runs the loop with random
numbers. If a layer with the body's weights gives the same results, it replaces the loop; any other loop is unrolled.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.load.tflite.file import FlatOperator, Subgraph
from tigris_pio.compiler.load.tflite.layer import Layer

#: Relative and absolute tolerance between the results of the loop and of the layer.
_NEAR = 1e-5
#: Operators that a body may contain: none of them keeps a state or clamps its values.
_PURE = frozenset((
    "ADD", "BATCH_MATMUL", "CONCATENATION", "DYNAMIC_UPDATE_SLICE", "EXPAND_DIMS", "FULLY_CONNECTED",
    "FlexTensorListSetItem", "GATHER", "LOGISTIC", "MUL", "PACK", "RESHAPE", "SLICE", "SPLIT", "SPLIT_V",
    "SQUEEZE", "STRIDED_SLICE", "SUB", "TANH", "TRANSPOSE", "TensorListSetItem",
))  # fmt: skip
_MOST_CELLS = 256
#: The axes of a sequence: steps, batch, features.
_AXES = 3
#: Runs a loop: from the names of its values before to those after.
Run = Callable[[Sequence[str]], Sequence[str]]


@dataclasses.dataclass(frozen=True)
class _Kind:
    """An ONNX operator. `order`: the index among Keras's gates for each of ONNX's gates; `states`: their number."""

    op: str
    order: tuple[int, ...]
    states: int


_KINDS = (_Kind("LSTM", (0, 3, 1, 2), 2), _Kind("GRU", (0, 1, 2), 1), _Kind("RNN", (0,), 1))


@dataclasses.dataclass(frozen=True)
class _Cell:
    """A layer's constants in Keras's order, with the gates stacked. `states`: indices of the loop's values that are its
    states."""

    kind: _Kind
    weights: np.ndarray
    recurrent: np.ndarray
    biases: tuple[np.ndarray, np.ndarray]
    states: tuple[int, ...]

    def step(self, x: np.ndarray, states: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The states after one step with input `x`."""
        given, kept = x @ self.weights.T + self.biases[0], states[0] @ self.recurrent.T + self.biases[1]
        if self.kind.op == "RNN":
            return [np.tanh(given + kept)]
        if self.kind.op == "GRU":
            update, reset = (_sigmoid(part) for part in np.split(given + kept, 3, -1)[:2])
            new = np.tanh(np.split(given, 3, -1)[2] + reset * np.split(kept, 3, -1)[2])
            return [update * states[0] + (1 - update) * new]
        gates = np.split(given + kept, 4, -1)
        cells = _sigmoid(gates[1]) * states[1] + _sigmoid(gates[0]) * np.tanh(gates[2])
        return [_sigmoid(gates[3]) * np.tanh(cells), cells]

    def ordered(self, values: np.ndarray) -> np.ndarray:
        """Stacked gates in ONNX's order, with an axis for the direction in front."""
        parts = np.split(values, len(self.kind.order))
        moved: np.ndarray = np.concatenate([parts[index] for index in self.kind.order])[np.newaxis].astype(np.float32)
        return moved


def _sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 1 / (1 + np.exp(-x))
    return result


def read_cell(layer: Layer, body: Subgraph, values: Sequence[str], trips: int, run: Run) -> list[str] | None:
    """Adds a recurrent layer in place of a loop; returns the loop's values behind it, or None if it is no such loop.

    values: the names of the loop's values before it; `run` unrolls it with other values
    """
    network = layer.network
    tensors = {index: network.tensors[name] for index, name in enumerate(values) if name in network.tensors}
    if (any(tensor.quantisation is not None for tensor in tensors.values())
            or not all(_is_testable(operator) for operator in body.operators)):
        return None
    kept = {index for index in range(len(values)) if body.inputs[index] == body.outputs[index]}
    real = {index: tensor.shape for index, tensor in tensors.items() if tensor.dtype == np.float32}
    sequences = [index for index, shape in real.items() if index in kept and len(shape) == _AXES and shape[0] == trips]
    states = [index for index, shape in real.items() if index not in kept and len(shape) == _AXES - 1]
    if len(sequences) != 1 or not trips or {real[index][:1] for index in states} != {real[sequences[0]][1:2]}:
        return None
    (sequence,) = sequences
    random = np.random.default_rng(0)
    given = {index: random.uniform(-1, 1, shape).astype(np.float32) for index, shape in real.items()}
    names = [network.add_constant(f"{layer.name}/given", given[index]) if index in given else name
             for index, name in enumerate(values)]
    left: tuple[list[Any], ...] = (network.nodes, network.warnings, network.refused, network.hybrid)
    before = [len(found) for found in left]
    ends = run(names)
    for found, count in zip(left, before, strict=True):
        del found[count:]
    results = {index: value for index, name in enumerate(ends) if (value := _value(layer, name)) is not None}
    if len(results) != len(values):
        return None
    changing = [index for index in results if index not in kept and (index in real or index not in tensors)]
    cells = _cells(layer, body, states, real[states[0]][-1], real[sequence][-1])
    with np.errstate(all="ignore"):
        for cell in itertools.islice(cells, _MOST_CELLS):
            after = _matching_states(cell, _steps(cell, given, sequence), {index: results[index] for index in changing})
            if after is not None:
                known = [name if index in kept else ends[index] for index, name in enumerate(values)]
                return _layer(layer, cell, known, values, sequence, after)
    return None


def _is_testable(operator: FlatOperator) -> bool:
    """Whether random numbers reveal an operator's function; they may never reach the bound of a fused activation."""
    return operator.name in _PURE and not operator.options.get("FusedActivationFunction", 0)


def _value(layer: Layer, name: str) -> np.ndarray | None:
    """The value of a constant, or of a list of constants as one array; None for any other tensor or list."""
    weights = layer.network.weights
    items = layer.network.lists.get(name)
    if items is None:
        return weights.get(name)
    return np.stack([weights[item] for item in items]) if items and all(item in weights for item in items) else None


def _cells(layer: Layer, body: Subgraph, states: Sequence[int], units: int, inputs: int) -> Iterator[_Cell]:
    """All layers that the body's constants may belong to."""
    read = [layer.constant_in(tensor) for tensor in body.tensors
            if tensor.data is not None and tensor.type == "float32" and len(tensor.shape) in (1, 2)]
    for kind in _KINDS:
        rows = len(kind.order) * units
        biases = [value for value in read if value.size == rows and value.shape[-1] == rows]
        pairs = list(itertools.permutations([*(value.reshape(-1) for value in biases), *[np.zeros(rows)] * 2], 2))
        for weights, recurrent in itertools.permutations([value for value in read if len(value.shape) == 2], 2):
            if kind.states != len(states) or weights.shape != (rows, inputs) or recurrent.shape != (rows, units):
                continue
            for pair, order in itertools.product(pairs, itertools.permutations(states)):
                yield _Cell(kind, weights, recurrent, pair, order)


def _steps(cell: _Cell, given: Mapping[int, np.ndarray], sequence: int) -> list[list[np.ndarray]]:
    states, rows = [given[index] for index in cell.states], []
    for x in given[sequence]:
        states = cell.step(x, states)
        rows.append(states)
    return rows


def _matching_states(cell: _Cell, rows: Sequence[Sequence[np.ndarray]],
           results: Mapping[int, np.ndarray]) -> dict[int, tuple[int, bool]] | None:
    """For each value that the loop changes, the state that it holds, and whether of all steps; None if any has none."""
    found = {}
    for index, result in results.items():
        fits = [(state, whole) for state, whole in itertools.product(range(cell.kind.states), (False, True))
                if _is_near(result, np.stack([row[state] for row in rows]) if whole else rows[-1][state])]
        if not fits or fits[0] == (1, True):  # ONNX's LSTM gives the cell of the last step alone
            return None
        found[index] = fits[0]
    return found


def _is_near(value: np.ndarray, expected: np.ndarray) -> bool:
    return value.size == expected.size and np.allclose(value.reshape(-1), expected.reshape(-1), _NEAR, _NEAR)


def _layer(layer: Layer, cell: _Cell, ends: list[str], values: Sequence[str], sequence: int,
           after: Mapping[int, tuple[int, bool]]) -> list[str]:
    """Adds the operator; returns the loop's values behind it. `ends`: the values that do not depend on data."""
    network = layer.network
    steps, batch, _ = network.tensors[values[sequence]].shape
    units = cell.recurrent.shape[1]
    bias = np.concatenate([cell.ordered(value) for value in cell.biases], -1)
    constants = [network.add_constant(f"{layer.name}/{name}", value) for name, value in (
        ("weights", cell.ordered(cell.weights)), ("recurrent", cell.ordered(cell.recurrent)), ("bias", bias))]
    states = [layer.reshaped(values[index], (1, batch, units)) for index in cell.states]
    shapes = [(steps, 1, batch, units), *[(1, batch, units)] * len(states)]
    outputs = [network.add_tensor(network.fresh(f"{layer.name}/{cell.kind.op.lower()}"), shape, np.dtype(np.float32))
               for shape in shapes]
    attributes = {"hidden_size": units, **({"linear_before_reset": 1} if cell.kind.op == "GRU" else {})}
    network.add_node(network.fresh(f"{layer.name}/{cell.kind.op}"), cell.kind.op,
                     [values[sequence], *constants, "", *states], outputs, attributes)
    for index, (state, whole) in after.items():
        items = network.lists.get(ends[index])
        shape = network.tensors[ends[index] if items is None else items[0]].shape
        if items and whole:
            rows = [layer.reshaped(layer.item(outputs[0], step), shape) for step in range(steps)]
        else:
            rows = [layer.reshaped(outputs[0 if whole else 1 + state], shape)]
        ends[index] = rows[0] if items is None else layer.listed(rows)
    return ends
