"""The serial harness over a line with faults: a result is right, or there is an error that says what is wrong.

    python -m tests.fuzz.line SECONDS [--seed N]           ever new lines, a third of the time for each share of faults
    python -m tests.fuzz.line --frames 1000000 [--seed N]  so many frames in all

Host and server are the real ones, time is simulated. Frames are damaged, lost, repeated, delayed and reordered, into
later runs and sessions; boards restart, runs are cancelled, hosts connect anew. Prints what came of it; the exit status
is 1 when a wrong result was accepted, or an operation took longer than all its repeats may.
"""

import argparse
import dataclasses
import faulthandler
import random
import sys
import time
from collections import Counter

from tests.fuzz.faulty_line import KINDS, FaultyLine
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import HarnessError

SHARES = (0.001, 0.01, 0.05)
#: A run on the board takes 10 ms; the line is fast.
TIMING = Timing(connect=10.0, answer=0.25, longest_answer=2.0, tries=8, run=60.0, silence=5.0)
#: An inference has a dozen requests and transfers, each of which is given up after 12 s without an answer.
HANG_SECONDS = 150.0
#: Of real time, for 10,000 frames.
STUCK_SECONDS = 300


@dataclasses.dataclass
class Outcome:
    """What came of the operations over lines of one share of faults."""

    share: float
    frames: int = 0
    faults: int = 0
    right: int = 0
    wrong: int = 0
    hangs: int = 0
    cancelled: int = 0
    slowest: float = 0.0  #: operation, seconds of the simulation
    repeats: int = 0
    errors: Counter[str] = dataclasses.field(default_factory=Counter)
    kinds: Counter[str] = dataclasses.field(default_factory=Counter)
    examples: list[str] = dataclasses.field(default_factory=list)  #: seeds of what must not be

    @property
    def bad(self) -> bool:
        """Whether something came that must not."""
        return self.wrong > 0 or self.hangs > 0


class _Host:
    """Infers over a line, connecting anew when it likes to and after some of the errors."""

    def __init__(self, line: FaultyLine, input_bytes: int, output_bytes: int, generator: random.Random) -> None:
        self._line, self._sizes, self._random = line, (input_bytes, output_bytes), generator
        self._board: Board | None = None
        self.repeats = 0

    def infer(self) -> bool:
        """Whether the outputs are those of the inputs; an error when there are none."""
        generator, (size, size1) = self._random, self._sizes
        if self._board is None or generator.random() < 0.05:
            self.leave()
            self._board = Board("line", 921600, TIMING, self._line)
        board = self._board
        if generator.random() < 0.1:  # which the next ones overwrite
            board.write_input(0, 0, generator.randbytes(size))
        first, second = generator.randbytes(size), generator.randbytes(7)
        for index, data in generator.sample(((0, first), (1, second)), 2):
            board.write_input(0, index, data)
        if generator.random() < 0.01:
            self._line.restart()
        board.run(0, on_busy=self._interrupt if generator.random() < 0.02 else None)
        reads = {0: size, 1: size1}
        outputs = {index: board.read_output(0, index, reads[index]) for index in generator.sample((0, 1), 2)}
        total = sum(second)
        table = bytes((3 * byte + total) % 256 for byte in range(256))
        return outputs[0] == first[::-1].translate(table) and outputs[1] == first[:size1]

    def failed(self) -> None:
        """After an error some programs go on with what they have."""
        if self._random.random() < 0.5:
            self.leave()

    def leave(self) -> None:
        """Ends the session."""
        if self._board is not None:
            self.repeats += self._board.repeats
        self._board = None

    @staticmethod
    def _interrupt(yields: int) -> None:
        raise KeyboardInterrupt


def try_line(outcome: Outcome, seed: int, most_frames: int, until: float = float("inf")) -> None:
    """One line, board and host, until so many frames have passed; all by the seed. Adds to `outcome`."""
    generator = random.Random(seed)
    size = generator.choice((150, 1000, 5000, 20000))
    size1 = generator.choice((100, size // 2))
    latency, sleep = generator.choice((0.0, 0.001, 0.016)), generator.choice((0.0, 0.001))
    with FaultyLine(seed, outcome.share, baudrate=921600, latency=latency, sleep=sleep, input_bytes=size,
                    output_bytes=min(size1, size)) as line:  # fmt: skip
        host = _Host(line, size, min(size1, size), generator)
        while line.frames < most_frames and time.monotonic() < until:
            started = line.now()
            try:
                right = host.infer()
                outcome.right += right
                if not right:
                    outcome.wrong += 1
                    outcome.examples.append(f"seed {seed}, frame {line.frames}: wrong result")
            except HarnessError as error:
                outcome.errors[type(error).__name__] += 1
                host.failed()
            except KeyboardInterrupt:
                outcome.cancelled += 1
            took = line.now() - started
            outcome.slowest = max(outcome.slowest, took)
            if took > HANG_SECONDS:
                outcome.hangs += 1
                outcome.examples.append(f"seed {seed}, frame {line.frames}: {took:.0f} s")
        host.leave()
        outcome.repeats += host.repeats
        outcome.frames += line.frames
        outcome.kinds += line.up.kinds + line.down.kinds
        outcome.faults = outcome.kinds.total()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--frames", type=int, default=sys.maxsize, help="frames in all")
    arguments = parser.parse_args()
    outcomes = [Outcome(share) for share in SHARES]
    print(f"seed {arguments.seed}", flush=True)
    for number, outcome in enumerate(outcomes):
        end = time.monotonic() + arguments.seconds / len(SHARES)
        most = arguments.frames // len(SHARES) + (number < arguments.frames % len(SHARES))
        for seed in range(arguments.seed, arguments.seed + 1_000_000):
            if outcome.frames >= most or time.monotonic() >= end:
                break
            faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
            try_line(outcome, seed, min(10_000, most - outcome.frames), end)
        print(row(outcome), flush=True)
    faulthandler.cancel_dump_traceback_later()
    for outcome in outcomes:
        for example in outcome.examples:
            print(f"share {outcome.share}: {example}", file=sys.stderr)
    return any(outcome.bad for outcome in outcomes)


def row(outcome: Outcome) -> str:
    """One line of the table."""
    errors = ", ".join(f"{count} {name}" for name, count in sorted(outcome.errors.items())) or "none"
    kinds = ", ".join(f"{outcome.kinds[kind]} {kind}" for kind in KINDS)
    return (f"{100 * outcome.share:g} %: {outcome.frames} frames, {outcome.faults} faulty ({kinds}); results: "
            f"{outcome.right} right, {outcome.wrong} wrong; {outcome.cancelled} cancelled; errors: {errors}; "
            f"{outcome.hangs} hangs; slowest {outcome.slowest:.1f} s; {outcome.repeats} frames sent again")


if __name__ == "__main__":
    sys.exit(main())
