"""scikit-learn's models, in skl2onnx's operators, give onnxruntime's results."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from tests.compiler.lower.compare import check
from tests.harness.command import tigris
from tigris_pio import compile_model
from tigris_pio.errors import ModelError, UnsupportedError

T = onnx.TensorProto
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4)).astype(np.float32)
ML = "ai.onnx.ml"


def numbers(count: int) -> list[float]:
    return [float(value) for value in RANDOM.normal(size=count)]


def model(*nodes: onnx.NodeProto, opset: int = 17, kind: int = T.FLOAT) -> onnx.ModelProto:
    """A chain of nodes; the outputs are the last one's: a label, if it has two outputs, and numbers."""
    before = "x"
    for position, item in enumerate(nodes):
        item.input[:] = [before, *item.input]
        item.output[:] = ["label", f"t{position}"] if len(item.output) > 1 else [f"t{position}"]
        before = item.output[-1]
    outputs = [name for item in nodes for name in item.output if name == "label"] + [before]
    graph = helper.make_graph(nodes, "classical", [helper.make_tensor_value_info("x", kind, [3, 4])],
                              [helper.make_empty_tensor_value_info(name) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(ML, 3)],
                             ir_version=8)


def ml(op: str, outputs: int = 1, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, [], ["y"] * outputs, domain=ML, **attributes)


def linear(classes: int, **more: object) -> onnx.NodeProto:
    return ml("LinearClassifier", 2, intercepts=numbers(classes), **(
        {"coefficients": numbers(classes * 4), "classlabels_ints": list(range(max(2, classes)))} | more))


def supports(kernel: str, *counts: int, **more: object) -> onnx.NodeProto:
    common = {"kernel_type": kernel, "kernel_params": [0.4, 0.3, 3.0], "support_vectors": numbers(sum(counts) * 4)}
    if len(counts) == 1:
        return ml("SVMRegressor", coefficients=numbers(counts[0]), n_supports=counts[0], rho=[0.3], **common, **more)
    pairs = len(counts) * (len(counts) - 1) // 2
    return ml("SVMClassifier", 2, coefficients=numbers((len(counts) - 1) * sum(counts)), rho=numbers(pairs),
              vectors_per_class=list(counts), **common, **({"classlabels_ints": list(range(len(counts)))} | more))


SCALER = {"offset": numbers(4), "scale": numbers(4)}
CASES = {
    "scaler": [ml("Scaler", **SCALER)],
    "one scale": [ml("Scaler", offset=[0.5], scale=[2.0])],
    **{f"norm {norm}": [ml("Normalizer", norm=norm)] for norm in ("L1", "L2", "MAX")},
    "imputer": [ml("Imputer", imputed_value_floats=numbers(4), replaced_value_float=0.0)],
    "no numbers": [ml("Imputer", imputed_value_floats=[1.5], replaced_value_float=float("nan"))],
    "regressor": [ml("LinearRegressor", coefficients=numbers(8), intercepts=numbers(2), targets=2)],
    "softmax": [ml("Scaler", **SCALER), linear(3, post_transform="SOFTMAX"), ml("Normalizer", norm="L1")],
    "one against rest": [linear(3, post_transform="LOGISTIC"), ml("Normalizer", norm="L1")],
    "labels": [linear(3, classlabels_ints=[3, 7, -2])],
    **{f"two classes {post}": [linear(1, post_transform=post)] for post in ("NONE", "LOGISTIC")},
    **{f"regressor {kernel}": [supports(kernel, 5)] for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID")},
    "one class": [supports("RBF", 5, one_class=1)],
    **{f"classifier {kernel}": [supports(kernel, 2, 3, 2)] for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID")},
    "two classes by vectors": [supports("RBF", 3, 2, classlabels_ints=[1, 4])],
    "features": [ml("ArrayFeatureExtractor")],
}


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("name", CASES)
def test_operators_give_onnxruntimes_results(name: str, opset: int) -> None:
    made = model(*(onnx.NodeProto.FromString(item.SerializeToString()) for item in CASES[name]), opset=opset)
    if name == "features":
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 0]), "index"))
        made.graph.node[0].input.append("index")
    x = X.copy()
    x[1, 1:3] = np.nan if name == "no numbers" else 0
    check(made, {"x": x}, rtol=1e-4, little=False)


def test_texts_become_indices_and_dictionaries_arrays(tmp_path: Path) -> None:
    names = ["setosa", "versicolor"]
    zip_map = helper.make_node("ZipMap", [], ["y"], domain=ML, classlabels_strings=names)
    made = model(linear(2, classlabels_ints=None, classlabels_strings=names, post_transform="SOFTMAX"), zip_map)
    labels, numbers_ = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": X})
    expected = {"label": np.array([names.index(name) for name in labels]),
                "t1": np.array([[row[name] for name in names] for row in numbers_], np.float32)}
    compiled = check(made, {"x": X}, expected, little=False)
    assert compiled.report["warnings"] == ["output label is the index of its class: 0 setosa, 1 versicolor"]
    assert [item["labels"] for item in compiled.report["outputs"]] == [names, names]
    onnx.save(made, tmp_path / "flowers.onnx")
    np.savez(tmp_path / "x.npz", x=RANDOM.normal(size=(40, 3, 4)).astype(np.float32))
    written = tigris("quantize", tmp_path / "flowers.onnx", "--data", tmp_path / "x.npz", "-o", tmp_path / "o.onnx",
                  "--json")
    assert json.loads(written.stdout)["error"] < 0.1
    assert compile_model(tmp_path / "o.onnx").report["outputs"][0]["labels"] == names


@pytest.mark.parametrize(("item", "message"), [
    (ml("TreeEnsembleRegressor"), "emlearn"), (supports("RBF", 2, 2, 2, prob_a=[1.0] * 3, prob_b=[0.0] * 3),
                                               "probability=False"),
    (linear(3, post_transform="PROBIT"), "not supported"),
    (ml("LabelEncoder", keys_floats=[0.0], values_strings=["a"]), "computes with texts")])
def test_unsupported_operators_are_named_with_a_remedy(item: onnx.NodeProto, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as caught:
        compile_model(model(ml("Scaler", **SCALER), item))
    assert "1 node cannot" in str(caught.value) and "depends on data" not in str(caught.value)


@pytest.mark.parametrize("item", [linear(3, coefficients=[1.0]), ml("Normalizer", norm="L7"), ml("Imputer")])
def test_attributes_that_do_not_fit_name_the_node(item: onnx.NodeProto) -> None:
    message = rf"^classical: node .*{item.op_type}\): its attributes and constants do not fit"
    with pytest.raises(ModelError, match=message):
        compile_model(model(item))
