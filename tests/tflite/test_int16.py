"""Every operator of int16, and networks of int16 and int8: TensorFlow Lite Micro's bytes, at any budget."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.tflite.cases import merged
from tests.tflite.cases_int16 import CASES, mixed_network, weighted
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import Operator, Tensor, constant, write
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
