"""The commands' output: tables or one JSON document on stdout; errors, warnings and progress on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn
from rich.progress import Progress as ProgressBar
from rich.segment import Segment

from tigris_pio.text import json_text, visible

if TYPE_CHECKING:
    from tigris_pio.compiler.pipeline import Progress  # for type checkers only: `tigris run` needs no compiler

#: Width of tables in a pipe, in characters: wide enough to show all columns.
PIPE_WIDTH = 10_000


class _Visible:
    """Printed content without control characters that a terminal would obey: names in model files are untrusted."""

    def __init__(self, content: ConsoleRenderable) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        for segment in console.render(self.content, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.content)


class _Hook(RenderHook):
    def process_renderables(self, renderables: Sequence[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Visible(item) for item in renderables]


def _console(stderr: bool) -> Console:
    # NO_COLOR (no-color.org) turns bold type off, too.
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(stderr=stderr, highlight=False, soft_wrap=True, color_system=colours)
    console.push_render_hook(_Hook())
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


out, err = _console(stderr=False), _console(stderr=True)

_STEPS = {
    "load": "reading the model",
    "normalise": "simplifying the graph",
    "partition": "planning stages and bands",
    "emit": "writing the plan",
    "sweep": "trying other budgets",
}


def can_be_written(text: str, encoding: str | None) -> bool:
    """Whether `encoding` has all characters of `text`; Windows' code pages lack most."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def print_json(document: Any) -> None:
    """Prints `document` on stdout; characters that its encoding lacks become JSON escapes."""
    text = json_text(document)
    if not can_be_written(text, sys.stdout.encoding):
        text = json.dumps(json.loads(text), indent=2)
    sys.stdout.write(text + "\n")


def print_error(message: str) -> None:
    """Prints an error on stderr."""
    err.print(f"[bold red]error:[/] {escape(visible(message))}")


def print_warnings(warnings: list[str]) -> None:
    """Prints warnings on stderr, a line each."""
    for warning in warnings:
        err.print(f"[yellow]warning:[/] {escape(visible(warning))}")


@contextmanager
def full_width() -> Iterator[None]:
    """Inside, tables have all columns, whatever the terminal's width."""
    width, out.width = out.width, PIPE_WIDTH
    try:
        yield
    finally:
        out.width = width


def _full_width(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        context.with_resource(full_width())


WIDE = click.option(
    "--wide", is_flag=True, expose_value=False, callback=_full_width,
    help="Print tables with all columns and full names, even if the terminal is narrower.",
)  # fmt: skip


@contextmanager
def bar(quiet: bool, *more: ProgressColumn) -> Iterator[Callable[[str, int, int], None]]:
    """Shows a progress bar on stderr if that is a terminal; nothing in a pipe. `more`: columns behind the numbers.

    The yielded function takes the current step, the number of things done, and of all things: 0 if that is unknown.
    """
    if quiet or not err.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *more)
    with ProgressBar(*columns, console=err, transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda what, done, total: shown.update(task, description=what, completed=done, total=total or None)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Shows the compiler's current step on stderr if that is a terminal; nothing in a pipe."""
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    with err.status("starting") as status:
        yield lambda stage: status.update(_STEPS.get(stage, stage))
