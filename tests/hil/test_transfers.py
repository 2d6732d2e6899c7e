"""Transfers of inputs and outputs: late, duplicate, reordered and lost frames, at the board and at the host."""

import random
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.hil.bridge import changing
from tests.hil.conftest import CALM, QUICK, Client, Serve
from tests.hil.raw import REFUSED, Raw
from tests.hil.test_line import damaging, infer
from tigris_pio.hil import protocol
from tigris_pio.hil.check import check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import OutputsError
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.in_flight import Sender
from tigris_pio.hil.protocol import (
    IN_FLIGHT,
    Direction,
    Progress,
    Range,
    Refusal,
    Request,
    Select,
    Transfer,
    TransferFrame,
)
from tigris_pio.hil.samples import random_samples

BYTES, DATA = 1000, 240
INPUT = random.Random(8).randbytes(BYTES)


def opening(direction: Direction, first: int = 0, count: int = BYTES, frame: int = DATA) -> bytes:
    return Transfer(0, direction, 0, first, count, frame).pack()


INTO = opening(Direction.INPUT)


def data(raw: Raw, number: int, payload: bytes) -> Frame:
    return Frame(TransferFrame.DATA, raw.sequence, raw.connection, number.to_bytes(2, "little") + payload)


def part(number: int, source: bytes = INPUT, frame: int = DATA) -> bytes:
    return source[number * frame : (number + 1) * frame]


def answers(raw: Raw, least: int = 0) -> list[Frame]:
    """All answers of the board, at least `least`, up to its answer to a second HELLO: frames of an output follow if
    nothing else is to be answered."""
    frames = [raw.receive() for _ in range(least)]
    for sequence in (1, 2):
        raw.send(Frame(Request.HELLO, sequence, 9999, protocol.HelloRequest(protocol.VERSION).pack()))
        while (frame := raw.receive()).connection != 9999:
            frames.append(frame)
    return frames


def inputs_crc32(raw: Raw) -> int:
    """The CRC-32 of input 0 as the board has it, and of input 1, which is zero."""
    raw.ask(Request.WRITE, Range(0, 0, 1, 0, 7).pack() + bytes(7))
    return protocol.Result.unpack(raw.ask(Request.RUN, Select(0).pack()).payload).inputs_crc32


# To the board.


def test_frames_of_an_input_come_in_any_order(raw: Raw) -> None:
    """The opening request again leaves the transfer as it is."""
    open_transfer = raw.next(Request.TRANSFER, INTO)
    for number, told in ((None, None), (2, Progress(0, 0, 0b100)), (0, Progress(1, 0, 0b10)), (None, None),
                         (4, Progress(1, 0, 0b1010)), (1, Progress(3, 0, 0b10)), (3, Progress(5))):  # fmt: skip
        if number is None or told is None:
            raw.send(open_transfer)
            assert protocol.Checksum.unpack(raw.receive().payload) == protocol.Checksum(0, 0)
        else:
            raw.send(data(raw, number, part(number)))
            assert raw.receive() == Frame(TransferFrame.ACK, raw.sequence, raw.connection, told.pack())
    assert inputs_crc32(raw) == zlib.crc32(INPUT + bytes(7))


def test_invalid_frames_are_not_written(raw: Raw) -> None:
    """Other bytes for a frame that has arrived, frames of other lengths, numbers beyond the end or those in flight."""
    other = bytes(BYTES)
    raw.ask(Request.TRANSFER, INTO)
    for number in range(4):
        raw.send(data(raw, number, part(number)))
    for number, payload in ((0, other[:240]), (4, other[:39]), (4, other[:41]), (4, other[:240]), (5, other[:40]),
                            (65535, other[:40]), (3, b"")):  # fmt: skip
        raw.send(data(raw, number, payload))
    raw.send(Frame(TransferFrame.DATA, raw.sequence, raw.connection, b"\4"))
    raw.send(Frame(TransferFrame.CREDIT, raw.sequence, raw.connection, Progress(2).pack()))
    assert answers(raw) == [Frame(TransferFrame.ACK, raw.sequence, raw.connection, Progress(4).pack())], "of the first"
    raw.send(data(raw, 4, part(4)))
    assert Progress.unpack(raw.receive().payload) == Progress(5)
    assert inputs_crc32(raw) == zlib.crc32(INPUT + bytes(7))


def test_a_frame_beyond_those_in_flight_is_ignored(raw: Raw) -> None:
    raw.ask(Request.TRANSFER, opening(Direction.INPUT, frame=10))
    for number in (IN_FLIGHT, IN_FLIGHT - 1):
        raw.send(data(raw, number, part(number, frame=10)))
    assert [Progress.unpack(frame.payload) for frame in answers(raw)] == [Progress(0, 0, 1 << IN_FLIGHT - 1)]


def test_frames_of_a_transfer_that_is_over_write_nothing(raw: Raw) -> None:
    """After the next request, in the next transfer, in another connection; a late opening request opens nothing."""
    late: list[Frame] = []
    for connection in (7, 8):
        raw.greet(connection)
        for _ in range(2):
            raw.send(raw.next(Request.TRANSFER, INTO))
            late += [data(raw, number, bytes([number + 1]) * len(part(number))) for number in range(5)]
            late.append(Frame(Request.TRANSFER, raw.sequence, raw.connection, INTO))
            raw.receive()
    raw.ask(Request.TRANSFER, INTO)
    for number in (0, 1, 3):
        raw.send(data(raw, number, part(number)))
    answers(raw)
    raw.send(replace(data(raw, 2, bytes(DATA)), connection=raw.connection + 1))
    for frame in late:
        raw.send(frame)
    refused = {frame.type for frame in answers(raw)}
    assert refused == {protocol.Answer.ERROR}, "other connections' only"
    for number in (2, 4):
        raw.send(data(raw, number, part(number)))
    assert [Progress.unpack(frame.payload).next for frame in answers(raw)] == [4, 5]
    raw.ask(Request.CANCEL)
    for frame in late:
        raw.send(frame)
    raw.send(Frame(TransferFrame.DATA, raw.sequence, raw.connection, bytes(242)))
    raw.ask(Request.TRANSFER, INTO)
    raw.ask(Request.CANCEL)
    raw.send(data(raw, 0, bytes(DATA)))
    answers(raw)
    assert inputs_crc32(raw) == zlib.crc32(INPUT + bytes(7))


REFUSED_OPENINGS = [
    (INTO[:12], Refusal.LENGTH),
    (opening(Direction.INPUT, first=1, count=1000), Refusal.RANGE),
    (opening(Direction.INPUT, first=2**32 - 1, count=2), Refusal.RANGE),
    (opening(Direction.INPUT, frame=0), Refusal.RANGE),
    (opening(Direction.INPUT, frame=241), Refusal.RANGE),
    (Transfer(0, Direction.INPUT, 2, 0, 1, 1).pack(), Refusal.TENSOR),
    (Transfer(0, Direction.OUTPUT, 2, 0, 1, 1).pack(), Refusal.TENSOR),
    (Transfer(1, Direction.INPUT, 0, 0, 1, 1).pack(), Refusal.MODEL),
]


def test_refused_requests_open_no_transfer(raw: Raw) -> None:
    raw.ask(Request.RUN, Select(0).pack())
    for payload, refusal in REFUSED_OPENINGS:
        assert raw.ask(Request.TRANSFER, payload).payload == REFUSED[refusal], payload
        raw.send(data(raw, 0, b"x"))
        assert answers(raw) == []
    raw.ask(Request.TRANSFER, INTO)
    refused = raw.ask(Request.TRANSFER, opening(Direction.OUTPUT))
    assert refused.payload == REFUSED[Refusal.NO_OUTPUT], "of a run with other inputs"


# To the host.


def test_an_output_comes_in_flights_and_again_on_request(raw: Raw) -> None:
    inputs_crc32(raw)
    whole = b"".join(raw.ask(Request.READ, Range(0, 0, 0, at, 100).pack()).payload for at in range(0, 1000, 100))
    answer = raw.ask(Request.TRANSFER, opening(Direction.OUTPUT, frame=10))
    assert protocol.Checksum.unpack(answer.payload) == protocol.Checksum(0, zlib.crc32(whole))
    assert answers(raw, IN_FLIGHT) == [data(raw, number, part(number, whole, 10)) for number in range(IN_FLIGHT)]
    for progress, numbers in (
        (Progress(0, 0, 0b101), [0, 2]),
        (Progress(3, 0, 0b11), [3, 4, *range(IN_FLIGHT, IN_FLIGHT + 3)]),
        (Progress(2, 0, 0b1), []),  # an old one
        (Progress(99), []),  # more than was sent
        (Progress(IN_FLIGHT, 0, 1 << 31), [*range(IN_FLIGHT + 3, 2 * IN_FLIGHT)]),  # unsent frames are not sent again
        (Progress(2 * IN_FLIGHT, 0, 0), [*range(2 * IN_FLIGHT, 96)]),
        (Progress(96, 0, 0), [*range(96, 100)]),
        (Progress(99, 0, 1), [99]),
        (Progress(100, 0, 1), []),
        (Progress(100, 0, 1), []),
    ):
        raw.send(Frame(TransferFrame.CREDIT, raw.sequence, raw.connection, progress.pack()))
        assert answers(raw, len(numbers)) == [data(raw, number, part(number, whole, 10)) for number in numbers]


def test_data_changed_by_a_relay_are_found(client: Client) -> None:
    """With a valid CRC, like a fault in the board's memory: only the output's own checksum differs."""
    def forge(frame: Frame) -> Frame:
        payload = bytearray(frame.payload)
        if frame.type == TransferFrame.DATA and payload[0] == 2:
            payload[20] ^= 4
        return replace(frame, payload=bytes(payload))

    with pytest.raises(OutputsError, match=r"output 0 was dropped"):
        infer(client(to_host=changing(forge), timing=CALM), 1)


# The host's accounts of frames; test_line.py has lines that lose, repeat and reorder.


def test_a_lost_frame_is_sent_again_once_a_later_one_has_arrived() -> None:
    sender = Sender(50)
    assert sender.due() == list(range(IN_FLIGHT))
    sender.acknowledge(Progress(3, 0, 0b10))
    assert sender.due() == [3, 32, 33, 34]
    sender.acknowledge(Progress(3, 0, 0b110))
    assert sender.due() == [], "once, until one that was sent after it has come"
    sender.acknowledge(Progress(3, 0, 0b110 | 1 << 29))
    assert sender.due() == [3, *range(6, 32)]
    sender, numbers = Sender(100), []
    while not sender.done:
        numbers += sender.due()
        sender.acknowledge(Progress(min(len(numbers), sender.next + 8), 0, 0))
    assert numbers == list(range(100)), "without losses each is sent once"


# Streamed inputs and outputs on a board: their rows travel during the run, over a line with losses.

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan in bands with two inputs and two outputs, one of each streamed."""
    weights = {"w": RNG.normal(size=(3, 2, 3, 3)).astype(np.float32)}
    nodes = [node("Conv", "x w", "t", pads=[1, 1, 1, 1]), node("Add", "t b", "y"), node("GlobalAveragePool", "y", "z")]
    folder = tmp_path_factory.mktemp("plans")
    save(make(nodes, {"x": (1, 2, 20, 9), "b": (1, 3, 1, 1)}, ["y", "z"], weights), folder / "net.onnx")
    tigris("compile", folder / "net.onnx", "-m", "1600", "--stream", "x", "--stream", "y", "-o", folder / "net.tgrs")
    plan = open_plan(folder / "net.tgrs")
    assert any(stage.band_count > 4 for stage in plan.file.stages)
    return folder / "net.tgrs"


def test_outputs_are_the_hosts_over_a_line_with_losses(serve: Serve, plan_path: Path) -> None:
    plan = open_plan(plan_path)
    samples = random_samples(plan.session.inputs, 3)
    for faults in ({}, {"to_board": damaging(1, 0.0007)}, {"to_host": damaging(2, 0.0006)}):
        with Board(serve(plan_path, **faults), timing=QUICK) as board:
            report = check(board, plan, samples.inputs)
            assert report.equal and len(report.samples) == 3
            assert not faults or board.repeats > 0
