"""The data of a page: every command builds a `Page`, and the templates render it."""

import dataclasses
from typing import TypeAlias

from markupsafe import Markup

#: Meanings of a value, shown by colour and sign: neutral, right, wrong, noteworthy.
TONES = ("", "good", "bad", "note")


@dataclasses.dataclass(frozen=True)
class Fact:
    """A figure with its label. `share`: value divided by limit, drawn as a bar; it may exceed 1."""

    label: str
    value: str
    note: str = ""
    share: float | None = None
    tone: str = ""


@dataclasses.dataclass(frozen=True)
class Column:
    """A table's column. `numeric`: right-aligned. `code`: holds names of the model, in monospace."""

    title: str
    numeric: bool = False
    code: bool = False


@dataclasses.dataclass(frozen=True)
class Cell:
    """A table's cell. `share`: length of a bar behind the text, 0 to 1. `swatch`: kind of block whose colour it has."""

    text: str
    share: float | None = None
    tone: str = ""
    swatch: str = ""


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table. `head`: index of the column that names the row."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    head: int = 0


@dataclasses.dataclass(frozen=True)
class Figure:
    """An SVG drawing with caption, legend (kind of block, meaning) and its data as a table.

    `explore`: pointer and arrow keys go from block to block.
    """

    drawing: Markup
    caption: str
    legend: tuple[tuple[str, str], ...] = ()
    table: Grid | None = None
    explore: bool = False


@dataclasses.dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str
    tone: str = ""


@dataclasses.dataclass(frozen=True)
class Facts:
    """Labelled values, one per line."""

    items: tuple[Fact, ...]


Part: TypeAlias = "Grid | Figure | Prose | Facts"


@dataclasses.dataclass(frozen=True)
class Section:
    """A section. `name`: its anchor, unique in the page. `folded`: the reader must open it."""

    name: str
    title: str
    parts: tuple[Part, ...]
    folded: bool = False


@dataclasses.dataclass(frozen=True)
class Provenance:
    """A page's origin: the command line, this program's version, and the date as YYYY-MM-DD HH:MM UTC.

    Empty texts are left out.
    """

    command: str = ""
    version: str = ""
    date: str = ""


@dataclasses.dataclass(frozen=True)
class Page:
    """A whole page. `kind`: the kind of report. `facts`: the main figures. `origin`: the footer."""

    title: str
    kind: str
    verdict: Prose
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]
    origin: tuple[Fact, ...]


def text_cells(*values: object) -> tuple[Cell, ...]:
    """Makes plain cells; None becomes an empty one."""
    return tuple(Cell("" if value is None else str(value)) for value in values)
