"""Mutants, and the format of their tables.

A table is a text file an area of the project. A mutant of it:

    ## what is wrong then, in words
    runtime/src/lz4.c
    tests: tests/runtime tests/networks
    -return done == output_bytes;
    +return 1;

The text of the `-` lines stands once in the file and becomes that of the `+` lines, or nothing. Neither needs to be
whole lines. One of the tests, pytest's arguments, must fail then.
"""

import dataclasses
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault: `old`, which stands once in `file`, becomes `new`; one of `tests` must fail."""

    name: str
    file: str  #: relative to the project
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> str:
        """Puts the fault into the copy of the project at `root`; returns the text that was there.

        ValueError where `old` does not stand there once: the project has changed, and the table must follow.
        """
        path = root / self.file
        text = path.read_text("utf-8") if path.is_file() else ""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.file} has {found} places like {self.old!r}, not one")
        path.write_text(text.replace(self.old, self.new), "utf-8")
        return text


def areas() -> list[str]:
    """The names of the tables."""
    return sorted(path.stem for path in TABLES.glob("*.txt"))


def mutants(area: str) -> tuple[Mutant, ...]:
    """One table; ValueError names the mutant that is not as the module says."""
    blocks = (TABLES / f"{area}.txt").read_text("utf-8").split("## ")[1:]
    return tuple(_parsed(area, block.rstrip("\n").split("\n")) for block in blocks)


def _parsed(area: str, lines: list[str]) -> Mutant:
    name, file, tests, *change = lines
    old = [line[1:] for line in change if line.startswith("-")]
    new = [line[1:] for line in change if line.startswith("+")]
    if not tests.startswith("tests: ") or not old or len(old) + len(new) != len(change):
        raise ValueError(f"{area}.txt: '{name}' is not a file, 'tests:' and lines of - and +")
    return Mutant(name, file, "\n".join(old), "\n".join(new), tuple(tests.split()[1:]))
