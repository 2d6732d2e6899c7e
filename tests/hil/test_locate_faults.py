"""What is said of faults that are no kernel's: of memory, of chance, of rounding, of the line, of an older board."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.harness.command import tigris
from tests.hil.bridge import Fault, changing
from tests.hil.conftest import Plans, Serve
from tests.hil.locating import Wrong, amplifying, checked, located, remembering
from tests.hil.test_check import corrupting
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.hil.check import open_plan
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.locate.first_wrong import MEMORY, ORDER, FirstWrong, PlanNames
from tigris_pio.hil.protocol import Error, Refusal, Request, Trace
from tigris_pio.hil.report import location_lines

K = OpKind
STATE = {"hn": "h", "cn": "c"}


def flipping(*requests: Request) -> Fault:
    """A line that changes the last byte of the answers to some requests."""
    kinds = [request | 0x80 for request in requests]

    def flip(frame: Frame) -> Frame:
        *rest, last = frame.payload or b"?"
        return replace(frame, payload=bytes([*rest, last ^ 1])) if frame.type in kinds else frame

    return changing(flip)


def test_memory_that_changes_between_two_calls(serve: Serve, plans: Plans) -> None:
    """A byte of what add0/Add made in an earlier band changes when it has made its row 30: the next to read it is
    named."""
    path = plans("resnet", "28K")
    plan = open_plan(path)
    words = PlanNames(plan.file)
    made = plan.file.tensors[words.tensor(3)]
    offset = made.home_offset + (6 * made.width + 9) * made.channels + 8
    wrong = Wrong(K.ADD, DType.INT8, 30, 0, 64, f"width={made.width},poke={offset}")
    found = located(serve(path, "--fault", wrong.spec), plan)
    assert isinstance(found, FirstWrong), found
    assert (found.cause, found.writer, found.name, found.reproducible) == (MEMORY, "add0/Add", "conv3/Conv", True)
    assert found.tensor == plan.file.text(made.name)
    assert found.difference is not None
    at = found.difference.first
    assert (at.row, at.column, at.channel, found.difference.differing) == (6, 9, 8, 1)
    assert found.rows[0] <= at.row < found.rows[1]
    assert np.array(at.board).astype(np.uint8) ^ np.array(at.host).astype(np.uint8) == 64
    text = "\n".join(found.sentences())
    assert "that input was the host's when operator add0/Add wrote it, and was changed before" in text
    assert f"its input {found.tensor}, row 6, column 9, channel 8: board " in text


def test_an_input_that_is_no_more_what_the_call_found(plans: Plans, serve: Serve) -> None:
    """What COMMIT reads changed before; and when its rows can be read they are other bytes again (here by the line):
    then no element is shown, for it would be a wrong one."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    words, ops = PlanNames(plan.file), plan.file.ops
    commit = next(index for index, op in enumerate(ops) if op.kind == K.COMMIT)
    source = words.tensor(commit, 0)
    between = next(index for index in range(len(ops)) if words.tensor(index) == source) + 1
    assert between < commit, "nothing runs between what COMMIT reads is made and COMMIT"
    poke, at = (plan.file.tensors[tensor].home_offset for tensor in (source, words.tensor(between)))
    wrong = Wrong(OpKind(ops[between].kind), DType(ops[between].dtype), 0, 0, 64, f"at={at},poke={poke}")
    found = located(serve(path, "--fault", wrong.spec), plan)
    assert isinstance(found, FirstWrong) and found.difference is not None
    assert (found.op, found.cause, found.difference.first.channel) == (commit, MEMORY, 0)
    found = located(serve(path, "--fault", wrong.spec, to_host=flipping(Request.ROWS)), plan)
    assert isinstance(found, FirstWrong), found
    assert (found.op, found.cause, found.difference) == (commit, MEMORY, None)
    assert f"its input {found.tensor}, row 0: the operator overwrote them" in "\n".join(found.sentences())
    assert found.document()["row"] is None


def test_a_state_that_changes_between_two_runs(serve: Serve, plans: Plans) -> None:
    """A byte of h changes when both are committed: the first to read it in the next run is named."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    words = PlanNames(plan.file)
    commits = [index for index, op in enumerate(plan.file.ops) if op.kind == K.COMMIT]
    state = plan.file.tensors[words.tensor(commits[0])]
    wrong = Wrong(K.COMMIT, DType.INT8, 0, 0, 64, f"poke={state.home_offset + 4},every=2")
    found = located(serve(path, "--fault", wrong.spec), plan, 3)
    assert isinstance(found, FirstWrong), found
    lstm = next(index for index, op in enumerate(plan.file.ops) if op.kind == K.RECURRENT)
    assert (found.sample, found.op, found.cause, found.writer, found.reproducible) == (1, lstm, MEMORY, None, True)
    assert found.difference is not None and found.difference.first.channel == 1
    assert "that input was the host's when the run began" in found.sentences()[2]


def test_faults_that_do_not_come_again(serve: Serve, plans: Plans) -> None:
    """In the check alone, in the first run of the search, in all but its last two; in all but one call of its last."""
    path = plans("kws", "8K")
    plan = open_plan(path)
    for times, words in (
        (5, "not reproducible: 3 more runs of sample 0 gave the host's bytes in all kernel calls"),
        (10, "not reproducible: a run differed between operator"),
        (12, "not reproducible: a run differed at operator 0 conv0/Conv"),
        (13, ""),
    ):
        wrong = Wrong(K.CONV_2D, DType.INT8, 5, 3, 64, f"width=5,times={times}")
        report = checked(serve(path, "--fault", wrong.spec), plan, 1)
        assert report.mismatched and words in report.not_located, report.not_located
    found = report.first_wrong
    assert found is not None and found.difference is not None
    assert (found.kernel, found.difference.first.row, found.difference.first.channel) == ("conv_2d int8", 5, 3)
    assert not found.reproducible and "not reproducible: another run" in "\n".join(found.sentences())


def test_rounding_within_the_tolerance_is_passed_over(plans: Plans, serve: Serve) -> None:
    """Neg and sigmoid depart by 1e-5, which is allowed, and what exp makes of that is not."""
    path = plans(amplifying, "64K")
    plan = open_plan(path)
    wrong = Wrong(K.UNARY, DType.FLOAT32, 4, 1, more="add=1")
    report = checked(serve(path, "--fault", wrong.spec), plan, tolerance=1e-4)
    found = report.first_wrong
    assert found is not None and found.difference is not None, report.not_located
    assert (found.name, found.tolerance, found.difference.first.row, found.reproducible) == ("raise", 1e-4, 4, True)
    assert "its inputs differ from the host's by no more than the tolerance 0.0001" in found.sentences()[2]
    exact = checked(serve(path, "--fault", wrong.spec), plan).first_wrong
    assert exact is not None and exact.name == "negate"


def test_memory_that_changes_after_the_run(digits: Serve, digits_plan: Path) -> None:
    """All calls are right, and what is read is not: here each answer to READ and CHECKSUM."""
    url = digits(to_host=flipping(Request.READ, Request.CHECKSUM))
    report = checked(url, open_plan(digits_plan))
    assert report.first_wrong is None
    assert "kernel calls gave the host's bytes, but the outputs read afterwards are not theirs" in report.not_located
    url = digits(to_host=corrupting(0, 2, 1))
    (text,) = location_lines(checked(url, open_plan(digits_plan)))
    assert text.startswith("first wrong operator not found: not reproducible: 3 more runs of sample 0 gave the host's ")


def test_another_order_of_calls(digits: Serve, digits_plan: Path) -> None:
    """A board whose runtime makes other calls: here its answers name another operator."""

    def other(frame: Frame) -> Frame:
        if frame.type != Request.TRACE | 0x80:
            return frame
        answer = Trace.unpack(frame.payload)
        sums = tuple(crc ^ 1 if crc else 0 for crc in answer.checksums)
        changed = {**vars(answer), "op": 2, "crc32": answer.crc32 ^ 1, "checksums": sums}
        return replace(frame, payload=Trace(**changed).pack())

    found = located(digits(to_host=changing(other)), open_plan(digits_plan))
    assert isinstance(found, FirstWrong), found
    assert (found.call, found.cause, found.difference) == (1, ORDER, None)
    assert "does its firmware have another version of the runtime" in found.sentences()[1]


def test_a_board_that_knows_no_traces(digits: Serve, digits_plan: Path) -> None:
    """The outputs were compared all the same, and the report says why there is no more."""

    def refuse(frame: Frame) -> Frame:
        is_trace = frame.type == Request.TRACE | 0x80
        return replace(frame, type=255, payload=Error(Refusal.REQUEST).pack()) if is_trace else frame

    wrong = Wrong(K.SOFTMAX, DType.INT8, 0, 2)
    report = checked(digits("--fault", wrong.spec, to_host=changing(refuse)), open_plan(digits_plan), 3)
    assert (report.complete, report.equal_samples, report.first_wrong) == (True, 0, None)
    assert "does not know this request; is its firmware older" in report.not_located


def test_the_command_prints_it(digits: Serve, digits_plan: Path) -> None:
    wrong = Wrong(K.SOFTMAX, DType.INT8, 0, 2)
    url = digits("--fault", wrong.spec)
    words = (digits_plan, "--port", url, "--samples", "2")
    entry = json.loads(tigris("hil", *words, "--json", status=1).stdout)["first_wrong"]
    assert {"op", "name", "nodes", "kernel", "stage", "image", "row", "column", "channel", "board", "host", "differing",
            "elements", "reproducible"} <= set(entry)
    assert (entry["channel"], entry["differing"], entry["elements"], entry["reproducible"]) == (2, 1, 10, True)
    assert entry["nodes"] == [entry["name"]]
    assert "first wrong" not in tigris("hil", *words, "--no-locate", status=1).stdout
