"""Sends test digits to a board that runs this example, draws them, and checks every output byte.

    python examples/digits/demo.py --port URL --plan FILE.tgrs [--count N]

Ends with `demo: N/N outputs equal to the host, accuracy … %`: exit 0 when all are equal, 1 otherwise.
The accuracy is that of the digits sent. None of them was used in training.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from tigris_pio.errors import TigrisError
from tigris_pio.hil.check import HostPlan, Sample, check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.report import print_board, print_report, verdict

TEST_DIGITS = Path(__file__).resolve().parent / "model" / "digits_test.npz"
ACROSS = 8
GAP = "  "


def half_blocks(image: np.ndarray, colour: bool) -> list[Text]:
    """An 8x8 image of 0 … 1 as four lines: each character is two pixels, one above the other.

    With colours each half has its grey; without, a pixel is inked or not.
    """
    lines = []
    for top, bottom in zip(image[0::2], image[1::2], strict=True):
        line = Text()
        for pair in zip(top, bottom, strict=True):
            if colour:
                upper, lower = (f"rgb({grey},{grey},{grey})" for grey in (int(30 + 225 * value) for value in pair))
                line.append("▀", f"{upper} on {lower}")
            else:
                line.append(" ▀▄█"[(pair[0] > 0.4) + 2 * (pair[1] > 0.4)])
        lines.append(line)
    return lines


def caption(sample: Sample) -> Text:
    """Prediction and label, eight characters wide; red where they differ or the output is not the host's."""
    if not sample.equal:
        return Text("unequal ", "bold red")
    right = sample.best == sample.label
    return Text(f"{sample.best} {'=' if right else '≠'} {sample.label}".ljust(8), "green" if right else "bold yellow")


class Gallery:
    """Prints digits side by side as soon as a row of them is complete."""

    def __init__(self, console: Console, images: np.ndarray) -> None:
        self.console, self.images = console, images
        self.row: list[Sample] = []

    def add(self, sample: Sample) -> None:
        self.row.append(sample)
        if len(self.row) == ACROSS or sample.index + 1 == len(self.images):
            drawn = [half_blocks(self.images[entry.index, 0], self.console.is_terminal) for entry in self.row]
            for parts in zip(*drawn, strict=True):
                self.console.print(Text(GAP).join(parts))
            self.console.print(Text(GAP).join(caption(entry) for entry in self.row))
            self.row.clear()


def host_accuracy(plan: HostPlan) -> float:
    """Share of the whole test set that the plan recognises."""
    pixels, scores = plan.session.inputs[0], plan.session.outputs[0].name
    with np.load(TEST_DIGITS) as data:
        best = [plan.session.run({pixels.name: image[np.newaxis]})[scores].argmax() for image in data["images"]]
        return float((np.array(best) == data["labels"]).mean())


def demo(port: str, baud: int, plan_path: Path, count: int) -> bool:
    """Runs the demo; whether all outputs were equal."""
    console = Console(highlight=False, soft_wrap=True)
    plan = open_plan(plan_path)
    with np.load(TEST_DIGITS) as data:
        images, labels = data["images"][:count], data["labels"][:count]
    pixels = plan.session.inputs[0]
    samples = [{pixels.name: pixels.to_stored(image[np.newaxis])} for image in images]
    with Board(port, baud) as board:
        print_board(console, port, board.info, board.models())
        console.print(f"\n{len(images)} digits of the test set; below each: what the board says, and what it is\n")
        gallery = Gallery(console, images)
        report = check(board, plan, samples, [int(label) for label in labels], gallery.add)
    console.print()
    print_report(console, report)
    share = host_accuracy(plan)
    console.print(
        f"whole test set: {share:.1%} of 450 digits recognised, by the same plan on the host".replace("%", " %")
    )
    print(f"demo: {verdict(report)}")
    return report.equal


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", required=True, help="board's serial port, any pyserial URL")
    parser.add_argument("--plan", required=True, type=Path, help="the plan that was uploaded")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--count", type=int, default=64, help="digits to send, at most 450")
    options = parser.parse_args()
    try:
        return 0 if demo(options.port, options.baud, options.plan, options.count) else 1
    except TigrisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
