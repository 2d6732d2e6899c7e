"""The front end for .tflite files: from a model to a Graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.consistency import check_empty, check_sizes
from tigris_pio.compiler.load.dimensions import bind_dimensions
from tigris_pio.compiler.load.fixed_values import check_name, fixed_array, given
from tigris_pio.compiler.load.tflite.annotation import DTYPES, annotation, stored
from tigris_pio.compiler.load.tflite.file import FlatModel, FlatTensor, read
from tigris_pio.compiler.load.tflite.layer import Scope
from tigris_pio.compiler.load.tflite.network import OPSET, Network
from tigris_pio.compiler.load.tflite.subgraph import read_operators
from tigris_pio.compiler.load.tflite.variables import Variables
from tigris_pio.errors import ModelError, UsageError

#: The reason for refusing inputs and outputs of other types.
_ONLY = "type {}; only numbers and truth values are supported"
#: Integer types of inputs that are quantised if they have a scale.
_QUANTISED_INPUTS = ("int8", "uint8", "int16")


def load_tflite(source: Path | str | bytes, dims: Mapping[str, int], limits: Limits,
                fixed: Mapping[str, object]) -> Graph:
    """See load_model."""
    return _load(source, dims, limits, fixed)[0]


def tensor_numbers(source: Path | str | bytes, dims: Mapping[str, int], limits: Limits,
                   fixed: Mapping[str, object]) -> Mapping[str, int]:
    """The indices in the file of the main subgraph's tensors, by their names in the graph."""
    return {name: index for index, name in _load(source, dims, limits, fixed)[1].names.items()}


def set_inputs(model: FlatModel, fixed: Mapping[str, object]) -> dict[int, np.ndarray]:
    """The values of the inputs that the user sets, by position among the file's inputs."""
    main = model.subgraphs[0]
    names = io_names(model)
    tensors = {position: main.tensors[index] for position, index in enumerate(main.inputs) if names[index] in fixed}
    return {position: _set_value(tensor, names[tensor.index], fixed[names[tensor.index]])
            for position, tensor in tensors.items()}


def _load(source: Path | str | bytes, dims: Mapping[str, int], limits: Limits,
          fixed: Mapping[str, object]) -> tuple[Graph, Scope]:
    model = read(source, limits)
    network = Network(model.origin, limits, model.subgraphs)
    main = model.subgraphs[0]
    if not main.outputs:
        raise ModelError(f"{model.origin}: it has no outputs")
    names = io_names(model)
    scope = Scope(main, {}, Variables(network), "", names)
    warnings = _add_inputs(network, scope, names, dims, fixed)
    read_operators(network, scope)
    outputs = _outputs(network, scope, names)
    states = scope.variables.states()
    _warn_hybrid(network)
    graph = Graph(
        name=model.name,
        opset=OPSET,
        nodes=execution_order(network.nodes, model.origin),
        tensors=network.tensors,
        weights=network.weights,
        inputs=tuple(network.inputs),
        outputs=outputs,
        source_sha256=model.sha256,
        warnings=(*warnings, *network.warnings),
        limits=limits,
        states=states,
        tflite=True,
        refused=tuple(network.refused),
        io_dtypes={
            **{state.input: _held(network.tensors[state.input].dtype) for state in states
               if network.tensors[state.input].quantisation is None},
            **{names[index]: DTYPES.get(main.tensors[index].type, np.dtype(np.float32))
               for index in (*main.inputs, *main.outputs)
               if names[index] not in fixed},
        },
    )
    check_empty(graph.nodes, graph.tensors, graph.inputs, graph.outputs, model.origin)
    check_sizes(graph.nodes, graph.tensors, graph.inputs, graph.weights, model.origin, limits)
    return graph, scope


def _held(dtype: np.dtype) -> np.dtype:
    """The type under which users see a state: plans have no uint32."""
    return np.dtype(np.int32) if dtype == np.uint32 else dtype


def io_names(model: FlatModel) -> dict[int, str]:
    """The names of inputs and outputs by tensor index: the signature's, or else the tensors' own."""
    main = model.subgraphs[0]
    inputs, outputs = model.signatures.get(main.index, ({}, {}))
    names: dict[int, str] = {}
    used: set[str] = set()
    for what, signed, indices in (("input", inputs, main.inputs), ("output", outputs, main.outputs)):
        if len(set(indices)) != len(indices) or -1 in indices:
            raise ModelError(f"{model.origin}: its {what}s {list(indices)} are not all there, or not different")
        for position, index in enumerate(indices):
            wanted = signed.get(index) or main.tensors[index].name.split(";")[0] or f"{what}_{position}"
            name = wanted
            while name in used:
                name = f"{wanted}_{position}" if name == wanted else f"{name}_"
            used.add(name)
            names.setdefault(index, name)
    return names


def _add_inputs(network: Network, scope: Scope, names: Mapping[int, str], dims: Mapping[str, int],
                fixed: Mapping[str, object]) -> tuple[str, ...]:
    """Declares the inputs, with sizes for their free dimensions; returns warnings. Inputs in `fixed` are constants."""
    tensors = [scope.subgraph.tensors[index] for index in scope.subgraph.inputs]
    for name, value in fixed.items():
        check_name(name, value, [names[tensor.index] for tensor in tensors], network.origin)
    for tensor in [item for item in tensors if names[item.index] in fixed]:
        scope.names[tensor.index] = _set_input(network, tensor, names[tensor.index], fixed[names[tensor.index]])
        tensors.remove(tensor)
    binding = bind_dimensions({names[tensor.index]: _declared(tensor) for tensor in tensors}, dims, network.origin)
    for tensor in tensors:
        name = names[tensor.index]
        where = f"{network.origin}: input {name}"
        network.limits.check("name", len(name.encode()), where)
        if tensor.type not in DTYPES:
            network.refuse(name, "graph input", _ONLY.format(tensor.type))
        network.fresh(name)
        shape = binding.shapes[name]
        quantisation = annotation(tensor, tensor.shape, where)
        if quantisation is not None and (quantisation.axis is not None or tensor.type not in _QUANTISED_INPUTS):
            network.refuse(name, "graph input",
                           f"quantised as {tensor.type}; only int8, uint8 and int16 with one scale are supported")
            quantisation = None
        network.add_tensor(name, shape, DTYPES.get(tensor.type, np.dtype(np.float32)), quantisation)
        network.inputs.append(name)
        scope.names[tensor.index] = name
    for index in scope.subgraph.outputs:
        if names[index] not in network.tensors:
            network.limits.check("name", len(names[index].encode()), f"{network.origin}: output {names[index]}")
            network.fresh(names[index])
    return binding.warnings


def _set_input(network: Network, tensor: FlatTensor, name: str, value: object) -> str:
    """Adds a constant for an input that the user sets; for a quantised input the values are the file's integers."""
    array = _set_value(tensor, name, value)
    quantisation = annotation(tensor, tensor.shape, f"{network.origin}: input {name}")
    return network.add_constant(name, array if quantisation is None else stored(array), quantisation)


def _set_value(tensor: FlatTensor, name: str, value: object) -> np.ndarray:
    if tensor.type not in DTYPES:
        raise UsageError(f"{given(name, value)}: only inputs of numbers and truth values can be set")
    declared = [0 if size == "" else int(size) for size in _declared(tensor)]
    return fixed_array(name, DTYPES[tensor.type], declared, value)


def _declared(tensor: FlatTensor) -> tuple[int | str, ...]:
    """A shape with empty texts for free dimensions; a size that the converter was given is kept."""
    return tuple("" if free < 0 and size <= 1 else size
                 for size, free in zip(tensor.shape, tensor.signature, strict=True))


def _outputs(network: Network, scope: Scope, names: Mapping[int, str]) -> tuple[str, ...]:
    """The model's outputs by name; an output that is also an input, or another output, becomes a copy."""
    result = []
    for index in scope.subgraph.outputs:
        tensor, name = scope.subgraph.tensors[index], scope.names.get(index)
        if name is None and tensor.data is not None:
            raise ModelError(f"{network.origin}: output {names[index]} is a constant")
        if name is None:
            raise ModelError(f"{network.origin}: output {names[index]} is computed by no operator")
        if tensor.type not in DTYPES or name in network.lists:
            network.refuse(names[index], "graph output", _ONLY.format(tensor.type))
        if name in network.lists:
            continue
        if name != names[index]:
            like = network.tensors[name]
            network.add_tensor(names[index], like.shape, like.dtype, like.quantisation)
            network.add_node(network.fresh(f"{names[index]}/copy"), "Identity", (name,), (names[index],))
        result.append(names[index])
    return tuple(result)


def _warn_hybrid(network: Network) -> None:
    names = list(dict.fromkeys(network.hybrid))
    if names:
        layers = f"{len(names)} layers have" if len(names) > 1 else f"layer {names[0]} has"
        network.warnings.append(
            f"{layers} quantised weights between float tensors (dynamic range or weight-only quantisation): computed "
            "in float32, with weights of four bytes each; convert the model with a representative dataset for int8"
        )
