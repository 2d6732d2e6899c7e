"""`tigris hil monitor`: the firmware's lines and the frames among them, as text."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.command import tigris
from tests.harness.tiers import examples
from tests.hil.conftest import Connect, Serve
from tigris_pio.hil import protocol
from tigris_pio.hil.errors import PortError
from tigris_pio.hil.frames import Frame, encode
from tigris_pio.hil.monitor.decoder import NOISE_SECONDS, TEXT_SECONDS, Decoder, Event
from tigris_pio.hil.monitor.tap import Tap
from tigris_pio.hil.monitor.wording import FrameLog, describe, is_failure, is_from_host, name_of
from tigris_pio.hil.protocol import Answer, Busy, Error, Refusal, Request, Result, Select, Transfer

frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 0xFFFFFF), st.integers(0, 65535), st.binary(max_size=200))
words = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=30)


@settings(max_examples=examples(20, 80))
@given(st.lists(st.one_of(frames, words)), st.data())
def test_text_and_frames_are_separated_in_any_pieces(parts: list[Frame | str], data: st.DataObject) -> None:
    stream = b"".join(encode(part) if isinstance(part, Frame) else f"{part}\r\n".encode() for part in parts)
    decoder, found, at = Decoder(), list[Event](), 0
    while at < len(stream):
        size = data.draw(st.integers(1, 64))
        found += decoder.feed(stream[at : at + size], 0.0)
        at += size
    assert [event.frame or event.text for event in found] == parts


def test_unfinished_bytes_wait_for_a_limited_time() -> None:
    """A line, a prompt, half a frame. Text after noise is shown without a frame, and without its colours."""
    decoder, frame = Decoder(), Frame(Request.RUN, 1, 2, bytes(range(1, 100)))
    wire = encode(frame)
    assert decoder.feed(b"boot: 1\r\n\x1b[0;31mbo", 0.0) == [Event("boot: 1")]
    assert decoder.feed(b"ot: 2\x1b[0m\n> ", 1.0) == [Event("boot: 2")]
    assert decoder.expire(1.0 + TEXT_SECONDS / 2) == []
    assert decoder.expire(1.01 + TEXT_SECONDS) == [Event(">")]
    assert decoder.feed(wire[:50], 2.0) == decoder.expire(2.0 + TEXT_SECONDS) == []
    assert decoder.feed(wire[50:], 2.0 + NOISE_SECONDS / 2) == [Event(frame=frame)]
    decoder.feed(wire[:50], 9.0)
    assert decoder.expire(9.01 + NOISE_SECONDS) == [Event(noise=wire[1:50])]
    assert decoder.feed(b"\xfe\x01\xffets Jul 29 2019\r\n", 20.0) == []
    lines = decoder.feed(b"rst:0x1 (POWERON)\r\nboot:0x13\r\n", 20.0)
    assert [event.text[-9:] for event in lines] == ["l 29 2019", "(POWERON)", "boot:0x13"]


def text(status: int) -> str:
    return f"<{status}>"


WORDS = [
    (Request.RUN, Select(3, 0, 1).pack(), "> RUN model 3, index 1"),
    (Request.RUN | 0x80, Result(0, (5, 1), 3248, 0, 0, 0, 7).pack(),
     "< RUN status 0, elapsed 4,294,967,301, fast peak 3,248"),
    (Request.RUN | 0x80, Result(-7, (5, 0), 0, 0, 0, 0, 7).pack(), "! RUN status -7: <-7>, elapsed 5"),
    (Answer.BUSY, Busy(0).pack(), "< BUSY yields 0"),
    (Answer.ERROR, Error(Refusal.NO_OUTPUT).pack(), "! ERROR refused: no output"),
    (Answer.ERROR, Error(99).pack(), "! ERROR refused: reason 99"),
    (Request.STATUS_TEXT | 0x80, b"all is well", "< STATUS_TEXT all is well"),
    (Request.PROFILE | 0x80, bytes(24), "< PROFILE 2 operators"),
    (Request.RUN, b"?", "> RUN 1 bytes"),
    (205, b"", "< type 205"),
]  # fmt: skip


def test_frames_in_words() -> None:
    for kind, payload, expected in WORDS:
        frame = Frame(kind, 1, 2, payload)
        arrow = "!" if is_failure(frame) else ">" if is_from_host(frame) else "<"
        assert f"{arrow} {name_of(frame)} {describe(frame, text)}".rstrip() == expected


def test_every_frame_is_described_for_any_bytes() -> None:
    for kind in range(256):
        for payload in (b"", bytes(200), b"\xff" * 200):
            frame = Frame(kind, 1, 2, payload)
            assert name_of(frame) and isinstance(describe(frame, text), str)


def test_frames_of_a_transfer_are_one_line() -> None:
    frames = FrameLog(text)
    request = Frame(Request.TRANSFER, 5, 2, Transfer(0, protocol.Direction.INPUT, 0, 0, 500, 240).pack())
    passed = [request, Frame(request.type | 0x80, 5, 2, protocol.Checksum(0, 0).pack())]
    passed += [Frame(protocol.TransferFrame.DATA, 5, 2, bytes(2 + size)) for size in (240, 240, 20)]
    passed += [Frame(protocol.TransferFrame.ACK, 5, 2, bytes(8)), Frame(Request.RUN, 6, 2, Select(0).pack())]
    said = [f"{message.arrow} {message.words}" for frame in passed for message in frames.add(frame)]
    assert said == [
        "> TRANSFER model 0, count 500, frame bytes 240",
        "< TRANSFER status 0",
        "- transfer of 500 bytes: 3 DATA, 1 ACK",
        "> RUN model 0",
    ]
    assert frames.add(Frame(protocol.TransferFrame.DATA, 7, 2, bytes(12))) == []
    assert [message.words for message in frames.flush()] == ["transfer of 10 bytes: 1 DATA"]
    assert frames.flush() == []


def test_signs_of_life_are_counted() -> None:
    frames, sign = FrameLog(text), Frame(Answer.BUSY, 1, 2, Busy(7).pack())
    assert [len(frames.add(sign)) for _ in range(4)] == [1, 0, 0, 0]
    (answer,) = frames.add(Frame(Request.RUN | 0x80, 1, 2, Result(0, (5, 0), 0, 0, 0, 0, 7).pack()))
    assert answer.words == "RUN status 0, elapsed 5 (signs of life: 4)"


def monitor(url: str, *options: object, status: int = 0) -> list[str]:
    """The printed lines without their times."""
    lines = tigris("hil", "monitor", "--port", url, *options, status=status).stdout.splitlines()
    assert [line for line in lines if not re.match(r"\d\d:\d\d:\d\d\.\d{3} ", line)] == []
    return [line[13:] for line in lines]


BOOT = b"I (31) boot: ESP-IDF\r\n\x1b[0;33mW (40) app: [b]old[/b]\x1b[0m\r\n"


@pytest.fixture
def speaker(line: Connect, tmp_path: Path) -> Callable[..., str]:
    """`speaker(data)`: the URL of a board that sends `data` when its port is opened, and then only receives."""

    def start(data: bytes, **options: object) -> str:
        (tmp_path / "speech").write_bytes(data)
        script = f"sleep 0.3; cat '{tmp_path / 'speech'}'; cat > /dev/null"  # opening a socket drops the first bytes
        return line(["sh", "-c", script], pty=False, **options).url

    return start


def test_nothing_is_sent_without_an_option(speaker: Callable[..., str]) -> None:
    heard = bytearray()

    def listen(data: bytes) -> list[bytes]:
        heard.extend(data)
        return []

    url = speaker(BOOT + encode(Frame(Answer.BUSY, 1, 2, Busy(3).pack())), to_board=listen)
    assert monitor(url, "--seconds", 0.6) == ["I (31) boot: ESP-IDF", "W (40) app: [b]old[/b]", "< BUSY yields 3"]
    assert not heard
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = tigris("hil", "monitor", "--port", "loop://", "--listen", taken.getsockname()[1], status=2)
    assert "choose another port" in done.stderr
    url = speaker(b"", to_board=listen)
    lines = monitor(url, "--poll", 0.1, "--seconds", 0.35)
    assert lines == [f"> HELLO protocol {protocol.VERSION}"] * len(lines) != []
    assert heard.count(0) == 2 * len(lines)


def test_raw_is_every_byte(speaker: Callable[..., str]) -> None:
    data = BOOT + bytes(range(256))
    command = [sys.executable, "-m", "tigris_pio", "hil", "monitor", "--port", speaker(data), "--raw", "--seconds", "1"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == data


def started(*words: object) -> tuple[subprocess.Popen[str], str]:
    """A monitor in its own process, and its first own line."""
    command = [sys.executable, "-m", "tigris_pio", "hil", "monitor", *map(str, words)]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    assert process.stderr is not None
    return process, process.stderr.readline()


def test_ctrl_c_ends_it_with_130(line: Connect) -> None:
    bridge = line(["cat"])
    process, said = started("--port", bridge.url)
    assert "listening to" in said
    assert "busy: process" in tigris("hil", "monitor", "--port", bridge.url, status=3).stderr
    bridge.say(b"one line\n")
    assert process.stdout is not None and process.stdout.readline()[13:] == "one line\n"
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=10)[1].strip(), process.returncode) == ("interrupted", 130)


def test_another_program_talks_through_it(digits: Serve, digits_plan: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = digits("--sleep", "2000", "--busy", "1")
    process, said = started("--port", url, "--listen", port)
    assert f"the board is at socket://127.0.0.1:{port}, too" in said
    done = tigris("hil", "check", digits_plan, "--port", f"socket://127.0.0.1:{port}", "--samples", 2)
    assert done.stdout.splitlines()[-1] == "2/2 outputs equal to the host"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    lines = [line[13:] for line in out.splitlines()]
    for start in ("> HELLO protocol", "< HELLO protocol", "> WRITE model 0, count ", "< WRITE", "> RUN model 0"):
        assert any(line.startswith(start) for line in lines), start
    runs = [line for line in lines if line.startswith("< RUN status 0, elapsed ")]
    assert len(runs) == 2
    assert all(int(re.findall(r"\(signs of life: (\d+)\)$", run)[0]) > 2 for run in runs)
    assert sum(line.startswith("< BUSY") for line in lines) == 3  # one for each run and the plan's check


def test_a_tap_serves_one_client_after_the_other_and_outlives_a_dead_line() -> None:
    class Dead:
        def write(self, data: bytes) -> None:
            raise PortError("gone")

    heard: list[bytes] = []
    with Tap(Dead(), 0, heard.append) as tap:  # type: ignore[arg-type]
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", int(tap.url.rpartition(":")[2])), timeout=5) as client:
                client.sendall(b"hello")
                assert client.recv(10) == b""
    assert heard == []
