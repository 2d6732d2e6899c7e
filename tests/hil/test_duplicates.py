"""Duplicate and late frames: none is executed, none is taken for an answer."""

import random
import zlib
from collections.abc import Callable, Iterator

import pytest

from tests.hil.bridge import answering
from tests.hil.conftest import CALM, Client
from tests.hil.raw import REFUSED, Raw
from tests.hil.test_line import infer
from tigris_pio.hil import protocol
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import InputsError, RefusedError
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.protocol import Answer, Direction, Range, Refusal, Request, Result, Select, Transfer

Host = Callable[..., Raw]
CANCELLED = -5
RUN, INFO = (Request.RUN, Select(0).pack()), (Request.INFO, Select(0).pack())


def write(index: int, first: int, data: bytes, model: int = 0) -> tuple[int, bytes]:
    return Request.WRITE, Range(model, 0, index, first, len(data)).pack() + data


def read(index: int, first: int, count: int) -> tuple[int, bytes]:
    return Request.READ, Range(0, 0, index, first, count).pack()


def inference(seed: int) -> tuple[list[tuple[int, bytes]], bytes]:
    """The requests of one run of the stand-in model, and its output 0."""
    generator = random.Random(seed)
    inputs, addends = generator.randbytes(1000), generator.randbytes(7)
    requests = [write(0, first, inputs[first : first + 100]) for first in range(0, 1000, 100)]
    requests += [write(1, 0, addends), RUN]
    requests += [read(0, first, 100) for first in range(0, 1000, 100)]
    return requests, bytes((3 * byte + sum(addends)) % 256 for byte in reversed(inputs))


def test_every_older_frame_is_refused_after_every_request(raw: Raw) -> None:
    """For all pairs of frames in two inferences: the last request again gets the same answer, any older frame none."""
    requests, wanted = inference(2)
    sent: list[Frame] = []
    got = b""
    for request, payload in inference(1)[0] + requests:
        frame = raw.next(request, payload)
        raw.send(frame)
        answer = raw.receive()
        assert answer.type == request | 0x80
        for old in sent:
            raw.send(old)
        for old in sent:
            assert raw.receive() == Frame(Answer.ERROR, old.sequence, old.connection, REFUSED[Refusal.SEQUENCE])
        raw.send(frame)
        assert raw.receive() == answer
        sent.append(frame)
        got += answer.payload if request == Request.READ else b""
    assert got[1000:] == wanted


def test_the_number_before_the_last_256_is_an_older_one(host: Host) -> None:
    """Their lower eight bits are equal."""
    raw = host()
    raw.greet(sequence=protocol.SEQUENCES - 100)
    old = raw.next(*write(1, 0, bytes(7)))
    raw.send(old)
    raw.receive()
    for _ in range(255):
        assert raw.ask(*INFO).type == Request.INFO | 0x80
    assert (old.sequence, raw.sequence) == (protocol.SEQUENCES - 99, 156)
    raw.send(old)
    assert raw.receive().payload == REFUSED[Refusal.SEQUENCE]


# Connections.


def test_a_connection_opens_with_the_request_after_its_hello_only(host: Host) -> None:
    raw = host()
    hello = raw.greet(7, sequence=10)
    for session, sequence in ((7, 11), (raw.connection, 10), (raw.connection, 12), (raw.connection ^ 1, 11)):
        raw.send(Frame(Request.INFO, sequence, session, Select(0).pack()))
        assert raw.receive().payload == REFUSED[Refusal.CONNECTION]
    assert raw.greet(7, sequence=10) == hello, "the same HELLO again has the same answer"
    assert raw.ask(*INFO).type == Request.INFO | 0x80
    assert raw.greet(7, sequence=10).nonce != hello.nonce


# Inputs of a run.


@pytest.mark.parametrize("index", [0, 1])
def test_a_result_of_other_inputs_is_dropped(client: Client, index: int) -> None:
    board = client(timing=CALM)
    infer(board, 1)
    board.write_input(0, 0, bytes(1000))
    board.write_input(0, 1, bytes(7))
    board._ask(Request.WRITE, write(index, 3, b"\1")[1])  # changes an input without the host's knowledge
    with pytest.raises(InputsError, match="ran on other inputs than were sent"):
        board.run(0)
    infer(board, 2)


# During a run.


def test_an_old_cancel_stops_nothing_and_the_next_one_stops_the_run(host: Host) -> None:
    raw = host("--sleep", "20000")
    raw.greet()
    raw.ask(Request.CANCEL)
    old = Frame(Request.CANCEL, raw.sequence, raw.connection)
    other = Frame(Request.CANCEL, raw.sequence + 2, raw.connection ^ 1)
    for frame in (raw.next(*RUN), old, other):
        raw.send(frame)
    assert Result.unpack(raw.receive().payload).status == 0
    run = raw.next(*RUN)
    raw.send(run)
    raw.send(raw.next(Request.CANCEL))
    answer = raw.receive()
    assert Result.unpack(answer.payload).status == CANCELLED
    raw.send(run)
    assert raw.receive() == answer, "asked again, it has not run again"
    assert raw.ask(*read(0, 0, 4)).payload == REFUSED[Refusal.NO_OUTPUT]
    fault = raw.ask(Request.FAULT, Select(0).pack()).payload
    assert int.from_bytes(fault[:4], "little", signed=True) == CANCELLED


def test_another_host_is_told_that_the_board_is_busy(host: Host) -> None:
    raw = host("--sleep", "20000")
    raw.greet()
    raw.send(raw.next(*RUN))
    raw.send(Frame(Request.HELLO, 9, 1234, protocol.HelloRequest(protocol.VERSION).pack()))
    assert raw.receive() == Frame(Answer.ERROR, 9, 1234, REFUSED[Refusal.BUSY])
    assert Result.unpack(raw.receive().payload).status == 0
    assert raw.ask(*read(0, 0, 4)).type == Request.READ | 0x80


# The host's side.


def forged(frame: Frame) -> Iterator[Frame]:
    """Yields the right answer after wrong ones: of other connections and other numbers."""
    right = (frame.sequence, frame.connection)
    kind = frame.type | 0x80
    if frame.type == Request.HELLO:
        wrong = protocol.Hello(1, 9, 9, 9, 9, b"", b"").pack()
        payload = protocol.Hello(protocol.VERSION, 112, 1, 1, 0, b"", b"forger").pack()
    else:
        wrong, payload = b"\xee" * 4, b"good"
    for sequence, session in ((-1, 0), (1, 0), (256, 0), (65536, 0), (0, 1), (0, 256)):
        yield Frame(kind, (right[0] + sequence) % protocol.SEQUENCES, right[1] ^ session, wrong)
        yield Frame(Answer.ERROR, (right[0] + sequence) % protocol.SEQUENCES, right[1] ^ session, bytes(4))
    yield Frame(frame.type, *right, b"\xee" * 4)
    yield Frame(kind ^ 1, *right, b"\xee" * 4)
    yield Frame(kind, *right, payload)


def test_only_the_answer_to_the_last_request_is_taken() -> None:
    with Board(answering(forged), timing=CALM) as board:
        assert board.info.name == "forger"
        for _ in range(3):
            assert board._ask(Request.READ, b"", 4) == b"good"
        assert board.repeats == 0


def test_after_a_request_without_an_answer_a_new_connection_opens(client: Client) -> None:
    lost = [False]
    board = client(to_board=lambda data: [] if lost[0] else [data], timing=Timing(answer=0.05, tries=2))
    infer(board, 1)
    lost[0] = True
    with pytest.raises(Exception, match="stopped answering"):
        board.run(0)
    lost[0] = False
    with pytest.raises(RefusedError, match="no output"):
        board.read_output(0, 0, 4)
    infer(board, 2)
    board._sequence += 1
    with pytest.raises(RefusedError, match="refused TENSOR: it expected another sequence number"):
        board.tensor(0, Direction.INPUT, 1)


# Outputs of an earlier run.


@pytest.mark.parametrize("model", [0, 1])
def test_every_request_that_may_change_outputs_invalidates_them(host: Host, model: int) -> None:
    """Both models may share memory. A result has the checksum of its inputs."""
    raw = host("--sleep", "10000", models=("one", "two"))
    raw.greet()
    raw.ask(*write(0, 0, bytes(range(100))))
    inputs = bytes(range(100)) + bytes(907)
    for end in ("write", "cancel", "transfer", "connection"):
        result = Result.unpack(raw.ask(*RUN).payload)
        assert result.status == 0
        assert end != "write" or result.inputs_crc32 == zlib.crc32(inputs)
        assert raw.ask(*read(0, 0, 4)).type == Request.READ | 0x80
        if end == "write":
            assert raw.ask(*write(1, 0, b"x", model)).type == Request.WRITE | 0x80
        elif end == "cancel":
            raw.send(raw.next(Request.RUN, Select(model).pack()))
            raw.send(raw.next(Request.CANCEL))
            assert Result.unpack(raw.receive().payload).status == CANCELLED
        elif end == "transfer":
            raw.ask(Request.TRANSFER, Transfer(model, Direction.INPUT, 0, 0, 1, 1).pack())
        else:
            raw.greet(78)
        assert raw.ask(*read(0, 0, 4)).payload == REFUSED[Refusal.NO_OUTPUT]
        assert raw.ask(Request.CHECKSUM, Select(0, 1).pack()).payload == REFUSED[Refusal.NO_OUTPUT]
