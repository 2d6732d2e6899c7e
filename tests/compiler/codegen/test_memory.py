"""Memory of generated C: its stack, and the order of its calls."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.emulator import MACHINES, NETWORKS, samples
from bench.plain_c import link, run
from bench.stack import beside_kernels, call_graph, deepest
from tests.compiler.codegen.c_model import compile_for_m4
from tests.harness.tiers import examples, sampled
from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.compiler.codegen.model import model_of
from tigris_pio.compiler.codegen.schedule import (
    Action,
    Loop,
    Move,
    MoveReason,
    Place,
    loops_of,
    stage_bands,
    values_of,
    with_values,
)
from tigris_pio.compiler.pipeline import Compiled

#: Fast and slow memory: the smallest or nearly, and less than that beside slow memory.
SMALLEST = [("micro_speech", "2192", 0), ("kws", "4416", 0), ("vww", "28304", 0), ("resnet", "11520", 0),
            ("person_detect", "13904", 0), ("sww", "4K", 0), ("ad", "64K", 0)]  # fmt: skip
BESIDE_SLOW = [("kws", "3K", "64K"), ("vww", "8K", "64K"), ("resnet", "8K", "64K")]
DEEPEST = [("kws", "4416", 0), ("person_detect", "13904", 0), ("vww", "8K", "64K"), ("resnet", "8K", "64K")]
#: The most stack beyond the deepest kernel's, in bytes; more for plans for which gcc saves two more registers.
MOST, KEEPS_MORE = 48, {("vww", "8K"): 56}


@functools.cache
def compiled(name: str, fast: str, slow: str | int) -> Compiled:
    return compile_model(NETWORKS / f"{name}_int8.onnx", fast=fast, slow=slow)


def taken(plan: Compiled, optimise: str, folder: Path) -> int:
    """Bytes of stack beyond the deepest kernel's own."""
    plan.codegen(folder, "m")
    compile_for_m4(folder, optimise)
    kernels = model_of(plan.plan, "m", False, False).kernels.functions.values()
    return beside_kernels(folder / "m.ci", "m_run", kernels)


@pytest.mark.parametrize("name,fast,slow", sampled(SMALLEST + BESIDE_SLOW, ["micro_speech", "resnet"]))
def test_beside_the_deepest_kernel(name: str, fast: str, slow: str | int, tmp_path: Path) -> None:
    assert 0 < taken(compiled(name, fast, slow), "-Os", tmp_path) <= KEEPS_MORE.get((name, fast), MOST)


@pytest.mark.parametrize("optimise,most", [("-O2", MOST), ("-O0", 112)])
@pytest.mark.parametrize("name,fast,slow", sampled(DEEPEST, ["resnet"]))
def test_when_it_is_fast_or_debugged(name: str, fast: str, slow: str | int, optimise: str, most: int,
                                     tmp_path: Path) -> None:
    assert 40 <= taken(compiled(name, fast, slow), optimise, tmp_path) <= most


@pytest.mark.thorough
@pytest.mark.parametrize("name,fast,slow", [("resnet", "8K", "64K"), ("resnet", "11520", 0)])
def test_painted(name: str, fast: str, slow: str | int, tmp_path: Path) -> None:
    """A run writes the stack bytes that the call graph predicts, or fewer if it skips the deepest path."""
    machine, plan = MACHINES["cortex-m4"], compiled(name, fast, slow)
    data = np.load(NETWORKS / f"{name}_vectors.npz")
    content = samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())
    found = run(machine, link(machine, plan, tmp_path, "-Os"), content, tmp_path)
    (tmp_path / "m.c").write_text((tmp_path / "model.c").read_text())
    compile_for_m4(tmp_path, "-Os")
    frames, calls = call_graph(tmp_path / "m.ci")
    kernels = model_of(plan.plan, "model", False, False).kernels.functions.values()
    own = max(deepest(kernel, frames, calls) for kernel in kernels)
    assert found["right"] == 1
    assert own / 2 < found["stack_run"] <= deepest("model_run", frames, calls)
    assert found["stack_run"] - own <= 48


# Loops are exactly the bands that they stand for, and short.


def actions_of(loops: Sequence[Loop]) -> list[Action]:
    """The actions one after the other."""
    actions = []
    for loop in loops:
        for turn in range(loop.iterations):
            for step in loop.steps:
                values = [value + turn * growth
                          for value, growth in zip(values_of(step.action), step.growth, strict=True)]  # fmt: skip
                actions.append(with_values(step.action, values))
    return actions


PLACE = Place("t", True)


@settings(max_examples=examples(200, 200, 2000), deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from([4, 8]), st.integers(0, 4)), max_size=2), max_size=12))
def test_any_bands(numbers: list[list[tuple[int, int]]]) -> None:
    """Random bytes and rows: some repeat, some grow, and some nearly do."""
    bands = [tuple(Move(MoveReason.KEEP, PLACE, PLACE, size, at, 0) for size, at in band) for band in numbers]
    assert actions_of(loops_of(bands)) == [action for band in bands for action in band]


def test_steps_that_differ_are_no_loop() -> None:
    rows = (0, 1, 2, 3, 5, 7, 9, 12)
    bands = [(Move(MoveReason.KEEP, PLACE, PLACE, 4, at, 0),) for at in rows]
    loops = loops_of(bands)
    assert actions_of(loops) == [action for band in bands for action in band]
    assert [(loop.iterations, loop.steps[0].growth[0]) for loop in loops if loop.iterations > 1] == [(4, 1), (3, 2)]


def test_keyword_spotting_rolls_in_one_loop() -> None:
    """Rows of the last map in each turn; before and behind it only bands in which some layers have nothing to do."""
    plan = compile_model(OWN / "kws_int8.onnx", fast="6K").plan
    loops = loops_of(stage_bands(plan, plan.stages[0]))
    assert len([loop for loop in loops if loop.iterations > 4]) == 1
    assert sum(len(loop.steps) for loop in loops) < 0.8 * len(actions_of(loops))
