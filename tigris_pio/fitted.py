"""Tables for terminals that break no word. If the width is short, long names lose their middle, then columns are
dropped, and a line below names them. A pipe has no width, so all columns are shown in full."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tigris_pio.text import visible_name

#: Character cells: the gap between two columns; the least width of a name while columns can be dropped, and after.
_GAP, _NAME, _LEAST_NAME = 2, 16, 6


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a table."""

    title: str
    numeric: bool = False
    is_name: bool = False  #: its texts may be shortened
    detail: int = 0  #: 0: always shown; the column with the highest number is dropped first


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis in its middle if it is longer."""
    if cell_len(text) <= width:
        return text
    end = text[len(text) - width // 2 :]
    while cell_len(end) > width // 2:
        end = end[1:]
    return set_cell_size(text, width - 1 - cell_len(end)).rstrip() + "…" + end.lstrip()


@dataclasses.dataclass(frozen=True)
class FittedTable:
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
        for index in shown:
            column = self.columns[index]
            justify: Literal["left", "right"] = "right" if column.numeric else "left"
            table.add_column(Text(column.title), justify=justify, width=widths[index], vertical="bottom")
        for row, texts in zip(self.rows, cells, strict=True):
            table.add_row(*(_cell(row[index], texts[index], widths[index]) for index in shown))
        yield Text()
        yield table
        hidden = [column.title for index, column in enumerate(self.columns) if index not in shown]
        if hidden:
            yield Text(f"not shown: {', '.join(hidden)}; --wide shows all", style="dim", no_wrap=False, overflow="fold")


def _cell(given: str | Text, text: str, width: int) -> Text:
    return given if isinstance(given, Text) else Text(shortened(text, width))


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _need(column: Column, index: int, cells: Sequence[Sequence[str]]) -> int:
    """The width of a column's texts, in cells. A title may wrap between words."""
    return max([_longest_word(column.title), *(cell_len(row[index]) for row in cells)])


def _fitting(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """The indices of the columns that are shown in `width` cells."""
    shown = list(range(len(columns)))
    while True:
        needs = (min(_need(columns[index], index, cells), _NAME if columns[index].is_name else width)
                 for index in shown)  # fmt: skip
        droppable = [index for index in shown if columns[index].detail]
        if sum(needs) + _GAP * (len(shown) - 1) <= width or not droppable:
            return shown
        shown.remove(max(droppable, key=lambda index: (columns[index].detail, index)))


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], shown: Sequence[int],
            width: int) -> dict[int, int]:
    """The width of each shown column. The longest names shrink first; a title gets one line if the width allows."""
    needs = {index: _need(columns[index], index, cells) for index in shown}
    available = width - _GAP * (len(shown) - 1)
    names = [index for index in shown if columns[index].is_name]
    while names and sum(needs.values()) > available:
        longest = max(names, key=lambda index: needs[index])
        if needs[longest] <= _LEAST_NAME:
            break
        needs[longest] -= 1
    for index in shown:
        title = cell_len(columns[index].title)
        if title > needs[index] and sum(needs.values()) + title - needs[index] <= available:
            needs[index] = title
    return needs


@dataclasses.dataclass(frozen=True)
class Facts:
    """Pairs of a label, printed bold, and its value. Only words longer than the line are shortened."""

    rows: Sequence[tuple[str, str | Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        label = max((cell_len(name) for name, _ in self.rows), default=0)
        width = max(_LEAST_NAME, options.max_width - label - _GAP)
        for name, value in self.rows:
            table.add_row(Text(name), _words(value, width) if isinstance(value, str) else value)
        yield table


def _words(text: str, width: int) -> Text:
    return Text(" ".join(shortened(word, width) for word in visible_name(text).split(" ")))
