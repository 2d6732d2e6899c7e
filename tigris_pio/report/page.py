"""A page as plain data: what every command's report is made of, and all that the template knows."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from markupsafe import Markup

#: What a value means, as a colour and, beside it, as a sign: nothing, it is well, it is not, it stands out.
TONES = ("", "good", "bad", "note")


@dataclasses.dataclass(frozen=True)
class Fact:
    """A figure with its label; `share`: of what it may be, 0 to 1 and beyond, drawn as a bar."""

    label: str
    value: str
    note: str = ""
    share: float | None = None
    tone: str = ""


@dataclasses.dataclass(frozen=True)
class Column:
    """A table's column. `numeric`: right-aligned; `code`: set as a name of the model's."""

    title: str
    numeric: bool = False
    code: bool = False


@dataclasses.dataclass(frozen=True)
class Cell:
    """One entry. `share`: a bar behind the text, 0 to 1; `swatch`: the kind of block whose colour it shows."""

    text: str
    share: float | None = None
    tone: str = ""
    swatch: str = ""


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table; the column numbered `head`, from 0, names the row."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    head: int = 0


@dataclasses.dataclass(frozen=True)
class Figure:
    """A drawing in SVG, what it shows in a sentence, its key (kind of block, meaning), and its data as a table.

    `explore`: its blocks can be visited one by one, by pointer and by arrow keys.
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
    """Labelled values, one a line."""

    items: tuple[Fact, ...]


Part: TypeAlias = "Grid | Figure | Prose | Facts"


@dataclasses.dataclass(frozen=True)
class Section:
    """`name`: its anchor, unique in the page. `folded`: shown when asked for."""

    name: str
    title: str
    parts: tuple[Part, ...]
    folded: bool = False


@dataclasses.dataclass(frozen=True)
class Provenance:
    """Where a page comes from: the command as given, this program's version, the date as YYYY-MM-DD HH:MM UTC.

    Empty texts are left out.
    """

    command: str = ""
    version: str = ""
    date: str = ""


@dataclasses.dataclass(frozen=True)
class Page:
    """`verdict`: one sentence and its tone; `facts`: the figures that matter most."""

    title: str
    kind: str
    verdict: Prose
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]
    origin: tuple[Fact, ...]


def text_cells(*values: object) -> tuple[Cell, ...]:
    """Plain cells; None: empty."""
    return tuple(Cell("" if value is None else str(value)) for value in values)
