"""Instructions that a plan is predicted to take, against what an emulated processor counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.calibration_cases import Subject, content_of
from bench.emulator import MACHINES, build, measure
from bench.float_twin import float_twin
from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.compiler.instructions.predict import PROCESSORS
from tigris_pio.compiler.plan.prediction import predicted_instructions, stage_instructions

MACHINE = "rv32imc"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The harness of the bench."""
    return build(MACHINES[MACHINE], tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize(("name", "fast", "slow"), [
    ("kws", "256K", 0), ("kws", "8K", 0), ("kws", "4K", "1M"), ("sww", "4K", 0), ("micro_speech", "256K", 0),
    ("resnet", "16K", "1M"), ("ad float", "1M", 0),
])  # fmt: skip
def test_within_a_tenth_of_what_is_counted(program: Path, name: str, fast: str, slow: str | int) -> None:
    """`python -m bench.calibrate` shows it for every network, budget and machine of the bench."""
    network, *is_float = name.split()
    path = OWN / f"{network}_int8.onnx"
    model = float_twin(path) if is_float else path
    compiled = compile_model(model, fast=fast, slow=slow)
    inputs = np.load(OWN / f"{network}_vectors.npz")["input_f32"][0]
    content = content_of(Subject(name, "", float_twin(path), (), inputs), compiled)
    counted = measure(MACHINES[MACHINE], program, compiled.data, content, program.parent).run
    assert predicted_instructions(compiled.plan, MACHINE) == pytest.approx(counted, rel=0.1)


def test_the_report_has_them_by_processor_and_stage() -> None:
    compiled = compile_model(OWN / "kws_int8.onnx", fast="8K")
    document, plan = compiled.report, compiled.plan
    assert set(document["predicted_instructions"]) == set(PROCESSORS) == {"rv32imc", "cortex-m4", "cortex-m7"}
    for stage, shown in zip(plan.stages, document["stages"], strict=True):
        assert shown["predicted_instructions"] == stage_instructions(plan, stage)
    for processor, total in document["predicted_instructions"].items():
        assert total == predicted_instructions(plan, processor)


def test_bands_take_more_than_whole_stages() -> None:
    found = [predicted_instructions(compile_model(OWN / "kws_int8.onnx", fast=fast).plan) for fast in ("256K", "8K")]
    assert found[0] < found[1] < 1.2 * found[0]
