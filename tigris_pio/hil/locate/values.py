"""Finds the first kernel call whose float32 rows depart by more than a tolerance, where earlier ones depart by less.

Checksums say nothing there, so the rows of calls are read and compared. A departure need not show in every later call,
so halving alone finds a call that departs behind one that does not; from there the search goes to the calls that wrote
its inputs, as long as one of these departs.
"""

from __future__ import annotations

from tigris_pio.hil.locate.first_wrong import Departure, PlanWords, departure, span_of, writer
from tigris_pio.hil.locate.trace import Asked, Replay


class ValueSearch:
    """The search in one step of a replay; calls count from 1."""

    def __init__(self, replay: Replay, words: PlanWords, step: int, tolerance: float) -> None:
        self._replay, self._words, self._step, self._tolerance = replay, words, step, tolerance
        self._made = replay.host(step)
        self._known: dict[int, Departure | None] = {}

    def first(self, last: int) -> int | None:
        """A call up to `last` that departs while none of its inputs does; None when `last` does not."""
        if self.departure(last) is None:
            return None
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.departure(middle) else (middle, high)
        while (before := next(filter(self.departure, self._inputs(high)), None)) is not None:
            high = before
        return high

    def departure(self, call: int) -> Departure | None:
        """How a call's rows depart by more than the tolerance."""
        if call not in self._known:
            self._known[call] = self._look(call)
        return self._known[call]

    def comes_again(self, call: int) -> bool:
        """Whether another run gives the same."""
        return self._look(call) == self._known[call]

    def _look(self, call: int) -> Departure | None:
        self._replay.board(self._step, Asked(call, 1, 1))
        host = self._replay.host_rows(self._step, call)[0]
        board = self._replay.board_rows(0, len(host))
        return departure(self._words, self._made[call - 1], None, board, host, self._tolerance)

    def writer_of(self, output: str, index: int) -> int | None:
        """The call that wrote element `index` of an output."""
        file = self._words.file
        (tensor,) = (io.tensor for io in file.outputs if file.text(io.name) == output)
        record = file.tensors[tensor]
        image, row = divmod(index // (record.width * record.channels), record.height)
        for call in range(len(self._made), 0, -1):
            made = self._made[call - 1]
            first, end = span_of(self._words, made)
            same_image = file.ops[made.op].images == 1 or made.image == image
            if self._words.tensor(made.op) == tensor and first <= row < end and same_image:
                return call
        return None

    def _inputs(self, call: int) -> list[int]:
        """The calls that wrote what a call read, the latest first."""
        made, found = self._made[call - 1], set[int]()
        for operand in range(len(made.operands)):
            first, end = span_of(self._words, made, operand)
            found |= {
                before
                for row in range(first, end)
                if (before := writer(self._words, self._made, call, operand, row, made.image)) is not None
            }
        return sorted(found, reverse=True)
