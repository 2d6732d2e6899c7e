"""Lets a board that runs this example listen to synthesised sound, and says what it heard.

    python demo.py [--port URL] [--seconds 10] [--seed 0]

Without a port it takes that of this folder's emulated board. Ends with `demo: N/N words heard, 0 false alarms`:
exit 0 when it is so, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from tigris_pio.errors import TigrisError
from tigris_pio.hil.feed import Feed, board_port

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "train"))

from sounds import RATE, stream  # noqa: E402

CHUNK = RATE // 100  #: samples that the board takes at a time
ROWS = 3  #: of features for an answer of the network; the first row takes three chunks
NEAR = 0.3  #: seconds from a word's end in which it is to be heard


class Listener:
    """The board. It answers as fast as it can compute, not as fast as sound is."""

    def __init__(self, port: str, baud: int) -> None:
        self.feed = Feed(port, baud, 2 * CHUNK)
        self.chunks = 0

    def hear(self, audio: np.ndarray) -> list[str]:
        """What it answers to whole chunks of int16 samples; `N` or `N heard`."""
        self.feed.send(audio.astype("<i2").tobytes())
        before, self.chunks = self.chunks, self.chunks + len(audio) // CHUNK
        return [self.feed.answer() for _ in range(max(self.chunks - 2, 0) // ROWS - max(before - 2, 0) // ROWS)]


def demo(port: str, baud: int, seconds: float, seed: int) -> bool:
    """Runs the demo; whether every word was heard, and nothing else."""
    audio, ends = stream(seconds, seed)
    audio, waiting, missed, false, answers = audio[: len(audio) // RATE * RATE], list(ends / RATE), 0, 0, 0
    board = Listener(port, baud)
    print(f"{len(audio) / RATE:.0f} s of sound, {len(ends)} words in it")
    for first in range(0, len(audio), RATE):
        for answer in board.hear(audio[first : first + RATE]):
            answers += 1
            now = (answers * ROWS + 2) * CHUNK / RATE
            while waiting and now > waiting[0] + NEAR:
                print(f"{waiting.pop(0):8.2f} s  MISSED")
                missed += 1
            if answer.endswith("heard") and waiting and now > waiting[0] - NEAR / 3:
                print(f"{waiting.pop(0):8.2f} s  word, heard at {now:.2f} s")
            elif answer.endswith("heard"):
                print(f"{now:8.2f} s  FALSE ALARM")
                false += 1
    missed += len(waiting)
    print(f"demo: {len(ends) - missed}/{len(ends)} words heard, {false} false alarms")
    return missed == false == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", help="the board's serial port, any pyserial URL; default: this project's board")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0, help="other sound")
    options = parser.parse_args()
    try:
        return 0 if demo(board_port(options.port, str(HERE)), options.baud, options.seconds, options.seed) else 1
    except TigrisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
