"""What commands print to: tables on stdout for people, one JSON document for programs, errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape

from tigris_pio.compiler.pipeline import Progress

#: Columns of tables in a pipe, where there is no terminal to ask.
PIPE_WIDTH = 140


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


out, err = _console(stderr=False), _console(stderr=True)

_STEPS = {
    "load": "reading the model",
    "normalise": "running the thirteen passes",
    "partition": "cutting into stages and bands",
    "emit": "writing the plan",
}


def print_json(document: Any) -> None:
    """One document on stdout, nothing else."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_error(message: str) -> None:
    """An error for people."""
    err.print(f"[bold red]error:[/] {escape(message)}")


def print_warnings(warnings: list[str]) -> None:
    """Warnings for people."""
    for warning in warnings:
        err.print(f"[yellow]warning:[/] {escape(warning)}")


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A status line on a terminal's stderr that names the stage at work; nothing in a pipe."""
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    with err.status("starting") as status:
        yield lambda stage: status.update(_STEPS.get(stage, stage))
