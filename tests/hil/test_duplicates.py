"""Frames that come twice, late, or from another time: none is executed, none is taken for an answer."""

from __future__ import annotations

import random
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.hil.bridge import Bridge
from tests.hil.conftest import CALM
from tests.hil.raw import Raw
from tests.hil.test_line import command, infer
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import InputsError, RefusedError
from tigris_pio.hil.frames import Frame, FrameReader, encode
from tigris_pio.hil.protocol import (
    SEQUENCES,
    VERSION,
    Answer,
    Direction,
    Hello,
    HelloRequest,
    Range,
    Refusal,
    Request,
    Result,
    Select,
)

Connect = Callable[..., Bridge]
REFUSED = {refusal: refusal.to_bytes(4, "little") for refusal in Refusal}
CANCELLED = -5
#: An impatient host: what is lost costs little time.
HASTY = Timing(connect=10.0, answer=0.05, longest_answer=0.4, tries=20, run=20.0)


def write(index: int, first: int, data: bytes) -> tuple[int, bytes]:
    return Request.WRITE, Range(0, 0, index, first, len(data)).pack() + data


def read(index: int, first: int, count: int) -> tuple[int, bytes]:
    return Request.READ, Range(0, 0, index, first, count).pack()


def inference(seed: int) -> tuple[list[tuple[int, bytes]], bytes]:
    """The requests of one run of the stand-in model, and its output 0."""
    generator = random.Random(seed)
    inputs, addends = generator.randbytes(1000), generator.randbytes(7)
    requests = [write(0, first, inputs[first : first + 100]) for first in range(0, 1000, 100)]
    requests += [write(1, 0, addends), (Request.RUN, Select(0).pack())]
    requests += [read(0, first, 100) for first in range(0, 1000, 100)]
    return requests, bytes((3 * byte + sum(addends)) % 256 for byte in reversed(inputs))


def test_every_older_frame_is_refused_after_every_request(standin: Path, line: Connect) -> None:
    """All pairs of two inferences: the last request again has the same answer, any before it none."""
    requests, wanted = inference(2)
    sent: list[Frame] = []
    with Raw(line(command(standin), pty=False).url) as raw:
        raw.greet()
        got = b""
        for request, payload in inference(1)[0] + requests:
            frame = raw.next(request, payload)
            raw.send(frame)
            answer = raw.receive()
            assert answer.type == request | 0x80
            for old in sent:
                raw.send(old)
            for old in sent:
                assert raw.receive() == Frame(Answer.ERROR, old.sequence, old.session, REFUSED[Refusal.SEQUENCE])
            raw.send(frame)
            assert raw.receive() == answer
            sent.append(frame)
            got += answer.payload if request == Request.READ else b""
    assert got[1000:] == wanted


def test_the_number_before_the_last_256_is_an_older_one(standin: Path, line: Connect) -> None:
    """Eight bits of the number would be the same."""
    with Raw(line(command(standin), pty=False).url) as raw:
        raw.greet(sequence=SEQUENCES - 100)
        old = raw.next(*write(1, 0, bytes(7)))
        raw.send(old)
        raw.receive()
        for _ in range(255):
            assert raw.ask(Request.INFO, Select(0).pack()).type == Request.INFO | 0x80
        assert (old.sequence, raw.sequence) == (SEQUENCES - 99, 156)
        raw.send(old)
        assert raw.receive().payload == REFUSED[Refusal.SEQUENCE]


def test_a_request_must_not_be_skipped(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin), pty=False).url) as raw:
        raw.greet()
        raw.next(Request.CANCEL)
        assert raw.ask(Request.INFO, Select(0).pack()).payload == REFUSED[Refusal.SESSION]
        raw.sequence = 1
        raw.ask(Request.CANCEL)
        raw.next(Request.CANCEL)
        assert raw.ask(Request.INFO, Select(0).pack()).payload == REFUSED[Refusal.SEQUENCE]


def test_another_request_of_the_last_number_is_no_repeat(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin), pty=False).url) as raw:
        raw.greet()
        raw.ask(Request.RUN, Select(0).pack())
        raw.send(Frame(Request.INFO, raw.sequence, raw.session, Select(0).pack()))
        assert raw.receive().payload == REFUSED[Refusal.SEQUENCE]
        raw.send(Frame(Request.RUN, raw.sequence, raw.session, Select(0, index=1).pack()))
        assert raw.receive().payload == REFUSED[Refusal.SEQUENCE]


# Sessions.


def test_frames_of_former_sessions_fit_no_later_one(standin: Path, line: Connect) -> None:
    """Whole recordings of them, HELLO included, between the requests of another, whose results stay right."""
    requests, wanted = inference(3)
    recorded: list[Frame] = []
    with Raw(line(command(standin), pty=False).url) as raw:
        for seed, number in ((1, 5), (2, 5), (4, 6)):
            recorded.append(Frame(Request.HELLO, 1, number, HelloRequest(VERSION).pack()))
            raw.greet(number)
            for request, payload in inference(seed)[0]:
                recorded.append(raw.next(request, payload))
                raw.send(recorded[-1])
                raw.receive()
        raw.greet(5, sequence=900)
        got = b""
        for request, payload in requests:
            answer = raw.ask(request, payload)
            got += answer.payload if request == Request.READ else b""
            for old in recorded:
                raw.send(old)
            kinds = {raw.receive().type for _ in recorded}
            assert kinds == {Answer.ERROR, Request.HELLO | 0x80}
    assert got == wanted


def test_a_session_begins_with_the_request_after_its_hello_only(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin), pty=False).url) as raw:
        hello = raw.greet(7, sequence=10)
        for session, sequence in ((7, 11), (raw.session, 10), (raw.session, 12), (raw.session ^ 1, 11)):
            raw.send(Frame(Request.INFO, sequence, session, Select(0).pack()))
            assert raw.receive().payload == REFUSED[Refusal.SESSION]
        assert raw.greet(7, sequence=10) == hello, "the same HELLO again has the same answer"
        assert raw.ask(Request.INFO, Select(0).pack()).type == Request.INFO | 0x80
        assert raw.greet(7, sequence=10).nonce != hello.nonce


def test_a_new_session_has_no_outputs(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin), pty=False).url) as raw:
        raw.greet()
        raw.ask(Request.RUN, Select(0).pack())
        assert raw.ask(*read(0, 0, 4)).type == Request.READ | 0x80
        raw.greet(78)
        assert raw.ask(*read(0, 0, 4)).payload == REFUSED[Refusal.NO_OUTPUT]


# What a run was computed from.


def test_a_result_says_what_it_was_computed_from(standin: Path, line: Connect) -> None:
    *requests, ask_run = inference(5)[0][:12]
    with Raw(line(command(standin), pty=False).url) as raw:
        raw.greet()
        for request, payload in requests:
            raw.ask(request, payload)
        inputs = b"".join(payload[Range.size() :] for _, payload in requests)
        assert Result.unpack(raw.ask(*ask_run).payload).inputs_crc32 == zlib.crc32(inputs)


@pytest.mark.parametrize("index", [0, 1])
def test_a_result_of_other_inputs_is_dropped(standin: Path, line: Connect, index: int) -> None:
    with Board(line(command(standin)).url, timing=CALM) as board:
        infer(board, 1)
        board.write_input(0, 0, bytes(1000))
        board.write_input(0, 1, bytes(7))
        board._ask(Request.WRITE, write(index, 3, b"\1")[1])  # what a host does not know of
        with pytest.raises(InputsError, match="ran on other inputs than were sent"):
            board.run(0)
        infer(board, 2)


# During a run.


def test_an_old_cancel_stops_nothing(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin, "--sleep", "20000"), pty=False).url) as raw:
        raw.greet()
        raw.ask(Request.CANCEL)
        old = Frame(Request.CANCEL, raw.sequence, raw.session)
        other = Frame(Request.CANCEL, raw.sequence + 2, raw.session ^ 1)
        run = raw.next(Request.RUN, Select(0).pack())
        for frame in (run, old, other):
            raw.send(frame)
        assert Result.unpack(raw.receive().payload).status == 0


def test_a_cancelled_run_has_no_output_and_the_session_goes_on(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin, "--sleep", "20000"), pty=False).url) as raw:
        raw.greet()
        run = raw.next(Request.RUN, Select(0).pack())
        raw.send(run)
        raw.send(raw.next(Request.CANCEL))
        answer = raw.receive()
        assert Result.unpack(answer.payload).status == CANCELLED
        raw.send(run)
        assert raw.receive() == answer, "asked again, it has not run again"
        assert raw.ask(*read(0, 0, 4)).payload == REFUSED[Refusal.NO_OUTPUT]
        fault = raw.ask(Request.FAULT, Select(0).pack()).payload
        assert int.from_bytes(fault[:4], "little", signed=True) == CANCELLED


def test_another_host_hears_that_the_board_is_busy(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin, "--sleep", "20000"), pty=False).url) as raw:
        raw.greet()
        run = raw.next(Request.RUN, Select(0).pack())
        raw.send(run)
        raw.send(Frame(Request.HELLO, 9, 1234, HelloRequest(VERSION).pack()))
        assert raw.receive() == Frame(Answer.ERROR, 9, 1234, REFUSED[Refusal.BUSY])
        assert Result.unpack(raw.receive().payload).status == 0
        assert raw.ask(*read(0, 0, 4)).type == Request.READ | 0x80


# A relay that delivers frames again, late, or in another order.


class Relay:
    """A direction of the line on which a share of the frames is duplicated, delayed, or both."""

    def __init__(self, seed: int, share: float) -> None:
        self._random, self._share = random.Random(seed), share
        self._rest = b""
        self._held: list[tuple[int, bytes]] = []  # when they are due, counted in frames
        self.frames = self.faults = 0

    def __call__(self, data: bytes) -> Iterable[bytes]:
        *whole, self._rest = (self._rest + data).split(b"\0")
        for coded in filter(None, whole):
            yield from self._frame(b"\0" + coded + b"\0")

    def _frame(self, frame: bytes) -> Iterator[bytes]:
        self.frames += 1
        if self._random.random() >= self._share:
            yield frame
        else:
            self.faults += 1
            kind = self._random.choice(("again", "again later", "later"))
            if kind != "later":
                yield frame
            if kind == "again":
                yield frame
            else:
                self._held.append((self.frames + self._random.randrange(1, 13), frame))
        due = [held for when, held in self._held if when <= self.frames]
        self._held = [(when, held) for when, held in self._held if when > self.frames]
        yield from due


@pytest.mark.parametrize(("share", "inferences"), [(0.01, 100), (0.05, 60)])
def test_a_relay_that_repeats_delays_and_reorders(standin: Path, line: Connect, share: float, inferences: int) -> None:
    up, down = Relay(1, share), Relay(2, share)
    with Board(line(command(standin), up, down).url, timing=HASTY) as board:
        for seed in range(inferences):
            infer(board, seed)
    assert up.frames + down.frames > inferences * 20
    assert up.faults + down.faults > share * inferences * 10


# The host's side.


class Forger:
    """A board that gives each answer after forged ones: of other sessions and other numbers."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"socket://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        reader = FrameReader()
        with self._listener, connection:
            while data := connection.recv(4096):
                for frame in reader.feed(data):
                    connection.sendall(b"".join(encode(answer) for answer in self._answers(frame)))

    def _answers(self, frame: Frame) -> Iterator[Frame]:
        right = (frame.sequence, frame.session)
        kind = frame.type | 0x80
        if frame.type == Request.HELLO:
            forged, payload = Hello(1, 9, 9, 9, 9, b"", b"").pack(), Hello(VERSION, 112, 1, 1, 0, b"", b"forger").pack()
        else:
            forged, payload = b"\xee" * 4, b"good"
        for sequence, session in ((-1, 0), (1, 0), (256, 0), (65536, 0), (0, 1), (0, 256)):
            yield Frame(kind, (right[0] + sequence) % SEQUENCES, right[1] ^ session, forged)
            yield Frame(Answer.ERROR, (right[0] + sequence) % SEQUENCES, right[1] ^ session, bytes(4))
        yield Frame(frame.type, *right, b"\xee" * 4)
        yield Frame(kind ^ 1, *right, b"\xee" * 4)
        yield Frame(kind, *right, payload)


def test_only_the_answer_to_the_last_request_is_taken() -> None:
    with Board(Forger().url, timing=CALM) as board:
        assert board.info.name == "forger"
        for _ in range(3):
            assert board._ask(Request.READ, b"", 4) == b"good"
        assert board.repeats == 0


def test_a_refused_number_is_said(standin: Path, line: Connect) -> None:
    with Board(line(command(standin)).url, timing=CALM) as board:
        board.model(0)
        board._sequence += 1
        with pytest.raises(RefusedError, match="refused INFO: it expected another sequence number"):
            board.model(0)


def test_after_a_request_without_an_answer_a_new_session_begins(standin: Path, line: Connect) -> None:
    lost = [False]

    def cut(data: bytes) -> Iterable[bytes]:
        return [] if lost[0] else [data]

    with Board(line(command(standin), to_board=cut).url, timing=Timing(answer=0.05, tries=2)) as board:
        infer(board, 1)
        lost[0] = True
        with pytest.raises(Exception, match="stopped answering"):
            board.run(0)
        lost[0] = False
        with pytest.raises(RefusedError, match="no output"):
            board.read_output(0, 0, 4)
        infer(board, 2)
        assert board.tensor(0, Direction.INPUT, 1).size == 7


# Outputs of an earlier run.


@pytest.mark.parametrize("model", [0, 1])
def test_a_write_and_a_cancelled_run_of_any_model_end_the_outputs(standin: Path, line: Connect, model: int) -> None:
    """Both models' memory may be the same."""
    url = line(command(standin, "--sleep", "10000", models=("one", "two")), pty=False).url
    with Raw(url) as raw:
        raw.greet()
        for end in (Request.WRITE, Request.CANCEL):
            assert Result.unpack(raw.ask(Request.RUN, Select(0).pack()).payload).status == 0
            assert raw.ask(*read(0, 0, 4)).type == Request.READ | 0x80
            if end == Request.WRITE:
                assert raw.ask(Request.WRITE, Range(model, 0, 1, 0, 1).pack() + b"x").type == Request.WRITE | 0x80
            else:
                raw.send(raw.next(Request.RUN, Select(model).pack()))
                raw.send(raw.next(Request.CANCEL))
                assert Result.unpack(raw.receive().payload).status == CANCELLED
            assert raw.ask(*read(0, 0, 4)).payload == REFUSED[Refusal.NO_OUTPUT]
            assert raw.ask(Request.CHECKSUM, Select(0, 1).pack()).payload == REFUSED[Refusal.NO_OUTPUT]
