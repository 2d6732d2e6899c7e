"""Variables: what a model keeps from run to run, as resources by name or as tensors of a layer.

Operators read and assign them in their order. What is read before it is assigned is a state of the graph, which holds
what was assigned last in the run before; what is read afterwards is what was assigned.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import State, Tensor
from tigris_pio.compiler.load.tflite.network import Network


@dataclasses.dataclass
class _Variable:
    name: str
    initial: str = ""  #: a constant
    held: str = ""  #: what the run before left
    now: str = ""


class Variables:
    """Of one model, each by a key of its own."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._known: dict[object, _Variable] = {}

    def declare(self, key: object, name: str) -> None:
        """Gives a variable the name under which users see it."""
        self._known.setdefault(key, _Variable(name))

    def initialise(self, key: object, constant: str) -> None:
        """Its value before the first run."""
        self._known[key].initial = constant

    def assign(self, key: object, name: str) -> None:
        """From here on it is tensor `name`."""
        self._known[key].now = name

    def read(self, key: object, like: Tensor) -> str:
        """The tensor it is here, with the type and quantisation of `like`."""
        variable, network = self._known[key], self._network
        if not variable.now:
            variable.held = variable.now = network.fresh(variable.name)
            network.add_tensor(variable.held, like.shape, like.dtype, like.quantisation)
        return network.recoded(variable.now, like)

    def states(self) -> tuple[State, ...]:
        """The graph's, with a node for bytes that are assigned under another scale than they are read."""
        found = []
        for variable in self._known.values():
            if variable.held:
                held = self._network.tensors[variable.held]
                found.append(State(self._network.recoded(variable.now, held), variable.held, self._initial(variable)))
        return tuple(found)

    def _initial(self, variable: _Variable) -> np.ndarray | None:
        if not variable.initial:
            return None
        value, held = self._network.weights[variable.initial], self._network.tensors[variable.held]
        if value.shape != held.shape:
            value = np.broadcast_to(value, held.shape)
        return np.asarray(value, order="C")
