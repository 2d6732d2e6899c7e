"""`--report` and `--no-sweep`: options and helpers of the commands that write an HTML page."""

import datetime
import math
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.markup import escape

from tigris_pio import __version__
from tigris_pio.cli import console
from tigris_pio.cli.options import check_output
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, Progress
from tigris_pio.files import write_atomically
from tigris_pio.report.compiled import compiled_page
from tigris_pio.report.page import Page, Provenance
from tigris_pio.report.sweep import SECONDS, sweep

F = TypeVar("F", bound=Callable[..., Any])

REPORT = click.option(
    "--report", "report_path", type=click.Path(), metavar="FILE.html",
    help="Also write an HTML report: one file that works offline.",
)  # fmt: skip
NO_SWEEP = click.option(
    "--no-sweep", is_flag=True, help="Leave other budgets out of the report; this saves some seconds."
)


def check_report(path: str | None, *inputs: str | None) -> None:
    """Raises UsageError or FileError if the page cannot be written, or would overwrite one of `inputs`."""
    if path is not None:
        check_output("--report", path, *inputs)


def provenance() -> Provenance:
    """The command line, this version, and the time: SOURCE_DATE_EPOCH if set, else now."""
    context = click.get_current_context()
    words = context.find_root().obj
    command = shlex.join(["tigris", *words]) if isinstance(words, tuple) else context.command_path
    epoch = _epoch()
    now = datetime.datetime.now(datetime.timezone.utc)
    if epoch is not None:
        now = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    return Provenance(command, __version__, f"{now:%Y-%m-%d %H:%M} UTC")


def compilation_page(
    start: Front, options: CompileOptions, result: Compiled, no_sweep: bool, progress: Progress
) -> Page:
    """The page of a compilation, with plans at as many other budgets as SECONDS allow.

    With SOURCE_DATE_EPOCH there is no time limit, so that the page does not depend on the machine's speed.
    """
    progress("sweep")
    seconds = SECONDS if _epoch() is None else math.inf
    return compiled_page(result, provenance(), None if no_sweep else sweep(start, options, result.plan, seconds))


def _epoch() -> int | None:
    """SOURCE_DATE_EPOCH (reproducible-builds.org/specs/source-date-epoch) in seconds; None if not set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(epoch) if epoch.isdecimal() and len(epoch) < 12 else None


def write_page(path: str, page: Page, quiet: bool) -> None:
    """Writes the page and, unless `quiet`, prints its path."""
    from tigris_pio.report.html import render_html  # noqa: PLC0415  (loads templates)

    write_atomically(Path(path), render_html(page).encode("utf-8", "backslashreplace"))
    if not quiet:
        console.out.print(f"report: {escape(path)}")
