"""Variables: tensors that a model keeps between runs, as named resources or as the memory of a layer.

Operators read and assign variables in execution order. A variable that is read before it is assigned becomes a state of
the graph, with the value of the last assignment in the run before. A later read gets the assigned tensor.
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
    held: str = ""  #: the tensor with the value from the run before
    now: str = ""  #: the tensor with the current value


class Variables:
    """The variables of one model, each with its own key."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._known: dict[object, _Variable] = {}

    def declare(self, key: object, name: str) -> None:
        """Declares a variable, with its name for users."""
        self._known.setdefault(key, _Variable(name))

    def initialise(self, key: object, constant: str) -> None:
        """Sets the value before the first run."""
        self._known[key].initial = constant

    def assign(self, key: object, name: str) -> None:
        """Assigns the tensor `name`."""
        self._known[key].now = name

    def read(self, key: object, like: Tensor) -> str:
        """The tensor with the current value, with the type and annotation of `like`."""
        variable, network = self._known[key], self._network
        if not variable.now:
            variable.held = variable.now = network.fresh(variable.name)
            network.add_tensor(variable.held, like.shape, like.dtype, like.quantisation)
        return network.recoded(variable.now, like)

    def states(self) -> tuple[State, ...]:
        """The graph's states; adds a node if a state is assigned with another scale than it is read with."""
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
