"""Streamed inputs and outputs in C: hooks that are missing or stop, plans that are damaged, arenas of any size."""

import itertools
from typing import Any

import numpy as np
import pytest

from tests.compiler.models import make, node
from tests.runtime.loader import Status, bind_status
from tests.runtime.plan_builder import changed, with_crc
from tigris_pio import Session, compile_model
from tigris_pio.errors import PlanError, RuntimeFailure
from tigris_pio.format.enums import OpKind, ViewFlag
from tigris_pio.format.params import RowsParams
from tigris_pio.format.reader import read_plan
from tigris_pio.format.records import Header, IoRecord, OpRecord, TensorRecord, ViewRecord
from tigris_pio.host import library

RNG = np.random.default_rng(5)
WEIGHTS = {"w": RNG.normal(size=(4, 3, 3, 3)).astype(np.float32), "v": RNG.normal(size=(2, 4, 3, 3)).astype(np.float32)}
NONE = library.RowsHook()
IMAGE = RNG.normal(size=(1, 3, 24, 8)).astype(np.float32)


def model() -> Any:
    """Two convolutions; the second's map is the output."""
    nodes = [node("Conv", "x w", "t", pads=[1, 1, 1, 1]), node("Conv", "t v", "y", pads=[1, 1, 1, 1])]
    return make(nodes, {"x": IMAGE.shape}, ["y"], WEIGHTS)


def expected() -> np.ndarray:
    with Session(compile_model(model())) as session:
        return session.run({"x": IMAGE})["y"]


@pytest.fixture(scope="module")
def plan() -> bytes:
    """Input and output streamed, in bands."""
    compiled = compile_model(model(), fast="1300", stream=["x", "y"])
    assert compiled.plan.stages[0].bands > 4 and len(compiled.plan.stages) == 1
    return compiled.data


def step(plan: bytes, kind: OpKind) -> int:
    return next(index for index, op in enumerate(read_plan(plan).ops) if op.kind == kind)


@pytest.mark.parametrize("fast", [None, "8K", "4K"])
def test_outputs_are_those_of_a_whole_input(fast: str | None) -> None:
    """Outputs are equal in less fast memory than planned, too."""
    for streams, share in itertools.product((["x"], ["y"], ["x", "y"]), (100, 80, 60)):
        compiled = compile_model(model(), fast=fast, stream=streams)
        small = compiled.report["memory"]["fast_peak"] * share // 100
        with Session(compiled, small, "64K") as session:
            np.testing.assert_array_equal(session.run({"x": IMAGE})["y"], expected())


def test_rows_come_in_order_and_each_once(plan: bytes) -> None:
    with Session(plan) as session:
        rows = np.ascontiguousarray(IMAGE[0].transpose(1, 2, 0))
        asked: list[int] = []
        taken: list[tuple[int, int]] = []

        def fetch(first: int, count: int) -> np.ndarray:
            asked.extend(range(first, first + count))
            return rows[first : first + count]

        session.take["y"] = lambda first, made: taken.append((first, len(made)))
        for _ in range(2):
            np.testing.assert_array_equal(session.run({"x": fetch})["y"], expected())
            assert asked == list(range(24))
            assert [row for first, count in taken for row in range(first, first + count)] == list(range(24))
            assert len(taken) > 4
            asked.clear(), taken.clear()


def test_nothing_runs_without_its_hooks(plan: bytes) -> None:
    """Nothing is fetched before it is found that an output has nowhere to go."""
    calls = []
    fetch = library.RowsHook(lambda *given: calls.append(given) or 0)
    with Session(plan) as session:
        for hooks in ((NONE, NONE), (fetch, NONE), (NONE, fetch)):
            session._library.tigris_host_rows(session._host.address, *hooks)
            with pytest.raises(RuntimeFailure, match=r"set the session's fetch_rows or take_rows \(status -6\)"):
                session.run({"x": IMAGE})
    assert not calls


def test_a_hook_stops_the_run(plan: bytes) -> None:
    with Session(plan) as session:
        calls: list[int] = []
        stop = library.RowsHook(lambda _c, _i, first, *_: calls.append(first) or first >= 5)
        go = library.RowsHook(lambda *_: 0)
        for hooks, kind in (((stop, go), "FETCH"), ((go, stop), "TAKE")):
            session._library.tigris_host_rows(session._host.address, *hooks)
            with pytest.raises(RuntimeFailure, match=rf"\(status -7\) at stage 0, operator \d \({kind}"):
                session.run({"x": IMAGE})
            assert calls[-1] >= 5 > calls[-2]


def damages(plan: bytes) -> list[tuple[str, bytes]]:
    """Everything that FETCH and TAKE rely on, contradicted one by one."""
    fetch, take = step(plan, OpKind.FETCH), step(plan, OpKind.TAKE)
    file, found = read_plan(plan), []
    for name, op, io, other in (("fetch", fetch, 0, take), ("take", take, 1, fetch)):
        view = file.ops[op].output_view
        flags = file.views[view].flags
        at = file.header.params + file.ops[op].params
        packed = RowsParams(1).pack()
        found += [
            (f"{name}: another port", with_crc(plan[:at] + packed + plan[at + len(packed) :])),
            (f"{name}: another mover", changed(plan, IoRecord, io, mover=other + 1)),
            (f"{name}: another tensor", changed(plan, IoRecord, io, tensor=file.io[1 - io].tensor)),
            (f"{name}: rows not kept", changed(plan, ViewRecord, view, flags=flags & ~ViewFlag.KEEP)),
            (f"{name}: no pace", changed(plan, ViewRecord, view, pace_numerator=0, pace_denominator=0, pace_offset=0)),
            (f"{name}: not to the last", changed(plan, ViewRecord, view, pace_offset=-10**6)),
            (f"{name}: header", changed(plan, Header, 0, flags=file.header.flags & ~(2 if op == fetch else 4))),
            (f"{name}: huge rows", changed(plan, TensorRecord, file.io[io].tensor, width=1 << 28)),
            (f"{name}: images", changed(plan, OpRecord, op, images=2)),
        ]
    found += [
        ("fetch: with operands", changed(plan, OpRecord, fetch, operand_count=1)),
        ("take: without operands", changed(plan, OpRecord, take, operand_count=0)),
        ("a tensor of no home that is not streamed", changed(plan, IoRecord, 0, mover=0)),
    ]
    return found


def test_each_damage_is_refused(plan: bytes) -> None:
    assert bind_status(plan) == 0
    known = set(Status)
    for what, damaged in damages(plan):
        status = bind_status(damaged)
        assert status < 0 and status in known, what
        if what.endswith(("port", "mover", "kept", "header")):
            assert status == Status.ERR_PARAMS, what
        with pytest.raises(PlanError):
            Session(damaged)


