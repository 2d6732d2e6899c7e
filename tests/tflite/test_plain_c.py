"""Operators of TensorFlow Lite as plain C, int8 and int16: the bytes of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.codegen.c_model import CModel, build
from tests.harness.tiers import examples
from tests.tflite import cases, cases_int16
from tests.tflite.compare import random_input
from tigris_pio import Session, compile_model

CASES = {f"{kind} {name}": made for kind, catalogue in (("int8", cases.CASES), ("int16", cases_int16.CASES))
         for name, made in catalogue.items()}  # fmt: skip


@pytest.mark.fuzzed
@pytest.mark.parametrize("name", list(CASES)[:: examples(35, 35, 1)])
def test_operators(name: str, tmp_path: Path) -> None:
    """All cases of an operator side by side."""
    model, values = cases.merged(list(CASES[name]()))
    plan = compile_model(model)
    generated = plan.codegen(None, "m", layout="split")
    with Session(plan) as session:
        stored = {io.name: io.to_stored(io.check_model_array(values[io.name])) for io in session.inputs}
        got = CModel(build([generated], tmp_path), plan, generated, session).run(stored)
        expected = session.run_raw(stored)
        assert [name for name, array in expected.items() if got[name].tobytes() != array.tobytes()] == []


def test_a_network_of_int8_and_int16(tmp_path: Path) -> None:
    """Whole, rolling, and beside slow memory."""
    data = cases_int16.mixed_network()
    plans = [compile_model(data), compile_model(data, fast="3K"), compile_model(data, fast="2K", slow="64K")]
    generated = [plan.codegen(None, f"m{place}", layout="split") for place, plan in enumerate(plans)]
    library = build(generated, tmp_path)
    for plan, made in zip(plans, generated, strict=True):
        with Session(plan) as session:
            (source,), (result,) = session.inputs, session.outputs
            stored = {source.name: source.to_stored(random_input((1, 24, 10, 4)))}
            got = CModel(library, plan, made, session).run(stored)[result.name]
            assert got.tobytes() == session.run_raw(stored)[result.name].tobytes()
