"""Inputs and free dimensions that the user sets: constants of the input's type; errors name the input or option."""

from typing import Any

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node, ort
from tigris_pio import Session, compile_model
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.load.onnx.inputs import fix_inputs
from tigris_pio.errors import ArgumentError, ModelError, UsageError
from tigris_pio.spelling import Caller, messages_for

T = onnx.TensorProto
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)


def with_input(kind: int, shape: tuple[int | str, ...] = ()) -> onnx.ModelProto:
    """x * Cast(p)."""
    return make([node("Cast", "p", "f", to=T.FLOAT), node("Mul", "x f", "y")], {"x": (2, 3), "p": shape}, ["y"],
                types={"p": kind})


@pytest.mark.parametrize(("kind", "shape", "given", "expected"), [
    (T.INT64, (), "16000", np.array(16000, np.int64)),
    (T.INT64, (), 16000, np.array(16000, np.int64)),
    (T.INT32, (), np.int64(-3), np.array(-3, np.int32)),
    (T.UINT8, (1,), "255", np.array([255], np.uint8)),
    (T.FLOAT, (3,), "1.5, -2,1e-3", np.array([1.5, -2, 1e-3], np.float32)),
    (T.FLOAT, (2, 3), 0.25, np.full((2, 3), 0.25, np.float32)),
    (T.FLOAT, (2, 3), [[1, 2, 3], [4, 5, 6]], np.arange(1, 7, dtype=np.float32).reshape(2, 3)),
    (T.BOOL, (), "true", np.array(True)),
    (T.BOOL, (), False, np.array(False)),
    (T.FLOAT, ("n", 3), "1,2,3,4,5,6", np.arange(1, 7, dtype=np.float32).reshape(2, 3)),
    (T.FLOAT, ("n", 3), "2", np.full((1, 3), 2, np.float32)),
])
def test_values_become_constants_of_the_inputs_type(kind: int, shape: tuple[int | str, ...], given: object,
                                                    expected: np.ndarray) -> None:
    model = with_input(kind, shape)
    before = model.SerializeToString()
    weights = load_model(model, fixed={"p": given}).weights
    assert weights["p"].dtype == expected.dtype and weights["p"].shape == expected.shape
    np.testing.assert_array_equal(weights["p"], expected)
    assert model.SerializeToString() == before
    with Session(compile_model(model, set={"p": given})) as session:
        assert [io.name for io in session.inputs] == ["x"]
        np.testing.assert_allclose(session.run({"x": X})["y"], ort(model, {"x": X, "p": expected})["y"], rtol=1e-6)


@pytest.mark.parametrize(("kind", "shape", "given", "words"), [
    (T.INT64, (), {"q": 1}, "has no input of that name.*x, p"),
    (T.INT64, (), {"pp": 1}, r'set={"pp": 1}.*did you mean p\?'),
    (T.INT8, (), {"p": 128}, "whole number from -128 to 127"),
    (T.INT8, (), {"p": "1.5"}, "whole number"),
    (T.INT64, (), {"p": 1.5}, "whole number"),
    (T.FLOAT, (), {"p": "one"}, "the input is float32; give a number"),
    (T.BOOL, (), {"p": "2"}, "true or false"),
    (T.FLOAT, (3,), {"p": "1,2"}, r"2 values for an input of shape \[3\]"),
    (T.STRING, (), {"p": "1"}, "only inputs of numbers"),
])
def test_errors_name_the_input(kind: int, shape: tuple[int, ...], given: dict[str, Any],
                                           words: str) -> None:
    with pytest.raises(UsageError, match=words):
        fix_inputs(with_input(kind, shape), given, "model")


@pytest.mark.parametrize("given", [3, [("p", 1)], {"p": None}, {"p": {}}, {3: 1}])
def test_python_values_of_a_wrong_type(given: object) -> None:
    with pytest.raises(ArgumentError, match="set"):
        compile_model(with_input(T.INT64), set=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [T.INT32, T.INT64])
def test_wide_integers_may_be_inputs_and_outputs(kind: int) -> None:
    """They are exact up to 2^24, and the report says so."""
    model = make([node("Max", "i j", "k"), node("Transpose", "k", "y", perm=[1, 0])], {"i": (2, 3), "j": (2, 3)}, ["y"],
                 types=dict.fromkeys("ijy", kind))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    values = {name: np.random.default_rng(seed).integers(-(1 << 24), 1 << 24, (2, 3)).astype(dtype)
              for seed, name in enumerate("ij")}
    plan = compile_model(model)
    assert any(f"input i is {np.dtype(dtype)}: values beyond 16777216" in text for text in plan.report["warnings"])
    with Session(plan) as session:
        result = session.run(values)["y"]
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.maximum(values["i"], values["j"]).T)


# An error lists all free dimensions without a size, each as an option sets it.


@pytest.mark.parametrize(("inputs", "words"), [
    ({"x": (1, "length")}, ["length=VALUE"]), ({"x": (1, 3, "height", "width")}, ["height=VALUE", "width=VALUE"]),
    ({"x": (-1, 3, "?", "?")}, ["x:2=VALUE", "x:3=VALUE"]), ({"x": (1, "", 3, "")}, ["x:1=VALUE", "x:3=VALUE"]),
    ({"x": ("n", "t", "t")}, ["t=VALUE"]), ({"x": (1, "h"), "z": (1, "w", "?")}, ["h=VALUE", "w=VALUE", "z:2=VALUE"]),
    ({"x": (1, "2*h", "a b")}, ["x:1=VALUE", "x:2=VALUE"]),
])  # fmt: skip
def test_all_are_listed_and_the_listed_options_work(inputs, words):
    nodes = [node("Relu", name, f"y{name}") for name in inputs]
    model = make(nodes, inputs, [f"y{name}" for name in inputs])
    with pytest.raises(ModelError) as caught, messages_for(Caller.COMMAND):
        load_model(model)
    given = str(caught.value).split("give it with ")[1]
    assert given == " ".join(f"--dim {word}" for word in words)
    load_model(model, {word.split("=")[0]: 5 + index for index, word in enumerate(words)})
