"""Options, tables and error lines of the bench's commands."""

import argparse
import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.emulator import MACHINES, NETWORKS, BenchError

Row = dict[str, Any]
#: Of each column: its key, or heading, key and a format if it has one. Whole numbers have commas.
Columns = Sequence[str | tuple[str, str] | tuple[str, str, str]]
FOLDER = "of the networks, NAME_int8.onnx with NAME_vectors.npz; default: %(default)s"


def parser_of(text: str | None, *options: str, **lists: str | None) -> argparse.ArgumentParser:
    """A parser with the options `folder` and `json`, if they are named, and with options of names between commas, each
    with its default."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    if "folder" in options:
        parser.add_argument("--folder", type=Path, default=NETWORKS, help=FOLDER)
    if "json" in options:
        parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    for name, default in lists.items():
        read = machine_names if name == "machines" else names
        parser.add_argument(f"--{name}", type=read, default=default, help=f"default: {default or 'all'}")
    return parser


def names(text: str) -> list[str]:
    """The names between commas; '-' is none."""
    return [name for name in text.split(",") if name not in ("-", "")]


def machine_names(text: str) -> list[str]:
    """The same, of emulated machines."""
    if unknown := [name for name in names(text) if name not in MACHINES]:
        raise argparse.ArgumentTypeError(f"no machine {', '.join(unknown)}; there are {', '.join(MACHINES)}")
    return names(text)


def known(parser: argparse.ArgumentParser, chosen: Sequence[str] | None, there: Sequence[str]) -> Sequence[str]:
    """The networks chosen, or all. The command ends if one is not there."""
    if unknown := [name for name in chosen or () if name not in there]:
        parser.error(f"--networks: {', '.join(unknown)} unknown; there are {', '.join(there)}")
    return chosen or there


def command(main: Callable[[], int | None]) -> Callable[[], int]:
    """A main function that prints a BenchError in a line and returns 2 for it. Runs if its module is the program, of
    which it must be the last function."""

    @functools.wraps(main)
    def run() -> int:
        try:
            return main() or 0
        except BenchError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2

    if main.__module__ == "__main__":
        sys.exit(run())
    return run


def write_json(path: Path | None, document: Any) -> None:
    """Writes the figures, if a file is named for them."""
    if path:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def print_table(title: str, rows: Sequence[Row], columns: Columns) -> None:
    """Prints a line for each row."""
    named = [(one.replace("_", " "), one, "") if isinstance(one, str) else (*one, "")[:3] for one in columns]
    cells = [[format(row[key], form or (",d" if type(row[key]) is int else "")) for _, key, form in named]
             for row in rows]  # fmt: skip
    print_cells(title, [heading for heading, _, _ in named], cells)


def print_cells(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints lines whose first cell is aligned to the left, the others to the right."""
    cells = [headings, *rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(headings))]
    print(f"\n{title}")
    for first, *others in cells:
        padded = (f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        print("  ".join([f"{first:<{widths[0]}}", *padded]).rstrip(), flush=True)
