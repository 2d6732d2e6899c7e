"""Rewrites operators of classical machine learning (ai.onnx.ml), as skl2onnx writes them, as products of matrices.

A ZipMap becomes the probabilities themselves, and the name of a class its index: see _index_labels. The formulas are
from ONNX's Operators-ml.md, and from onnxruntime if that page leaves something open.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.load.onnx.nodes import opsets_of
from tigris_pio.compiler.load.onnx.replace import Replacement, replace_nodes

_ML = "ai.onnx.ml"
_FLOAT, _INT64, _STRING = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.STRING
#: The metadata key for the names of classes, in JSON.
_LABELS = "labels"
_CLASSES = ("classlabels_ints", "classlabels_int64s", "classlabels_strings")
#: The first opset in which the axes of a reduction are an input; and the first for ReduceSum and Unsqueeze.
_REDUCTIONS, _SUMS = 18, 13
#: onnxruntime keeps the probabilities of two classes so far from 0 and 1.
_LEAST = 1e-7


def expand_classical(model: onnx.ModelProto, origin: str) -> onnx.ModelProto:
    """A model that is_classical(), in ONNX's own operators. Its metadata get the names of classes: see labels_of."""
    labels = _index_labels(model)
    if labels:
        helper.set_model_props(model, {**{item.key: item.value for item in model.metadata_props},
                                       _LABELS: json.dumps(labels)})
    expanded = replace_nodes(model, CLASSICAL, origin)
    versions = opsets_of(model)
    versions.setdefault("", onnx.defs.onnx_opset_version())
    del expanded.opset_import[:]  # skl2onnx imports domains twice
    expanded.opset_import.extend(helper.make_opsetid(*item) for item in versions.items())
    return expanded


def is_classical(model: onnx.ModelProto) -> bool:
    """Whether a model has operators of ai.onnx.ml."""
    return any(node.domain == _ML for node in model.graph.node)


def labels_of(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """The names of classes by output, for outputs that are the index of a class or have a number for each class."""
    text = next((item.value for item in model.metadata_props if item.key == _LABELS), "{}")
    try:
        found = json.loads(text)
        return {str(name): tuple(map(str, names)) for name, names in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}  # not this program's metadata


def _index_labels(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """Replaces texts and dictionaries among the outputs by numbers; returns the names of the classes by output."""
    graph, classes = model.graph, dict[str, tuple[str, ...]]()
    for tensor in graph.initializer:
        if tensor.data_type == _STRING and len(tensor.dims) == 1:
            classes[tensor.name] = tuple(text.decode("utf-8", "replace") for text in tensor.string_data)
            tensor.CopyFrom(numpy_helper.from_array(np.arange(tensor.dims[0]), tensor.name))
    outputs = {value.name: value.type for value in graph.output}
    for node in graph.node:
        names, are_texts = _class_names(node) if node.domain == _ML else ((), False)
        if names:  # a label that is a number needs no name
            classes |= dict.fromkeys(node.output[0 if are_texts or node.op_type == "ZipMap" else 1 : 2], names)
        elif node.input and node.input[0] in classes and node.op_type in _PASSING:
            classes[node.output[0]] = classes[node.input[0]]
        if node.op_type == "ZipMap" and node.output[0] in outputs:
            outputs[node.output[0]].CopyFrom(helper.make_tensor_type_proto(_FLOAT, None))
    for name, kind in outputs.items():
        if kind.tensor_type.elem_type == _STRING and name in classes:
            kind.tensor_type.elem_type = _INT64
        kind.tensor_type.ClearField("shape")  # skl2onnx declares wrong shapes
    del graph.value_info[:]
    return {name: classes[name] for name in outputs if name in classes}


def _class_names(node: onnx.NodeProto) -> tuple[tuple[str, ...], bool]:
    """The names of a node's classes, and whether they are texts. Texts become numbers in the node itself."""
    for item in node.attribute:
        if item.name in _CLASSES[:2] and item.ints:
            return tuple(map(str, item.ints)), False
        if item.name == _CLASSES[2] and item.strings:
            names = tuple(text.decode("utf-8", "replace") for text in item.strings)
            name = _CLASSES["Tree" in node.op_type or node.op_type == "ZipMap"]
            item.CopyFrom(helper.make_attribute(name, list(range(len(names)))))
            return names, True
    return (), False


#: Operators whose output has the classes of their input.
_PASSING = frozenset(("ArrayFeatureExtractor", "Cast", "Flatten", "Identity", "Normalizer", "Reshape", "Squeeze"))


def _real(part: Replacement, index: int = 0) -> str:
    """An input as float32."""
    return part.part("Cast", part.input(index), to=_FLOAT)


def _numbers(part: Replacement, name: str) -> np.ndarray:
    return np.asarray(part.attributes.get(name, ()), np.float32)


def _reduced(part: Replacement, op: str, name: str) -> str:
    """A reduction along the last axis, which stays with size 1."""
    if part.opset < (_SUMS if op == "ReduceSum" else _REDUCTIONS):
        return part.part(op, name, axes=[-1], keepdims=1)
    return part.part(op, name, part.constant("axes", np.array([-1])), keepdims=1)


def _scaler(part: Replacement) -> bool:
    offset, scale = (part.constant(name, _numbers(part, name)) for name in ("offset", "scale"))
    return part.last("Mul", part.part("Sub", _real(part), offset), scale)


def _normalizer(part: Replacement) -> bool:
    """A vector whose norm is 0 stays as it is."""
    source, how = _real(part), part.attributes.get("norm", b"MAX")
    op = {b"MAX": "ReduceMax", b"L1": "ReduceSum", b"L2": "ReduceL2"}[how]
    norm = _reduced(part, op, part.part("Abs", source) if how == b"L1" else source)
    is_none = part.part("Equal", norm, part.constant("zero", 0.0))
    return part.last("Div", source, part.part("Where", is_none, part.constant("one", 1.0), norm))


def _imputer(part: Replacement) -> bool:
    source, missing = _real(part), float(part.attributes.get("replaced_value_float", 0.0))
    values = _numbers(part, "imputed_value_floats")
    if not values.size:
        values, missing = _numbers(part, "imputed_value_int64s"), float(part.attributes["replaced_value_int64"])
    is_missing = part.part("IsNaN", source) if np.isnan(missing) else part.part(
        "Equal", source, part.constant("missing", missing))
    return part.last("Where", is_missing, part.constant("imputed", values), source)


def _one_hot(part: Replacement) -> bool:
    if part.opset < _SUMS or "cats_int64s" not in part.attributes:
        return False
    column = part.part("Unsqueeze", _real(part), part.constant("axes", np.array([-1])))
    is_one = part.part("Equal", column, part.constant("categories", _numbers(part, "cats_int64s")))
    return part.last("Cast", is_one, to=_FLOAT)


def _feature_vector(part: Replacement) -> bool:
    return part.last("Concat", *(_real(part, index) for index in range(len(part.node.input))), axis=1)


def _features(part: Replacement) -> bool:
    """Elements of the last axis; the result of a vector is a matrix of one row."""
    index = part.part("Reshape", part.input(1), part.constant("all", np.array([-1])))
    values = part.value(part.input(0))
    if values is None or values.ndim > 1:
        return part.last("Gather", part.input(0), index, axis=-1)
    row = part.constant("row", np.array([1, -1]))
    return part.last("Reshape", part.part("Gather", part.input(0), index, axis=0), row)


def _zip_map(part: Replacement) -> bool:
    return part.last("Identity", part.input(0))


def _affine(part: Replacement, source: str, matrix: np.ndarray, offsets: np.ndarray) -> str:
    """Rows of `source` times [inputs][outputs], and an offset for each output."""
    return part.part("Gemm", source, part.constant("matrix", np.ascontiguousarray(matrix, np.float32)),
                     part.constant("offsets", offsets.astype(np.float32)))


def _transformed(part: Replacement, scores: str) -> str | None:
    """None for a transformation that is not supported."""
    how = part.attributes.get("post_transform", b"NONE")
    if how == b"NONE":
        return scores
    if how == b"LOGISTIC":
        return part.part("Sigmoid", scores)
    return part.part("Softmax", scores, axis=1) if how == b"SOFTMAX" else None


def _linear(part: Replacement, outputs: int) -> str:
    offsets = _numbers(part, "intercepts")
    matrix = _numbers(part, "coefficients").reshape(outputs, -1).T
    return _affine(part, _real(part), matrix, offsets if offsets.size else np.zeros(outputs))


def _linear_regressor(part: Replacement) -> bool:
    if part.attributes.get("post_transform", b"NONE") != b"NONE":
        return False
    return part.last("Identity", _linear(part, int(part.attributes.get("targets", 1))))


def _linear_classifier(part: Replacement) -> bool:
    labels = _label_values(part)
    count = max(1, _numbers(part, "intercepts").size)
    scores = _linear(part, count)
    if count == 1:  # of two classes
        is_second = part.part("Greater", scores, part.constant("zero", 0.0))
        index = part.part("Reshape", part.part("Cast", is_second, to=_INT64), part.constant("shape", np.array([-1])))
        logistic = part.attributes.get("post_transform", b"NONE") == b"LOGISTIC"
        scores = _affine(part, scores, np.array([[-1.0, 1.0]]), np.array([0.0 if logistic else 1.0, 0.0]))
    else:
        index = part.part("ArgMax", scores, axis=1, keepdims=0)
    transformed = _transformed(part, scores)
    return transformed is not None and _classified(part, index, transformed, labels)


def _label_values(part: Replacement) -> np.ndarray | None:
    """The numbers that are the names of classes; None if these are their indices, or texts."""
    found = np.array(next((part.attributes[name] for name in _CLASSES[:2] if name in part.attributes), ()), np.int64)
    return None if np.array_equal(found, np.arange(found.size)) else found


def _classified(part: Replacement, index: str, scores: str, labels: np.ndarray | None) -> bool:
    """The outputs of a classifier."""
    if labels is None:
        part.last("Identity", index)
    else:
        part.last("Gather", part.constant("labels", labels), index, axis=0)
    if part.output(1):
        part.nodes.append(helper.make_node("Identity", [scores], [part.output(1)], f"{part.name}/scores"))
    return True


def _kernel_sums(part: Replacement, weights: np.ndarray, offsets: np.ndarray) -> str | None:
    """Sums over support vectors with weights [supports][sums]; None for an unknown kernel."""
    source, kernel = _real(part), part.attributes.get("kernel_type", b"LINEAR")
    gamma, shift, degree = (float(item) for item in part.attributes.get("kernel_params", (0.0, 0.0, 3.0)))
    supports = _numbers(part, "support_vectors").reshape(len(weights), -1).astype(np.float64)
    if kernel == b"LINEAR":
        return _affine(part, source, supports.T @ weights, offsets)
    if kernel == b"RBF":  # |x - v|^2 = |x|^2 - 2xv + |v|^2, around the middle of the vectors, where it loses least
        middle = supports.mean(axis=0).astype(np.float32)
        supports = supports - middle
        centred = part.part("Sub", source, part.constant("middle", middle))
        squares = _reduced(part, "ReduceSum", part.part("Mul", centred, centred))
        products = _affine(part, centred, 2 * gamma * supports.T, -gamma * (supports**2).sum(axis=1))
        near = part.part("Sub", products, part.part("Mul", squares, part.constant("gamma", gamma)))
        values = part.part("Exp", near)
    elif kernel in (b"POLY", b"SIGMOID"):
        products = _affine(part, source, gamma * supports.T, np.full(len(supports), shift))
        values = part.part("Tanh", products) if kernel == b"SIGMOID" else part.part(
            "Pow", products, part.constant("degree", degree))
    else:
        return None
    return _affine(part, values, weights, offsets)


def _support_vector_regressor(part: Replacement) -> bool:
    weights, offsets = _numbers(part, "coefficients").astype(np.float64), _numbers(part, "rho")
    if part.attributes.get("post_transform", b"NONE") != b"NONE":
        return False
    if int(part.attributes.get("n_supports", 0)):
        total = _kernel_sums(part, weights[:, np.newaxis], offsets)
    else:
        total = _affine(part, _real(part), weights[:, np.newaxis], offsets)
    if total is None or not int(part.attributes.get("one_class", 0)):
        return total is not None and part.last("Identity", total)
    is_inside = part.part("Greater", total, part.constant("zero", 0.0))
    return part.last("Where", is_inside, part.constant("one", 1.0), part.constant("other", -1.0))


def _support_vector_classifier(part: Replacement) -> bool:
    """One against one: a sum for each pair of classes, which votes for the first if it is above 0."""
    counts, rho = part.attributes.get("vectors_per_class", ()), _numbers(part, "rho")
    classes = len(counts)
    probabilities = "prob_a" in part.attributes
    if part.attributes.get("post_transform", b"NONE") != b"NONE" or not classes or (probabilities and classes > 2):
        return False
    weights, votes = _pairs(counts, _numbers(part, "coefficients").reshape(classes - 1, -1))
    sums = _kernel_sums(part, weights, rho)
    if sums is None:
        return False
    wins = part.part("Cast", part.part("Greater", sums, part.constant("zero", 0.0)), to=_FLOAT)
    scores = sums
    if probabilities:
        slope, offset = (float(_numbers(part, name)[0]) for name in ("prob_a", "prob_b"))
        second = part.part("Sigmoid", _affine(part, sums, np.array([[-slope]]), np.array([-offset])))
        bounded = [part.constant("bound", end) for end in (_LEAST, 1 - _LEAST)]
        second = part.part("Min", part.part("Max", second, bounded[0]), bounded[1])
        scores = _affine(part, second, np.array([[1.0, -1.0]]), np.array([0.0, 1.0]))
        index = part.part("ArgMax", scores, axis=1, keepdims=0)
    else:
        index = part.part("ArgMax", _affine(part, wins, votes[0] - votes[1], votes[1].sum(axis=0)), axis=1, keepdims=0)
        scores = _affine(part, sums, np.array([[-1.0, 1.0]]), np.zeros(2)) if classes == 2 else sums
    return _classified(part, index, scores, _label_values(part))


def _pairs(counts: Sequence[int], coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights [supports][pairs] from coefficients [classes - 1][supports]; and the votes of a pair for its winner and
    its loser, [2][pairs][classes]."""
    ends = np.cumsum([0, *counts])
    pairs = [(first, second) for first in range(len(counts)) for second in range(first + 1, len(counts))]
    weights, votes = np.zeros((ends[-1], len(pairs))), np.zeros((2, len(pairs), len(counts)))
    for position, (first, second) in enumerate(pairs):
        own, other = slice(ends[first], ends[first + 1]), slice(ends[second], ends[second + 1])
        weights[own, position] = coefficients[second - 1, own]
        weights[other, position] = coefficients[first, other]
        votes[0, position, first] = votes[1, position, second] = 1
    return weights, votes


CLASSICAL = {(_ML, name): function for name, function in {
    "ArrayFeatureExtractor": _features, "FeatureVectorizer": _feature_vector, "Imputer": _imputer,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor, "Normalizer": _normalizer, "OneHotEncoder": _one_hot,
    "SVMClassifier": _support_vector_classifier, "SVMRegressor": _support_vector_regressor, "Scaler": _scaler,
    "ZipMap": _zip_map}.items()}
