"""Requests TRACE and ROWS: runs that stop after a kernel call, and the rows that it made and read."""

import struct
import zlib

import numpy as np
import pytest

from tests.compiler.models import make, node
from tests.harness.tiers import examples
from tests.hil.conftest import QUICK, Plans, Serve
from tests.hil.locating import mixed, remembering
from tigris_pio.hil.check import HostPlan, check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import RefusedError
from tigris_pio.hil.locate.trace import CHECKSUMS, Replay, TracePoints
from tigris_pio.hil.protocol import Direction, Range, Request, Select, Trace
from tigris_pio.hil.samples import random_samples
from tigris_pio.host.calls import Call

STATE = {"hn": "h", "cn": "c"}


def batches():
    """Three images; most operators take one at a time."""
    weights = {"w": np.random.default_rng(3).standard_normal((4, 2, 3, 3)).astype(np.float32)}
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Add", "r c", "y")]
    return make(nodes, {"x": (3, 2, 6, 7)}, ["y"], weights)


def replay(board: Board, plan: HostPlan, count: int = 1) -> Replay:
    return Replay(board, board.model(0), plan.session, random_samples(plan.session.inputs, count).inputs)


def checksum(before: int, call: Call, rows: tuple[bytes, ...]) -> int:
    """The checksum of docs/protocol.md. A call does not change its operands, unless it overwrites them with its output.
    """
    operands = [operand.crc32 for operand in call.operands]
    for data, found in zip(rows[1:], operands, strict=True):
        assert zlib.crc32(data) == found or data[: len(rows[0])] == rows[0][: len(data)]
    words = (call.op, call.image, call.first, call.rows, *operands)
    return zlib.crc32(rows[0], zlib.crc32(struct.pack(f"<{len(words)}I", *words), before))


@pytest.mark.parametrize("model", ["kws", batches, remembering], ids=["rolling", "batches", "states"])
def test_the_rows_of_every_call_are_the_hosts(serve: Serve, model: object, plans: Plans) -> None:
    """A trace has an operator's output and its operands, in any memory."""
    path = plans(model, "8K", **({"state": STATE} if model is remembering else {}))
    plan = open_plan(path)
    with Board(serve(path), timing=QUICK) as board:
        both = replay(board, plan, 2)
        calls = both.host_calls(1)
        for number, call in list(enumerate(calls, 1))[:: max(1, len(calls) // examples(12, 25))]:
            traced = both.run_board(1, TracePoints(number, 1, 1))
            assert (traced.calls, traced.op, traced.image) == (number, call.op, call.image)
            assert (traced.first, traced.rows, traced.checksums) == (call.first, call.rows, {number: call.crc32})
            assert traced.operands[: len(call.operands)] == tuple(operand.crc32 for operand in call.operands)
            host = both.host_rows(1, number)
            before = calls[number - 2].crc32 if number > 1 else 0
            assert call.crc32 == checksum(before, call, host)
            assert [both.board_rows(index, len(rows)) for index, rows in enumerate(host)] == list(host)
            with pytest.raises(RefusedError, match="no input or output of this index"):
                both.board_rows(len(host), 1)
            with pytest.raises(RefusedError, match="outside the tensor"):
                both.board_rows(0, len(host[0]) + 1)


def test_checksums_are_taken_at_the_requested_calls(serve: Serve, plans: Plans) -> None:
    path = plans("kws", "8K")
    plan = open_plan(path)
    with Board(serve(path), timing=QUICK) as board:
        both = replay(board, plan)
        total = len(both.host_calls(0))
        for asked, last in (
            (TracePoints(1, 1, CHECKSUMS), CHECKSUMS),
            (TracePoints(0, 7, 3), 14),
            (TracePoints(total - 1, 1, 2), total),
            (TracePoints(10, 0, 0), total),
            (TracePoints(5, 20, 0), total),
            (TracePoints(5, 2**32 - 1, 0), total),
            (TracePoints(2**32 - 1, 1, 0), total),
            (TracePoints(total, 1, 1), total),
        ):
            traced = both.run_board(0, asked)
            wanted = {asked.first + i * asked.between for i in range(asked.count or CHECKSUMS)}
            assert traced.calls == last
            assert set(traced.checksums) == {calls for calls in wanted if calls <= last} | {last}
            assert all(crc == both.host_checksum(0, calls) for calls, crc in traced.checksums.items())
            assert traced.complete == (asked.count == 0)
        with pytest.raises(RefusedError, match="refused TRACE: the requested bytes lie outside"):
            both.run_board(0, TracePoints(1, 1, CHECKSUMS + 1))


def test_rows_go_when_something_is_written_or_run(serve: Serve, plans: Plans) -> None:
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    (inputs,) = random_samples(plan.session.inputs, 1).inputs
    data = [np.ascontiguousarray(inputs[io.name]).tobytes() for io in plan.session.inputs]

    def refused(board: Board, model: int = 0) -> None:
        with pytest.raises(RefusedError, match="refused ROWS: it has no rows of a kernel call"):
            board.read_rows(model, 0, 4)
        with pytest.raises(RefusedError, match="refused TRANSFER: it has no rows of a kernel call"):
            board._receive_tensor(model, Direction.ROWS, 0, 4)

    def trace(board: Board) -> None:
        for index, item in enumerate(data):
            board.write_input(0, index, item)
        board.run_request(Trace, Request.TRACE, Range(0, 0, 1, 2, 1))
        board.read_rows(0, 0, 4)

    url = serve(path, "--model", path)
    with Board(url, timing=QUICK) as board:
        refused(board)
        for forget in (
            lambda: board.write_input(0, 0, data[0]),
            lambda: board.write_input(1, 0, data[0]),
            lambda: board._ask(Request.RUN, Select(0).pack()),
            lambda: board._ask(Request.RUN, Select(1).pack()),
            lambda: board.reset(0),
        ):
            trace(board)
            forget()
            refused(board)
        trace(board)
        refused(board, 1)
        with pytest.raises(RefusedError, match="no output"):
            board.read_output(0, 0, 4)
    with Board(url, timing=QUICK) as board:
        refused(board)


def test_a_stopped_run_does_not_change_states_and_profile(serve: Serve, plans: Plans) -> None:
    """Before, between and after checked runs. A traced run to the end counts as a run."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    samples = random_samples(plan.session.inputs, 4)
    with Board(serve(path), timing=QUICK) as board:
        both = Replay(board, board.model(0), open_plan(path).session, samples.inputs)
        total = len(both.host_calls(0))
        assert check(board, plan, samples.inputs).equal
        counts = board.profile(0)
        for call in range(1, total - 1):  # the last two calls commit states
            both.run_board(0, TracePoints(call, 1, 1))
        assert board.profile(0) == counts
        assert not both.run_board(0, TracePoints(total - 2, 1, 1)).complete
        assert both.run_board(0, TracePoints(1, 1, 0)).complete
        assert both.outputs_equal(0)
        traced = both.run_board(1, TracePoints(total, 1, 1))
        assert traced.complete and traced.checksums[total] == both.host_checksum(1, total)
        for index, io in enumerate(plan.session.inputs):
            board.write_input(0, index, np.ascontiguousarray(samples.inputs[2][io.name]).tobytes())
        board.run(0)
        both.host_calls(2)
        assert both.outputs_equal(2)


def test_rows_too_large_for_a_frame_come_as_a_transfer(serve: Serve, plans: Plans) -> None:
    path = plans(mixed, "64K")
    plan = open_plan(path)
    with Board(serve(path), timing=QUICK) as board:
        both = replay(board, plan)
        both.run_board(0, TracePoints(1, 1, 1))
        output, *operands = both.host_rows(0, 1)
        assert len(output) == 4 * 24 * 10 * 4
        assert both.board_rows(0, len(output)) == output
        assert both.board_rows(1, len(operands[0])) == operands[0]
        asked = board._ask(Request.ROWS, Range(0, 0, 0, 100, 12).pack())
        assert asked == output[100:112]
