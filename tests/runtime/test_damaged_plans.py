"""Damaged plans under AddressSanitizer and UndefinedBehaviorSanitizer: refused or run, never a crash."""

import random

import pytest

from tests.harness.tiers import examples
from tests.runtime.build import replay
from tests.runtime.damage import damaged, overwritten
from tests.runtime.fuzz.keep import FOUND, kept
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.loader import Status
from tests.runtime.plan_builder import changed
from tests.runtime.replays import outcomes
from tigris_pio.format.kinds import PARAMS
from tigris_pio.format.records import Header, OpRecord, StageRecord


def test_valid_plans_run() -> None:
    """Plans also run in smaller arenas with the same outputs, if their buffers fit."""
    names, plans = zip(*seeds(), strict=True)
    results = dict(zip(names, outcomes(replay(), plans), strict=True))
    assert not {name: result for name, result in results.items() if result.status or result.differs}
    assert sum(result.ran_small for result in results.values()) > len(results) // 3


def test_every_word_of_a_rolling_chain() -> None:
    plan = dict(seeds())["chain-rolling-lz4"]
    results = outcomes(replay(), damaged(plan))
    refused = {result.status for result in results if not result.ran}
    assert len(results) > 4000
    # Every kind of refusal but those of addresses and checksums is reached by a single wrong word.
    assert {Status.ERR_NOT_A_PLAN, Status.ERR_VERSION, Status.ERR_TRUNCATED, Status.ERR_ALIGNMENT,
            *range(Status.ERR_UNKNOWN_OP, Status.ERR_SECTION + 1)} <= refused  # fmt: skip
    assert any(result.ran and result.status == 0 for result in results), "some words do not matter"
    assert any(result.ran_small for result in results)


@pytest.mark.parametrize("most", [1, 5])
def test_words_of_every_kernel(most: int) -> None:
    """Single words of all seeds, and several at once; the same in every run."""
    choose, count = random.Random(2024 + most), examples(10, 100)
    outcomes(replay(), [copy for _, plan in seeds() for copy in overwritten(choose, plan, count, most)])


def test_every_truncation_of_a_small_plan() -> None:
    plan = dict(seeds())["chain-tiled-in_place"]
    results = outcomes(replay(), [plan[:size] for size in range(0, len(plan), 3)])
    assert {result.status for result in results} <= {Status.ERR_NOT_A_PLAN, Status.ERR_TRUNCATED}


def test_damaged_weight_blocks() -> None:
    plan = dict(seeds())["00-conv_2d-int8-lz4"]
    header = Header.unpack(plan)
    places = range(header.weights, header.weights + header.weights_bytes)
    values = (0, 1, 15, 16, 127, 128, 240, 255)
    plans = [plan[:at] + bytes([value]) + plan[at + 1 :] for at in places for value in values]
    statuses = {result.status for result in outcomes(replay(), plans)}
    assert Status.ERR_WEIGHT_BLOCK in statuses, "a damaged block is found"
    assert Status.ERR_PARAMS in statuses, "a shift or multiplier out of range is found"
    assert statuses <= {0, Status.ERR_PARAMS, Status.ERR_WEIGHT_BLOCK}


def test_a_block_of_another_length() -> None:
    """A valid one that makes fewer bytes than the stage says would leave the rest as it was."""
    plan = dict(seeds())["00-conv_2d-int8-lz4"]
    header = Header.unpack(plan)
    stage = StageRecord.unpack(plan, header.stages)
    roomy = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 16)
    plans = [changed(roomy, StageRecord, 0, block_raw_bytes=stage.block_raw_bytes + more) for more in (0, 1, 2, 15)]
    assert [result.status for result in outcomes(replay(), plans)] == [0, -31, -31, -31]


def test_the_kept_corpus() -> None:
    """The fuzzing corpus: inputs that crashed once, and one input for each edge that fuzzing reached."""
    plans = kept()
    results = dict(zip(plans, outcomes(replay(), plans.values()), strict=True))
    assert len(plans) > 100 and any(name.startswith(FOUND) for name in plans)
    ran = [plans[name] for name, result in results.items() if result.ran and result.status == 0]
    kernels = set()
    for plan in (*ran, *dict(seeds()).values()):
        header = Header.unpack(plan)
        ops = (OpRecord.unpack(plan, header.ops + index * OpRecord.size()) for index in range(header.op_count))
        kernels |= {(op.kind, op.dtype) for op in ops}
    assert kernels == set(PARAMS), "tests/runtime/operators.py has no operator of a kernel"
