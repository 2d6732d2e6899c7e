"""What commands print to: tables on stdout for people, one JSON document for programs, errors on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.markup import escape
from rich.measure import Measurement
from rich.segment import Segment

from tigris_pio.text import json_text, visible

if TYPE_CHECKING:
    from tigris_pio.compiler.pipeline import Progress  # a type alone: `tigris run` needs no compiler

#: Columns of tables in a pipe, where nothing has to give way.
PIPE_WIDTH = 10_000


class _Visible:
    """What is printed, without what a terminal would obey: names come from files that somebody else made."""

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
    # NO_COLOR (no-color.org) means no bold type either; in a pipe there is none anyway.
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(stderr=stderr, highlight=False, soft_wrap=True, color_system=colours)
    console.push_render_hook(_Hook())
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


out, err = _console(stderr=False), _console(stderr=True)

_STEPS = {
    "load": "reading the model",
    "normalise": "running the thirteen passes",
    "partition": "cutting into stages and bands",
    "emit": "writing the plan",
    "sweep": "trying other budgets",
}


def can_be_written(text: str, encoding: str | None) -> bool:
    """Whether an output of this encoding has all characters of a text; Windows' code pages lack most."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def print_json(document: Any) -> None:
    """One document on stdout, nothing else; what the output's encoding lacks is escaped as JSON has it."""
    text = json_text(document)
    if not can_be_written(text, sys.stdout.encoding):
        text = json.dumps(json.loads(text), indent=2)
    sys.stdout.write(text + "\n")


def print_error(message: str) -> None:
    """An error for people."""
    err.print(f"[bold red]error:[/] {escape(visible(message))}")


def print_warnings(warnings: list[str]) -> None:
    """Warnings for people."""
    for warning in warnings:
        err.print(f"[yellow]warning:[/] {escape(visible(warning))}")


@contextmanager
def full_width() -> Iterator[None]:
    """Tables as in a pipe, whatever the terminal's width."""
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
    help="Tables with all columns and whole names, whatever the terminal's width, as in a pipe.",
)  # fmt: skip


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A status line on a terminal's stderr that names the stage at work; nothing in a pipe."""
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    with err.status("starting") as status:
        yield lambda stage: status.update(_STEPS.get(stage, stage))
