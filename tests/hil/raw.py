"""The protocol without the client: tests send and await single frames."""

from __future__ import annotations

import socket

from tigris_pio.hil.frames import Frame, FrameReader, encode
from tigris_pio.hil.protocol import SEQUENCES, VERSION, Answer, Hello, HelloRequest, Refusal, Request

PATIENCE_SECONDS = 10.0
#: The payloads of answers of type ERROR.
REFUSED = {refusal: refusal.to_bytes(4, "little") for refusal in Refusal}


class Raw:
    """One host on a socket. `greet` opens a connection; `ask` sends its next request and awaits the answer."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("socket://").split(":")
        self._wire = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
        self._reader = FrameReader()
        self.connection, self.sequence = 0, 0
        self.answers: list[Frame] = []  #: all received frames, BUSY included

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def send(self, frame: Frame) -> None:
        self._wire.sendall(encode(frame))

    def receive(self) -> Frame:
        """The next frame that is not BUSY."""
        while True:
            fresh = [frame for frame in self.answers if frame.type != Answer.BUSY]
            if fresh:
                self.answers.remove(fresh[0])
                return fresh[0]
            data = self._wire.recv(4096)
            assert data, "the board hung up"
            self.answers += self._reader.feed(data)

    def greet(self, number: int = 77, sequence: int = 1) -> Hello:
        """Sends HELLO; the next request opens the offered connection."""
        self.send(Frame(Request.HELLO, sequence, number, HelloRequest(VERSION).pack()))
        answer = self.receive()
        assert (answer.type, answer.sequence, answer.connection) == (Request.HELLO | 0x80, sequence, number)
        hello = Hello.unpack(answer.payload)
        self.connection, self.sequence = number ^ hello.nonce, sequence
        return hello

    def next(self, request: int, payload: bytes = b"") -> Frame:
        """The frame of the connection's next request."""
        self.sequence = (self.sequence + 1) % SEQUENCES
        return Frame(request, self.sequence, self.connection, payload)

    def ask(self, request: int, payload: bytes = b"") -> Frame:
        """The answer to the connection's next request."""
        self.send(self.next(request, payload))
        return self.receive()
