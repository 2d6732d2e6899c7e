"""Reads the operators of a subgraph, one after the other."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Quantisation
from tigris_pio.compiler.load.tflite.annotation import DTYPES, annotation
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.compiler.load.tflite.layer import Layer, Scope, tensor_name
from tigris_pio.compiler.load.tflite.network import DOMAIN, Network, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler_of
from tigris_pio.compiler.lower.registry import REFUSAL
from tigris_pio.compiler.lower.remedies import not_supported


def read_operators(network: Network, scope: Scope) -> None:
    """Adds a subgraph's operators. One that cannot be compiled stays as a node that lowering refuses with others."""
    for operator in scope.subgraph.operators:
        entry = handler_of(operator.name)
        layer = Layer(network, scope, operator)
        try:
            if entry is None:
                raise Unsupported(not_supported(DOMAIN, operator.name))
            _check_lists(layer, entry.lists)
            entry.read(layer)
        except Unsupported as reason:
            _stand_in(layer, str(reason))


def _check_lists(layer: Layer, first: int) -> None:
    """Raises Unsupported where an operator reads a list as if it were a tensor; its `first` inputs may be lists."""
    for index in layer.operator.inputs[first:]:
        if layer.scope.names.get(index) in layer.network.lists:
            raise Unsupported(f"its input {layer.scope.subgraph.tensors[index].name} is a list of tensors")


def _said(tensor: FlatTensor) -> Quantisation | None:
    """What the integers of a tensor stand for, where that can be said."""
    found = annotation(tensor, tensor.shape, tensor.name)
    return found if found is not None and found.axis is None and found.dtype in (np.int8, np.int16) else None


def _stand_in(layer: Layer, reason: str) -> None:
    """A node that is refused later; its outputs have the shapes that the file declares."""
    network, scope = layer.network, layer.scope
    told = ", ".join(scope.subgraph.tensors[index].name for index in layer.operator.outputs)
    written = []
    for index in layer.operator.outputs:
        tensor = scope.subgraph.tensors[index]
        name = scope.names.get(index)
        if name is None:
            name = scope.names[index] = scope.given.get(index) or network.fresh(tensor_name(tensor))
        if name not in network.tensors:
            network.add_tensor(name, tensor.shape, DTYPES.get(tensor.type, np.dtype(np.float32)), _said(tensor))
        written.append(name)
    defined = {name for node in network.nodes for name in node.outputs}
    written = [name for name in written if name not in defined]
    inputs = [name for index in layer.operator.inputs if (name := scope.names.get(index)) in network.tensors]
    if not written:
        network.refuse(layer.name, layer.operator.name, reason, DOMAIN)
        return
    network.add_node(layer.name, layer.operator.name, inputs, written, {REFUSAL: f"{reason} (output {told})"}, DOMAIN)
