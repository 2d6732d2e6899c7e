"""Float networks with samples and classes: twins of the project's int8 ones, on samples that training did not see."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.float_twin import float_twin
from networks.making import samples
from tests.networks.folders import OWN

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "model"
_SEED = 40
#: Classes, frames and bands of the networks that hear words.
_WORDS = {"kws": (12, 49, 10), "sww": (3, 30, 40), "micro_speech": (4, 49, 40)}


@functools.cache
def twin(name: str) -> onnx.ModelProto:
    """The float model: of digits, whose Relus are the lower end of the ranges, with these spelt out."""
    if name != "digits":
        return float_twin(OWN / f"{name}_int8.onnx")
    path = DIGITS / "digits.onnx"
    return _with_relus(float_twin(path), onnx.load(path))


def _with_relus(model: onnx.ModelProto, int8: onnx.ModelProto) -> onnx.ModelProto:
    zero_points = {item.name: numpy_helper.to_array(item) for item in int8.graph.initializer}
    rounds = {node.input[0]: zero_points[node.input[2]] for node in int8.graph.node if node.op_type == "QuantizeLinear"}
    nodes = []
    for node in model.graph.node:
        nodes.append(node)
        if node.op_type == "Conv" and rounds[node.output[0]] == -128:
            nodes.append(helper.make_node("Relu", [f"{node.output[0]}_before"], [node.output[0]], f"{node.name}_relu"))
            node.output[0] = f"{node.output[0]}_before"
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    return result


@functools.cache
def data(name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs as the twin takes them, and their classes."""
    if name == "digits":
        with np.load(DIGITS / "digits_test.npz") as arrays:
            return arrays["images"][:count], arrays["labels"][:count]
    rng = np.random.default_rng(_SEED)
    if name in _WORDS:
        classes, frames, bands = _WORDS[name]
        inputs, labels = samples.words(count, rng, classes=classes, frames=frames, bands=bands)
        if name == "sww":
            return np.ascontiguousarray(inputs.transpose(0, 2, 1)[..., np.newaxis]), labels
        return (inputs[:, np.newaxis] if name == "kws" else inputs.reshape(count, -1)), labels
    if name == "resnet":
        inputs, labels = samples.shapes(count, rng)
    else:
        inputs, labels = samples.persons(count, rng, channels=3 if name == "vww" else 1)
    return np.ascontiguousarray(inputs.transpose(0, 3, 1, 2)), labels


def written(name: str, count: int, folder: Path) -> tuple[Path, Path]:
    """The twin and its samples as files."""
    model, archive = folder / f"{name}.onnx", folder / f"{name}.npz"
    onnx.save(twin(name), model)
    inputs, labels = data(name, count)
    arrays: Any = {twin(name).graph.input[0].name: inputs, "labels": labels}
    np.savez(archive, **arrays)
    return model, archive
