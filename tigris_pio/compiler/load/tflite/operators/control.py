"""Subgraphs that other operators run."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence

from tigris_pio.compiler.load.tflite.annotation import annotation
from tigris_pio.compiler.load.tflite.file import FlatOperator, Subgraph
from tigris_pio.compiler.load.tflite.layer import Layer, Scope
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.cells import read_cell
from tigris_pio.compiler.load.tflite.operators.registry import handler
from tigris_pio.compiler.lower.registry import REFUSAL


def _subgraph(layer: Layer, number: int) -> Subgraph:
    subgraphs = layer.network.subgraphs
    if not 0 <= number < len(subgraphs):
        raise layer.fault(f"it runs subgraph {number} of {len(subgraphs)}; the file is damaged")
    return subgraphs[number]


def _inner(layer: Layer, subgraph: Subgraph, names: Mapping[int, str], *, once: bool = False, part: str = "") -> Scope:
    """Reads a subgraph as a part of the one around it; `names` are those of its inputs."""
    from tigris_pio.compiler.load.tflite.subgraph import read_operators  # noqa: PLC0415 (which reads operators like this)

    network, outer = layer.network, layer.scope
    network.limits.check("depth", outer.depth + 1, layer.where)
    network.count_nodes(len(subgraph.operators))
    scope = Scope(subgraph, dict(names), outer.variables, f"{layer.name}/{part}", {}, outer.depth + 1,
                  once or outer.once)
    read_operators(network, scope)
    return scope


def _results(layer: Layer, scope: Scope) -> list[str]:
    """The outputs of a subgraph that was read."""
    return [scope.names[index] if index in scope.names else layer.constant_of(scope, index)
            for index in scope.subgraph.outputs]


@handler("CALL_ONCE", summary="initial values of variables, which must be constant")
def read_call_once(layer: Layer) -> None:
    """The values that its subgraph assigns are there before the first run."""
    _inner(layer, _subgraph(layer, int(layer.options("CallOnceOptions")["InitSubgraphIndex"])), {}, once=True)


@handler("IF", summary="constant condition", lists=sys.maxsize)
def read_if(layer: Layer) -> None:
    """The branch that is taken."""
    options = layer.options("IfOptions")
    condition = layer.constant(0)
    if condition is None:
        raise Unsupported("its condition is computed at run time")
    if condition.size != 1:
        raise layer.fault(f"a condition of {condition.size} elements")
    _call(layer, int(options["ThenSubgraphIndex" if condition.reshape(-1)[0] else "ElseSubgraphIndex"]), 1)


@handler("STABLEHLO_COMPOSITE", summary="the operators that it stands for")
def read_composite(layer: Layer) -> None:
    """The subgraph that the composite's name abbreviates."""
    _call(layer, int(layer.options("StableHLOCompositeOptions")["DecompositionSubgraphIndex"]), 0)


def _call(layer: Layer, number: int, first: int) -> None:
    """Outputs that a subgraph computes from the inputs from `first` on."""
    branch = _subgraph(layer, number)
    if len(branch.inputs) != layer.count - first or len(branch.outputs) != len(layer.operator.outputs):
        raise layer.fault(f"subgraph {number} has other inputs or outputs; the file is damaged")
    names = {index: layer.input(first + position) for position, index in enumerate(branch.inputs)}
    for position, name in enumerate(_results(layer, _inner(layer, branch, names))):
        layer.pass_on(name, position)


@handler("WHILE", summary="a number of trips that follows from constants; LSTM, GRU and SimpleRNN of float32 are one "
         "operator, other bodies are unrolled", lists=sys.maxsize)
def read_while(layer: Layer) -> None:
    """A recurrent layer, or the body once for each trip. All copies read the same constants."""
    options, network, values = layer.options("WhileOptions"), layer.network, layer.inputs()
    condition, body = (_subgraph(layer, int(options[f"{part}SubgraphIndex"])) for part in ("Cond", "Body"))
    sides = (len(condition.inputs), len(body.inputs), len(body.outputs), len(layer.operator.outputs))
    if {*sides} != {layer.count} or len(condition.outputs) != 1:
        raise layer.fault("its condition or its body has other inputs or outputs; the file is damaged")
    trips = _trips(layer, condition, body, values)
    network.limits.check("unrolled", trips * len(body.operators), layer.where)
    found = read_cell(layer, body, values, trips, lambda names: _unrolled(layer, body, names, trips))
    for position, name in enumerate(found or _unrolled(layer, body, values, trips)):
        layer.pass_on(name, position)


def _unrolled(layer: Layer, body: Subgraph, values: Sequence[str], trips: int) -> Sequence[str]:
    """The values after so many trips."""
    network, shared = layer.network, dict[int, str]()
    for trip in range(trips):
        before, refused = len(network.nodes), len(network.refused)
        scope = _inner(layer, body, shared | _entered(layer, body, values), part=f"{trip}/")
        values = _results(layer, scope)
        shared = {index: name for index, name in scope.names.items() if body.tensors[index].data is not None}
        if len(network.refused) > refused or any(REFUSAL in node.attributes for node in network.nodes[before:]):
            break  # every other trip would be refused for the same reason
    return values


def _entered(layer: Layer, subgraph: Subgraph, values: Sequence[str]) -> dict[int, str]:
    """The names of a subgraph's inputs: the bytes of `values`, under the scales that it declares."""
    found, network = {}, layer.network
    for index, name in zip(subgraph.inputs, values, strict=True):
        tensor, like = subgraph.tensors[index], network.tensors.get(name)
        if like is None:  # a list
            found[index] = name
            continue
        own = annotation(tensor, like.shape, f"{layer.where}: {tensor.name}")
        known = own is None or like.quantisation is None
        found[index] = name if known else network.recoded(name, dataclasses.replace(like, quantisation=own))
    return found


def _trips(layer: Layer, condition: Subgraph, body: Subgraph, values: Sequence[str]) -> int:
    """The number of trips, computed by the operators that the condition depends on."""
    limits = layer.network.limits
    positions, needed = set[int](), _needed(condition, condition.outputs)
    while not positions.issuperset(needed.positions):
        positions |= needed.positions
        needed = _needed(body, [body.outputs[position] for position in positions])
    decide = dataclasses.replace(condition, operators=_needed(condition, condition.outputs).operators)
    advance = dataclasses.replace(body, operators=needed.operators)
    known, trips = {position: values[position] for position in positions}, 0
    while True:
        scope = _inner(layer, decide, {condition.inputs[position]: name for position, name in known.items()},
                       part=f"{trips}/condition/")
        value = layer.network.weights.get(_results(layer, scope)[0])
        if value is None:
            raise Unsupported("how often its body runs depends on data; export the model with a constant number of "
                              "steps, as recurrent layers of Keras have it with unroll=True")
        if not value.any():
            return trips
        if trips == limits.most_counted_trips(len(body.operators)):
            raise limits.too_many_trips(len(body.operators), layer.where)
        scope = _inner(layer, advance, {body.inputs[position]: name for position, name in known.items()},
                       part=f"{trips}/counter/")
        known = {position: scope.names.get(body.outputs[position]) or layer.constant_of(scope, body.outputs[position])
                 for position in known}
        trips += 1


@dataclasses.dataclass(frozen=True)
class _Needed:
    """The operators that compute some tensors of a subgraph, and the places of the inputs that they read."""

    operators: tuple[FlatOperator, ...]
    positions: frozenset[int]


def _needed(subgraph: Subgraph, tensors: Sequence[int]) -> _Needed:
    read, operators = set(tensors), []
    for operator in reversed(subgraph.operators):
        if read & {*operator.outputs}:
            read |= {*operator.inputs}
            operators.append(operator)
    return _Needed(tuple(reversed(operators)),
                   frozenset(position for position, index in enumerate(subgraph.inputs) if index in read))


@handler("VAR_HANDLE", summary="variables by name, kept from run to run")
def read_var_handle(layer: Layer) -> None:
    """Names a variable; what it holds is typed where it is read."""
    options = layer.options("VarHandleOptions")
    shared, container = options["SharedName"] or "", options["Container"] or ""
    layer.scope.variables.declare((container, shared), shared[:200] or layer.name)
    layer.define_variable((container, shared))


@handler("READ_VARIABLE", summary="variables by name, kept from run to run")
def read_read_variable(layer: Layer) -> None:
    """A state of the graph, or what was assigned before."""
    layer.pass_on(layer.scope.variables.read(layer.variable(0), layer.output_like()))


@handler("ASSIGN_VARIABLE", summary="variables by name, kept from run to run")
def read_assign_variable(layer: Layer) -> None:
    """What the state becomes; in CALL_ONCE its first value."""
    key, name = layer.variable(0), layer.input(1)
    if not layer.scope.once:
        layer.scope.variables.assign(key, name)
        return
    if not layer.network.is_constant(name):
        raise Unsupported("an initial value that is no constant")
    layer.scope.variables.initialise(key, name)
