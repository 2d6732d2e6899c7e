"""A network of int16 and int8: TensorFlow Lite Micro's bytes at any budget, as plain C, and in `tigris verify`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner

from tests.compiler.codegen.c_model import CModel, build
from tests.tflite.cases_int16 import mixed_network
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tigris_pio import Session, compile_model
from tigris_pio.cli.main import cli
from tigris_pio.format.enums import DType, Strategy


def test_every_budget_gives_the_references_bytes() -> None:
    """With weights copied and compressed; in bands that roll."""
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


def test_plain_c_has_the_plans_bytes(tmp_path: Path) -> None:
    """Rolling, and beside slow memory."""
    data = mixed_network()
    plans = [compile_model(data, fast="3K"), compile_model(data, fast="2K", slow="64K")]
    generated = [plan.codegen(None, f"m{place}", layout="split") for place, plan in enumerate(plans)]
    library = build(generated, tmp_path)
    for plan, made in zip(plans, generated, strict=True):
        with Session(plan) as session:
            (source,), (result,) = session.inputs, session.outputs
            stored = {source.name: source.to_stored(random_input((1, 24, 10, 4)))}
            got = CModel(library, plan, made, session).run(stored)[result.name]
            assert got.tobytes() == session.run_raw(stored)[result.name].tobytes()


def test_verify_passes_it(tmp_path: Path) -> None:
    path = tmp_path / "mixed.tflite"
    path.write_bytes(mixed_network())
    done = CliRunner().invoke(cli, ["verify", str(path), "--samples", "2", "-m", "3K"])
    assert done.exit_code == 0 and "verify: passed" in done.output, done.output
