"""Finds the first kernel call whose float32 rows differ by more than a tolerance, where earlier ones differ by less.

Checksums cannot express a tolerance, so the rows of calls are read and compared. A difference may vanish in a later
call. So bisection finds a call that differs after one that does not. From there the search follows the calls that wrote
its inputs, as long as one of these differs.
"""

from tigris_pio.hil.locate.first_wrong import Difference, PlanNames, compare_rows, find_writer, span_of
from tigris_pio.hil.locate.trace import Replay, TracePoints


class ValueSearch:
    """A search in one step of a replay; calls count from 1."""

    def __init__(self, replay: Replay, names: PlanNames, step: int, tolerance: float) -> None:
        self._replay, self._names, self._step, self._tolerance = replay, names, step, tolerance
        self._made = replay.host_calls(step)
        self._known: dict[int, Difference | None] = {}

    def first(self, last: int) -> int | None:
        """Finds a call up to `last` that differs although none of its inputs does; None if `last` does not differ."""
        if self.difference(last) is None:
            return None
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.difference(middle) else (middle, high)
        while (before := next(filter(self.difference, self._inputs(high)), None)) is not None:
            high = before
        return high

    def difference(self, call: int) -> Difference | None:
        """The difference of a call's rows beyond the tolerance, if any."""
        if call not in self._known:
            self._known[call] = self._compare_call(call)
        return self._known[call]

    def is_reproducible(self, call: int) -> bool:
        """True if another run gives the same difference."""
        return self._compare_call(call) == self._known[call]

    def _compare_call(self, call: int) -> Difference | None:
        self._replay.run_board(self._step, TracePoints(call, 1, 1))
        host = self._replay.host_rows(self._step, call)[0]
        board = self._replay.board_rows(0, len(host))
        return compare_rows(self._names, self._made[call - 1], None, board, host, self._tolerance)

    def writer_of(self, output: str, index: int) -> int | None:
        """The call that wrote element `index` of an output."""
        file = self._names.file
        (tensor,) = (io.tensor for io in file.outputs if file.text(io.name) == output)
        record = file.tensors[tensor]
        image, row = divmod(index // (record.width * record.channels), record.height)
        for call in range(len(self._made), 0, -1):
            made = self._made[call - 1]
            first, end = span_of(self._names, made)
            same_image = file.ops[made.op].images == 1 or made.image == image
            if self._names.tensor(made.op) == tensor and first <= row < end and same_image:
                return call
        return None

    def _inputs(self, call: int) -> list[int]:
        """The calls that wrote the rows which a call read, the latest first."""
        made, found = self._made[call - 1], set[int]()
        for operand in range(len(made.operands)):
            first, end = span_of(self._names, made, operand)
            found |= {
                before
                for row in range(first, end)
                if (before := find_writer(self._names, self._made, call, operand, row, made.image)) is not None
            }
        return sorted(found, reverse=True)
