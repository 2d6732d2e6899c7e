"""Integers of quantised tensors: all that are moved from or to each other share one annotation.

Converters put QuantizeLinear and DequantizeLinear anywhere along a path of operators that only move integers, and a
graph input or output may be such a path's end. So a path (a whole web of them) is found first and annotated as one,
with what most of its QuantizeLinear and DequantizeLinear nodes say. At its borders a node RECODE stands where the same
integers are meant otherwise: as numbers, or under another scale and zero point. A path without either node stays
integers, which are computed with as the numbers they are.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation, Tensor
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.quantisation import is_dequantize, is_quantize, read_quantisation, signed_values

#: The stored integers of its input under the output's annotation, or as numbers where one of them has none.
RECODE = "TigrisRecode"

#: Operators whose results of a quantised type are among their inputs of that type, chosen without looking at more
#: than their order.
_MOVERS = frozenset((
    "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
    "GlobalMaxPool", "Identity", "Max", "MaxPool", "Min", "Pad", "ReduceMax", "ReduceMin", "Reshape",
    "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze", "Where",
))
#: Integers that stand for real numbers where a node says so.
_QUANTISED = (np.int8, np.uint8, np.int16, np.uint16)


def annotate_integers(editor: GraphEditor) -> None:
    """See the module. Comes before any QuantizeLinear or DequantizeLinear is folded."""
    for node in editor.nodes():
        _name_zero_point(editor, node)
    movers = {node.outputs[0] for node in editor.nodes() if moves_integers(editor, node)}
    webs = _webs(editor, movers)
    chosen = {root: found for root, names in webs.items() if (found := _annotation(editor, names)) is not None}
    for root, quantisation in chosen.items():
        before = {name: editor.tensors[name] for name in webs[root]}
        for tensor in before.values():
            _recode_producer(editor, tensor, quantisation, movers)
        for name in before:
            editor.annotate(name, quantisation)
        shared: dict[str, str] = {}
        for name, tensor in before.items():
            producer = editor.producer(name)
            if producer is not None and name in movers:  # a Gather of a table may read constants alone
                _annotate_constants(editor, producer, tensor, quantisation, shared)
            for reader in editor.consumers(name):
                if reader.outputs[0] in movers:
                    _annotate_constants(editor, reader, tensor, quantisation, shared)
                else:
                    _recode_reader(editor, reader, tensor, quantisation)


def _name_zero_point(editor: GraphEditor, node: Node) -> None:
    """A zero point left out has the type of integers that lose theirs when they are annotated: it is put in."""
    if not (is_quantize(node) or is_dequantize(node)) or (*node.inputs, "")[2]:
        return
    integers, scale = editor.tensors[node.outputs[0] if is_quantize(node) else node.inputs[0]], node.inputs[1]
    if integers.dtype in _QUANTISED and integers.name not in editor.weights and scale in editor.weights:
        zero = editor.add_constant(f"{node.name}/zero_point", np.zeros(editor.shape(scale), integers.dtype))
        editor.replace(node, dataclasses.replace(node, inputs=(*node.inputs[:2], zero)))


def is_integer(editor: GraphEditor, name: str) -> bool:
    """Whether a tensor holds integers of eight or sixteen bits that nothing says to stand for other numbers."""
    tensor = editor.tensors.get(name)
    return tensor is not None and tensor.dtype in _QUANTISED and tensor.quantisation is None


def moves_integers(editor: GraphEditor, node: Node) -> bool:
    """Whether all integers of eight or sixteen bits that a node writes are among those it reads."""
    if node.domain or not any(is_integer(editor, name) for name in node.inputs if name):
        return False
    if node.op in ("Resize", "Upsample"):
        cropped = node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
        return node.attributes.get("mode", "nearest") == "nearest" and not cropped
    if node.op == "Cast":
        return editor.tensors[node.inputs[0]].dtype == editor.tensors[node.outputs[0]].dtype
    return node.op in _MOVERS and node.attributes.get("reduction", "none") == "none"


def _webs(editor: GraphEditor, movers: set[str]) -> dict[str, list[str]]:
    """Activations that are connected by operators which move integers, in execution order, by any one of them."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    found = [name for name in editor.graph.sources if is_integer(editor, name) and name not in editor.weights]
    for node in editor.nodes():
        found += [name for name in node.outputs if name and is_integer(editor, name)]
        if node.outputs[0] in movers:
            names = [name for name in (*node.inputs, *node.outputs) if name and is_integer(editor, name)]
            names = [name for name in names if name not in editor.weights]
            for name in names[1:]:
                parent[root(name)] = root(names[0])
    for state in editor.graph.states:  # its integers move from one run to the next
        if state.output in found and state.input in found:
            parent[root(state.input)] = root(state.output)
    webs: dict[str, list[str]] = {}
    for name in dict.fromkeys(found):
        webs.setdefault(root(name), []).append(name)
    return webs


def folds(editor: GraphEditor, node: Node) -> Quantisation | None:
    """What a QuantizeLinear or DequantizeLinear of an activation says; None when it is neither, or stays."""
    if not (is_quantize(node) or is_dequantize(node)):
        return None
    integers = editor.tensors[node.outputs[0] if is_quantize(node) else node.inputs[0]]
    if integers.dtype not in _QUANTISED:  # narrower ones would have to saturate earlier
        return None
    found = read_quantisation(editor, node)
    return found if found is not None and found.axis is None and found.dtype in (np.int8, np.int16) else None


def _annotation(editor: GraphEditor, names: list[str]) -> Quantisation | None:
    """What most nodes around a web say; the first of them where several are said as often."""
    found: list[Quantisation] = []
    for name in names:
        producer = editor.producer(name)
        nodes = [*([producer] if producer is not None and is_quantize(producer) else []),
                 *(reader for reader in editor.consumers(name) if is_dequantize(reader))]
        found += [said for node in nodes if (said := folds(editor, node)) is not None]
    return max(found, key=found.count) if found else None


def _recode_producer(editor: GraphEditor, tensor: Tensor, quantisation: Quantisation, movers: set[str]) -> None:
    """What computes a web's tensor otherwise than by moving gets an output of its own, recoded into the tensor."""
    producer = editor.producer(tensor.name)
    if producer is None or producer.outputs[0] in movers:
        return
    if is_quantize(producer) and folds(editor, producer) == quantisation:
        return
    own = editor.add_tensor(f"{tensor.name}/integers", tensor)
    outputs = tuple(own if name == tensor.name else name for name in producer.outputs)
    recode = Node(editor.fresh(f"{producer.name}/recode"), RECODE, (own,), (tensor.name,))
    editor.replace(producer, dataclasses.replace(producer, outputs=outputs), recode)


def _recode_reader(editor: GraphEditor, reader: Node, tensor: Tensor, quantisation: Quantisation) -> None:
    name = tensor.name
    if reader.op == RECODE:
        return
    own = folds(editor, reader) if is_dequantize(reader) else None
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
    """Integer constants that mix with a web's integers, a Pad's fill among them, become quantised constants.

    `shared`: the quantised constant of each, for all nodes of the web that read it.
    """
    if node.op == "Cast":  # to the type that it has, which is none that an annotated tensor stands for
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
