"""The text that a board's firmware prints during one test or vector file."""

from __future__ import annotations

import contextlib

from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import HarnessError

#: Characters at the end of an older log that are searched in a newer one.
_OVERLAP = 256


def printed_since(board: Board, before: str) -> str:
    """The text that the board has printed since its `log` was `before`."""
    with contextlib.suppress(HarnessError):  # a broken line has no more text
        board.listen()
    return new_text(before, board.log)


def new_text(before: str, now: str) -> str:
    """The text after `before` in `now`, also if the log has dropped its beginning since."""
    if now.startswith(before):
        return now[len(before) :]
    end = before[-_OVERLAP:]
    at = now.rfind(end)
    return now if at < 0 else now[at + len(end) :]
