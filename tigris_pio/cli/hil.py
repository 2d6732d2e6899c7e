"""`tigris hil`: run a plan on a board over its serial line and compare with the host."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tigris_pio.cli import console
from tigris_pio.cli.options import JSON
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import CheckInterruptedError, CheckReport, HostPlan, Sample, check, open_plan
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.project import Project, open_project
from tigris_pio.hil.report import document, print_board, print_report, verdict
from tigris_pio.hil.samples import SampleSet, random_samples, read_samples

_DEFAULT_SAMPLES = 8


@click.command("hil", short_help="Run a plan on a board and compare with the host.")
@click.argument("plan", required=False, type=click.Path(), metavar="PLAN.tgrs")
@click.option("--port", metavar="URL", help="/dev/ttyUSB0, COM3, socket://HOST:PORT, rfc2217://HOST:PORT, …")
@click.option("--baud", default=115200, show_default=True, metavar="RATE", help="Speed of the line.")
@click.option("--project", metavar="DIR", help="Take plan and port from this PlatformIO project.")
@click.option(
    "--env", "environment", metavar="ENV", help="The project's environment. Default: its only or default one."
)
@click.option("--model", metavar="NAME", help="Which of the project's models.")
@click.option("--upload", is_flag=True, help="Build and flash the project first (pio run -t upload).")
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
@click.option("--timeout", default=120.0, show_default=True, metavar="S", help="Seconds one inference may take.")
@click.option(
    "--silence", default=5.0, show_default=True, metavar="S", help="Seconds a board at work may give no sign of life."
)
@click.option("--info", "info_only", is_flag=True, help="Only ask the board what it runs.")
@JSON
def hil(
    plan: str | None,
    port: str | None,
    baud: int,
    project: str | None,
    environment: str | None,
    model: str | None,
    upload: bool,
    inputs: tuple[str, ...],
    data: str | None,
    labels: str | None,
    samples: int | None,
    tolerance: float,
    timeout: float,
    silence: float,
    info_only: bool,
    as_json: bool,
) -> None:
    """Send inputs to a board, run PLAN.tgrs there and here, and compare every output byte.

    \b
    Examples:
      tigris hil                                                  in a project's folder: its plan, its port
      tigris hil kws.tgrs --port /dev/ttyUSB0                     8 random inputs
      tigris hil kws.tgrs --port /dev/ttyUSB0 --input x.npy
      tigris hil --project examples/digits --upload --data test.npz
      tigris hil --port socket://127.0.0.1:5555 --info            what does it run?

    A model with states begins each sequence anew, on both sides; random inputs are one sequence.

    One program a board: a second one ends at once with status 3 and names the first.

    \b
    Exit status:
      0    all outputs equal
      1    the model: an output differs, a run fails or takes too long, the board holds another plan
      2    wrong usage
      3    the line: no such port, busy, no board, no answer, another protocol version
      130  interrupted (Ctrl-C)
    Results so far are printed with 1, 3 and 130, too, and with --json marked "partial"; "kind" there names the outcome.
    """
    if project is None and (plan is None or port is None) and Path("platformio.ini").is_file():
        project = "."
    place = _project(project, environment, upload)
    port = port or (place.port() if place else None)
    if port is None:
        raise UsageError("no port: give --port URL or --project DIR, or call it in a project's folder")
    timing = Timing(run=timeout, silence=silence)
    if info_only:
        _show_info(port, baud, timing, as_json)
        return
    host = open_plan(_plan_path(plan, place, model))
    chosen = _samples(host, inputs, data, labels, samples)
    with Board(port, baud, timing) as board:
        if not as_json:
            print_board(console.out, port, board.info, board.models())
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


def _project(directory: str | None, environment: str | None, upload: bool) -> Project | None:
    if directory is None:
        if environment is not None or upload:
            raise UsageError("--env and --upload need --project DIR, or a project's folder to be called in")
        return None
    project = open_project(directory, environment)
    if upload:
        project.upload()
    return project


def _plan_path(plan: str | None, project: Project | None, model: str | None) -> Path:
    if plan is not None:
        path = Path(plan)
        if not path.is_file():
            raise UsageError(f"{plan}: no such file; tigris compile writes plans")
        return path
    if project is None:
        raise UsageError("no plan: name a .tgrs file, give --project DIR, or call it in a project's folder")
    return project.plan(model)


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


def _show_info(port: str, baud: int, timing: Timing, as_json: bool) -> None:
    with Board(port, baud, timing) as board:
        models = board.models()
        if not as_json:
            print_board(console.out, port, board.info, models)
            return
    console.print_json({"port": port, "board": vars(board.info), "models": [vars(model) for model in models]})


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
