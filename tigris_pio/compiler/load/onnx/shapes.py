"""Shape inference: every tensor of the model gets a static shape and an element type.

onnx's inference runs on the whole model first. _NodeInference then completes it node by node, with computed constants.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from tigris_pio.compiler.evaluate import evaluate, is_deterministic, node_proto
from tigris_pio.compiler.ir.captured import DATA_DEPENDENT, captured_names
from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.limits import ConstantBudget, Limits
from tigris_pio.compiler.load.consistency import check_computed
from tigris_pio.compiler.load.dimensions import Binding
from tigris_pio.compiler.load.onnx.corrected_shapes import correct_pool, correct_pools, correct_resizes
from tigris_pio.compiler.load.onnx.nodes import opsets_of, read_nodes
from tigris_pio.compiler.lower.registry import contract_of, why_unsupported
from tigris_pio.errors import ModelError
from tigris_pio.text import visible

#: Initializers with more elements enter inference by shape alone: shapes never depend on them.
_SMALL = 4096
_NEWEST = onnx.defs.onnx_opset_version()
#: Operators whose output has the type and shape of their first input; onnx does not infer them.
_LIKE_INPUT = frozenset(("GroupNormalization", "Silu"))
#: Operators that are not evaluated: no shape depends on them, and the evaluator lacks some of their versions.
_QUANTISING = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")


def infer(model: onnx.ModelProto, nodes: Sequence[Node], protos: Sequence[onnx.NodeProto], binding: Binding,
          weights: Mapping[str, np.ndarray], origin: str, limits: Limits) -> dict[str, Tensor]:
    """The tensors of all inputs, weights and node outputs, by name. Raises ModelError if shapes contradict each other.

    `nodes` and `protos` are the same nodes in execution order. A tensor is left out if its shape depends on data, or on
    an operator that ONNX does not define.
    """
    skeleton = _skeleton(model, protos, binding, weights)
    try:
        if all(_has_schema(node, opsets_of(model)) for node in nodes):
            _check(skeleton)
        correct_pools(skeleton)
        correct_resizes(skeleton)
        # Without data_prop, which makes an object of every element of a vector; _NodeInference evaluates instead.
        inferred = shape_inference.infer_shapes(skeleton, check_type=True, strict_mode=True)
    except (onnx.checker.ValidationError, shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise ModelError(f"{origin}: {_message(error)}") from None
    types = _types(inferred)
    declared = _only_declared(skeleton)
    tensors = {name: Tensor(name, value.shape, value.dtype) for name, value in weights.items()}
    for name, kind in types.items():
        tensor = _tensor(name, kind)
        if tensor is not None and name not in weights and name not in declared:
            tensors[name] = tensor
    missing = {name for node in nodes for name in node.outputs if name and name not in tensors}
    if missing:
        types = {name: kind for name, kind in types.items() if name not in declared}
        _NodeInference(nodes, protos, types, tensors, weights, model, origin, limits, declared).run()
    return tensors


def _only_declared(skeleton: onnx.ModelProto) -> dict[str, Tensor]:
    """Tensors whose declared shape inference cannot confirm; it may be wrong."""
    names = {value.name for value in (*skeleton.graph.value_info, *skeleton.graph.output)}
    if not names:
        return {}
    bare = onnx.ModelProto()
    bare.CopyFrom(skeleton)
    del bare.graph.value_info[:]
    for value in bare.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        found = _types(shape_inference.infer_shapes(bare))
    except shape_inference.InferenceError:  # _NodeInference names the node
        found = {}
    declared = _types(skeleton)
    tensors = ((name, _tensor(name, declared[name])) for name in names)
    return {name: tensor for name, tensor in tensors
            if tensor is not None and (name not in found or _tensor(name, found[name]) is None)}


def _check(skeleton: onnx.ModelProto) -> None:
    """Runs onnx's checker. It requires declared output shapes, so missing ones are added and then removed."""
    bare = [value for value in skeleton.graph.output if not value.type.tensor_type.HasField("shape")]
    types = [onnx.TypeProto.FromString(value.type.SerializeToString()) for value in bare]
    for value in bare:
        value.type.tensor_type.shape.SetInParent()
        value.type.tensor_type.elem_type = value.type.tensor_type.elem_type or onnx.TensorProto.FLOAT
    try:
        onnx.checker.check_model(skeleton)
    finally:
        for value, kind in zip(bare, types, strict=True):
            value.type.CopyFrom(kind)


def _has_schema(node: Node, opsets: Mapping[str, int]) -> bool:
    return bool(onnx.defs.has(node.op, node.domain) if node.domain not in opsets else
                onnx.defs.has(node.op, opsets[node.domain], node.domain))


def _skeleton(model: onnx.ModelProto, protos: Sequence[onnx.NodeProto], binding: Binding,
              weights: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The model with sorted nodes, bound inputs, and large initializers replaced by their types."""
    skeleton = onnx.ModelProto()
    skeleton.ir_version = onnx.IR_VERSION
    skeleton.opset_import.extend(model.opset_import)
    graph = skeleton.graph
    graph.name = model.graph.name or "model"
    graph.node.extend(protos)
    for proto in graph.node:
        if proto.op_type == "MeanVarianceNormalization" and not proto.attribute:
            # Inference of its function fails without the attribute.
            proto.attribute.append(helper.make_attribute("axes", [0, 2, 3]))
    for tensor in model.graph.initializer:
        if weights[tensor.name].size <= _SMALL:
            entry = graph.initializer.add()
            entry.CopyFrom(tensor)
        else:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    for value in model.graph.input:
        if value.name in binding.shapes:
            kind = value.type.tensor_type.elem_type
            graph.input.append(helper.make_tensor_value_info(value.name, kind, binding.shapes[value.name]))
    for value in model.graph.output:
        graph.output.append(_without_free_dimensions(value, binding.symbols))
    known = {value.name for value in (*graph.input, *graph.output)} | set(weights)
    for value in model.graph.value_info:
        if value.name not in known:
            graph.value_info.append(_without_free_dimensions(value, binding.symbols))
    return skeleton


def _without_free_dimensions(value: onnx.ValueInfoProto, symbols: Mapping[str, int]) -> onnx.ValueInfoProto:
    """A copy with bound dimensions instead of symbols; dimensions without a size are left to inference."""
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(value)
    for dim in copy.type.tensor_type.shape.dim if copy.type.HasField("tensor_type") else ():
        if dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0:
            bound = symbols.get(dim.dim_param)
            dim.Clear()
            if bound is not None:
                dim.dim_value = bound
    return copy


def _types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    graph = model.graph
    return {value.name: value.type for value in (*graph.value_info, *graph.output, *graph.input)}


def _tensor(name: str, kind: onnx.TypeProto) -> Tensor | None:
    """The tensor of a type; None if the element type or a dimension is unknown."""
    if kind.WhichOneof("value") != "tensor_type" or not kind.tensor_type.HasField("shape"):
        return None
    if not kind.tensor_type.elem_type or kind.tensor_type.elem_type not in onnx.TensorProto.DataType.values():
        return None
    dims = kind.tensor_type.shape.dim
    if any(dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0 for dim in dims):
        return None
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))
    return Tensor(name, tuple(int(dim.dim_value) for dim in dims), dtype)


class _NodeInference:
    """Infers the shapes that inference of the whole model cannot find: those that nodes compute from constants.

    `run` evaluates each node whose inputs are known, and infers the outputs of the others with the known values, in
    order. `tensors` and `values` collect the results.
    """

    def __init__(self, nodes: Sequence[Node], protos: Sequence[onnx.NodeProto], types: Mapping[str, onnx.TypeProto],
                 tensors: dict[str, Tensor], weights: Mapping[str, np.ndarray], model: onnx.ModelProto, origin: str,
                 limits: Limits, declared: Mapping[str, Tensor]):
        self.declared = declared
        self.nodes, self.protos, self.tensors, self.origin = nodes, protos, tensors, origin
        self.limits, self.budget = limits, ConstantBudget(limits, origin)
        self.readers = Counter(name for node in nodes for name in {*node.inputs, *captured_names(node)})
        self.types = dict(types)
        self.values: dict[str, np.ndarray] = dict(weights)
        self.opsets = opsets_of(model)

    def run(self) -> None:
        for node, proto in zip(self.nodes, self.protos, strict=True):
            self._evaluate(node, proto)
            if any(name and name not in self.tensors for name in node.outputs):
                self._infer(node, proto)
            self._check_declared(node)
            self._release_inputs(node)

    def _check_declared(self, node: Node) -> None:
        """Accepts a declared shape that was not computed. Raises ModelError for one that differs from the computed."""
        for name in node.outputs:
            if name in self.declared:
                computed, declared = self.tensors.setdefault(name, self.declared[name]), self.declared[name]
                if computed.shape != declared.shape:
                    raise ModelError(
                        f"{self.origin}: node {node.name} ({node.op}): {name} is declared as {list(declared.shape)}, "
                        f"but is {list(computed.shape)}; export the model again, or correct the declaration"
                    )

    def _release_inputs(self, node: Node) -> None:
        """Drops computed values that no later node reads."""
        for name in {*node.inputs, *captured_names(node)}:
            self.readers[name] -= 1
            if not self.readers[name] and self.budget.free(name):
                del self.values[name]

    def _evaluate(self, node: Node, proto: onnx.NodeProto) -> None:
        source = self.tensors.get(node.inputs[0]) if node.inputs else None
        if node.op == "Shape" and source is not None:
            start, end = node.attributes.get("start", 0), node.attributes.get("end")
            self._set_value(node.outputs[0], np.array(source.shape[start:end], np.int64))
        elif self._is_known(node):
            large = sum(self.values[name].size for name in node.inputs if name) > _SMALL
            if large and all(name in self.tensors for name in node.outputs if name):
                return
            check_computed(node, self.values, self.origin, self.limits)
            where = f"node {node.name} ({node.op})"
            self.budget.check(where, self._size(node, proto))
            results = evaluate(node, self.values, self.opsets, self.origin)
            for name, value in zip(node.outputs, results, strict=False):
                if name:
                    self.budget.add(name, value.nbytes, where)
                    self._set_value(name, value)

    def _size(self, node: Node, proto: onnx.NodeProto) -> int:
        """The bytes that a node of known inputs will compute, as far as inference finds them."""
        if any(name and name not in self.tensors for name in node.outputs):
            self._infer(node, proto)
        sizes = [math.prod(tensor.shape) * tensor.dtype.itemsize
                 for name in node.outputs if (tensor := self.tensors.get(name)) is not None]
        return sum(sizes)

    def _is_known(self, node: Node) -> bool:
        if node.op in _QUANTISING or not is_deterministic(node):
            return False
        return all(name in self.values for name in node.inputs if name)

    def _set_value(self, name: str, value: np.ndarray) -> None:
        self.values[name] = value
        self.tensors[name] = Tensor(name, value.shape, value.dtype)

    def _infer(self, node: Node, proto: onnx.NodeProto) -> None:
        if node.op == "NonMaxSuppression" and not node.domain:
            self._infer_suppressed(node)
            return
        version = self.opsets.get(node.domain, 1)
        if not _has_schema(node, self.opsets):
            version = _NEWEST  # onnxruntime and the rewrites here use operators that the model's opset lacks
        if node.op in _LIKE_INPUT or not onnx.defs.has(node.op, version, node.domain):
            self._infer_undefined(node)
            return
        schema = onnx.defs.get_schema(node.op, version, node.domain)
        inputs = {name: kind for name in node.inputs if name and (kind := self._type(name)) is not None}
        if len(inputs) != len({name for name in node.inputs if name}):
            return
        data = {name: numpy_helper.from_array(self.values[name]) for name in node.inputs
                if name in self.values and self.values[name].size <= _SMALL}
        opsets = self.opsets | {node.domain: version}
        imports = [helper.make_opsetid(domain, opset) for domain, opset in opsets.items()]
        try:
            own = node_proto(node) if node.attributes else proto
            found = shape_inference.infer_node_outputs(schema, own, inputs, data, {}, imports)
            if correct_pool(own, inputs, found):
                found = shape_inference.infer_node_outputs(schema, own, inputs, data, {}, imports)
        except (shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError) as error:
            raise ModelError(f"{self.origin}: node {node.name} ({node.op}): {_message(error)}") from None
        for name, kind in found.items():
            tensor = _tensor(name, kind)
            if tensor is not None:
                self.tensors[name] = tensor
                self.types[name] = kind

    def _infer_suppressed(self, node: Node) -> None:
        """NonMaxSuppression's output with the largest number of rows, if the limit of boxes a class is constant."""
        most = self.values.get((*node.inputs, "", "")[2])
        boxes, scores = (self.tensors.get(name) for name in node.inputs[:2])
        if most is not None and most.size == 1 and boxes is not None and scores is not None:
            rows = math.prod(scores.shape[:2]) * min(int(most.item()), scores.shape[2])
            self.tensors[node.outputs[0]] = Tensor(node.outputs[0], (max(rows, 0), 3), np.dtype(np.int64))

    def _infer_undefined(self, node: Node) -> None:
        """The output of a known operator that onnx does not infer.

        onnxruntime's own QuantizeLinear and DequantizeLinear serve 16 bits in opsets below 21.
        """
        source = self.tensors.get(node.inputs[0]) if node.inputs else None
        if source is None:
            return
        dtype = source.dtype
        if node.domain == "com.microsoft" and node.op in _QUANTISING[:2]:
            zero = self.tensors.get((*node.inputs, "", "")[2])
            quantised = np.dtype(np.uint8) if zero is None else zero.dtype
            dtype = quantised if node.op == "QuantizeLinear" else np.dtype(np.float32)
        elif node.op not in _LIKE_INPUT and not ((contract := contract_of(node)) and contract.like_input):
            return
        self.tensors[node.outputs[0]] = Tensor(node.outputs[0], source.shape, dtype)

    def _type(self, name: str) -> onnx.TypeProto | None:
        tensor = self.tensors.get(name)
        if tensor is None:
            return self.types.get(name)
        return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(tensor.dtype), tensor.shape)


def infer_remaining_types(model: onnx.ModelProto, types: Mapping[str, onnx.TypeProto]) -> dict[str, onnx.TypeProto]:
    """Types that are missing in `types`, by inference node by node. Errors are ignored: the loader reports them later.
    The model's free dimensions may have no size yet."""
    tensors = {name: tensor for name, kind in types.items() if (tensor := _tensor(name, kind)) is not None}
    if all(name in tensors for node in model.graph.node for name in node.output if name):
        return {}
    known = dict(tensors)
    with contextlib.suppress(ModelError, ValueError, LookupError, TypeError, AttributeError, RuntimeError):
        nodes = read_nodes(model.graph, "model")
        named = dict(zip((node.name for node in nodes), model.graph.node, strict=True))
        order = execution_order(nodes, "model")
        values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        protos = [named[node.name] for node in order]
        _NodeInference(order, protos, types, tensors, values, model, "model", Limits(), {}).run()
    return {name: helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(tensor.dtype), tensor.shape)
            for name, tensor in tensors.items() if name not in known}


def known_values(nodes: Sequence[Node], protos: Sequence[onnx.NodeProto], types: Mapping[str, onnx.TypeProto],
                 weights: Mapping[str, np.ndarray], model: onnx.ModelProto, names: Collection[str], origin: str,
                 limits: Limits) -> dict[str, np.ndarray]:
    """The values of tensors in `names` that follow from constants and shapes. `types`: the inputs', without free sizes.

    A node that contradicts its inputs ends the inference without an error; the loader reports it later.
    """
    tensors = {name: tensor for name, kind in types.items() if (tensor := _tensor(name, kind)) is not None}
    tensors |= {name: Tensor(name, value.shape, value.dtype) for name, value in weights.items()}
    plain = [index for index, node in enumerate(nodes) if not captured_names(node) and node.op not in DATA_DEPENDENT]
    nodes, protos = [nodes[index] for index in plain], [protos[index] for index in plain]
    inference = _NodeInference(nodes, protos, types, tensors, weights, model, origin, limits, {})
    inference.readers.update(names)  # keeps their values
    with contextlib.suppress(ModelError, ValueError, LookupError, TypeError, AttributeError, RuntimeError):
        inference.run()
    return {name: inference.values[name] for name in names if name in inference.values}


def nodes_without_shape(nodes: Sequence[Node], outputs: Sequence[str], tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """The nodes that have outputs without a shape, with the reason; "" if an input without a shape is the reason.

    Outputs that nothing reads, such as Dropout's mask, may stay unknown.
    """
    read = {name for node in nodes for name in (*node.inputs, *captured_names(node))} | set(outputs)
    found = {}
    for node in nodes:
        if any(name in read and name not in tensors for name in node.outputs if name):
            own = all(name in tensors for name in (*node.inputs, *captured_names(node)) if name)
            found[node.name] = why_unsupported(node) or (_DEPENDS if own else "")
    return found


def _message(error: Any) -> str:
    """onnx's message on one line, with nodes named as in other messages, and a remedy."""
    text = " ".join(str(error).split()).replace("[ShapeInferenceError] ", "").replace("Inference error(s): ", "")
    text = re.sub(r"\(op_type: ?(\w+)(?:, node name: ?([^)]*))?\):? ?", _node_of, text)
    text = visible(text.replace("==> Context: ", "in "))
    known = next((remedy for mark, remedy in _REMEDIES.items() if mark in text), _REMEDY)
    return f"{text.rstrip('. ')}; {known}"


def _node_of(match: re.Match[str]) -> str:
    return f"node {match[2]} ({match[1]}): " if match[2] else f"node ({match[1]}): "


_DEPENDS = ("the shape of its output depends on data, and only static shapes are compiled; simplify the model, or end "
            "it in front of this node and do the rest in the firmware")
_REMEDY = "the model breaks ONNX's rules there: export it again"
_REMEDIES = {
    "Inferred shape and existing shape differ": "the model declares another shape than its operators give: export it "
    "again, or clear graph.value_info and the outputs' shapes",
    "No opset import for domain": "import the domain with onnx.helper.make_opsetid, or export the model again",
    "Unrecognized attribute": "the operator has no such attribute in the model's opset: export it again",
    "Incompatible dimensions": "the shapes do not fit each other: check the sizes given to free dimensions, or export "
    "the model again",
}
