"""Arenas smaller than planned: the same bytes, or a status that says what is missing, and no byte outside them."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.models import make, node
from tests.harness.tiers import examples, sampled
from tests.networks.plans import compiled
from tests.runtime.bands import Impossible
from tests.runtime.build import replay
from tests.runtime.chains import Chain, plan_of, walk
from tests.runtime.damage import damaged
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.loader import Status
from tests.runtime.plan_builder import changed
from tests.runtime.replays import Outcome, outcomes
from tests.runtime.test_bands import chains, run_chain
from tigris_pio import compile_model
from tigris_pio.errors import BudgetError, RuntimeFailure
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.records import Header, StageRecord, TensorRecord

NETWORKS = ("ad", "kws", "micro_speech", "person_detect", "resnet", "sww", "vww")
SHARES = (100, 75, 50, 25)
AMPLE = 1 << 20
TOO_SMALL = (Status.ERR_FAST_TOO_SMALL, Status.ERR_SLOW_TOO_SMALL)
#: A plan and the bytes of fast and slow memory to run it in.
Case = tuple[bytes, int, int]


def plan_at(name: str, fast: str, weights: str = "none") -> bytes:
    """The network's plan at a budget, with slow memory where it does not fit without."""
    try:
        return compiled(name, fast=fast, compress=weights).data
    except BudgetError:
        return compiled(name, fast=fast, slow="1M", compress=weights).data


def cases_of(plan: bytes) -> Iterator[Case]:
    """Every share of the planned fast memory without slow memory, with the planned, and with plenty."""
    header = Header.unpack(plan)
    for share in SHARES:
        for slow in {0, header.slow_bytes, AMPLE}:
            yield plan, header.fast_bytes * share // 100, slow


def found(cases: list[Case]) -> list[Outcome]:
    """The sanitised program's outcome of each case."""
    return outcomes(replay(), [case[0] for case in cases], [case[1:] for case in cases])


def is_same(outcome: Outcome) -> bool:
    """Whether the plan ran, with the outputs of the planned run."""
    return (outcome.status, outcome.small, outcome.ran_small, outcome.differs) == (0, 0, True, False)


def enlarged(case: Case, outcome: Outcome) -> Case:
    """The case with as much more memory as was missing."""
    plan, fast, slow = case
    in_fast = outcome.small == Status.ERR_FAST_TOO_SMALL
    return plan, fast + outcome.missing * in_fast, slow + outcome.missing * (not in_fast)


@pytest.mark.parametrize("name", sampled(NETWORKS, ("kws", "ad")))
def test_networks_in_every_share_of_their_arenas(name: str) -> None:
    """Refused or bit-identical; with what the refusal says is missing, bit-identical too."""
    plans = {plan_at(name, fast) for fast in ("64K", "16K")} | {plan_at(name, "64K", "lz4")}
    cases = [case for plan in sorted(plans) for case in cases_of(plan)]
    first = found(cases)
    refused = [(case, outcome) for case, outcome in zip(cases, first, strict=True) if outcome.small]
    assert all(is_same(outcome) for outcome in first if not outcome.small)
    assert all(outcome.small in TOO_SMALL and 0 < outcome.missing < AMPLE for _, outcome in refused)
    # Half of the fast memory is enough for every network when there is slow memory.
    assert all(slow != AMPLE or fast * 2 < Header.unpack(plan).fast_bytes for (plan, fast, slow), _ in refused)
    again = found([enlarged(*pair) for pair in refused])
    # Where the bookkeeping alone did not fit, the first refusal could not know the rest.
    further = [(enlarged(*pair), outcome) for pair, outcome in zip(refused, again, strict=True) if outcome.small]
    assert all(fast < 1200 for (_, fast, _), _ in further)
    again = [outcome for outcome in again if not outcome.small] + found([enlarged(*pair) for pair in further])
    assert all(is_same(outcome) for outcome in again)


def test_outputs_that_are_made_early_stay_until_the_run_has_ended() -> None:
    """Nothing reads them any more while the later operators look for room."""
    weights = {f"w{i}": np.full((4, 4, 3, 3), 0.01 * (i + 1), np.float32) for i in range(6)}
    names = ["x", "early", "b", "c", "d", "e", "late"]
    nodes = [node("Conv", f"{names[i]} w{i}", names[i + 1], pads=[1, 1, 1, 1]) for i in range(6)]
    plan = compile_model(make(nodes, {"x": (1, 4, 12, 12)}, ["early", "late"], weights), fast="64K").data
    header = Header.unpack(plan)
    cases = [(plan, fast, slow) for fast in range(header.fast_bytes // 4, header.fast_bytes, header.fast_bytes // 24)
             for slow in (header.fast_bytes // 2, header.fast_bytes, AMPLE)]
    results = found(cases)
    assert all(is_same(outcome) for outcome in results if not outcome.small)
    assert sum(map(is_same, results)) >= len(cases) // 2


def test_of_operators_that_share_bands_any_may_want_scratch() -> None:
    """Here the second, a recurrent layer."""
    weights = {name: np.full((1, 24, *rest), 0.1, np.float32) for name, *rest in (("w", 8), ("r", 8))}
    nodes = [node("Tanh", "x", "t"), node("GRU", "t w r", "y", hidden_size=8), node("Relu", "y", "z")]
    compiled = compile_model(make(nodes, {"x": (64, 1, 8)}, ["z"], weights), fast="2K", slow="64K")
    (stage,) = compiled.plan.stages
    assert stage.bands > 1 and [op.scratch_bytes > 0 for op in compiled.plan.program.ops] == [False, True, False]
    sizes = range(compiled.plan.fast_bytes // 2, compiled.plan.fast_bytes + 1000, 100)
    results = found([(compiled.data, fast, AMPLE) for fast in sizes])
    assert all(is_same(outcome) for outcome in results if not outcome.small)
    assert sum(map(is_same, results)) >= 8


@settings(max_examples=examples(30, 100), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(chains(), st.sampled_from(list(WeightMode)), st.data())
def test_any_chain_in_arenas_of_any_size(chain: Chain, mode: WeightMode, data: st.DataObject) -> None:
    try:
        plan = plan_of(chain, walk(chain)[0], mode)
    except Impossible:
        return
    header = Header.unpack(plan)
    # Beside its bookkeeping, so small a plan leaves little to place: more fast memory, less slow memory than planned.
    fast = data.draw(st.integers(header.fast_bytes // 2, header.fast_bytes + 1500))
    slow = data.draw(st.integers(0, max(0, header.slow_bytes - 1)) | st.integers(0, 4096))
    try:
        result = run_chain(plan, chain.height, fast, slow)
    except RuntimeFailure as failure:
        assert "are missing" in str(failure)
        return
    assert result == run_chain(plan, chain.height)


def test_damaged_plans_in_small_arenas() -> None:
    """A random part of all damages to a rolling and to a whole plan, in half of the memory each wants."""
    choose, count = random.Random(7), examples(300, 1000)
    cases: list[Case] = []
    for name in ("chain-rolling-lz4", "chain-tiled-copy", "00-conv_2d-int8-whole"):
        plan = dict(seeds())[name]
        header = Header.unpack(plan)
        for candidate in choose.sample(list(damaged(plan)), count):
            fast = choose.randrange(header.state_bytes, 2 * header.fast_bytes)
            cases.append((candidate, fast, choose.choice([0, header.slow_bytes // 2, 8 * header.fast_bytes])))
    statuses = [outcome.small or outcome.status for outcome in found(cases)]
    assert {0, *TOO_SMALL} <= set(statuses)
    assert statuses.count(0) > count // 5


def test_empty_weight_blocks_are_moved_together(models_dir: Path) -> None:
    """An object of no bytes lies where the next one does; the search for the next once found it again and again."""
    plan = compile_model(models_dir / "ad_int8.onnx", fast="64K", copy_weights=True).data
    for index in range(Header.unpack(plan).stage_count):
        plan = changed(plan, StageRecord, index, block_raw_bytes=0, block_stored_bytes=0)
    results = found([(plan, fast, 0) for fast in range(1000, 1400, 10)])
    assert {outcome.small for outcome in results} == {Status.ERR_FAST_TOO_SMALL, Status.ERR_PARAMS}


@pytest.mark.parametrize(("views", "accepted"), [(65000, True), (65600, False)])
def test_more_objects_than_the_bookkeeping_can_name(views: int, accepted: bool) -> None:
    """All that lies in fast memory moves up, to make room for the state of so many views."""
    state = 16 * views
    plan = dict(seeds())["00-conv_2d-int8-whole"]
    header = Header.unpack(plan)
    for index in range(header.tensor_count):
        offset = TensorRecord.unpack(plan, header.tensors + index * TensorRecord.size()).home_offset
        plan = changed(plan, TensorRecord, index, home_offset=offset + state)
    offset = StageRecord.unpack(plan, header.stages).block_fast_offset
    plan = changed(plan, StageRecord, 0, block_fast_offset=offset + state)
    plan = changed(plan, Header, 0, state_bytes=state, fast_bytes=header.fast_bytes + 2 * state)
    (outcome,) = found([(plan, Header.unpack(plan).fast_bytes - 4096, 0)])
    if accepted:
        assert is_same(outcome)
    else:
        assert (outcome.small, outcome.missing) == (Status.ERR_FAST_TOO_SMALL, 2**32 - 1)


