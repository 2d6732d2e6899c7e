"""Tables for terminals that break no word: names give way in their middle, columns of least worth leave, and a line
says which. Where there is room, in a pipe for instance, everything is shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tigris_pio.text import visible_name

#: Cells between two columns; the fewest that a name gets, while columns may leave and when none is left to.
_GAP, _NAME, _LEAST_NAME = 2, 16, 6


@dataclasses.dataclass(frozen=True)
class Column:
    """`name`: texts that may be shortened. `spare`: 0 for what always stays; the columns with the most leave first."""

    title: str
    numeric: bool = False
    name: bool = False
    spare: int = 0


def shortened(text: str, width: int) -> str:
    """A name of at most `width` cells: its beginning and its end say most."""
    if cell_len(text) <= width:
        return text
    end = text[len(text) - width // 2 :]
    while cell_len(end) > width // 2:
        end = end[1:]
    return set_cell_size(text, width - 1 - cell_len(end)).rstrip() + "…" + end.lstrip()


@dataclasses.dataclass(frozen=True)
class Fitted:
    """A table to print. Cells are plain texts, not markup, or texts with a style of their own."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str | Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells = [[visible_name(cell) if isinstance(cell, str) else cell.plain for cell in row] for row in self.rows]
        shown = _fitting(self.columns, cells, options.max_width)
        widths = _widths(self.columns, cells, shown, options.max_width)
        table = Table(title=Text(self.title, style="italic"), title_justify="left", box=None, pad_edge=False,
                      padding=(0, _GAP, 0, 0))  # fmt: skip
        for place in shown:
            column = self.columns[place]
            justify: Literal["left", "right"] = "right" if column.numeric else "left"
            table.add_column(Text(column.title), justify=justify, width=widths[place], vertical="bottom")
        for row, texts in zip(self.rows, cells, strict=True):
            table.add_row(*(_cell(row[place], texts[place], widths[place]) for place in shown))
        yield Text()
        yield table
        hidden = [column.title for place, column in enumerate(self.columns) if place not in shown]
        if hidden:
            yield Text(f"not shown: {', '.join(hidden)}; --wide shows all", style="dim", no_wrap=False,
                       overflow="fold")


def _cell(given: str | Text, text: str, width: int) -> Text:
    return given if isinstance(given, Text) else Text(shortened(text, width))


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _need(column: Column, place: int, cells: Sequence[Sequence[str]]) -> int:
    """Cells that a column's texts take; its title may go on in another line."""
    return max([_longest_word(column.title), *(cell_len(row[place]) for row in cells)])


def _fitting(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """The places of the columns that are shown in `width` cells."""
    shown = list(range(len(columns)))
    while True:
        needs = (min(_need(columns[place], place, cells), _NAME if columns[place].name else width) for place in shown)
        leaving = [place for place in shown if columns[place].spare]
        if sum(needs) + _GAP * (len(shown) - 1) <= width or not leaving:
            return shown
        shown.remove(max(leaving, key=lambda place: (columns[place].spare, place)))


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], shown: Sequence[int],
            width: int) -> dict[int, int]:
    """Of each column shown: titles in one line where there is room; the longest names give way first."""
    needs = {place: _need(columns[place], place, cells) for place in shown}
    room = width - _GAP * (len(shown) - 1)
    names = [place for place in shown if columns[place].name]
    while names and sum(needs.values()) > room:
        longest = max(names, key=lambda place: needs[place])
        if needs[longest] <= _LEAST_NAME:
            break
        needs[longest] -= 1
    for place in shown:
        title = cell_len(columns[place].title)
        if title > needs[place] and sum(needs.values()) + title - needs[place] <= room:
            needs[place] = title
    return needs


@dataclasses.dataclass(frozen=True)
class Facts:
    """Labels in bold, and what they stand for beside them; only words longer than the line are shortened."""

    rows: Sequence[tuple[str, str | Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        label = max((cell_len(name) for name, _ in self.rows), default=0)
        room = max(_LEAST_NAME, options.max_width - label - _GAP)
        for name, value in self.rows:
            table.add_row(Text(name), _words(value, room) if isinstance(value, str) else value)
        yield table


def _words(text: str, width: int) -> Text:
    return Text(" ".join(shortened(word, width) for word in visible_name(text).split(" ")))
