"""`tigris hil check`: run a plan on a board over its serial line and compare with the host."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tigris_pio.cli import console
from tigris_pio.cli.hil.options import MODEL, PLAN, Target, TargetOptions, plan_path, target_options
from tigris_pio.cli.options import JSON
from tigris_pio.errors import UsageError
from tigris_pio.files import check_target, write_atomically
from tigris_pio.hil.check import CheckInterruptedError, CheckReport, HostPlan, Sample, check, open_plan
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.junit import Ending, junit
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
    "--repeat",
    default=1,
    type=click.IntRange(min=1),
    metavar="N",
    help="Run all of it N times: what fails now and then shows.",
)
@click.option(
    "--tolerance", default=0.0, metavar="REL", help="Largest relative difference of float32 outputs. Default 0."
)
@click.option("--junit", "junit_file", metavar="FILE.xml", help="Write a JUnit report, one test case a run.")
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
    repeat: int,
    tolerance: float,
    junit_file: str | None,
    info_only: bool,
    as_json: bool,
) -> None:
    """Send inputs to a board, run PLAN.tgrs there and here, and compare every output byte.

    \b
    Examples:
      tigris hil check kws.tgrs --port /dev/ttyUSB0 --samples 100
      tigris hil check kws.tgrs --port /dev/ttyUSB0 --repeat 20 --junit hil.xml
      tigris hil check --project examples/digits --upload --data test.npz

    A model with states begins each sequence anew, on both sides; random inputs are one sequence.

    Results so far are printed with exit status 1, 3 and 130, too, and with --json marked "partial"; "kind" there names
    the outcome. tigris hil --help lists the statuses.
    """
    target = where.open(complete=plan is not None)
    if info_only:
        _show_info(target, as_json)
        return
    if junit_file is not None:
        check_target(Path(junit_file))
    host = open_plan(plan_path(plan, target.project, model))
    chosen = _samples(host, inputs, data, labels, samples)
    outcome = _run(target, host, chosen.repeated(repeat), tolerance, as_json)
    if junit_file is not None:
        names = _names(len(chosen.inputs), repeat, data or next(iter(inputs), "random"))
        write_atomically(Path(junit_file), junit(outcome.report, names, outcome.log, _ending(outcome.error)))
    _finish(outcome, as_json)


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """How a check went, also one that ended early."""

    report: CheckReport | None  #: None when no run was made
    log: str  #: what the firmware printed
    error: HarnessError | CheckInterruptedError | None


def _run(target: Target, host: HostPlan, chosen: SampleSet, tolerance: float, as_json: bool) -> _Outcome:
    log = ""
    try:
        with target.board() as board:
            try:
                if not as_json:
                    print_board(console.out, target.url, board.info, board.models())
                with _progress(len(chosen.inputs), as_json) as progress:
                    report = check(board, host, chosen.inputs, chosen.labels, progress, tolerance, chosen.starts)
            finally:
                log = board.log
        return _Outcome(report, log, None)
    except (HarnessError, CheckInterruptedError) as error:
        return _Outcome(error.report, log, error)


def _ending(error: HarnessError | CheckInterruptedError | None) -> Ending | None:
    if error is None:
        return None
    if isinstance(error, CheckInterruptedError):
        return Ending("Interrupted", "interrupted")
    return Ending(type(error).__name__, str(error), error.exit_status == 1)


def _names(count: int, repeat: int, source: str) -> list[str]:
    """What the runs are called in a report: the file that the inputs came from, and which of its samples."""
    name = Path(source.partition("=")[2] or source).name
    passes = [""] if repeat == 1 else [f" pass {number}" for number in range(1, repeat + 1)]
    return [f"{name}[{index}]{suffix}" for suffix in passes for index in range(count)]


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


def _finish(outcome: _Outcome, as_json: bool) -> None:
    """Prints what was found, also what was until an error, and ends with its exit status."""
    report, ending = outcome.report, _ending(outcome.error)
    has_runs = report is not None and report.samples
    if report is not None and (ending is None or has_runs or isinstance(outcome.error, CheckInterruptedError)):
        _show(report, as_json, {} if ending is None else {"error": ending.message, "kind": ending.kind})
    if isinstance(outcome.error, HarnessError) and has_runs and as_json:  # the one document is printed
        console.print_error(str(outcome.error))
        sys.exit(outcome.error.exit_status)
    if outcome.error is not None:
        raise outcome.error
    if report is None or not report.equal:
        sys.exit(1)


def _show(report: CheckReport, as_json: bool, more: dict[str, str]) -> None:
    if as_json:
        console.print_json({**document(report), **more})
        return
    if report.samples:
        print_report(console.out, report)
    colour = "green" if report.equal else "bold red"
    console.out.print(f"[{colour}]{escape(verdict(report))}[/]")
