"""tigris_pio.hil.feed: records to a board that answers in lines of text, and its errors."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from tigris_pio.errors import TigrisError
from tigris_pio.hil import feed
from tigris_pio.hil.feed import Feed, board_port

RECORD = 4


@contextlib.contextmanager
def board(answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """A board with this protocol, in a thread; `answer` returns its answer to a record, or for b"" to a start."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError), server.accept()[0] as line, line.makefile("rb") as received:
            while command := received.read(1):
                if command == b"b":
                    line.sendall(answer(b""))
                elif command == b"a":
                    line.sendall(answer(received.read(RECORD)))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"socket://127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize(("beginning", "said"), [
    (b"begin: the plan is damaged, upload it again\r\n", "network: begin: the plan is damaged, upload it"),
    (b"", "does not answer; is this example on it"), (b"begin: ok\n", "stopped answering"),
])  # fmt: skip
def test_boards_that_do_not_answer(monkeypatch: pytest.MonkeyPatch, beginning: bytes, said: str) -> None:
    monkeypatch.setattr(feed, "_SECONDS_TO_BEGIN", 0.01)
    monkeypatch.setattr(feed, "_SECONDS_TO_ANSWER", 0.05)
    with board(lambda record: b"hal" if record else beginning) as port, pytest.raises(TigrisError, match=said):
        fed = Feed(port, 115200, RECORD)
        fed.send(bytes(RECORD))
        fed.answer()


def test_a_port_that_is_not_there() -> None:
    with pytest.raises(TigrisError, match="/dev/nothing cannot be opened"):
        Feed("/dev/nothing", 115200, RECORD)
    assert board_port("/dev/nothing", "nowhere") == "/dev/nothing"
