"""`tigris verify` of .tflite files compares every stored tensor with TensorFlow Lite Micro's interpreter."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.harness.tiers import sampled
from tests.networks.folders import OWN
from tests.tflite.writer import Operator, Tensor, changed, constant, write
from tigris_pio.cli.main import cli
from tigris_pio.compiler.lower import numerics
from tigris_pio.errors import ToolError
from tigris_pio.verify import tflite as verified


def verify(*arguments: str) -> tuple[int, dict]:
    result = CliRunner().invoke(cli, ["verify", *arguments, "--json"])
    return result.exit_code, json.loads(result.stdout) if result.stdout else {"said": result.output}


@pytest.mark.parametrize("name,memory", sampled([("kws", "16K"), ("sww", "8K")], fast=("kws",)))
def test_every_layer_has_the_references_bytes(name: str, memory: str) -> None:
    status, document = verify(str(OWN / f"{name}_int8.tflite"), "-m", memory, "--samples", "2")
    assert status == 0 and document["passed"] and document["bands_identical"]
    assert document["reference"] == "TensorFlow Lite Micro"
    int8 = [layer for layer in document["layers"] if layer["steps"] is not None]
    assert len(int8) >= 3 and all(layer["steps"] == 0 for layer in int8)
    assert [layer["steps"] for layer in document["outputs"]] == [0]


def streaming(tmp_path: Path) -> Path:
    """A sum over runs in a variable, which a second subgraph initialises, with a float32 output."""
    tensors = [
        Tensor("x", (1, 8), "int8", 0.1, 3), Tensor("sum", (1, 8), "int8", 0.2, -5),
        Tensor("y", (1, 8), "float32"), Tensor("handle", (1,), "resource"), Tensor("old", (1, 8), "int8", 0.2, -5),
    ]
    handle = Operator("VAR_HANDLE", [], ["handle"], {"sharedName": "total", "container": ""})
    operators = [
        Operator("CALL_ONCE", [], [], {"initSubgraphIndex": 1}), handle,
        Operator("READ_VARIABLE", ["handle"], ["old"]), Operator("ADD", ["x", "old"], ["sum"]),
        Operator("ASSIGN_VARIABLE", ["handle", "sum"], []), Operator("DEQUANTIZE", ["sum"], ["y"]),
    ]
    first = constant("first", np.arange(8, dtype=np.int8).reshape(1, 8), 0.2, -5)
    once = ([Tensor("handle", (1,), "resource"), first], [handle, Operator("ASSIGN_VARIABLE", ["handle", "first"], [])])
    path = tmp_path / "streaming.tflite"
    path.write_bytes(write(tensors, operators, ["x"], ["y"], subgraphs=[once]))
    return path


def test_a_state_is_carried_from_sample_to_sample(tmp_path: Path) -> None:
    status, document = verify(str(streaming(tmp_path)), "--samples", "5")
    assert status == 0 and document["passed"]
    assert all(layer["max_difference"] == 0 for layer in (*document["layers"], *document["outputs"]))


def test_a_layer_with_wrong_constants_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan has a wrong lower bound of an activation."""
    right = numerics.activation_range
    monkeypatch.setattr(numerics, "activation_range", lambda *given: (right(*given)[0] + 9, right(*given)[1]))
    status, document = verify(str(OWN / "kws_int8.tflite"), "--samples", "1")
    assert status == 1 and document["first_different"] == "CONV_2D_0"


def test_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("tflite_micro.python.tflite_micro", "ai_edge_litert"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ToolError, match=r"pip install tflite-micro$"):
        verified.open_interpreter(b"", verified.read(OWN / "kws_int8.tflite", verified.find_limits({})), [(49, 10)])


def scaled(tmp_path: Path, batch: int = -1) -> Path:
    """A product of two inputs; the first axis of one is free."""
    tensors = [Tensor("x", (1, 3), "float32"), Tensor("by", (1,), "float32"), Tensor("y", (1, 3), "float32")]
    data = write(tensors, [Operator("MUL", ["x", "by"], ["y"])], ["x", "by"], ["y"])

    def free(model: Any) -> None:
        for place in (0, 2):
            model.subgraphs[0].tensors[place].shapeSignature = [batch, 3]

    path = tmp_path / "scaled.tflite"
    path.write_bytes(changed(data, free))
    return path


def test_inputs_that_are_set_are_given_to_the_reference(tmp_path: Path) -> None:
    status, document = verify(str(scaled(tmp_path)), "--set", "by=2.5", "--samples", "2")
    assert status == 0 and document["passed"], document
