"""Writes seeds for libFuzzer at the board's side of the serial line: python -m tests.hil.fuzz_seeds FOLDER. A seed is a
sequence of pieces for fuzz_serve.c: flags, length, and that many bytes of a frame."""

import sys
from pathlib import Path

from tigris_pio.hil.protocol import Direction, Progress, Range, Request, Select, Status, Transfer, TransferFrame

FRAME, GREET, NEXT, SAME = 1, 2, 8, 16
PATIENT = b"\1"  #: nothing arrives during a run
SESSION = b"\x34\x12"


def piece(flags: int, kind: int, payload: bytes) -> bytes:
    """One frame of the connection: a request, or a frame of the transfer that the last one opened."""
    body = bytes([kind, 0]) + SESSION + payload
    assert len(body) < 256
    return bytes([FRAME | flags, len(body)]) + body


def data(number: int, count: int) -> bytes:
    return piece(SAME, TransferFrame.DATA, number.to_bytes(2, "little") + bytes([number + 1]) * count)


def credit(following: int, bits: int) -> bytes:
    return piece(SAME, TransferFrame.CREDIT, Progress(following, 0, bits).pack())


def seeds() -> dict[str, bytes]:
    """The seeds by name."""
    into = Transfer(0, Direction.INPUT, 0, 0, 1000, 100).pack()
    whole = Transfer(0, Direction.OUTPUT, 0, 0, 1000, 10).pack()
    run = piece(NEXT, Request.RUN, Select(0).pack())
    requests = piece(GREET, Request.WRITE, Range(0, 0, 1, 0, 7).pack() + bytes(7))
    for request, payload in (
        (Request.INFO, Select(0).pack()), (Request.TENSOR, Select(0, 1, 1).pack()), (Request.RUN, Select(0).pack()),
        (Request.READ, Range(0, 0, 0, 0, 100).pack()), (Request.CHECKSUM, Select(0, 1).pack()),
        (Request.PROFILE, Range(0, count=20).pack()), (Request.STATUS_TEXT, Status(0).pack()),
        (Request.FAULT, Select(1).pack()), (Request.RESET, Select(0).pack()), (Request.CANCEL, b""),
    ):  # fmt: skip
        requests += piece(NEXT, request, payload)
    return {
        "requests": requests,
        "input": piece(GREET, Request.TRANSFER, into) + b"".join(data(at, 100) for at in (0, 2, 1, 9, 3, 3)) + run,
        "output": piece(GREET, Request.RUN, Select(0).pack()) + piece(NEXT, Request.TRANSFER, whole) + credit(8, 0b101)
        + credit(32, 0) + credit(100, 0),
        "both": piece(GREET, Request.TRANSFER, into) + data(0, 100) + run + piece(NEXT, Request.TRANSFER, whole)
        + data(1, 100) + credit(1, 1),
    }  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds().items():
        (folder / name).write_bytes(PATIENT + content)


if __name__ == "__main__":
    main()
