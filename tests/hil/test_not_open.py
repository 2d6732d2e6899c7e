"""Serving a model that did not open: every request is answered, and INFO says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hil.conftest import CALM, Connect, Serve
from tests.hil.raw import Raw
from tigris_pio.hil import protocol
from tigris_pio.hil.client import Board
from tigris_pio.hil.protocol import Answer, Direction, Refusal, Request, Select

NOT_A_PLAN, FAST_TOO_SMALL, ARGUMENT, TRUNCATED = -10, -2, -1, -12

#: Payloads that each request takes, of every record's length and more.
PAYLOADS = [b"", bytes(4), b"\0\1\0\0", bytes(8), bytes(12), bytes(8) + b"\4\0\0\0abcd", b"\1\0\0\0"]


@pytest.fixture
def files(tmp_path: Path, digits_plan: Path) -> dict[str, Path]:
    """What may lie where the plan should be."""
    plan = digits_plan.read_bytes()
    contents = {"erased": b"\xff" * 4096, "zeros": bytes(4096), "short": plan[:100], "cut": plan[:-64], "whole": plan}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


#: What the model's file is, how the board is started, and the status that INFO has.
STATES = [
    ("erased", (), NOT_A_PLAN),
    ("short", (), NOT_A_PLAN),
    ("cut", (), TRUNCATED),
    ("erased", ("--as", "null"), NOT_A_PLAN),
    ("whole", ("--as", "null"), ARGUMENT),
    ("whole", ("--as", "unbound"), ARGUMENT),
    ("whole", ("--fast", "64"), FAST_TOO_SMALL),
    ("whole", ("--fast", "64", "--as", "unbound"), FAST_TOO_SMALL),
]


@pytest.mark.parametrize(("file", "options", "status"), STATES, ids=[f"{name} {' '.join(o)}" for name, o, _ in STATES])
def test_every_request_is_answered(
    serve: Serve, files: dict[str, Path], file: str, options: tuple[str, ...], status: int
) -> None:
    """The board runs under the address sanitiser: it would hang up."""
    with Raw(serve(files[file], *options, pty=False)) as raw:
        raw.greet()
        for request in [*list(Request)[1:], 0, 13, 99]:
            for payload in PAYLOADS:
                answer = raw.ask(request, payload)
                if answer.type == Answer.ERROR or request in {Request.CANCEL, Request.STATUS_TEXT, Request.FAULT}:
                    continue
                # Requests that need a session are refused; an opened plan can be described.
                assert request == Request.INFO or (request == Request.PLAN_CHECK and file == "whole")
        info = protocol.Info.unpack(raw.ask(Request.INFO, Select(0).pack()).payload)
        assert info.status == status
        for request in (Request.TENSOR, Request.RUN, Request.CHECKSUM):
            answer = raw.ask(request, Select(0, Direction.OUTPUT).pack())
            assert (answer.type, answer.payload) == (Answer.ERROR, Refusal.NOT_READY.to_bytes(4, "little"))


def test_the_client_shows_the_reason(real_board: Path, files: dict[str, Path], line: Connect) -> None:
    with Board(line([real_board, "--model", files["erased"], "--model", files["whole"]]).url, timing=CALM) as board:
        absent, whole = board.models()
        assert (absent.status, absent.status_text, absent.plan_bytes) == (NOT_A_PLAN, "this is no .tgrs plan", 0)
        assert (whole.status, whole.name) == (0, "digits")
