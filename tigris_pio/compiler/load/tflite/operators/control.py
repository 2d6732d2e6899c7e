"""Operators that run subgraphs, variables, and lists of tensors, which the steps of TensorFlow's loops read and write.

The graph has no lists: Network.lists holds the names of a list's items, which are known because loops are unrolled.
Files may write the names of operators on lists with `Flex` in front.
"""

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


def _enter(layer: Layer, subgraph: Subgraph, names: Mapping[int, str], *, once: bool = False, part: str = "") -> Scope:
    """Reads a subgraph as a part of the graph; `names`: the graph's names of its inputs."""
    network, outer = layer.network, layer.scope
    network.limits.check("depth", outer.depth + 1, layer.where)
    network.count_nodes(len(subgraph.operators))
    scope = Scope(subgraph, dict(names), outer.variables, f"{layer.name}/{part}", {}, outer.depth + 1,
                  once or outer.once)
    layer.read_subgraph(network, scope)
    return scope


def _results(layer: Layer, scope: Scope) -> list[str]:
    """The names of the outputs of a subgraph that was read."""
    return [scope.names[index] if index in scope.names else layer.constant_of(scope, index)
            for index in scope.subgraph.outputs]


@handler("CALL_ONCE", summary="initial values of variables, which must be constant")
def read_call_once(layer: Layer) -> None:
    """Reads a subgraph that assigns values before the first run."""
    _enter(layer, _subgraph(layer, int(layer.options("CallOnceOptions")["InitSubgraphIndex"])), {}, once=True)


@handler("IF", summary="constant condition", lists=sys.maxsize)
def read_if(layer: Layer) -> None:
    """Reads the branch that the condition selects."""
    options = layer.options("IfOptions")
    condition = layer.constant(0)
    if condition is None:
        raise Unsupported("its condition is computed at run time")
    if condition.size != 1:
        raise layer.fault(f"a condition of {condition.size} elements")
    _call(layer, int(options["ThenSubgraphIndex" if condition.reshape(-1)[0] else "ElseSubgraphIndex"]), 1)


@handler("STABLEHLO_COMPOSITE", summary="the operators that it stands for")
def read_composite(layer: Layer) -> None:
    """Reads the subgraph that defines the composite."""
    _call(layer, int(layer.options("StableHLOCompositeOptions")["DecompositionSubgraphIndex"]), 0)


def _call(layer: Layer, number: int, first: int) -> None:
    """Computes the outputs by a subgraph, from the operator's inputs `first` and following."""
    branch = _subgraph(layer, number)
    if len(branch.inputs) != layer.count - first or len(branch.outputs) != len(layer.operator.outputs):
        raise layer.fault(f"subgraph {number} has other inputs or outputs; the file is damaged")
    names = {index: layer.input(first + position) for position, index in enumerate(branch.inputs)}
    for position, name in enumerate(_results(layer, _enter(layer, branch, names))):
        layer.pass_on(name, position)


@handler("WHILE", summary="a number of trips that follows from constants; LSTM, GRU and SimpleRNN of float32 are one "
         "operator, other bodies are unrolled", lists=sys.maxsize)
def read_while(layer: Layer) -> None:
    """Adds a recurrent layer, or a copy of the body for each trip. All copies share the constants."""
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
    """The names of the loop's values after `trips` copies of its body."""
    network, shared = layer.network, dict[int, str]()
    for trip in range(trips):
        before, refused = len(network.nodes), len(network.refused)
        scope = _enter(layer, body, shared | _input_names(layer, body, values), part=f"{trip}/")
        values = _results(layer, scope)
        shared = {index: name for index, name in scope.names.items() if body.tensors[index].data is not None}
        if len(network.refused) > refused or any(REFUSAL in node.attributes for node in network.nodes[before:]):
            break  # further trips would be refused for the same reason
    return values


def _input_names(layer: Layer, subgraph: Subgraph, values: Sequence[str]) -> dict[int, str]:
    """The names of a subgraph's inputs: `values`, with the scales that the subgraph declares."""
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
    """The number of trips, by evaluating the operators that the condition depends on. Raises Unsupported if it depends
    on data."""
    limits = layer.network.limits
    positions, needed = set[int](), _needed(condition, condition.outputs)
    while not positions.issuperset(needed.positions):
        positions |= needed.positions
        needed = _needed(body, [body.outputs[position] for position in positions])
    decide = dataclasses.replace(condition, operators=_needed(condition, condition.outputs).operators)
    advance = dataclasses.replace(body, operators=needed.operators)
    known, trips = {position: values[position] for position in positions}, 0
    while True:
        scope = _enter(layer, decide, {condition.inputs[position]: name for position, name in known.items()},
                       part=f"{trips}/condition/")
        value = layer.network.weights.get(_results(layer, scope)[0])
        if value is None:
            raise Unsupported("the number of trips depends on data; export the model with a constant number of steps, "
                              "with unroll=True for recurrent layers of Keras")
        if not value.any():
            return trips
        if trips == limits.most_counted_trips(len(body.operators)):
            raise limits.too_many_trips(len(body.operators), layer.where)
        scope = _enter(layer, advance, {body.inputs[position]: name for position, name in known.items()},
                       part=f"{trips}/counter/")
        known = {position: scope.names.get(body.outputs[position]) or layer.constant_of(scope, body.outputs[position])
                 for position in known}
        trips += 1


@dataclasses.dataclass(frozen=True)
class _Needed:
    """The operators that compute some tensors of a subgraph, and the positions of the inputs that they read."""

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
    """Declares a variable; the operator that reads it determines its type."""
    options = layer.options("VarHandleOptions")
    shared, container = options["SharedName"] or "", options["Container"] or ""
    layer.scope.variables.declare((container, shared), shared[:200] or layer.name)
    layer.define_variable((container, shared))


@handler("READ_VARIABLE", summary="variables by name, kept from run to run")
def read_read_variable(layer: Layer) -> None:
    """The current value of a variable."""
    layer.pass_on(layer.scope.variables.read(layer.variable(0), layer.output_like()))


@handler("ASSIGN_VARIABLE", summary="variables by name, kept from run to run")
def read_assign_variable(layer: Layer) -> None:
    """Assigns a variable; within CALL_ONCE, its value before the first run."""
    key, name = layer.variable(0), layer.input(1)
    if not layer.scope.once:
        layer.scope.variables.assign(key, name)
        return
    if not layer.network.is_constant(name):
        raise Unsupported("an initial value that is no constant")
    layer.scope.variables.initialise(key, name)


_SUMMARY = "lists of constant length, items at constant indices or at the trips of a loop"


@handler("TensorListReserve", "FlexTensorListReserve", summary=_SUMMARY)
def read_reserve(layer: Layer) -> None:
    """Items without a value."""
    (count,) = layer.integers(1, "items")
    layer.network.limits.check("nodes", count, f"{layer.where}, whose items count as")
    layer.pass_on(layer.listed([""] * count))


@handler("TensorListFromTensor", "FlexTensorListFromTensor", summary=_SUMMARY)
def read_from_tensor(layer: Layer) -> None:
    """An item for each index of the first axis."""
    shape, source = layer.shape(0), layer.input(0)
    layer.pass_on(layer.listed([layer.item(source, position) for position in range(shape[0])]))


@handler("TensorListSetItem", "FlexTensorListSetItem", summary=_SUMMARY, lists=1)
def read_set_item(layer: Layer) -> None:
    """A copy of a list with one item replaced."""
    items = _items(layer)
    items[_place(layer, items)] = layer.input(2)
    layer.pass_on(layer.listed(items))


@handler("TensorListGetItem", "FlexTensorListGetItem", summary=_SUMMARY, lists=1)
def read_get_item(layer: Layer) -> None:
    """An item."""
    items = _items(layer)
    layer.pass_on(_set(items[_place(layer, items)]))


@handler("TensorListStack", "FlexTensorListStack", summary=_SUMMARY, lists=1)
def read_stack(layer: Layer) -> None:
    """Concat of the items along a new first axis."""
    items = [_set(item) for item in _items(layer)]
    shape = layer.network.tensors[items[0]].shape if items else ()
    rows = [layer.reshaped(item, (1, *shape)) for item in items]
    layer.write("Concat", rows, (len(items), *shape), {"axis": 0})


def _items(layer: Layer) -> list[str]:
    found = layer.network.lists.get(layer.input(0))
    if found is None:
        raise Unsupported("its input 0 is no list of tensors")
    return list(found)


def _place(layer: Layer, items: Sequence[str]) -> int:
    (position,) = layer.integers(1, "index")
    if not 0 <= position < len(items):
        raise layer.fault(f"item {position} of {len(items)}")
    return position


def _set(item: str) -> str:
    if not item:
        raise Unsupported("it reads an item that nothing has set")
    return item
