"""Bands through windows: any chain gives the bytes of whole execution, in windows of exactly the size needed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.harness.tiers import counted, examples
from tests.runtime.bands import Impossible
from tests.runtime.chains import CHANNELS, WIDTH, Chain, Link, example_chain, output_paces, plan_of, walk, whole
from tests.runtime.loader import TIGRIS_ERR_BANDS, bind_status
from tests.runtime.plan_builder import NO_PACE, with_crc
from tigris_pio.format.enums import OperandFlag, OpKind, WeightMode
from tigris_pio.format.records import Header, OperandRecord
from tigris_pio.host import Session


@st.composite
def links(draw: Any, index: int, heights: list[int]) -> Link:
    """A further operator that fits its input."""
    source = draw(st.integers(max(0, index - 2), index))
    twins = [i for i in range(index + 1) if heights[i] == heights[source] and i != source]
    if twins and draw(st.booleans()):
        return Link(OpKind.ADD, (source, draw(st.sampled_from(twins))))
    kind = draw(st.sampled_from([OpKind.CONV_2D, OpKind.MAX_POOL, OpKind.AVERAGE_POOL]))
    sizes = [draw(st.integers(low, high)) for low, high in ((1, 5), (1, 3), (1, 2), (0, 3), (0, 3))]
    return Link(kind, (source,), *sizes)


@st.composite
def chains(draw: Any) -> Chain:
    """One to five operators over up to 20 rows, each tensor direct or windowed, kept or not, paced or not."""
    heights = [draw(st.integers(1, 20))]
    chosen: list[Link] = []
    for index in range(draw(st.integers(1, 5))):
        link = draw(links(index, heights))
        height = link.height(heights[link.inputs[0]])
        assume(height >= 1)
        chosen.append(link)
        heights.append(height)
    count = len(heights)
    steps = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(-4, 4))
    paces = [NO_PACE] + [draw(steps | st.just(NO_PACE)) for _ in range(count - 2)]
    output = draw(st.tuples(st.integers(1, 2 * heights[-1]), st.integers(1, 3), st.integers(-3, 0)))
    windows = tuple(draw(st.booleans()) for _ in range(count))
    keeps = tuple(draw(st.booleans()) for _ in range(count))
    return Chain(heights[0], tuple(chosen), windows, keeps, (*paces, output))


def run(plan: bytes, height: int, fast: int | None = None, slow: int | None = None) -> bytes:
    x = np.random.default_rng(height).standard_normal((1, height, WIDTH, CHANNELS)).astype(np.float32)
    with Session(plan, fast_bytes=fast, slow_bytes=slow) as session:
        return session.run_raw({"t0": x})[session.outputs[0].name].tobytes()


def rolled(chain: Chain) -> Chain:
    """The chain with every tensor in a window that keeps rows, and no paces but the output's."""
    count = len(chain.links) + 1
    paces = output_paces(chain, chain.paces[-1])
    return dataclasses.replace(chain, windows=(True,) * count, keeps=(True,) * count, paces=paces)


@counted(ran=examples(60, 150), impossible=examples(2, 5))
@settings(max_examples=examples(60, 150), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(chain=chains(), mode=st.sampled_from(list(WeightMode)))
def test_any_bands_give_the_bytes_of_whole_execution(seen: Counter[str], chain: Chain, mode: WeightMode) -> None:
    reference = whole(chain)
    expected = run(plan_of(reference, walk(reference)[0]), chain.height)
    for candidate in (chain, rolled(chain)):
        try:
            capacities, _ = walk(candidate)
        except Impossible:
            # A pace too slow, or two branches that read one tensor at different speeds: the runtime sees it too.
            assert bind_status(plan_of(candidate, candidate.heights)) == TIGRIS_ERR_BANDS
            seen["impossible"] += 1
            continue
        seen["ran"] += 1
        assert run(plan_of(candidate, capacities, mode), chain.height) == expected


@counted(refused=examples(20, 60))
@settings(max_examples=examples(32, 80), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(chain=chains(), data=st.data())
def test_a_window_one_row_too_small_is_refused(seen: Counter[str], chain: Chain, data: st.DataObject) -> None:
    candidate = rolled(chain)
    try:
        capacities, _ = walk(candidate)
    except Impossible:
        return
    shrinkable = [index for index, rows in enumerate(capacities) if rows > 1]
    assume(shrinkable)
    index = data.draw(st.sampled_from(shrinkable))
    capacities[index] -= 1
    assert bind_status(plan_of(candidate, capacities)) == TIGRIS_ERR_BANDS
    seen["refused"] += 1


@counted(refused=examples(3, 10), right=examples(12, 30))
@settings(max_examples=examples(60, 150), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(chain=chains(), data=st.data())
def test_a_wrong_word_of_the_last_reader_is_refused_or_harmless(
    seen: Counter[str], chain: Chain, data: st.DataObject
) -> None:
    reference = whole(chain)
    candidate = rolled(chain)
    try:
        capacities, _ = walk(candidate)
    except Impossible:
        return
    plan = plan_of(candidate, capacities)
    header = Header.unpack(plan)
    index = data.draw(st.integers(0, header.operand_count - 1))
    offset = header.operands + index * OperandRecord.size()
    record = OperandRecord.unpack(plan, offset)
    wrong = dataclasses.replace(record, flags=record.flags ^ OperandFlag.LAST)
    damaged = with_crc(plan[:offset] + wrong.pack() + plan[offset + OperandRecord.size() :])
    if bind_status(damaged) == TIGRIS_ERR_BANDS:
        seen["refused"] += 1
        return
    seen["right"] += 1
    expected = run(plan_of(reference, walk(reference)[0]), chain.height)
    assert run(damaged, chain.height) == expected


def test_rolling_computes_every_row_once_and_tiling_some_twice() -> None:
    """Bands in which an operator has nothing left to do call no kernel."""
    rolling, tiled = example_chain(keep=True), example_chain(keep=False)
    assert walk(rolling)[1] == sum(rolling.heights[1:])
    assert walk(tiled)[1] > sum(tiled.heights[1:])
    with Session(plan_of(rolling, walk(rolling)[0])) as session:
        session.run_raw({"t0": np.ones((1, rolling.height, WIDTH, CHANNELS), np.float32)})
        calls = [record.calls for record in session.profile]
    assert max(calls) == calls[-1] == rolling.band_count


def test_rows_that_nobody_reads_need_not_be_made() -> None:
    """A stride that leaves the last row out: the tensor before it is direct, unpaced and incomplete."""
    links = (Link(OpKind.CONV_2D, (0,)), Link(OpKind.MAX_POOL, (1,), kernel=1, stride=2))
    chain = Chain(4, links, (False,) * 3, (False,) * 3, (NO_PACE, NO_PACE, (2, 1, 0)))
    assert bind_status(plan_of(chain, walk(chain)[0])) == 0
