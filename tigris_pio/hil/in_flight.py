"""The host's accounts of a transfer: which frames to send, to send again, or to request; without a line or a clock.

Frames of a transfer are numbered from 0. At most IN_FLIGHT are in flight, from the first missing one on.
"""

from tigris_pio.hil.protocol import IN_FLIGHT, Progress

#: The host sends CREDIT at least after this many frames of an output.
_CREDIT_EVERY = 8


class Sender:
    """Chooses the frames of an input to send: lost ones first, then new ones.

    A frame counts as lost if a frame that was sent after it has arrived. If the line changes the order, a frame is sent
    twice.
    """

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.next = 0  #: all frames before this one have arrived
        self._first_unsent = 0
        self._in_flight: dict[int, int] = {}  # by frame: the value of _send_count when it was last sent
        self._send_count = 0
        self._lost: set[int] = set()

    @property
    def done(self) -> bool:
        """True if all frames have arrived."""
        return self.next >= self.frames

    @property
    def in_flight(self) -> int:
        """Number of frames that were sent and are not known to have arrived."""
        return len(self._in_flight)

    def due(self) -> list[int]:
        """Returns the frames to send now; they count as sent."""
        numbers = sorted(self._lost)
        self._lost.clear()
        end = min(self.frames, self.next + IN_FLIGHT)
        numbers += range(self._first_unsent, end)
        self._first_unsent = max(self._first_unsent, end)
        for number in numbers:
            self._in_flight[number] = self._send_count
            self._send_count += 1
        return numbers

    def acknowledge(self, progress: Progress) -> bool:
        """Counts the frames that an ACK reports; returns True if one of them is new."""
        if not self.next <= progress.next <= self._first_unsent:
            return False
        arrived = [number for number in self._in_flight if _has_arrived(progress, number)]
        latest = max((self._in_flight.pop(number) for number in arrived), default=-1)
        self.next = progress.next
        self._lost |= {number for number, sending in self._in_flight.items() if sending < latest}
        self._lost.difference_update(arrived)
        return bool(arrived)

    def mark_first_lost(self) -> None:
        """After a silence: counts the first missing frame as lost. The board answers it at once."""
        if self._in_flight:
            self._lost.add(min(self._in_flight))


class Receiver:
    """Joins the frames of an output of `size` bytes, in any order; each but the last has `frame_bytes` bytes."""

    def __init__(self, size: int, frame_bytes: int) -> None:
        self._data = bytearray(size)
        self._frame_bytes = frame_bytes
        self.frames = -(-size // frame_bytes)
        self.next = 0  #: all frames before this one have arrived
        self._arrived: set[int] = set()  # frames after `next`
        self._requested: set[int] = set()  # missing frames that a CREDIT has requested
        self._credited = 0  # `next` in the last CREDIT

    @property
    def done(self) -> bool:
        """True if all frames have arrived."""
        return self.next >= self.frames

    @property
    def data(self) -> bytes:
        """The bytes; those of missing frames are 0."""
        return bytes(self._data)

    def accept(self, payload: bytes) -> bool:
        """Stores a DATA frame's payload; returns False if the frame is no missing frame of the transfer."""
        number = int.from_bytes(payload[:2], "little")
        first = number * self._frame_bytes
        part = self._data[first : first + self._frame_bytes]
        if not self.next <= number < self.frames or number in self._arrived or len(payload) != 2 + len(part):
            return False
        self._data[first : first + len(part)] = payload[2:]
        self._arrived.add(number)
        while self.next in self._arrived:
            self._arrived.remove(self.next)
            self.next += 1
        return True

    def credit(self) -> Progress | None:
        """Returns the CREDIT to send now, if any; it counts as sent. It requests each missing frame once."""
        last = max(self._arrived, default=self.next)
        missing = {number for number in range(self.next, last) if number not in self._arrived} - self._requested
        if self.done or (not missing and self.next < self._credited + _CREDIT_EVERY):
            return None  # once all have arrived, the next request ends the transfer and needs the board's FIFO
        return self._progress(missing)

    def request_all(self) -> Progress:
        """After a silence: returns a CREDIT that requests all missing frames that may be in flight."""
        end = min(self.frames, self.next + IN_FLIGHT)
        return self._progress({number for number in range(self.next, end) if number not in self._arrived})

    def _progress(self, missing: set[int]) -> Progress:
        self._credited = self.next
        self._requested = {number for number in self._requested | missing if number >= self.next}
        return Progress(self.next, 0, sum(1 << number - self.next for number in missing))


def _has_arrived(progress: Progress, number: int) -> bool:
    ahead = number - progress.next
    return ahead < 0 or (ahead < IN_FLIGHT and bool(progress.bits >> ahead & 1))
