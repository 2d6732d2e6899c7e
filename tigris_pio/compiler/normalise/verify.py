"""Verifies the rules for a graph on which every pass relies.

A fault is the compiler's own, and ends a compilation with an internal error instead of a wrong plan. The graph behind
the last pass is always checked. Tests check it after each pass, with the shapes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from tigris_pio.compiler.evaluate import node_proto
from tigris_pio.compiler.ir.captured import captured_names
from tigris_pio.compiler.ir.graph import Graph, Node, State, Tensor

#: Operators whose input and output may have different annotations.
_RECODING = frozenset(("QuantizeLinear", "DequantizeLinear", "TigrisRecode"))
#: ONNX's operators for names that passes give.
_ORIGINAL_OPS = {"DepthwiseConv": "Conv", "Conv1D": "Conv", "Relu6": "Relu"}
#: Operators that inference cannot check: passes make their parameters attributes, or it computes another size (pools
#: with ceil_mode).
_OWN_SHAPES = frozenset(("AveragePool", "Clip", "Expand", "LpPool", "MaxPool", "Reshape", "Resize", "Upsample"))
_SMALL = 4096
_POSITIONS = frozenset(("ArgMax", "ArgMin", "TopK"))


class BrokenGraph(Exception):
    """A pass left a graph that contradicts itself."""


def check_graph(graph: Graph, infer: Callable[[Node], bool] | None = None) -> None:
    """Raises BrokenGraph for a graph that breaks a rule. `infer` chooses the nodes whose shapes are inferred again,
    which takes about 1 ms a node."""
    for tensor in graph.tensors.values():
        _check_tensor(graph, tensor)
    defined = {*graph.sources, *graph.weights}
    for node in graph.nodes:
        where = f"node {node.name} ({node.op})"
        _check_order(graph, node, defined, where)
        defined |= {*filter(None, node.outputs)}
        _check_types(graph, node, where)
        if infer is not None and infer(node):
            _check_shapes(graph, node, where)
    for name in graph.outputs:
        if not (name in defined and name in graph.tensors):
            raise BrokenGraph(f"nothing defines the model's output {name}")
    for state in graph.states:
        _check_state(graph, state, defined)


def _check_order(graph: Graph, node: Node, defined: Collection[str], where: str) -> None:
    for name in (*filter(None, node.inputs), *captured_names(node)):
        if not (name in defined and name in graph.tensors):
            raise BrokenGraph(f"{where} reads {name}, defined by nothing before it")
    written = [name for name in node.outputs if name]
    twice = next((place for place, name in enumerate(written) if name in defined or name in written[:place]), None)
    if twice is not None:
        raise BrokenGraph(f"{where} defines {written[twice]}, which is defined already")


def _check_state(graph: Graph, state: State, defined: Collection[str]) -> None:
    where = f"state {state.input}"
    if not (state.output in defined and state.output in graph.tensors):
        raise BrokenGraph(f"nothing defines {state.output}, of {where}")
    held, new = graph.tensors[state.input], graph.tensors[state.output]
    if (held.shape, held.value_dtype) != (new.shape, new.value_dtype):
        raise BrokenGraph(f"{where} is {held.dtype} {held.shape} and becomes {new.name}, {new.dtype} {new.shape}")
    first = state.initial
    if first is not None and (first.shape, first.dtype) != (held.shape, held.dtype):
        raise BrokenGraph(f"{where} is {held.dtype} {held.shape} and does not begin as that")


def _check_tensor(graph: Graph, tensor: Tensor) -> None:
    name, quantisation, value = tensor.name, tensor.quantisation, graph.weights.get(tensor.name)
    if not all(size >= 0 for size in tensor.shape):
        raise BrokenGraph(f"tensor {name} has shape {tensor.shape}")
    if value is not None and (value.shape != tensor.shape or value.dtype != tensor.dtype):
        raise BrokenGraph(f"constant {name} is {value.dtype} {value.shape}, its tensor {tensor.dtype} {tensor.shape}")
    if quantisation is None:
        return
    scale, zero, axis = quantisation.scale, quantisation.zero_point, quantisation.axis
    if not (tensor.dtype == quantisation.dtype and tensor.dtype in (np.int8, np.int16, np.int32, np.int64)):
        raise BrokenGraph(f"tensor {name} is {tensor.dtype} and annotated as {quantisation.dtype}")
    if not (np.all(np.isfinite(scale)) and np.all(scale > 0)):
        raise BrokenGraph(f"tensor {name} has a scale that is not positive")
    if axis is None:
        fits = scale.shape == zero.shape == ()
    else:
        fits = 0 <= axis < len(tensor.shape) and scale.shape == zero.shape == (tensor.shape[axis],)
    if not fits:
        raise BrokenGraph(
            f"tensor {name} of shape {tensor.shape} is annotated along {axis} with {scale.shape} {zero.shape}")
    if value is None and not (axis is None and tensor.dtype in (np.int8, np.int16) and _holds(tensor.dtype, int(zero))):
        raise BrokenGraph(f"activation {name} is annotated as {tensor.dtype} along {axis}, zero point {zero}")


def _holds(dtype: np.dtype, integer: int) -> bool:
    return bool(np.iinfo(dtype).min <= integer <= np.iinfo(dtype).max)


def _schema(graph: Graph, node: Node) -> onnx.defs.OpSchema | None:
    op = _ORIGINAL_OPS.get(node.op, node.op)
    known = not node.domain and node.op not in _RECODING and onnx.defs.has(op, graph.opset, "")
    return onnx.defs.get_schema(op, graph.opset, "") if known else None


@functools.lru_cache(maxsize=1024)
def _variables(op: str, opset: int) -> tuple[tuple[str, ...], bool, tuple[str, ...], bool]:
    """The type variables of an operator's inputs, and whether the last one repeats; then those of its outputs. A fixed
    type is empty."""
    op = _ORIGINAL_OPS.get(op, op)
    if op in _RECODING or not onnx.defs.has(op, opset, ""):
        return (), False, (), False
    schema = onnx.defs.get_schema(op, opset, "")
    variables = {item.type_param_str for item in schema.type_constraints}
    found = [tuple(item.type_str if item.type_str in variables else "" for item in formal)
             for formal in (schema.inputs, schema.outputs)]
    many = onnx.defs.OpSchema.FormalParameterOption.Variadic
    last = [bool(formal) and formal[-1].option == many and formal[-1].is_homogeneous
            for formal in (schema.inputs, schema.outputs)]
    return found[0], last[0], found[1], last[1]


def _check_types(graph: Graph, node: Node, where: str) -> None:
    """Checks that tensors of one type variable have one value_dtype: integers without a scale are no real numbers."""
    if node.domain:
        return
    read, many_read, written, many_written = _variables(node.op, graph.opset)
    found: dict[str, tuple[str, np.dtype]] = {}
    for variables, repeats, names in ((read, many_read, node.inputs), (written, many_written, node.outputs)):
        for index, name in enumerate(names):
            if not name or name not in graph.tensors or (index >= len(variables) and not repeats):
                continue
            variable = variables[min(index, len(variables) - 1)]
            own = graph.tensors[name].value_dtype
            if variable:
                other, dtype = found.setdefault(variable, (name, own))
                if dtype != own:
                    raise BrokenGraph(f"{where}: {name} is {own}, {other} {dtype}")


def _check_shapes(graph: Graph, node: Node, where: str) -> None:
    """Checks that onnx's inference finds the shapes and types of the tensors."""
    schema = _schema(graph, node)
    if schema is None or node.op in _OWN_SHAPES or captured_names(node):
        return
    inputs = node.inputs[:2] if node.op == "MatMul" else node.inputs
    attributes = {name: value for name, value in node.attributes.items() if name in schema.attributes}
    plain = Node(node.name, _ORIGINAL_OPS.get(node.op, node.op), inputs, node.outputs, attributes)
    types, data = {}, {}
    for name in filter(None, inputs):
        tensor = graph.tensors[name]
        types[name] = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(tensor.value_dtype), tensor.shape)
        if name in graph.weights and tensor.dtype.kind == "i" and graph.weights[name].size <= _SMALL:
            data[name] = numpy_helper.from_array(np.asarray(graph.weights[name]))
    imports = [helper.make_opsetid("", graph.opset)]
    try:
        found = shape_inference.infer_node_outputs(schema, node_proto(plain), types, data, {}, imports)
    except (shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise BrokenGraph(f"{where}: {error}") from None
    for name, kind in found.items():
        dims = kind.tensor_type.shape.dim if kind.tensor_type.HasField("shape") else ()
        if name not in graph.tensors or any(dim.WhichOneof("value") != "dim_value" for dim in dims):
            continue
        tensor = graph.tensors[name]
        shape = tuple(dim.dim_value for dim in dims)
        if kind.tensor_type.HasField("shape") and shape != tensor.shape:
            raise BrokenGraph(f"{where}: {name} has shape {tensor.shape}, inference finds {shape}")
        dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
        position = node.op in _POSITIONS and tensor.value_dtype.kind == "i"  # an index may have any integer type
        if dtype != tensor.value_dtype and not position:
            raise BrokenGraph(f"{where}: {name} is {tensor.dtype}, inference finds {dtype}")
