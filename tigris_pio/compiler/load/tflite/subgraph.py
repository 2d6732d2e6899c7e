"""Calls the handler of each operator of a subgraph."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Quantisation
from tigris_pio.compiler.load.tflite.annotation import DTYPES, annotation
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.compiler.load.tflite.layer import Layer, Scope, tensor_name
from tigris_pio.compiler.load.tflite.network import DOMAIN, Network, Unsupported
from tigris_pio.compiler.load.tflite.operators.levels import follow
from tigris_pio.compiler.load.tflite.operators.registry import handler_of
from tigris_pio.compiler.lower.registry import REFUSAL
from tigris_pio.compiler.lower.remedies import not_supported


def read_operators(network: Network, scope: Scope) -> None:
    """Adds a subgraph's operators to the graph. One that cannot be compiled becomes a node that lowering refuses, so
    that all are listed at once."""
    for operator in scope.subgraph.operators:
        entry = handler_of(operator.name)
        layer = Layer(network, scope, operator, read_operators)
        try:
            if entry is None:
                raise Unsupported(not_supported(DOMAIN, operator.name))
            _check_lists(layer, entry.lists)
            if not follow(layer):
                entry.read(layer)
        except Unsupported as reason:
            _add_refused(layer, str(reason))


def _check_lists(layer: Layer, first: int) -> None:
    """Raises Unsupported if an operator reads a list as a tensor; only its `first` inputs may be lists."""
    for index in layer.operator.inputs[first:]:
        if layer.scope.names.get(index) in layer.network.lists:
            raise Unsupported(f"its input {layer.scope.subgraph.tensors[index].name} is a list of tensors")


def _quantisation(tensor: FlatTensor) -> Quantisation | None:
    """The annotation of a tensor, if the graph's activations can have it."""
    found = annotation(tensor, tensor.shape, tensor.name)
    return found if found is not None and found.axis is None and found.dtype in (np.int8, np.int16) else None


def _add_refused(layer: Layer, reason: str) -> None:
    """Adds a node that lowering refuses; its outputs have the shapes that the file declares."""
    network, scope = layer.network, layer.scope
    listed = ", ".join(scope.subgraph.tensors[index].name for index in layer.operator.outputs)
    written = []
    for index in layer.operator.outputs:
        tensor = scope.subgraph.tensors[index]
        name = scope.names.get(index)
        if name is None:
            name = scope.names[index] = scope.given.get(index) or network.fresh(tensor_name(tensor))
        if name not in network.tensors:
            dtype = DTYPES.get(tensor.type, np.dtype(np.float32))
            network.add_tensor(name, tensor.shape, dtype, _quantisation(tensor))
        written.append(name)
    defined = {name for node in network.nodes for name in node.outputs}
    written = [name for name in written if name not in defined]
    inputs = [name for index in layer.operator.inputs if (name := scope.names.get(index)) in network.tensors]
    if not written:
        network.refuse(layer.name, layer.operator.name, reason, DOMAIN)
        return
    network.add_node(layer.name, layer.operator.name, inputs, written, {REFUSAL: f"{reason} (output {listed})"}, DOMAIN)
