"""Annotates integer tensors: tensors that operators only move between each other get one annotation. qdq_fold calls it.

Converters put QuantizeLinear and DequantizeLinear anywhere along a chain of operators that only move integers, and a
graph input or output may end such a chain. So tensors that are connected by moving operators form a group. A group gets
the annotation that most of its QuantizeLinear and DequantizeLinear nodes have. A node RECODE stands at the group's
border if the same integers have another meaning there: plain numbers, or another scale and zero point. A group without
QuantizeLinear and DequantizeLinear stays plain integers.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation, Tensor
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.quantisation import is_dequantize, is_quantize, read_quantisation, signed_values

#: A node that gives the stored integers of its input under the output's annotation, or as plain numbers without one.
RECODE = "TigrisRecode"

#: Operators whose integer results are among their integer inputs; they compare integers at most by their order.
_MOVING_OPS = frozenset((
    "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
    "GlobalMaxPool", "Identity", "Max", "MaxPool", "Min", "Pad", "ReduceMax", "ReduceMin", "Reshape",
    "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze", "Where",
))
#: Integer types that a QuantizeLinear or DequantizeLinear may give a scale.
_QUANTISED = (np.int8, np.uint8, np.int16, np.uint16)


def annotate_integers(editor: GraphEditor) -> None:
    """See the module. Must run before any QuantizeLinear or DequantizeLinear is folded."""
    for node in editor.nodes():
        _add_zero_point(editor, node)
    moved = {node.outputs[0] for node in editor.nodes() if moves_integers(editor, node)}
    groups = _groups(editor, moved)
    chosen = {root: found for root, names in groups.items() if (found := _annotation(editor, names)) is not None}
    for root, quantisation in chosen.items():
        before = {name: editor.tensors[name] for name in groups[root]}
        for tensor in before.values():
            _recode_producer(editor, tensor, quantisation, moved)
        for name in before:
            editor.annotate(name, quantisation)
        shared: dict[str, str] = {}
        for name, tensor in before.items():
            producer = editor.producer(name)
            if producer is not None and name in moved:  # a Gather of a table may read constants alone
                _annotate_constants(editor, producer, tensor, quantisation, shared)
            for reader in editor.consumers(name):
                if reader.outputs[0] in moved:
                    _annotate_constants(editor, reader, tensor, quantisation, shared)
                else:
                    _recode_reader(editor, reader, tensor, quantisation)


def _add_zero_point(editor: GraphEditor, node: Node) -> None:
    """Adds the zero point that a node leaves out: its type says which integers are meant, also once they are annotated.
    """
    if not (is_quantize(node) or is_dequantize(node)) or (*node.inputs, "")[2]:
        return
    integers, scale = editor.tensors[node.outputs[0] if is_quantize(node) else node.inputs[0]], node.inputs[1]
    if integers.dtype in _QUANTISED and integers.name not in editor.weights and scale in editor.weights:
        zero = editor.add_constant(f"{node.name}/zero_point", np.zeros(editor.shape(scale), integers.dtype))
        editor.replace(node, dataclasses.replace(node, inputs=(*node.inputs[:2], zero)))


def is_integer(editor: GraphEditor, name: str) -> bool:
    """Whether a tensor holds integers of 8 or 16 bits without an annotation."""
    tensor = editor.tensors.get(name)
    return tensor is not None and tensor.dtype in _QUANTISED and tensor.quantisation is None


def moves_integers(editor: GraphEditor, node: Node) -> bool:
    """Whether all integers of 8 or 16 bits that a node writes are among those that it reads."""
    if node.domain or not any(is_integer(editor, name) for name in node.inputs if name):
        return False
    if node.op in ("Resize", "Upsample"):
        cropped = node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
        return node.attributes.get("mode", "nearest") == "nearest" and not cropped
    if node.op == "Cast":
        return editor.tensors[node.inputs[0]].dtype == editor.tensors[node.outputs[0]].dtype
    return node.op in _MOVING_OPS and node.attributes.get("reduction", "none") == "none"


def _groups(editor: GraphEditor, moved: set[str]) -> dict[str, list[str]]:
    """The groups of activations that moving operators connect, each in execution order, by one of its members.

    `moved`: the first outputs of the moving operators.
    """
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    found = [name for name in editor.graph.sources if is_integer(editor, name) and name not in editor.weights]
    for node in editor.nodes():
        found += [name for name in node.outputs if name and is_integer(editor, name)]
        if node.outputs[0] in moved:
            names = [name for name in (*node.inputs, *node.outputs) if name and is_integer(editor, name)]
            names = [name for name in names if name not in editor.weights]
            for name in names[1:]:
                parent[root(name)] = root(names[0])
    for state in editor.graph.states:  # integers that move from one run to the next
        if state.output in found and state.input in found:
            parent[root(state.input)] = root(state.output)
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(found):
        groups.setdefault(root(name), []).append(name)
    return groups


def foldable_quantisation(editor: GraphEditor, node: Node) -> Quantisation | None:
    """The annotation that a QuantizeLinear or DequantizeLinear of an activation becomes; None if the node stays."""
    if not (is_quantize(node) or is_dequantize(node)):
        return None
    integers = editor.tensors[node.outputs[0] if is_quantize(node) else node.inputs[0]]
    if integers.dtype not in _QUANTISED:  # narrower integers would saturate earlier
        return None
    found = read_quantisation(editor, node)
    return found if found is not None and found.axis is None and found.dtype in (np.int8, np.int16) else None


def _annotation(editor: GraphEditor, names: list[str]) -> Quantisation | None:
    """The annotation of most nodes around a group; the first one if several are as frequent; None without any."""
    found: list[Quantisation] = []
    for name in names:
        producer = editor.producer(name)
        nodes = [*([producer] if producer is not None and is_quantize(producer) else []),
                 *(reader for reader in editor.consumers(name) if is_dequantize(reader))]
        found += [item for node in nodes if (item := foldable_quantisation(editor, node)) is not None]
    return max(found, key=found.count) if found else None


def _recode_producer(editor: GraphEditor, tensor: Tensor, quantisation: Quantisation, moved: set[str]) -> None:
    """Puts a RECODE behind the node that computes a group's tensor, unless the node moves or quantises it so."""
    producer = editor.producer(tensor.name)
    if producer is None or producer.outputs[0] in moved:
        return
    if is_quantize(producer) and foldable_quantisation(editor, producer) == quantisation:
        return
    own = editor.add_tensor(f"{tensor.name}/integers", tensor)
    outputs = tuple(own if name == tensor.name else name for name in producer.outputs)
    recode = Node(editor.fresh(f"{producer.name}/recode"), RECODE, (own,), (tensor.name,))
    editor.replace(producer, dataclasses.replace(producer, outputs=outputs), recode)


def _recode_reader(editor: GraphEditor, reader: Node, tensor: Tensor, quantisation: Quantisation) -> None:
    """Puts a RECODE before a reader of a group's tensor, or in place of a DequantizeLinear with another scale."""
    name = tensor.name
    if reader.op == RECODE:
        return
    own = foldable_quantisation(editor, reader) if is_dequantize(reader) else None
    if own == quantisation:
        return
    if own is not None:
        editor.annotate(reader.outputs[0], own)
        editor.replace(reader, Node(reader.name, RECODE, (name,), reader.outputs))
        return
    numbers = editor.add_tensor(f"{name}/integers", tensor)
    recode = Node(editor.fresh(f"{reader.name}/recode"), RECODE, (name,), (numbers,))
    inputs = tuple(numbers if item == name else item for item in reader.inputs)
    editor.replace(reader, recode, dataclasses.replace(reader, inputs=inputs))


def _annotate_constants(editor: GraphEditor, node: Node, tensor: Tensor, quantisation: Quantisation,
                        shared: dict[str, str]) -> None:
    """Annotates the integer constants that a moving operator combines with a group's integers, such as a Pad's fill.

    `shared`: the quantised constant of each constant, for all nodes of the group that read it.
    """
    if node.op == "Cast":  # to its own type; annotated, the tensor stands for float32 and the Cast would not fit
        editor.replace(node, dataclasses.replace(node, op="Identity", attributes={}))
        return
    inputs = list(node.inputs)
    if node.op == "Pad" and node.attributes.get("mode", "constant") == "constant" and not (*inputs, "", "")[2]:
        inputs = [*inputs[:2], editor.add_constant(f"{node.name}/fill", np.zeros((), tensor.dtype)), *inputs[3:]]
    for index, name in enumerate(inputs):
        if name in editor.weights and is_integer(editor, name):
            if name not in shared:
                values = signed_values(editor.weights[name])
                shared[name] = editor.add_constant(f"{name}/quantised", values, quantisation)
            inputs[index] = shared[name]
    if tuple(inputs) != node.inputs:
        editor.replace(node, dataclasses.replace(node, inputs=tuple(inputs)))
