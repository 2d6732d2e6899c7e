"""Compares an int8 model with its float model in onnxruntime, layer by layer and at the outputs."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.host.io import Array
from tigris_pio.quantize.build import quantised_kinds
from tigris_pio.quantize.calibrate import Steps
from tigris_pio.quantize.prepare import LayerNodes, Prepared
from tigris_pio.quantize.samples import Sample
from tigris_pio.verify.own_inputs import open_session, with_all_outputs

#: A layer is sensitive if its own cosine is below this, which is an error of 4.5 %.
SENSITIVE_BELOW = 0.999
#: Operators that only move elements, so that their error comes from the layers before.
_MOVES = frozenset(("Concat", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"))
#: Largest number of held-out samples on which layers are compared.
MOST_COMPARED = 32


class Difference:
    """The difference between a tensor and its float twin, over samples."""

    def __init__(self) -> None:
        self.product = self.ours = self.theirs = self.squared = self.largest = 0.0

    def add(self, actual: Array, expected: Array) -> None:
        """Adds one sample. Elements without a finite value, such as the logarithm of 0, do not count."""
        a, e = actual.astype(np.float64).reshape(-1), expected.astype(np.float64).reshape(-1)
        numbers = np.isfinite(e) & np.isfinite(a)
        a, e = a[numbers], e[numbers]
        self.product += float(a @ e)
        self.ours += float(a @ a)
        self.theirs += float(e @ e)
        self.squared += float((a - e) @ (a - e))
        self.largest = max(self.largest, float(np.abs(a - e).max(initial=0.0)))

    @property
    def cosine(self) -> float:
        """The cosine similarity; 1 if both are all zeros."""
        norm = float(np.sqrt(self.ours) * np.sqrt(self.theirs))
        return self.product / norm if norm else float(self.ours == self.theirs)

    @property
    def error(self) -> float:
        """The RMS of the difference divided by the RMS of the float values."""
        return float(np.sqrt(self.squared / self.theirs)) if self.theirs else float(self.squared > 0)


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer's errors; those in steps of its output's scale are None if the output stays float.

    `cosine` and `steps` are those of the whole int8 model. `own_cosine` and `own_steps` are the layer's own error: it
    runs in int8 on the float model's values.
    """

    name: str
    kind: str
    dtype: str
    cosine: float
    steps: float | None
    own_cosine: float
    own_steps: float | None

    @property
    def is_sensitive(self) -> bool:
        """Whether this layer's own error is larger than usual for eight bits."""
        return self.own_cosine < SENSITIVE_BELOW and self.kind not in _MOVES


@dataclasses.dataclass(frozen=True)
class Output:
    """One output over the held-out samples. `agreement`: share of samples with the same class; None without classes."""

    name: str
    cosine: float
    error: float
    max_difference: float
    agreement: float | None


Run = Callable[[Sample], Mapping[str, Array]]


def runner(model: onnx.ModelProto) -> Run:
    """Opens the model in onnxruntime without graph optimisations, which would move roundings."""
    session = open_session(model)
    names = [item.name for item in session.get_outputs()]
    return lambda sample: dict(zip(names, session.run(names, sample), strict=True))


def run_all(run: Run, samples: Sequence[Sample], what: str, steps: Steps) -> list[Mapping[str, Array]]:
    """Runs every sample; `what` names the step to `steps`, which gets the progress."""
    found = []
    for index, sample in enumerate(samples):
        steps(what, index, len(samples))
        found.append(run(sample))
    steps(what, len(samples), len(samples))
    return found


def compare_outputs(actual: Sequence[Mapping[str, Array]], expected: Sequence[Mapping[str, Array]]) -> list[Output]:
    """Compares every output over all samples."""
    found = []
    for name, first in expected[0].items():
        difference = Difference()
        same = 0
        for one, other in zip(actual, expected, strict=True):
            difference.add(one[name], other[name])
            same += int(_class(one[name]) == _class(other[name]))
        agreement = same / len(expected) if _is_classes(first) else None
        found.append(Output(name, difference.cosine, difference.error, difference.largest, agreement))
    return found


def _is_classes(output: Array) -> bool:
    """Whether an output is a vector of scores, or one integer that is the class."""
    if output.size == 1:
        return output.dtype.kind in "iu"
    return bool(output.ndim and output.size == output.shape[-1])


def _class(output: Array) -> int:
    if output.size == 1:
        return int(output.item() >= 0.5) if output.dtype.kind == "f" else int(output.item())
    return int(np.argmax(output))


def accuracy(outputs: Sequence[Mapping[str, Array]], labels: Sequence[int] | None) -> float | None:
    """Share of samples whose class is the label; None without labels or classes. A single score is class 1 from 0.5."""
    first = next(iter(outputs[0].values()))
    if labels is None or not (_is_classes(first) or first.size == 1):
        return None
    classes = [_class(np.asarray(next(iter(output.values())))) for output in outputs]
    return float(np.mean([one == label for one, label in zip(classes, labels, strict=True)]))


@dataclasses.dataclass(frozen=True)
class _Rounding:
    """The QuantizeLinear/DequantizeLinear pair behind a tensor; `after`: the pair's output."""

    after: str
    scale: float
    zero_point: int
    dtype: str  #: numpy's name of the integers' type

    def apply(self, values: Array) -> Array:
        ends = np.iinfo(self.dtype)
        steps = np.clip(np.rint(values.astype(np.float64) / self.scale) + self.zero_point, ends.min, ends.max)
        rounded: Array = (steps - self.zero_point) * self.scale
        return rounded


def compare_layers(prepared: Prepared, int8: onnx.ModelProto, kept: Collection[LayerNodes],
                   samples: Sequence[Sample], steps: Steps) -> list[Layer]:
    """Compares every layer of the int8 model, in the model's order; `kept`: layers in float32."""
    samples = samples[:MOST_COMPARED]
    reference, whole = runner(with_all_outputs(prepared.model)), runner(with_all_outputs(int8))
    roundings = _roundings(int8)
    twins = _twins(prepared, int8, roundings)
    cut_model, cuts = _cut(int8, roundings, twins)
    alone = runner(with_all_outputs(cut_model))
    found = {name: (Difference(), Difference()) for name in twins}
    for index, sample in enumerate(samples):
        steps("comparing layers", index, len(samples))
        wanted = {**sample, **reference(sample)}
        got = whole(sample)
        own = alone({**sample, **{fed: wanted[twin] for fed, twin in cuts.items()}})
        for name, twin in twins.items():
            rounding = roundings.get(name)
            found[name][0].add(got[rounding.after if rounding else name], wanted[twin])
            found[name][1].add(rounding.apply(own[name]) if rounding else own[name], wanted[twin])
    kinds = quantised_kinds(prepared.model)
    floats = {name for layer in kept for name in layer.nodes}
    owners = {name: layer for layer in prepared.layers for name in layer.nodes[1:]}
    rows = []
    for node in int8.graph.node:
        name = node.output[0]
        if name in found:
            together, alone_one = found[name]
            scale = roundings[name].scale if name in roundings else None
            dtype = roundings[name].dtype if name in roundings else "int8"
            dtype = dtype if node.op_type in kinds and node.name not in floats else "float32"
            layer = owners.get(node.name)
            rows.append(Layer(
                layer.name if layer else node.name, layer.kind if layer else node.op_type, dtype,
                together.cosine, together.largest / scale if scale else None,
                alone_one.cosine, alone_one.largest / scale if scale else None,
            ))  # fmt: skip
    return rows


def _roundings(model: onnx.ModelProto) -> dict[str, _Rounding]:
    """QuantizeLinear/DequantizeLinear pairs by the tensor before them."""
    values = {item.name: item for item in model.graph.initializer}
    read = {node.input[0]: node for node in model.graph.node if node.op_type == "DequantizeLinear"}
    found = {}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.output[0] in read:
            scale, zero = (numpy_helper.to_array(values[name]) for name in node.input[1:3])
            found[node.input[0]] = _Rounding(read[node.output[0]].output[0], float(scale.item()), int(zero.item()),
                                             zero.dtype.name)
    return found


def _twins(prepared: Prepared, int8: onnx.ModelProto, roundings: Mapping[str, _Rounding]) -> dict[str, str]:
    """Maps each layer's output in the int8 model to the float model's tensor of the same meaning."""
    computed = {name for node in prepared.model.graph.node for name in node.output}
    kept = {name for node in int8.graph.node for name in node.output}
    stands_for = {node.input[0]: node.output[0] for node in prepared.model.graph.node
                  if node.op_type in ("Relu", "Clip") and node.output[0] not in kept}
    inner = _inside_layers(prepared, kept)
    found = {}
    for node in int8.graph.node:
        name = node.output[0]
        if node.op_type in ("QuantizeLinear", "DequantizeLinear", "Constant") or name in inner:
            continue
        twin = name if name in computed else roundings[name].after if name in roundings else ""
        if twin in computed:
            found[name] = stands_for.get(twin, twin)
    return found


def _inside_layers(prepared: Prepared, kept: Collection[str]) -> set[str]:
    """Tensors between a node and the activation of its layer, if the int8 model still has the activation's node.

    They may saturate where the activation does, so such a layer is measured behind the activation.
    """
    nodes = {node.name: node for node in prepared.model.graph.node}
    return {nodes[layer.nodes[0]].output[0] for layer in prepared.layers
            if any(nodes[name].output[0] in kept for name in layer.nodes[1:])}


def _cut(model: onnx.ModelProto, roundings: Mapping[str, _Rounding],
         twins: Mapping[str, str]) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The int8 model with a new input before each rounding, and the float model's tensor for each new input."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    fed = {}
    for node in cut.graph.node:
        name = node.input[0]
        if node.op_type == "QuantizeLinear" and name in roundings and name in twins:
            node.input[0] = f"{name}/float"
            fed[node.input[0]] = twins[name]
    cut.graph.input.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in fed)
    return cut, fed
