"""verify carries states: onnxruntime gets the plan's states before each step, and new states are compared."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import onnx
import pytest

from tests.compiler.test_states import Recurrent
from tests.harness.command import tigris
from tests.harness.tiers import sampled
from tigris_pio import Session
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.format.enums import OpKind
from tigris_pio.verify.compare import Comparison, compare, random_inputs
from tigris_pio.verify.reference import open_reference


def compared(made: Recurrent, path: Path, skewed: bool = False) -> Comparison:
    onnx.save(made.model(), path)
    options = CompileOptions(states=tuple(made.ties().items()))
    start = front(path, options)
    whole = back(start, options)
    if skewed:
        ops = tuple(_exchanged(start.program.ops))
        start = dataclasses.replace(start, program=dataclasses.replace(start.program, ops=ops))
    compiled = back(start, options)
    with Session(compiled) as session:
        samples = [random_inputs(session, seed) for seed in range(4)]
    return compare(compiled, whole, open_reference(path, {}, {}, options.states), samples)


def _exchanged(ops: tuple[ProgramOp, ...]) -> list[ProgramOp]:
    """The first COMMIT stores the model's input instead of the new state."""
    first = next(op for op in ops if op.kind is OpKind.COMMIT)
    changed = dataclasses.replace(first, operands=(dataclasses.replace(first.operands[0], tensor="x"),))
    return [changed if op is first else op for op in ops]


@pytest.mark.parametrize("quantised", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("seed", sampled(range(3), fast=1))
def test_right_models_pass(seed: int, quantised: bool, tmp_path: Path) -> None:
    found = compared(Recurrent(seed, quantised), tmp_path / "m.onnx")
    assert found.passed, found.different
    assert {layer.kind for layer in found.outputs} == {"output", "state"}


def test_a_wrong_state_differs(tmp_path: Path) -> None:
    """The swapped tensor has the state's size, so that the plan is valid."""
    made = next(made for seed in range(40) if (made := Recurrent(seed, False)).heights["s0"] == made.heights["x"]
                and not any(node.output[0] == "n0" and node.input[0] == "x" for node in made.quantiser.nodes))
    found = compared(made, tmp_path / "m.onnx", skewed=True)
    assert "s0" in [layer.name for layer in found.different]


def test_the_command_takes_states_and_their_first_values(tmp_path: Path) -> None:
    """The reference gets the same first values."""
    made = Recurrent(5, quantised=True)
    onnx.save(made.model(), tmp_path / "m.onnx")
    ties = [word for new, held in made.ties().items() for word in ("--state", f"{new}={held}", "--set", f"{held}=0.5")]
    document = json.loads(tigris("verify", tmp_path / "m.onnx", *ties, "--json").stdout)
    assert document["passed"] and document["samples"] == 8
