"""Every operator of int16, and networks of int16 and int8: TensorFlow Lite Micro's bytes, at any budget."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.tflite.cases import merged
from tests.tflite.cases_int16 import CASES, weighted
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import NONE, RELU, SAME, VALID, Operator, Tensor, constant, write
from tigris_pio import Session, UnsupportedError, compile_model
from tigris_pio.cli.main import cli
from tigris_pio.format.enums import DType, OpKind, Strategy


@pytest.mark.parametrize("name", CASES)
def test_exact(name: str) -> None:
    """All cases of an operator side by side in one file."""
    model, values = merged(list(CASES[name]()))
    compiled = check_exact(model, model, values)
    kinds = {op.kind for op in compiled.plan.program.ops if op.dtype == DType.FLOAT32}
    assert not kinds, kinds


def mixed_network() -> bytes:
    """Two layers of int16, one of int8, two of int16 with a skip between them; int8 at both ends."""
    fine, coarse = 2e-4, 0.05
    tensors = [
        Tensor("x", (1, 24, 10, 4), "int8", coarse, -3), Tensor("a", (1, 24, 10, 4), "int16", fine),
        Tensor("b", (1, 24, 10, 8), "int16", fine), Tensor("c", (1, 12, 5, 8), "int16", fine * 2),
        Tensor("d", (1, 12, 5, 8), "int16", fine * 2), Tensor("e", (1, 12, 5, 8), "int8", coarse, 5),
        Tensor("f", (1, 12, 5, 8), "int8", coarse, -128), Tensor("g", (1, 12, 5, 8), "int16", fine * 3),
        Tensor("h", (1, 12, 5, 8), "int16", fine * 4), Tensor("i", (1, 6, 2, 8), "int16", fine * 4),
        Tensor("j", (1, 8), "int16", fine * 2), Tensor("k", (1, 5), "int16", fine * 5),
        Tensor("p", (1, 5), "int16", 1 / 32768), Tensor("y", (1, 5), "int8", 1 / 256, -128),
    ]  # fmt: skip
    operators = [Operator("QUANTIZE", ["x"], ["a"])]
    for name, op, source, result, weights, axis, bias in (
            ("1", "CONV_2D", "a", "b", (8, 3, 3, 4), 0, "int64"),
            ("2", "DEPTHWISE_CONV_2D", "b", "c", (1, 3, 3, 8), 3, "int64"),
            ("3", "CONV_2D", "e", "f", (8, 1, 1, 8), 0, "int32"),
            ("4", "FULLY_CONNECTED", "j", "k", (5, 8), 0, "int32")):
        scale = next(item.scale for item in tensors if item.name == source)
        assert isinstance(scale, float)
        kernel, offset = weighted(weights, axis, scale, bias)
        assert offset.data is not None
        values = offset.data if bias == "int64" else offset.data // 4096
        tensors += [constant(f"w{name}", kernel.data, kernel.scale, 0, axis),  # type: ignore[arg-type]
                    constant(f"b{name}", values, offset.scale)]
        stride = 2 if op == "DEPTHWISE_CONV_2D" else 1
        window = {"strideH": stride, "strideW": stride, "padding": SAME, "fusedActivationFunction": RELU}
        options = {} if op == "FULLY_CONNECTED" else window | ({"depthMultiplier": 1} if stride == 2 else {})
        operators.append(Operator(op, [source, f"w{name}", f"b{name}"], [result], options))
        operators += {
            "2": [Operator("LEAKY_RELU", ["c"], ["d"], {"alpha": 0.1}), Operator("QUANTIZE", ["d"], ["e"])],
            "3": [
                Operator("QUANTIZE", ["f"], ["g"]),
                Operator("ADD", ["g", "d"], ["h"], {"fusedActivationFunction": NONE}),
                Operator("AVERAGE_POOL_2D", ["h"], ["i"], {"strideH": 2, "strideW": 2, "filterHeight": 2,
                                                            "filterWidth": 2, "padding": VALID}),
                Operator("MEAN", ["i", "axes"], ["j"], {"keepDims": False}),
            ],
            "4": [Operator("SOFTMAX", ["k"], ["p"], {"beta": 1.0}), Operator("QUANTIZE", ["p"], ["y"])],
        }.get(name, [])  # fmt: skip
    tensors.append(constant("axes", np.array([1, 2], np.int32)))
    return write(tensors, operators, ["x"], ["y"])


def test_a_network_of_int8_and_int16() -> None:
    """At all budgets; with weights copied and compressed; in bands that roll."""
    data = mixed_network()
    x = random_input((1, 24, 10, 4))
    compiled = check_exact(data, data, {"x": x})
    expected = Tflm(data).run([x])[0]
    types = {op.dtype for op in compiled.plan.program.ops}
    assert types == {DType.INT8, DType.INT16}
    assert len(np.unique(expected)) > 2
    for options in ({"copy_weights": True}, {"compress": "lz4"}, {"fast": "2K", "slow": "64K"}, {"fast": "3K"}):
        plan = compile_model(data, **options)  # type: ignore[arg-type]
        with Session(plan) as session:
            assert np.array_equal(session.run({"x": x})["y"], expected), options
        if options == {"fast": "3K"}:
            assert any(stage.strategy is Strategy.ROLLING for stage in plan.plan.stages)


def test_verify_passes_a_network_of_int16(tmp_path: Path) -> None:
    path = tmp_path / "mixed.tflite"
    path.write_bytes(mixed_network())
    done = CliRunner().invoke(cli, ["verify", str(path), "--samples", "2", "-m", "3K"])
    assert done.exit_code == 0 and "verify: passed" in done.output, done.output


@given(st.integers(1, 60), st.sampled_from(("int64", "int32", "")), st.floats(1e-6, 3e-3), st.floats(1e-6, 3e-2),
       st.integers(0, 9))
def test_requantisation_of_sums(inputs: int, bias: str, source: float, result: float, seed: int) -> None:
    """Any ratio of scales that both take, in both kinds of sums."""
    weights, offset = weighted((6, inputs), 0, source, bias)
    tensors = [Tensor("x", (3, inputs), "int16", source), weights, Tensor("y", (3, 6), "int16", result),
               *([offset] if bias else [])]
    names = ["x", "w", "b"] if bias else ["x", "w", ""]
    data = write(tensors, [Operator("FULLY_CONNECTED", names, ["y"])], ["x"], ["y"])
    x = random_input((3, inputs), "int16", seed)
    with Session(compile_model(data)) as session:
        assert np.array_equal(session.run({"x": x})["y"], Tflm(data).run([x])[0])


def test_scales_too_far_apart_are_refused() -> None:
    tensors = [Tensor("x", (1, 4), "int16", 1.0), constant("w", np.ones((2, 4), np.int8), 1.0),
               Tensor("y", (1, 2), "int16", 1e-6)]
    data = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])
    with pytest.raises(UnsupportedError, match=r"FULLY_CONNECTED_0 .*scale ratio of 1e\+06 is too large for int16"):
        compile_model(data)


def test_operators_without_int16_run_in_float() -> None:
    """Where TensorFlow Lite Micro has no int16 of its own either."""
    tensors = [Tensor(name, (2, 5), "int16", 2e-4) for name in ("x", "z", "y")]
    data = write(tensors, [Operator("DIV", ["x", "z"], ["y"])], ["x", "z"], ["y"])
    compiled = compile_model(data)
    kinds = [op.kind for op in compiled.plan.program.ops]
    assert kinds == [OpKind.DEQUANTIZE, OpKind.DEQUANTIZE, OpKind.BINARY, OpKind.QUANTIZE]
    x, z = random_input((2, 5), "int16", 1), random_input((2, 5), "int16", 2)
    with Session(compiled) as session:
        got = session.run({"x": x, "z": z})["y"]
    assert np.array_equal(got, np.clip(np.rint(x / z.astype(float) / np.float64(np.float32(2e-4))), -32768, 32767))
