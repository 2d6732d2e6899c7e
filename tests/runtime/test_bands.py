"""Bands through windows: any chain gives the bytes of whole execution, in windows of exactly the size needed. Also the
row arithmetic of band.c, outputs written over operands, and windows far outside their input."""

import dataclasses
import itertools
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.harness.tiers import counted, examples
from tests.runtime.bands import Impossible, View, input_rows
from tests.runtime.build import SANITIZERS, compile_program, replay
from tests.runtime.chains import CHANNELS, WIDTH, Chain, Link, example_chain, output_paces, plan_of, walk, whole
from tests.runtime.kernel_harness import DTYPES, Operator, Way, operator, plan_for, run, run_plan
from tests.runtime.loader import Status, bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import NO_PACE, PlanBuilder, with_crc
from tests.runtime.replays import outcomes
from tigris_pio.compiler.ir.program import Operand, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import aliases, in_place
from tigris_pio.compiler.lower.selection import select_params
from tigris_pio.format.enums import DType, OperandFlag, OpKind, WeightMode
from tigris_pio.format.kinds import kinds_with
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


def run_chain(plan: bytes, height: int, fast: int | None = None, slow: int | None = None) -> bytes:
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
    expected = run_chain(plan_of(reference, walk(reference)[0]), chain.height)
    for candidate in (chain, rolled(chain)):
        try:
            capacities, _ = walk(candidate)
        except Impossible:
            # A pace too slow, or two branches that read one tensor at different speeds: the runtime sees it too.
            assert bind_status(plan_of(candidate, candidate.heights)) == Status.ERR_BANDS
            seen["impossible"] += 1
            continue
        seen["ran"] += 1
        assert run_chain(plan_of(candidate, capacities, mode), chain.height) == expected


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
    assert bind_status(plan_of(candidate, capacities)) == Status.ERR_BANDS
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
    if bind_status(damaged) == Status.ERR_BANDS:
        seen["refused"] += 1
        return
    seen["right"] += 1
    expected = run_chain(plan_of(reference, walk(reference)[0]), chain.height)
    assert run_chain(damaged, chain.height) == expected


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


# The row arithmetic of band.c by itself, against its definition: floors of negative terms, paces, padding.

SOURCE = r"""
#include <stdio.h>
#include "band.h"
int main(void)
{
    int c[7];
    while (scanf("%d %d %d %d %d %d %d", &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6]) == 7) {
        const tigris_operand_record operand = {0, (uint16_t)c[0], (uint16_t)c[1], 0, c[2], c[3]};
        const tigris_view_record view = {.pace_numerator = (uint32_t)c[0], .pace_denominator = (uint32_t)c[1],
                                         .pace_offset = c[2]};
        tigris_band band = {0};
        if (c[6] == 0)
            tigris_operand_rows(&operand, c[4], c[5], c[5] + 2, &band);
        else
            band.rows = tigris_paced_rows(&view, (uint32_t)c[3], c[4]);
        printf("%d %d %d %d\n", band.first, band.rows, band.pad_top, band.pad_bottom);
    }
    return 0;
}
"""


def operand_line(rows: RowMap, height: int, first: int) -> str:
    """Rows that output rows first and first + 1 read, and those above and below the tensor."""
    low, high = input_rows(rows, height, first, first + 2)
    asked_low = (first * rows.numerator + rows.first) // rows.denominator
    asked_high = ((first + 1) * rows.numerator + rows.last) // rows.denominator + 1
    outside = asked_high - asked_low - (high - low)
    above = outside if high == low else low - asked_low
    return f"{low} {high - low} {above} {outside - above}"


def test_rows_are_those_of_the_definition(tmp_path: Path) -> None:
    every = itertools.product((0, 1, 2, 3), (1, 2, 3, 5), range(-9, 10, 2), (0, 1, 4), (1, 4, 7), (0, 1, 5))
    cases = [(*scale, first, first + size, height, row, 0) for *scale, first, size, height, row in every]
    expected = [operand_line(RowMap(*case[:4]), *case[4:6]) for case in cases]
    paces = list(itertools.product((1, 2, 7), (1, 2, 3), range(-9, 10), range(5), (1, 6, 40)))
    cases += [(*pace, 0, 1) for pace in paces]
    expected += [f"0 {View(height, pace=pace).rows_after(bands)} 0 0" for *pace, bands, height in paces]
    (tmp_path / "band.c").write_text(SOURCE)
    program = compile_program(tmp_path / "band", [tmp_path / "band.c"], *SANITIZERS)
    text = "\n".join(" ".join(map(str, case)) for case in cases)
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == expected


# Kernels whose output is written over an operand, and copies of what is there already: same bytes as elsewhere.


def lowered(op: Operator) -> tuple[ProgramOp, dict[str, ProgramTensor]]:
    """The operator as the compiler knows it."""
    tensors = {"out": ProgramTensor("out", *op.output_shape, op.output_dtype)}
    for i, array in enumerate(op.inputs):
        tensors[f"in{i}"] = ProgramTensor(f"in{i}", *array.shape, DTYPES[array.dtype])
    operands = tuple(Operand(f"in{i}", rows) for i, rows in enumerate(op.rows))
    return ProgramOp("op", op.kind, op.dtype, operands, "out", op.params, images=op.images), tensors


def run_at(op: Operator, offsets: dict[int, int]) -> np.ndarray:
    """The operator's output where operand i lies offsets[i] bytes behind the output's start, or before it."""

    def move(plan: PlanBuilder) -> None:
        output = plan.tensors[-1]
        for place, offset in offsets.items():
            at = plan.tensors[place].home_offset
            if offset > 0 or len(offsets) > 1:  # a part lies in the output
                plan.tensors[place] = dataclasses.replace(plan.tensors[place], home_offset=output.home_offset + offset)
            else:
                plan.tensors[-1] = dataclasses.replace(output, home_offset=at - offset)

    return run_plan(op, plan_for(op, Way(op.output_shape[1]), move))


def rows_4_and_5() -> Operator:
    """A SELECT of whole rows."""
    params, blobs = select_params((np.array([4, 5]), np.arange(4), np.arange(4)), (6, 4, 4), 0, DType.INT8)
    x = np.arange(96, dtype=np.int8).reshape(1, 6, 4, 4)
    return operator(OpKind.SELECT, params, x, rows=RowMap.whole(6), out=(1, 2, 4, 4), **blobs)


WRITTEN_OVER = [(op, place) for op in operators() for place in in_place(*lowered(op))]
COPIES = [(op, found) for op in (*operators(), rows_4_and_5()) if (found := aliases(*lowered(op)))]


def test_every_kind_is_tried() -> None:
    in_place_kinds = kinds_with(lambda traits: traits.in_place) - {OpKind.DEQUANTIZE}  # its elements grow
    assert {op.kind for op, _ in WRITTEN_OVER} == in_place_kinds, "tests/runtime/operators.py: one is like its output"
    assert {op.kind for op, _ in COPIES} == {OpKind.COPY, OpKind.CONCAT, OpKind.SELECT}


@pytest.mark.parametrize(("op", "place"), WRITTEN_OVER, ids=lambda item: getattr(item, "kind", None) and item.kind.name)
def test_kernels_may_write_over_an_operand(op: Operator, place: int) -> None:
    assert run_at(op, {place: 0}).tobytes() == run(op, Way(op.output_shape[1])).tobytes()


@pytest.mark.parametrize(("op", "found"), COPIES, ids=lambda item: getattr(item, "kind", None) and item.kind.name)
def test_a_copy_of_what_is_there_changes_nothing(op: Operator, found: tuple[Any, ...]) -> None:
    offsets = {alias.operand: alias.offset for alias in found}
    assert run_at(op, offsets).tobytes() == run(op, Way(op.output_shape[1])).tobytes()


# Windows far outside their input are no undefined behaviour: every sliding kernel, under the sanitisers.

CONV = (OpKind.CONV_2D, OpKind.PLAIN_CONV_2D)
PLAIN = (OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D)
DEPTHWISE = (OpKind.DEPTHWISE_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D)
SLIDING = [op for op in operators() if hasattr(op.params, "kernel_height") and op.kind is not OpKind.TRANSPOSE_CONV]
TRANSPOSED = [op for op in operators() if op.kind is OpKind.TRANSPOSE_CONV]
FAR = (1 << 29) - 1  #: rows that a row map may start above the input
MOST = (1 << 16) - 1  #: of a stride, dilation or padding


@dataclasses.dataclass(frozen=True)
class Far:
    """A window. `first`: the row map's."""

    name: str
    width: int
    channels: int
    output: tuple[int, int]
    first: int = -1
    height: int = 1
    geometry: tuple[tuple[str, int], ...] = ()


CASES = (
    Far("far-above", 4, 4, (3, 4), -FAR),
    Far("far-above-wide", 8200, 4, (1, 2), -FAR),
    Far("below", 8200, 4, (1, 2), FAR - 2),
    Far("dilated-rows", 8200, 4, (3, 2), -MOST, 2, (("dilation_height", MOST),)),
    Far("a-network", 9000, 8, (1, 2), -30000, 1,
        (("dilation_height", 30000), ("dilation_width", 30000), ("pad_left", 30000))),
    Far("dilated-columns", 2, 33000, (1, 2), -1, 1, (("dilation_width", MOST), ("pad_left", MOST))),
    Far("strided-rows", 8200, 4, (1, 2), -1, 3, (("stride_height", MOST),)),
    Far("strided-rows-of-some", 8200, 4, (4, 2), -1, 3, (("stride_height", MOST),)),
    Far("strided-columns", 4, 70, (1, 900), -1, 3, (("stride_width", MOST),)),
    Far("everything", 8200, 4, (9, 5), -FAR, 2, tuple((name, MOST) for name in (
        "stride_height", "stride_width", "dilation_height", "dilation_width", "pad_left"))),
)  # fmt: skip


def with_channels(op: Operator, channels: int) -> tuple[dict[str, np.ndarray], int]:
    """Constants of an operator of as many input channels, and its output channels: few, where it may choose."""
    if op.kind not in CONV + DEPTHWISE:
        return dict(op.blobs), channels
    outputs, shape = (5, (5, 3, 3, channels)) if op.kind in CONV else (channels, (3, 3, channels))
    return {name: np.resize(blob, shape if name == "weights" else outputs) for name, blob in op.blobs.items()}, outputs


def far_plan(op: Operator, far: Far, way: Way) -> bytes:
    """The operator with that window."""
    geometry = dict(far.geometry)
    params: Any = dataclasses.replace(op.params, **geometry)  # type: ignore[type-var]
    blobs, outputs = with_channels(op, far.channels)
    rows = RowMap(params.stride_height, 1, far.first, far.first + 2 * params.dilation_height)
    x = np.resize(op.inputs[0], (1, far.height, far.width, far.channels))
    return plan_for(
        dataclasses.replace(op, params=params, inputs=(x,), rows=(rows,), output_shape=(1, *far.output, outputs),
                            blobs=blobs), way)  # fmt: skip


def far_plans() -> Iterator[bytes]:
    """Every sliding kernel at every window, whole and in bands; transposed convolutions with far taps."""
    for op, far in itertools.product(SLIDING, CASES):
        yield far_plan(op, far, Way(far.output[0]))
        if far.output[0] > 1:
            yield far_plan(op, far, Way(2))
    for op, dilation, pad in itertools.product(TRANSPOSED, (1, 30000, MOST), (0, 30000, MOST)):
        fields = {"dilation_height": dilation, "dilation_width": dilation, "pad_top": pad, "pad_left": pad}
        params: Any = dataclasses.replace(op.params, **fields)  # type: ignore[type-var]
        yield plan_for(dataclasses.replace(op, params=params, rows=(RowMap.whole(6),)), Way(11))


@pytest.mark.parametrize("variant", ["", pytest.param("dsp", marks=pytest.mark.thorough)], ids=("portable", "dsp-in-c"))
def test_no_window_overflows(variant: str) -> None:
    results = outcomes(replay(variant), far_plans())
    assert sum(result.ran and result.status == 0 for result in results) > 100
    # Kernels that a library may run in their stead do not take windows like these.
    assert {(result.status, result.ran) for result in results} == {(0, True), (Status.ERR_PARAMS, False)}
    assert sum(result.ran for result in results) >= sum(op.kind not in PLAIN for op in SLIDING) * len(CASES)
