"""Lets a board that runs this example see pictures, with persons and without, and says what it saw.

    python demo.py [--port URL] [--pictures 12] [--seed 0]

Without a port it takes that of this folder's emulated board. Ends with `demo: N/N pictures right`: exit 0 when at least
three in four are, 1 otherwise.
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

from camera import grey, lines  # noqa: E402
from scenes import WIDTH, scenes  # noqa: E402

SHADES = " .:-=+*#%@"
COLUMNS, ROWS = 32, 16  #: of a picture on the terminal


def drawn(sent: np.ndarray) -> list[str]:
    """What the network saw, in characters."""
    seen = grey(sent).astype(int)
    places = [np.linspace(0, len(seen) - 1, count).astype(int) for count in (ROWS, COLUMNS)]
    return ["".join(SHADES[shade * len(SHADES) // 256] for shade in row) for row in seen[np.ix_(*places)]]


def look(board: Feed, sent: np.ndarray) -> tuple[int, bool]:
    """The board's score of a picture's lines, and whether it saw a person."""
    board.send(sent.tobytes())
    answer = board.answer().split()
    return int(answer[0]), len(answer) > 1


def demo(port: str, baud: int, pictures: int, seed: int) -> bool:
    """Runs the demo; whether most of the pictures were told rightly."""
    board, right, shown = Feed(port, baud, 2 * WIDTH), 0, False
    for number, (picture, person) in enumerate(zip(*scenes(pictures, 1_000_000 + seed), strict=True)):
        sent = lines(picture)
        score, seen = look(board, sent)
        right += seen == person
        if person and not shown:
            print("\n".join(drawn(sent)))
            shown = True
        kind, said = ("a person" if person else "no person"), ("right" if seen == person else "WRONG")
        print(f"picture {number:>3}  {kind:<9}  score {score / 256:.2f}   {said}")
    print(f"demo: {right}/{pictures} pictures right")
    return right >= 0.75 * pictures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", help="the board's serial port, any pyserial URL; default: this project's board")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0, help="other pictures")
    options = parser.parse_args()
    try:
        return 0 if demo(board_port(options.port, str(HERE)), options.baud, options.pictures, options.seed) else 1
    except TigrisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
