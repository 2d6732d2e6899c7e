"""Prepares a float model for onnxruntime's quantiser: binds and infers shapes, folds constants and BatchNorms."""

import dataclasses
import difflib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, version_converter

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.load.dimensions import bind_dimensions
from tigris_pio.compiler.load.model import is_tflite
from tigris_pio.compiler.load.onnx.fused import expand_fused
from tigris_pio.compiler.load.onnx.inputs import declared_shape, fix_inputs
from tigris_pio.compiler.load.onnx.protobuf import read
from tigris_pio.errors import ModelError, UsageError
from tigris_pio.quantize.library import quantization, quiet
from tigris_pio.quantize.samples import Input
from tigris_pio.text import visible_name

#: The first opset with DequantizeLinear per channel.
_OPSET = 13
#: Before the first, weights have to be inputs too. What onnx writes is often newer than what onnxruntime reads, and
#: nothing that a quantised model needs came after the last.
_IR_VERSIONS = (8, 10)
_QUANTISED = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "ConvInteger", "MatMulInteger")
#: Operators that onnxruntime replaces by their definitions, and one with the same inputs that it leaves alone.
_STANDS_FOR = {"HardSwish": "Softsign", "Mish": "Softsign", "GroupNormalization": "InstanceNormalization"}
#: onnxruntime gives what comes before one of these the range behind it, and leaves it out in int8.
ACTIVATIONS = ("Relu", "Clip")


@dataclasses.dataclass(frozen=True)
class LayerNodes:
    """Nodes that are quantised, or kept in float, together: a node and its activation."""

    name: str
    kind: str
    nodes: tuple[str, ...]  #: node names; the layer's own node is first
    tensors: tuple[str, ...]  #: outputs of these nodes


@dataclasses.dataclass(frozen=True)
class Prepared:
    """The model ready for calibration. `folded`: nodes of the file that were folded into others, with their outputs."""

    model: onnx.ModelProto
    label: str
    inputs: tuple[Input, ...]
    layers: tuple[LayerNodes, ...]
    folded: Mapping[str, tuple[str, ...]]

    def find(self, name: str, option: str) -> LayerNodes:
        """The layer of a node or of a tensor that it writes; UsageError suggests names."""
        names = {name, *self.folded.get(name, ())}
        for layer in self.layers:
            if not names.isdisjoint((*layer.nodes, *layer.tensors)):
                return layer
        known = [layer.name for layer in self.layers]
        if name in self.folded:
            raise UsageError(f"{option} {name}: this node is folded into a neighbour before quantising; the layers are "
                             f"{_listed(known)}")
        close = difflib.get_close_matches(name, known, n=1)
        meant = f"; did you mean {close[0]}?" if close else f"; they are {_listed(known)}"
        raise UsageError(f"{option} {name}: the model has no layer of that name{meant}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(visible_name(name) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def read_float(path: str, fixed: Mapping[str, object]) -> onnx.ModelProto:
    """Reads an ONNX model and sets inputs; UsageError or ModelError if it is no float model."""
    if is_tflite(path):
        raise UsageError(f"{path}: is a TensorFlow Lite file, which quantize cannot read; give the ONNX model it was "
                         "made of, or have the converter quantise it (representative_dataset)")
    model = expand_fused(read(Path(path)).model, path, runnable=True)
    for node in model.graph.node:
        if node.op_type in _QUANTISED or node.op_type.startswith("QLinear"):
            raise ModelError(f"{path}: is quantised already (node {visible_name(node.name or node.output[0])}, "
                             f"{node.op_type}); give the float model, or compile this one")
    return fix_inputs(model, fixed, path)


def prepare(source: onnx.ModelProto, dims: Mapping[str, int], label: str) -> Prepared:
    """Binds free dimensions as the compiler does, and folds nodes by onnxruntime."""
    bound, inputs = _bound(source, dims, label)
    model = _optimised(bound, label)
    _flatten_biases(model.graph)
    _name_all(model.graph)
    layers = _layers(model.graph)
    kept = {name for layer in layers for name in layer.nodes}
    folded = {node.name: tuple(node.output) for node in bound.graph.node if node.name not in kept}
    return Prepared(model, label, inputs, layers, folded)


def _bound(source: onnx.ModelProto, dims: Mapping[str, int], label: str) -> tuple[onnx.ModelProto, tuple[Input, ...]]:
    """The model with numbers as input dimensions, in an opset with per-channel weights; and its inputs."""
    model = onnx.ModelProto()
    model.CopyFrom(source)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    values = [value for value in graph.input if value.name not in weights]  # weights that are inputs cannot be folded
    binding = bind_dimensions({value.name: declared_shape(value, label) for value in values}, dims, label)
    inputs = []
    for value in values:
        kind, shape = value.type.tensor_type.elem_type, binding.shapes[value.name]
        value.CopyFrom(helper.make_tensor_value_info(value.name, kind, shape))
        inputs.append(Input(value.name, shape, np.dtype(helper.tensor_dtype_to_np_dtype(kind))))
    kept = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in values]
    del graph.input[:]
    graph.input.extend(kept)
    for value in graph.output:
        if any(dim.WhichOneof("value") != "dim_value" for dim in value.type.tensor_type.shape.dim):
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    model.ir_version = min(max(model.ir_version, _IR_VERSIONS[0]), _IR_VERSIONS[1])
    _name_all(graph)
    versions = [item.version for item in model.opset_import if item.domain in ("", "ai.onnx")]
    with quiet(label, "inferring shapes"):
        if versions and versions[0] < _OPSET:
            model = version_converter.convert_version(model, _OPSET)
        model = onnx.shape_inference.infer_shapes(model)
    return model, tuple(inputs)


def _name_all(graph: onnx.GraphProto) -> None:
    """Gives every node a unique name, by which options and reports refer to it."""
    names, seen = Names(node.name for node in graph.node), set[str]()
    for index, node in enumerate(graph.node):
        if not node.name or node.name in seen:
            node.name = names.fresh(f"{node.name or node.op_type}_{index}")
        seen.add(node.name)


def _readers(graph: onnx.GraphProto) -> dict[str, list[onnx.NodeProto]]:
    found: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            found.setdefault(name, []).append(node)
    return found


def _flatten_biases(graph: onnx.GraphProto) -> None:
    """Makes biases of Gemm vectors, which onnxruntime quantises; it makes other shapes itself from MatMul and Add."""
    readers = _readers(graph)
    for tensor in graph.initializer:
        is_bias = all(node.op_type == "Gemm" and tensor.name in node.input[2:] for node in readers.get(tensor.name, ()))
        if is_bias and len(tensor.dims) > 1 and tensor.dims[0] == 1:
            del tensor.dims[:-1]


def _optimised(bound: onnx.ModelProto, label: str) -> onnx.ModelProto:
    """Folds constants and BatchNorms by onnxruntime's preparation."""
    masked, names = _masked(bound)
    model = _preprocessed(masked, label)
    nodes = {node.name: node for node in model.graph.node}
    if not names <= set(nodes):  # the stand-ins were folded, too, as constants alone are their inputs
        return _preprocessed(bound, label)
    originals = {node.name: node for node in bound.graph.node}
    for name in names:
        kept = onnx.NodeProto()
        kept.CopyFrom(originals[name])
        kept.input[:] = nodes[name].input
        kept.output[:] = nodes[name].output
        nodes[name].CopyFrom(kept)
    return model


def _masked(bound: onnx.ModelProto) -> tuple[onnx.ModelProto, set[str]]:
    """The model with stand-ins for operators that onnxruntime would expand, and the names of these nodes.

    Here they stay one operator, which in int8 is one table or one rounding.
    """
    model = onnx.ModelProto()
    model.CopyFrom(bound)
    names = set()
    for node in model.graph.node:
        if node.op_type in _STANDS_FOR:
            names.add(node.name)
            node.op_type = _STANDS_FOR[node.op_type]
            del node.attribute[:]
    return model, names


def _preprocessed(model: onnx.ModelProto, label: str) -> onnx.ModelProto:
    preprocess = quantization("shape_inference").quant_pre_process
    with quiet(label, "preparing the model"), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        before, after = Path(folder) / "float.onnx", Path(folder) / "prepared.onnx"
        onnx.save(model, before)
        preprocess(str(before), str(after), skip_symbolic_shape=True)
        result = onnx.load(after)
        if any(node.domain not in ("", "ai.onnx") for node in result.graph.node):  # onnxruntime's own operators
            preprocess(str(before), str(after), skip_symbolic_shape=True, skip_optimization=True)
            result = onnx.load(after)
        return result


def _layers(graph: onnx.GraphProto) -> tuple[LayerNodes, ...]:
    """The layers in order: each node with the Relu or Clip that is its only reader."""
    readers = _readers(graph)
    shown = {value.name for value in graph.output}
    taken: set[str] = set()
    layers = []
    for node in graph.node:
        if node.name in taken:
            continue
        nodes = [node]
        following = readers.get(node.output[0], [])
        if node.op_type not in ACTIVATIONS and len(following) == 1 and node.output[0] not in shown:
            nodes += [item for item in following if item.op_type in ACTIVATIONS]
        taken.update(item.name for item in nodes)
        tensors = tuple(name for item in nodes for name in item.output if name)
        layers.append(LayerNodes(node.name, node.op_type, tuple(item.name for item in nodes), tensors))
    return tuple(layers)
