"""Lets a board that runs this example feel a hand that makes gestures, and says what it told.

    python demo.py [--port URL] [--seconds 60] [--seed 0]

Without a port it takes that of this folder's emulated board. Ends with `demo: N/N gestures told, 0 false`: exit 0
when it is so, 1 otherwise.
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

from hand import NAMES, RATE, stream  # noqa: E402

WINDOW, HOP = 64, 5  #: samples until the first answer, and from one to the next
EARLY, LATE = 0.3, 0.7  #: seconds around a gesture's end in which it is to be told


def feel(port: str, baud: int, samples: np.ndarray) -> list[tuple[float, str]]:
    """When the board told something other than none, in seconds, and what; of int16 samples."""
    whole = samples[: len(samples) // HOP * HOP]
    board = Feed(port, baud, whole[:HOP].nbytes)
    board.send(whole.astype("<i2").tobytes())
    ends = range(WINDOW, len(whole) + 1, HOP)
    answers = [(end / RATE, board.answer()) for end in ends]
    return [(now, name) for now, name in answers if name != NAMES[0]]


def demo(port: str, baud: int, seconds: float, seed: int) -> bool:
    """Runs the demo; whether every gesture was told, and nothing else."""
    samples, gestures = stream(seconds, seed)
    told, right = feel(port, baud, samples), 0
    for name, _, end in gestures:
        near = [item for item in told if -EARLY < item[0] - end / RATE < LATE]
        if near and near[0][1] == NAMES[name]:
            told.remove(near[0])
            right += 1
            print(f"{end / RATE:8.2f} s  {NAMES[name]:<7} told at {near[0][0]:.2f} s")
        else:
            print(f"{end / RATE:8.2f} s  {NAMES[name]:<7} MISSED")
    for now, name in told:
        print(f"{now:8.2f} s  FALSE: {name}")
    print(f"demo: {right}/{len(gestures)} gestures told, {len(told)} false")
    return right == len(gestures) and not told


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", help="the board's serial port, any pyserial URL; default: this project's board")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="another hand")
    options = parser.parse_args()
    try:
        return 0 if demo(board_port(options.port, str(HERE)), options.baud, options.seconds, options.seed) else 1
    except TigrisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
