"""Which frames of a stream are sent, sent again and asked for: both ends' accounts, without a line or a clock.

A stream's frames are numbered from 0. At most WINDOW of them, from the first missing one on, are under way.
"""

from __future__ import annotations

from tigris_pio.hil.protocol import WINDOW, Window

#: The board hears at least every so many frames of an output what has come.
_CREDIT_EVERY = 8


class Sender:
    """Sends `frames` frames: new ones while the window has room, lost ones first.

    A frame is lost when one that was sent after it has come: the line keeps the order, or nearly. That costs a frame
    sent twice where it does not.
    """

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.next = 0  #: all frames before this one have come
        self._fresh = 0  # all before this one were sent
        self._under_way: dict[int, int] = {}  # frames that were sent and have not come: which sending that was
        self._sendings = 0
        self._again: set[int] = set()

    @property
    def done(self) -> bool:
        """Whether all have come."""
        return self.next >= self.frames

    @property
    def under_way(self) -> int:
        """How many were sent and have not come, as far as is known."""
        return len(self._under_way)

    def due(self) -> list[int]:
        """The frames to be sent now; they count as sent."""
        numbers = sorted(self._again)
        self._again.clear()
        end = min(self.frames, self.next + WINDOW)
        numbers += range(self._fresh, end)
        self._fresh = max(self._fresh, end)
        for number in numbers:
            self._under_way[number] = self._sendings
            self._sendings += 1
        return numbers

    def acknowledge(self, window: Window) -> bool:
        """What the board has by an ACK; whether that says anything new."""
        if not self.next <= window.next <= self._fresh:
            return False
        come = [number for number in self._under_way if _has(window, number)]
        latest = max((self._under_way.pop(number) for number in come), default=-1)
        self.next = window.next
        self._again |= {number for number, sending in self._under_way.items() if sending < latest}
        self._again.difference_update(come)
        return bool(come)

    def doubt(self) -> None:
        """No answer came: the first frame that is missing is sent again, which the board answers at once."""
        if self._under_way:
            self._again.add(min(self._under_way))


class Receiver:
    """Takes the frames of `size` bytes, `frame_bytes` each but for the last, in any order."""

    def __init__(self, size: int, frame_bytes: int) -> None:
        self._data = bytearray(size)
        self._frame_bytes = frame_bytes
        self.frames = -(-size // frame_bytes)
        self.next = 0  #: all frames before this one have come
        self._come: set[int] = set()  # from there on
        self._asked: set[int] = set()  # again
        self._told = 0  # what the board knows `next` to be

    @property
    def done(self) -> bool:
        """Whether all have come."""
        return self.next >= self.frames

    @property
    def data(self) -> bytes:
        """The bytes, those of missing frames 0."""
        return bytes(self._data)

    def take(self, payload: bytes) -> bool:
        """A DATA frame's payload; whether it was missing. What fits no frame of the stream is passed over."""
        number = int.from_bytes(payload[:2], "little")
        first = number * self._frame_bytes
        part = self._data[first : first + self._frame_bytes]
        if not self.next <= number < self.frames or number in self._come or len(payload) != 2 + len(part):
            return False
        self._data[first : first + len(part)] = payload[2:]
        self._come.add(number)
        while self.next in self._come:
            self._come.remove(self.next)
            self.next += 1
        return True

    def credit(self) -> Window | None:
        """What the board is to be told now; it counts as told. A missing frame is asked for once, then in `doubt`."""
        last = max(self._come, default=self.next)
        wanted = {number for number in range(self.next, last) if number not in self._come} - self._asked
        if self.done or (not wanted and self.next < self._told + _CREDIT_EVERY):
            return None  # when all have come, the next request says so, and has the board's FIFO for itself
        return self._window(wanted)

    def doubt(self) -> Window:
        """Nothing came for a while: all that may be under way is asked for again."""
        end = min(self.frames, self.next + WINDOW)
        return self._window({number for number in range(self.next, end) if number not in self._come})

    def _window(self, wanted: set[int]) -> Window:
        self._told = self.next
        self._asked = {number for number in self._asked | wanted if number >= self.next}
        return Window(self.next, 0, sum(1 << number - self.next for number in wanted))


def _has(window: Window, number: int) -> bool:
    ahead = number - window.next
    return ahead < 0 or (ahead < WINDOW and bool(window.bits >> ahead & 1))
