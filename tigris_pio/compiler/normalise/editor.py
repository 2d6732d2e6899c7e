"""Edits a graph for passes, and keeps indexes of producers and consumers valid after every change.

Every operation takes time proportional to the nodes that it changes, so a pass over n nodes stays linear.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.captured import captured_names
from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation, State, Tensor
from tigris_pio.compiler.ir.names import Names


def _key(node: Node) -> str:
    """The key of a node in the editor: its first output."""
    return next(name for name in node.outputs if name)


def _read(node: Node) -> Iterator[str]:
    yield from (name for name in node.inputs if name)
    yield from sorted(captured_names(node))


class GraphEditor:
    """A mutable copy of a graph; `finish` returns the result as a graph.

    Each node of the original graph has a position; nodes that replace it share the position.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.tensors: dict[str, Tensor] = dict(graph.tensors)
        self.weights: dict[str, np.ndarray] = dict(graph.weights)
        self.permutations: dict[str, tuple[int, ...]] = dict(graph.output_permutations)
        self.warnings: list[str] = list(graph.warnings)
        self._positions: list[dict[str, Node]] = []
        self._position_of: dict[str, int] = {}
        self._producer: dict[str, str] = {}
        self._consumers: dict[str, dict[str, None]] = {}
        self._outputs = frozenset(graph.results)
        self._inputs = frozenset(graph.sources)
        self._names = Names((*graph.tensors, *(node.name for node in graph.nodes)))
        for node in graph.nodes:
            self._positions.append({})
            self._insert(node, len(self._positions) - 1)

    # Reading.

    def nodes(self) -> Iterator[Node]:
        """All nodes in execution order, in their state at that moment; edits are allowed during the iteration."""
        return self._iterate(range(len(self._positions)))

    def nodes_reversed(self) -> Iterator[Node]:
        """All nodes from last to first; edits are allowed during the iteration."""
        return self._iterate(range(len(self._positions) - 1, -1, -1))

    def _iterate(self, order: range) -> Iterator[Node]:
        for index in order:
            nodes = self._positions[index]
            for key in list(nodes) if order.step > 0 else list(reversed(nodes)):
                if key in nodes:
                    yield nodes[key]

    def producer(self, name: str) -> Node | None:
        """The node that computes a tensor; None for inputs, states and constants."""
        key = self._producer.get(name)
        return None if key is None else self._positions[self._position_of[key]][key]

    def consumers(self, name: str) -> list[Node]:
        """The nodes that read a tensor."""
        return [self._positions[self._position_of[key]][key] for key in self._consumers.get(name, ())]

    def only_consumer(self, name: str) -> Node | None:
        """The one node that reads a tensor; None if there are others, or if the tensor is an output."""
        readers = self.consumers(name)
        return readers[0] if len(readers) == 1 and not self.is_output(name) else None

    def is_output(self, name: str) -> bool:
        """Whether the tensor is an output of the model, or the next value of a state."""
        return name in self._outputs

    def is_input(self, name: str) -> bool:
        """Whether the tensor is an input of the model, or a state."""
        return name in self._inputs

    def shape(self, name: str) -> tuple[int, ...]:
        """A tensor's shape."""
        return self.tensors[name].shape

    def quantisation(self, name: str) -> Quantisation | None:
        """A tensor's annotation; None if it is not quantised."""
        return self.tensors[name].quantisation

    def constant(self, node: Node, index: int) -> np.ndarray | None:
        """The real values of the constant at input `index` of a node; None if the input is absent or computed."""
        if index >= len(node.inputs) or not node.inputs[index]:
            return None
        return self.value(node.inputs[index])

    def value(self, name: str) -> np.ndarray | None:
        """A constant's real values, dequantised if annotated; None if it is no constant."""
        stored = self.weights.get(name)
        quantisation = self.tensors[name].quantisation if stored is not None else None
        return stored if stored is None or quantisation is None else dequantised(stored, quantisation)

    def opsets(self) -> Mapping[str, int]:
        """Operator set versions by domain, for `evaluate`."""
        return {"": self.graph.opset}

    # Writing.

    def fresh(self, base: str) -> str:
        """A name that no tensor or node has, derived from `base`."""
        return self._names.fresh(base)

    def add_constant(self, base: str, value: np.ndarray, quantisation: Quantisation | None = None) -> str:
        """Adds a constant and returns its name."""
        name = self.fresh(base)
        self.set_constant(name, value, quantisation)
        return name

    def set_constant(self, name: str, value: np.ndarray, quantisation: Quantisation | None = None) -> None:
        """Makes `name` a constant; the caller removes the node that computed it."""
        self.weights[name] = value
        self.tensors[name] = Tensor(name, value.shape, value.dtype, quantisation)

    def add_tensor(self, base: str, like: Tensor, **changes: Any) -> str:
        """Declares an activation like `like`, with `changes` to its fields; returns its name."""
        name = self.fresh(base)
        self.tensors[name] = dataclasses.replace(like, name=name, **changes)
        return name

    def annotate(self, name: str, quantisation: Quantisation) -> None:
        """Sets an activation's annotation, and with it the stored element type."""
        self.tensors[name] = dataclasses.replace(
            self.tensors[name], dtype=quantisation.dtype, quantisation=quantisation
        )

    def replace(self, node: Node, *new: Node) -> None:
        """Replaces a node by `new`, in its place in the order; the new nodes may read what was computed before it."""
        index = self._position_of[_key(node)]
        nodes = self._positions[index]
        behind = list(nodes)[list(nodes).index(_key(node)) + 1 :]
        self.remove(node)
        for item in new:
            self._insert(item, index)
        for key in behind:
            nodes[key] = nodes.pop(key)

    def remove(self, node: Node) -> None:
        """Removes a node; the caller redirects the readers of its outputs."""
        key = _key(node)
        node = self._positions[self._position_of.pop(key)].pop(key)  # its inputs may have changed since
        for name in node.outputs:
            self._producer.pop(name, None)
        for name in _read(node):
            self._consumers[name].pop(key, None)

    def _insert(self, node: Node, position: int) -> None:
        key = _key(node)
        self._positions[position][key] = node
        self._position_of[key] = position
        for name in filter(None, node.outputs):
            self._producer[name] = key
        for name in _read(node):
            self._consumers.setdefault(name, {})[key] = None

    def redirect(self, old: str, new: str) -> None:
        """Makes every reader of `old` read `new` instead."""
        for node in self.consumers(old):
            self.replace(node, _with_inputs(node, old, new))

    def merge(self, old: str, into: str) -> None:
        """Makes `old`, whose producer was removed, and `into` one tensor.

        If one of them is an output of the model, the tensor keeps that name. If both are, an Identity node remains.
        """
        self.redirect(old, into)
        if not self.is_output(old):
            return
        producer = self.producer(into)
        if producer is None or self.is_output(into):
            position = 0 if producer is None else self._position_of[_key(producer)]
            self._insert(Node(self.fresh(f"{old}/copy"), "Identity", (into,), (old,)), position)
            self.tensors[old] = dataclasses.replace(self.tensors[into], name=old)
            return
        self.replace(producer, _with_output(producer, into, old))
        self.redirect(into, old)
        self.tensors[old] = dataclasses.replace(self.tensors.pop(into), name=old)

    def finish(self) -> Graph:
        """The edited graph, without unused nodes, tensors and constants; the original graph if nothing changed."""
        live = self._live_keys()
        nodes = tuple(node for node in self.nodes() if _key(node) in live)
        used = {name for node in nodes for name in (*_read(node), *filter(None, node.outputs))}
        used |= self._inputs | self._outputs
        tensors = {name: tensor for name, tensor in self.tensors.items() if name in used}
        weights = {name: value for name, value in self.weights.items() if name in used}
        before = self.graph
        if (
            _same(nodes, before.nodes)
            and _same_entries(tensors, before.tensors)
            and _same_entries(weights, before.weights)
            and self.warnings == list(before.warnings)
            and self.permutations == before.output_permutations
        ):
            return before
        return dataclasses.replace(
            before,
            nodes=nodes,
            tensors=tensors,
            weights=weights,
            warnings=tuple(dict.fromkeys(self.warnings)),
            output_permutations=dict(self.permutations),
            states=tuple(self._converted_state(state) for state in self.graph.states),
        )

    def _converted_state(self, state: State) -> State:
        """A state whose initial value is converted to its tensor's new type and annotation."""
        old, new = self.graph.tensors[state.input], self.tensors[state.input]
        if state.initial is None or (old.dtype, old.quantisation) == (new.dtype, new.quantisation):
            return state
        return dataclasses.replace(state, initial=restored(state.initial, old, new))

    def _live_keys(self) -> set[str]:
        live: set[str] = set()
        queue = [self._producer[name] for name in self.graph.results if name in self._producer]
        while queue:
            key = queue.pop()
            if key not in live:
                live.add(key)
                node = self._positions[self._position_of[key]][key]
                queue.extend(self._producer[name] for name in _read(node) if name in self._producer)
        return live


def _same(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(map(operator.is_, left, right))


def _same_entries(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return left.keys() == right.keys() and all(left[name] is right[name] for name in left)


def _with_inputs(node: Node, old: str, new: str) -> Node:
    return dataclasses.replace(node, inputs=tuple(new if name == old else name for name in node.inputs))


def _with_output(node: Node, old: str, new: str) -> Node:
    return dataclasses.replace(node, outputs=tuple(new if name == old else name for name in node.outputs))


def dequantised(stored: np.ndarray, quantisation: Quantisation) -> np.ndarray:
    """The real values of quantised data, in float32."""
    scale, zero_point = quantisation.scale, quantisation.zero_point
    if quantisation.axis is not None:
        shape = [1] * stored.ndim
        shape[quantisation.axis] = -1
        scale, zero_point = scale.reshape(shape), zero_point.reshape(shape)
    real: np.ndarray = (stored.astype(np.int64) - zero_point).astype(np.float32) * scale.astype(np.float32)
    return real.astype(np.float32)


def restored(values: np.ndarray, old: Tensor, new: Tensor) -> np.ndarray:
    """Converts values from the stored form of `old` to that of `new`. Integers that only get an annotation stay."""
    if new.quantisation is None or values.dtype == new.dtype:
        return values
    if old.quantisation is None and values.dtype == np.uint8:
        return (values.astype(np.int16) - 128).astype(np.int8)
    if old.quantisation is None and values.dtype == np.uint16:
        return (values.astype(np.int32) - (1 << 15)).astype(np.int16)
    real = values if old.quantisation is None else dequantised(values, old.quantisation)
    levels = np.rint(real / new.quantisation.scale) + new.quantisation.zero_point
    bounds = np.iinfo(new.dtype)
    stored: np.ndarray = np.clip(levels, bounds.min, bounds.max).astype(new.dtype)
    return stored
