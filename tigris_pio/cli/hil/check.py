"""`tigris hil check`: run a plan on a board over its serial line and compare with the host."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tigris_pio.cli import console
from tigris_pio.cli.hil.options import MODEL, PLAN, Target, TargetOptions, plan_path, target_options
from tigris_pio.cli.options import JSON
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import CheckInterruptedError, CheckReport, HostPlan, Sample, check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.report import document, print_board, print_report, verdict
from tigris_pio.hil.samples import SampleSet, random_samples, read_samples

_DEFAULT_SAMPLES = 8


@click.command("check", short_help="Compare every output byte with the host's.")
@PLAN
@target_options
@MODEL
@click.option("--input", "inputs", multiple=True, metavar="[NAME=]X.npy", help="Input as the model takes it.")
@click.option(
    "--data",
    metavar="FILE.npz",
    help="Inputs by name, with labels if it has an array of that name. A model with states takes sequences: "
    "[steps, …], or [sequences, steps, …].",
)
@click.option("--labels", metavar="Y.npy", help="Class of each sample, for the accuracy.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Random inputs, or the first N of the data.")
@click.option(
    "--tolerance", default=0.0, metavar="REL", help="Largest relative difference of float32 outputs. Default 0."
)
@click.option("--info", "info_only", is_flag=True, help="Only ask the board what it runs.")
@JSON
def check_command(
    plan: str | None,
    where: TargetOptions,
    model: str | None,
    inputs: tuple[str, ...],
    data: str | None,
    labels: str | None,
    samples: int | None,
    tolerance: float,
    info_only: bool,
    as_json: bool,
) -> None:
    """Send inputs to a board, run PLAN.tgrs there and here, and compare every output byte.

    \b
    Examples:
      tigris hil check kws.tgrs --port /dev/ttyUSB0 --samples 100
      tigris hil check --project examples/digits --upload --data test.npz

    A model with states begins each sequence anew, on both sides; random inputs are one sequence.

    Results so far are printed with exit status 1, 3 and 130, too, and with --json marked "partial"; "kind" there names
    the outcome. tigris hil --help lists the statuses.
    """
    target = where.open(complete=plan is not None)
    if info_only:
        _show_info(target, as_json)
        return
    host = open_plan(plan_path(plan, target.project, model))
    chosen = _samples(host, inputs, data, labels, samples)
    with target.board() as board:
        if not as_json:
            print_board(console.out, target.url, board.info, board.models())
        with _progress(len(chosen.inputs), as_json) as progress:
            report = _check(board, host, chosen, progress, tolerance, as_json)
    _finish(report, as_json)


def _check(
    board: Board, host: HostPlan, chosen: SampleSet, progress: Callable[[Sample], None], tolerance: float, as_json: bool
) -> CheckReport:
    """Prints what was found until then when it ends early."""
    try:
        return check(board, host, chosen.inputs, chosen.labels, progress, tolerance, chosen.starts)
    except HarnessError as error:
        if error.report is None or not error.report.samples:
            raise
        _show(error.report, as_json, {"error": str(error), "kind": type(error).__name__})
        if not as_json:
            raise
        console.print_error(str(error))
        sys.exit(error.exit_status)
    except CheckInterruptedError as error:
        _show(error.report, as_json, {"error": "interrupted", "kind": "Interrupted"})
        raise


def _samples(
    host: HostPlan, inputs: tuple[str, ...], data: str | None, labels: str | None, count: int | None
) -> SampleSet:
    if not inputs and data is None:
        if labels is not None:
            raise UsageError("--labels need the inputs they belong to: --input or --data")
        return random_samples(host.session.inputs, count or _DEFAULT_SAMPLES)
    chosen = read_samples(host.session.inputs, inputs, data, labels, stateful=bool(host.session.states))
    if count is None:
        return chosen
    if count > len(chosen.inputs):
        raise UsageError(f"--samples {count}: the data holds {len(chosen.inputs)}")
    return chosen.first(count)


def _show_info(target: Target, as_json: bool) -> None:
    with target.board() as board:
        models = board.models()
        if not as_json:
            print_board(console.out, target.url, board.info, models)
            return
    console.print_json({"port": target.url, "board": vars(board.info), "models": [vars(model) for model in models]})


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[Sample], None]]:
    """A bar on a terminal's stderr, nothing in a pipe."""
    if quiet or not console.err.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("running on the board"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.err, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda _: bar.advance(task)


def _finish(report: CheckReport, as_json: bool) -> None:
    _show(report, as_json, {})
    if not report.equal:
        sys.exit(1)


def _show(report: CheckReport, as_json: bool, more: dict[str, str]) -> None:
    if as_json:
        console.print_json({**document(report), **more})
        return
    if report.samples:
        print_report(console.out, report)
    colour = "green" if report.equal else "bold red"
    console.out.print(f"[{colour}]{escape(verdict(report))}[/]")
