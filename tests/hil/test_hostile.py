"""Whatever arrives on the line, the server touches its own buffers only, and goes on serving."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.harness.tiers import examples
from tests.hil.conftest import HERE, SANITISERS, SERVER, compile_c
from tigris_pio.hil.frames import Frame, encode
from tigris_pio.hil.protocol import Direction, Request, Select, Stream, StreamFrame, Window

SESSION = 0x1234
PAYLOADS = (112, 1024)


@pytest.fixture(scope="module", params=PAYLOADS)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    payload: int = request.param
    sources = [HERE / "hostile.c", HERE / "standin.c", *SERVER]
    out = tmp_path_factory.mktemp("hostile") / f"hostile{payload}"
    return compile_c(out, sources, f"-DTIGRIS_SERVE_PAYLOAD={payload}", *SANITISERS), payload


def serve(program: Path, data: bytes) -> tuple[int, int]:
    """Requests served and bytes sent; a sanitiser's finding fails the test."""
    done = subprocess.run([program], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    served, sent = done.stdout.split()
    return int(served), int(sent)


HELLO = encode(Frame(Request.HELLO, 0, SESSION, bytes(4)))
#: A board without a counter offers this with its first HELLO.
FIRST_NONCE = 13849


def numbered(requests: Iterable[tuple[int, bytes]]) -> list[bytes]:
    """HELLO and the session's requests (type, payload) on the wire."""
    frames = [Frame(kind, number, SESSION ^ FIRST_NONCE, data) for number, (kind, data) in enumerate(requests, 1)]
    return [HELLO, *map(encode, frames)]


def test_random_bytes(hostile: tuple[Path, int]) -> None:
    """With zeros and without; then a frame."""
    noise = random.Random(1).randbytes(examples(100_000, 1_000_000))
    assert serve(hostile[0], noise) == (0, 0)
    assert serve(hostile[0], noise[:100_000].replace(b"\0", b"") + HELLO)[0] == 1


def test_frames_with_random_contents(hostile: tuple[Path, int]) -> None:
    """Valid checksums and numbers, so that the requests themselves are attacked; every one is answered."""
    program, most = hostile
    generator = random.Random(3)
    types = [*(list(Request)[1:]) * 20, 0, *range(len(Request) + 1, 256)]
    count = examples(5_000, 20_000)
    requests = ((generator.choice(types), random_payload(generator, most)) for _ in range(count))
    served, sent = serve(program, b"".join(numbered(requests)))
    assert served == count + 1
    assert sent > count * 15


def random_payload(generator: random.Random, most: int) -> bytes:
    """Half plain noise, half a record with fields at the edges of their ranges and some data."""
    if generator.random() < 0.5:
        return generator.randbytes(generator.randrange(most + 1))
    head = bytearray(generator.randbytes(12))
    head[0:4] = (generator.choice(edges) for edges in ((0, 0, 0, 1, 2, 255), (0, 1), (0, 1, 2), (0,)))
    for at in (4, 8):
        edge = generator.choice((0, 1, 7, 8, 299, 300, 301, 999, 1000, 1001, 2**31, 2**32 - 1))
        head[at : at + 4] = edge.to_bytes(4, "little")
    if generator.random() < 0.5:
        data = generator.randbytes(generator.randrange(most - 11))
        head[8:12] = len(data).to_bytes(4, "little")
        return bytes(head) + data
    return bytes(head[: generator.choice((4, 12))])


def test_streams_of_random_frames(hostile: tuple[Path, int]) -> None:
    """Openings at the edges of their tensors, frames at the edges of streams, some of a stream that is no more."""
    program, _ = hostile
    generator = random.Random(5)
    wire = [HELLO]
    count = examples(500, 2_000)
    for number in range(1, count + 1):
        direction = generator.choice(list(Direction))
        size, first = generator.choice((1, 7, 300, 999, 1000)), generator.choice((0, 0, 0, 1, 999))
        frame_bytes = generator.choice((1, 7, 100, 240, 240, 241, 0, 65535))
        stream = Stream(0, direction, generator.choice((0, 0, 1)), first, size, frame_bytes)
        kind, payload = int(Request.STREAM), stream.pack()
        if generator.random() < 0.2:
            kind, payload = int(Request.RUN), Select(0).pack()
        wire.append(encode(Frame(kind, number, SESSION ^ FIRST_NONCE, payload)))
        for _ in range(generator.randrange(20)):
            at = generator.choice((*range(6), 31, 32, 33, 999, 1000, 65535))
            data = generator.randbytes(min(240, generator.choice((frame_bytes, size, size % 100, 0, 1))))
            window = Window(at, 0, generator.getrandbits(32)).pack()
            kind, payload = generator.choice(
                ((StreamFrame.DATA, at.to_bytes(2, "little") + data), (StreamFrame.CREDIT, window))
            )
            late = generator.choice((0, 0, 0, 0, 1, 256, -1))
            session = SESSION ^ FIRST_NONCE ^ (generator.random() < 0.05)
            wire.append(encode(Frame(kind, max(0, number - late), session, payload)))
    served, sent = serve(program, b"".join(wire))
    assert served >= len(wire), "outputs' frames count as well"
    assert sent > count * 20


def test_frames_longer_than_the_buffer(hostile: tuple[Path, int]) -> None:
    program, most = hostile
    fits, over, far_over = (b"".join(numbered([(Request.WRITE, bytes(size))])) for size in (most, most + 1, 60_000))
    assert serve(program, fits)[0] == 2
    assert serve(program, over)[0] == 1
    assert serve(program, far_over + HELLO)[0] == 2
