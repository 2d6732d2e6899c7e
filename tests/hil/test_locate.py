"""The first wrong operator: whatever kernel computes wrongly on the board, in whatever plan, is found and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.test_states import Recurrent
from tests.fuzz.graphs import INPUTS, LAYERS, graph
from tests.harness.tiers import counted, examples, sampled
from tests.hil.bridge import Bridge
from tests.hil.conftest import Plans, Serve
from tests.hil.locating import Wrong, assert_found, checked, located, mixed, remembering
from tigris_pio import compile_model
from tigris_pio.errors import TigrisError
from tigris_pio.format.enums import DType, OpKind, Strategy, WeightMode
from tigris_pio.format.reader import PlanFile, read_plan
from tigris_pio.hil.check import open_plan
from tigris_pio.hil.locate.first_wrong import KERNEL, FirstWrong, PlanNames
from tigris_pio.hil.samples import random_samples

Model = str | Callable[[], onnx.ModelProto]
NETWORKS = Path(__file__).resolve().parents[2] / "networks"
INT8, FLOAT32 = DType.INT8, DType.FLOAT32
K = OpKind


#: A band in the middle of a rolling stage, where there is one.
KERNELS = [
    ("kws", "8K", Wrong(K.CONV_2D, INT8, 12, 5)),
    ("kws", "8K", Wrong(K.DEPTHWISE_CONV_2D, INT8, 11, 3)),
    ("kws", "8K", Wrong(K.MEAN_OF_SUMS, INT8, 0, 7)),
    ("kws", "8K", Wrong(K.SOFTMAX, INT8, 0, 2)),
    ("resnet", "20K", Wrong(K.ADD, INT8, 9, 15)),
    (mixed, "4K", Wrong(K.CONV_2D, FLOAT32, 13, 1, 255)),
    (mixed, "4K", Wrong(K.MAX_POOL, FLOAT32, 5, 2, more="add=30000")),
    (mixed, "4K", Wrong(K.CONCAT, FLOAT32, 6, 6, more="add=30000")),
    (mixed, "4K", Wrong(K.RESAMPLE, FLOAT32, 15, 4, more="add=30000")),
    (remembering, "4K", Wrong(K.RECURRENT, FLOAT32, 3, 1, more="add=30000")),
]
STATE = {"hn": "h", "cn": "c"}


@pytest.mark.parametrize(
    ("model", "fast", "wrong"), sampled(KERNELS, fast=6), ids=lambda value: getattr(value, "spec", None)
)
def test_a_wrong_kernel_is_named(serve: Serve, model: Model, fast: str, wrong: Wrong, plans: Plans) -> None:
    path = plans(model, fast, **({"state": STATE} if model is remembering else {}))
    plan = open_plan(path)
    report = checked(serve(path, "--fault", wrong.spec), plan)
    assert not report.equal
    found = assert_found(report.first_wrong, plan, wrong)
    assert report.samples[found.sample].mismatches


def has(strategy: Strategy) -> Callable[[PlanFile], bool]:
    """Whether a stage of a plan runs like that."""
    return lambda file: any(stage.strategy == strategy for stage in file.stages)


#: Model, memory, options of the compiler and of the board, what the plan must be like, and a fault.
PLANS = {
    "tiled": ("micro_speech", "5K", {"slow": "16K"}, [], has(Strategy.TILED), Wrong(K.CONV_2D, INT8, 17, 5)),
    "chain": ("person_detect", "16K", {"slow": "64K"}, [], has(Strategy.CHAIN), Wrong(K.CONV_2D, INT8, 31, 2)),
    "copied": ("kws", "32K", {"copy_weights": True}, [],
               lambda file: any(stage.weight_mode == WeightMode.COPY for stage in file.stages),
               Wrong(K.CONV_2D, INT8, 3, 9)),
    "a library's": ("kws", "32K", {"backend": "esp-nn", "chip": "esp32s3"}, [],
                    lambda file: any(op.kind == K.PLAIN_CONV_2D for op in file.ops),
                    Wrong(K.PLAIN_CONV_2D, INT8, 6, 9)),
    "moved": ("resnet", "64K", {}, ["--dynamic", "60000", "--fast", "45000"],
              lambda file: file.header.fast_bytes > 45000, Wrong(K.ADD, INT8, 14, 6)),
}


@pytest.mark.parametrize("name", sampled(PLANS, fast=("tiled", "copied", "moved")))
def test_in_a_plan_that_is(serve: Serve, name: str, plans: Plans) -> None:
    model, fast, options, board, is_such, wrong = PLANS[name]
    path = plans(model, fast, **options)
    plan = open_plan(path)
    assert is_such(plan.file)
    found = located(serve(path, *board, "--fault", wrong.spec), plan)
    said = assert_found(found, plan, wrong).sentences()[2]
    assert ("or the copy of its weights in fast memory was changed" in said) is (name == "copied")


def test_a_right_board_departs_nowhere(serve: Serve, plans: Plans) -> None:
    """Whatever was in its memory before; also with rows that nothing needs, batches and states."""
    cases = (("micro_speech", "5K", {"slow": "16K"}), (mixed, "4K", {}), (remembering, "4K", {"state": STATE}))
    for model, fast, options in cases:
        path = plans(model, fast, **options)
        found = located(serve(path), open_plan(path), 2)
        assert isinstance(found, str) and "3 more runs of sample 1 gave the host's bytes in all kernel calls" in found


#: Layers that have rows, and nearly everything else now and then.
KINDS = st.one_of(st.integers(0, 12), st.integers(0, len(LAYERS) - 1))
STEPS = st.lists(st.tuples(KINDS, st.integers(0, 2), st.integers(0, 10**6)), min_size=2, max_size=6)


@pytest.mark.fuzzed
def test_any_call_of_any_graph(real_board: Path, tmp_path: Path) -> None:
    @counted(found=examples(2, 20), banded=examples(0, 2))
    @settings(max_examples=examples(4, 30, 300), deadline=None, suppress_health_check=list(HealthCheck))
    @given(shape=st.integers(0, len(INPUTS) - 1), steps=STEPS, share=st.integers(40, 100), place=st.integers(0, 10**6),
           states=st.booleans())
    def search(seen: dict[str, int], shape: int, steps: list[tuple[int, int, int]], share: int, place: int,
               states: bool) -> None:
        made = Recurrent(place, quantised=bool(place % 2)) if states else None
        model = made.model() if made else graph(shape, steps)
        state = made.ties() if made else None
        try:
            ample = read_plan(compile_model(model, state=state).data).header.fast_bytes
            fast = max(1024, ample * share // 100)
            compiled = compile_model(model, fast=fast, slow="64K", state=state)
        except TigrisError:
            return
        path = tmp_path / "any.tgrs"
        compiled.save(path)
        plan = open_plan(path)
        (inputs,) = random_samples(plan.session.inputs, 1).inputs
        _, calls = plan.session.run_raw_calls(inputs)
        call, words = calls[place % len(calls)], PlanNames(plan.file)
        op, tensor = plan.file.ops[call.op], plan.file.tensors[words.tensor(call.op)]
        wrong = Wrong(OpKind(op.kind), DType(op.dtype), call.first + place % call.rows, place % tensor.channels, 1)
        with Bridge([real_board, "--fault", wrong.spec, "--model", path]) as bridge:
            found = located(bridge.url, plan)
        assert isinstance(found, FirstWrong), found
        assert (found.call, found.cause, found.reproducible) == (wrong.first_call(plan.file, calls), KERNEL, True)
        seen["found"] += 1
        seen["banded"] += plan.file.stages[found.stage].band_count > 1

    search()


def test_states_are_searched_from_the_reset(plans: Plans, serve: Serve) -> None:
    """A state that is committed wrongly is found in the run that commits it, not in the later one whose output differs;
    and the board's states are those of the sequence again when the search steps back."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    wrong = Wrong(K.COMMIT, INT8, 0, 2, more="add=30000")
    report = checked(serve(path, "--fault", wrong.spec), plan, 5)
    assert not report.samples[0].mismatches and report.samples[1].mismatches
    found = report.first_wrong
    assert found is not None and found.difference is not None, report.not_located
    assert (found.sample, found.kernel, found.cause, found.reproducible) == (0, "commit int8", KERNEL, True)
    assert found.difference.first.channel == 2
    assert np.isclose(found.difference.first.board - found.difference.first.host, 0.3, atol=1e-6)
    # What is wrong in the second sequence only is searched from its beginning: two states are committed a step.
    late = Wrong(K.COMMIT, INT8, 0, 2, more="add=30000,skip=4")
    report = checked(serve(path, "--fault", late.spec), plan, 5, starts=(0, 2))
    assert [bool(sample.mismatches) for sample in report.samples] == [False, False, False, True, True]
    found = report.first_wrong
    assert found is not None and found.sample == 2, report.not_located
