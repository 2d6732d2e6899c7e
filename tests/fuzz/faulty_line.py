"""A simulated line that does to frames what bad lines and relays do, at a share of them and by a seed."""

import random
from collections import Counter
from collections.abc import Iterator

from bench.simulated_line import SimulatedLine

KINDS = ("flip", "lose bytes", "cut", "insert", "drop", "again", "again later", "later", "join")
#: By how many frames those that come later do: within a transfer, over several, into other runs and connections.
LATENESS = (4, 40, 400, 4000)


class Faults:
    """One direction: takes bytes of the line and gives what comes of them. `frames` and `kinds` count."""

    def __init__(self, seed: int, share: float) -> None:
        self._random, self._share = random.Random(seed), share
        self._rest = b""
        self._held: list[tuple[int, bytes]] = []  # when they are due, counted in frames
        self.frames = 0
        self.kinds: Counter[str] = Counter()

    def __call__(self, data: bytes) -> bytes:
        *whole, self._rest = (self._rest + data).split(b"\0")
        return b"".join(piece for coded in whole if coded for piece in self._frame(b"\0" + coded + b"\0"))

    def _frame(self, frame: bytes) -> Iterator[bytes]:
        self.frames += 1
        if self._random.random() >= self._share:
            yield frame
        else:
            kind = self._random.choice(KINDS)
            self.kinds[kind] += 1
            yield from self._faulty(kind, frame)
        if self._held and any(when <= self.frames for when, _ in self._held):
            due = [held for when, held in self._held if when <= self.frames]
            self._held = [(when, held) for when, held in self._held if when > self.frames]
            self._random.shuffle(due)
            yield from due

    def _faulty(self, kind: str, frame: bytes) -> Iterator[bytes]:
        generator, at = self._random, self._random.randrange(len(frame))
        if kind == "flip":
            damaged = bytearray(frame)
            for _ in range(generator.choice((1, 1, 2, 8))):
                damaged[generator.randrange(len(frame))] ^= 1 << generator.randrange(8)
            yield bytes(damaged)
        elif kind == "lose bytes":
            yield frame[:at] + frame[at + generator.randrange(1, 21) :]
        elif kind == "cut":
            yield frame[:at]
        elif kind == "insert":
            yield frame[:at] + generator.randbytes(generator.randrange(1, 21)) + frame[at:]
        elif kind == "again":
            yield frame + frame
        elif kind == "join":  # the delimiters are lost, and this frame runs into the next
            yield frame[:-1]
        if kind == "again later":
            yield frame
        if kind in {"later", "again later"}:
            self._held.append((self.frames + generator.randrange(1, generator.choice(LATENESS)), frame))


class FaultyLine(SimulatedLine):
    """A simulated line with faults in both directions: `up` to the board, `down` to the host."""

    def __init__(self, seed: int, share: float, **options: float) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.up, self.down = Faults(2 * seed, share), Faults(2 * seed + 1, share)

    @property
    def frames(self) -> int:
        """Frames so far, both ways."""
        return self.up.frames + self.down.frames

    def read(self, seconds: float) -> bytes:
        end = self.now() + seconds
        while True:
            data = super().read(end - self.now())
            damaged = self.down(data) if data else b""
            if damaged or self.now() >= end:
                return damaged

    def write(self, data: bytes) -> None:
        super().write(self.up(data))
