"""What a board's firmware prints beside the answers, by the test or vector file during which it did."""

from __future__ import annotations

import contextlib

from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import HarnessError

#: Characters by which the end of an older text is found in a newer one.
_OVERLAP = 256


def printed_since(board: Board, before: str) -> str:
    """What the board has printed since its `log` was `before`."""
    with contextlib.suppress(HarnessError):  # a line that broke has no more to say
        board.listen()
    return added(before, board.log)


def added(before: str, now: str) -> str:
    """What `now` has more than `before`; of a log whose beginning was dropped since, what follows the old end."""
    if now.startswith(before):
        return now[len(before) :]
    end = before[-_OVERLAP:]
    at = now.rfind(end)
    return now if at < 0 else now[at + len(end) :]
