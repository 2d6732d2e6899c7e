"""Lets a board that runs this example feel pumps, some of which are out of order, and says what it found.

    python demo.py [--port URL] [--pumps 3] [--seconds 5] [--seed 0]

Without a port it takes that of this folder's emulated board. Every pump runs in order, and then with each fault, so
many seconds each. Ends with `demo: N/N faults found, 0 false alarms`: exit 0 when it is so, 1 otherwise.
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

from machine import FAULTS, RATE, Pump  # noqa: E402
from spectrum import ROW  # noqa: E402

BLOCK = 32  #: samples that the board takes at a time


def feel(port: str, baud: int, samples: np.ndarray) -> list[str]:
    """What the board answers to a stream of int16 samples: for each row, `SCORE` or `SCORE alarm`."""
    whole = samples[: len(samples) // ROW * ROW]
    board = Feed(port, baud, whole[:BLOCK].nbytes)
    board.send(whole.astype("<i2").tobytes())
    return [board.answer() for _ in range(len(whole) // ROW)]


def demo(port: str, baud: int, pumps: int, seconds: float, seed: int) -> bool:
    """Runs the demo; whether every fault was found, and none where there is none."""
    found = false = 0
    suspect = {kind: [0, 0] for kind in ("in order", *FAULTS)}
    for number in range(pumps):
        pump = Pump(1_000_000 + seed + number)
        for fault in (None, *FAULTS):
            answers = feel(port, baud, pump.run(seconds, fault))
            scores, kind = np.array([int(answer.split()[0]) for answer in answers]), fault or "in order"
            alarms = [index for index, answer in enumerate(answers) if answer.endswith("alarm")]
            said = f"alarm after {(alarms[0] + 1) * ROW / RATE:.1f} s" if alarms else "no alarm"
            print(f"pump {number}  {kind:<13} scores {scores.min():>6} to {scores.max():>6}   {said}")
            found, false = found + bool(fault and alarms), false + bool(not fault and alarms)
            suspect[kind][0] += sum(scores > THRESHOLD)
            suspect[kind][1] += len(scores)
    print("above the threshold:", ", ".join(f"{kind} {part / all_:.0%}" for kind, (part, all_) in suspect.items()))
    print(f"demo: {found}/{pumps * len(FAULTS)} faults found, {false} false alarms")
    return found == pumps * len(FAULTS) and not false


def threshold() -> int:
    """That of the firmware."""
    words = (HERE / "src" / "threshold.h").read_text("utf-8").split()
    return int(words[words.index("THRESHOLD") + 1])


THRESHOLD = threshold()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", help="the board's serial port, any pyserial URL; default: this project's board")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--pumps", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of each pump with each fault")
    parser.add_argument("--seed", type=int, default=0, help="other pumps")
    options = parser.parse_args()
    try:
        port = board_port(options.port, str(HERE))
        return 0 if demo(port, options.baud, options.pumps, options.seconds, options.seed) else 1
    except TigrisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
