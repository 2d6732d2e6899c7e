"""Instructions that a plan is predicted to take, against what an emulated processor counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.calibration_cases import Subject, compiled_at, content_of, network_subjects
from bench.emulator import MACHINES, build, measure
from tests.networks.plans import compiled
from tigris_pio.compiler.instructions.predict import PROCESSORS
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.prediction import predicted_instructions, stage_instructions


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The harness of the bench, by machine."""
    folder = tmp_path_factory.mktemp("bench")
    return {name: build(MACHINES[name], folder) for name in ("rv32imc", "cortex-m4", "cortex-m55")}


def check(programs: Mapping[str, Path], subject: Subject, made: Compiled) -> None:
    """On each machine."""
    content = content_of(subject, made)
    for name, program in programs.items():
        counted = measure(MACHINES[name], program, made.data, content, program.parent)
        assert counted.right or subject.dtype == "float32"
        assert predicted_instructions(made.plan, name) == pytest.approx(counted.run, rel=0.1), name


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "way", "fast"), [
    ("kws", "streamed", "8K"), ("sww", "hop 1", "4K"), ("plain", "batch 5", "8K"), ("plain", "streamed", "4K"),
    ("sww", "copied", "64K"), ("ad", "lz4", "64K"), ("sww", "slow memory", "2K"), ("branched", "", "16K"),
])  # fmt: skip
def test_other_ways_to_run(programs: dict[str, Path], name: str, way: str, fast: str) -> None:
    """Rows that come during the run, windows that overlap, batches, weights that are brought to fast memory; branches,
    maps that grow again, channels whose scale is not the usual one."""
    (subject,) = (one for one in network_subjects()
                  if (one.name, one.way, one.dtype) == (name, way, "int8") and fast in one.budgets)  # fmt: skip
    check(programs, subject, compiled_at(subject, fast))


def test_the_report_has_them_by_processor_and_stage() -> None:
    plan, document = compiled("kws", fast="8K").plan, compiled("kws", fast="8K").report
    assert set(document["predicted_instructions"]) == set(PROCESSORS) == set(MACHINES)
    for stage, shown in zip(plan.stages, document["stages"], strict=True):
        assert shown["predicted_instructions"] == stage_instructions(plan, stage)
    for processor, total in document["predicted_instructions"].items():
        assert total == predicted_instructions(plan, processor)
