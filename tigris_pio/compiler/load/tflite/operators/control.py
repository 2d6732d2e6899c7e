"""Subgraphs that other operators run."""

from __future__ import annotations

from collections.abc import Mapping

from tigris_pio.compiler.load.tflite.layer import Layer, Scope
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler


def _inner(layer: Layer, number: int, names: Mapping[int, str], once: bool) -> Scope:
    """Reads a subgraph as a part of the one around it; `names` are those of its inputs."""
    from tigris_pio.compiler.load.tflite.walk import read_operators  # noqa: PLC0415 (which reads operators like this)

    network, outer = layer.network, layer.scope
    if not 0 <= number < len(network.subgraphs):
        raise layer.fault(f"it runs subgraph {number} of {len(network.subgraphs)}; the file is damaged")
    network.limits.check("depth", outer.depth + 1, f"{network.label}: node {layer.name}")
    network.count_nodes(len(network.subgraphs[number].operators))
    scope = Scope(network.subgraphs[number], dict(names), outer.variables, f"{layer.name}/", {}, outer.depth + 1,
                  once or outer.once)
    read_operators(network, scope)
    return scope


@handler("CALL_ONCE", summary="initial values of variables, which must be constant")
def read_call_once(layer: Layer) -> None:
    """What its subgraph assigns is there before the first run."""
    _inner(layer, int(layer.options("CallOnceOptions")["InitSubgraphIndex"]), {}, True)


@handler("IF", summary="constant condition")
def read_if(layer: Layer) -> None:
    """The branch that is taken."""
    options = layer.options("IfOptions")
    condition = layer.constant(0)
    if condition is None:
        raise Unsupported("its condition is computed at run time")
    if condition.size != 1:
        raise layer.fault(f"a condition of {condition.size} elements")
    number = int(options["ThenSubgraphIndex" if condition.reshape(-1)[0] else "ElseSubgraphIndex"])
    if not 0 <= number < len(layer.network.subgraphs):
        raise layer.fault(f"it runs subgraph {number} of {len(layer.network.subgraphs)}; the file is damaged")
    branch = layer.network.subgraphs[number]
    if len(branch.inputs) != layer.count - 1 or len(branch.outputs) != len(layer.operator.outputs):
        raise layer.fault(f"subgraph {number} has other inputs or outputs; the file is damaged")
    names = {index: layer.input(1 + place) for place, index in enumerate(branch.inputs)}
    scope = _inner(layer, number, names, False)
    for place, index in enumerate(branch.outputs):
        layer.pass_on(scope.names[index] if index in scope.names else layer.constant_of(scope, index), place)


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
