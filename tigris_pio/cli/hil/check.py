"""`tigris hil check`: runs a plan on a board and on this machine, and compares every output byte."""

import dataclasses
import sys
from pathlib import Path

import click
from rich.markup import escape

from tigris_pio.cli import console, pages
from tigris_pio.cli.hil.inputs import LABELS, SAMPLES, InputOptions, input_options, progress
from tigris_pio.cli.hil.options import MODEL, PLAN, Target, TargetOptions, plan_path, target_options
from tigris_pio.cli.options import JSON
from tigris_pio.files import check_target, write_atomically
from tigris_pio.hil.check import CheckInterruptedError, CheckReport, HostPlan, check, open_plan
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.junit import Ending, junit
from tigris_pio.hil.report import document, print_board, print_report, verdict
from tigris_pio.hil.samples import SampleSet

_DEFAULT_SAMPLES = 8


@click.command("check", short_help="Compare every output byte of the board with this machine.")
@PLAN
@target_options
@MODEL
@input_options(LABELS, SAMPLES)
@click.option(
    "--repeat",
    default=1,
    type=click.IntRange(min=1),
    metavar="N",
    help="Run all samples N times, to find intermittent faults.",
)
@click.option(
    "--tolerance", default=0.0, metavar="REL", help="Largest relative difference of float32 outputs that passes. "
    "Default: 0.",
)  # fmt: skip
@click.option("--no-locate", is_flag=True, help="On a mismatch, do not run again to find the first wrong operator.")
@click.option("--junit", "junit_file", metavar="FILE.xml", help="Write a JUnit report with one test case per run.")
@pages.REPORT
@click.option("--info", "info_only", is_flag=True, help="Print the board's name, runtime and models; run nothing.")
@console.WIDE
@JSON
def check_command(
    plan: str | None,
    where: TargetOptions,
    model: str | None,
    given: InputOptions,
    repeat: int,
    tolerance: float,
    no_locate: bool,
    junit_file: str | None,
    report_path: str | None,
    info_only: bool,
    as_json: bool,
) -> None:
    """Run PLAN.tgrs on a board and on this machine with the same inputs, and compare every output byte.

    \b
    Examples:
      tigris hil check kws.tgrs --port /dev/ttyUSB0 --samples 100
      tigris hil check kws.tgrs --port /dev/ttyUSB0 --repeat 20 --junit hil.xml --report hil.html
      tigris hil check --project examples/digits --upload --data test.npz

    A model with states starts each sequence with the initial states. Random inputs are one sequence.

    If a check ends early (exit status 1, 3 or 130), the results so far are printed. With --json they are marked
    "partial", and "kind" names the error. tigris hil --help lists the exit statuses.
    """
    target = where.open(complete=plan is not None)
    if info_only:
        _show_info(target, as_json)
        return
    if junit_file is not None:
        check_target(Path(junit_file))
    pages.check_report(report_path, plan, junit_file)
    host = open_plan(plan_path(plan, target.project, model))
    chosen = given.choose(host, _DEFAULT_SAMPLES)
    outcome = _run(target, host, chosen.repeated(repeat), tolerance, not no_locate, as_json)
    if junit_file is not None:
        names = _names(len(chosen.inputs), repeat, Path(given.source).name)
        write_atomically(Path(junit_file), junit(outcome.report, names, outcome.log, _ending(outcome.error)))
    if report_path is not None and outcome.report is not None:
        _write_page(report_path, host, outcome, as_json)
    _finish(outcome, as_json)


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """The result of a check, which may have ended early with `error`."""

    report: CheckReport | None  #: None if no run was made
    log: str  #: text that the firmware printed
    error: HarnessError | CheckInterruptedError | None


def _run(
    target: Target, host: HostPlan, chosen: SampleSet, tolerance: float, locate: bool, as_json: bool
) -> _Outcome:
    log = ""
    try:
        with target.board() as board:
            try:
                if not as_json:
                    print_board(console.out, target.url, board.info, board.models())
                with progress(len(chosen.inputs), as_json) as advance:
                    inputs, labels, starts = chosen.inputs, chosen.labels, chosen.starts
                    report = check(board, host, inputs, labels, advance, tolerance, starts, locate)
            finally:
                log = board.log
        return _Outcome(report, log, None)
    except (HarnessError, CheckInterruptedError) as error:
        return _Outcome(error.report if isinstance(error.report, CheckReport) else None, log, error)


def _write_page(path: str, host: HostPlan, outcome: _Outcome, quiet: bool) -> None:
    from tigris_pio.report.checked import checked_page  # noqa: PLC0415  (loads the compiler)

    assert outcome.report is not None
    trouble = "" if outcome.error is None else str(outcome.error)
    pages.write_page(path, checked_page(host, outcome.report, pages.provenance(), trouble), quiet)


def _ending(error: HarnessError | CheckInterruptedError | None) -> Ending | None:
    if error is None:
        return None
    if isinstance(error, CheckInterruptedError):
        return Ending("Interrupted", "interrupted")
    return Ending(type(error).__name__, str(error), error.exit_status == 1)


def _names(count: int, repeat: int, source: str) -> list[str]:
    """Names of the runs in a report: the inputs' file and the number of the sample."""
    passes = [""] if repeat == 1 else [f" pass {number}" for number in range(1, repeat + 1)]
    return [f"{source}[{index}]{suffix}" for suffix in passes for index in range(count)]


def _show_info(target: Target, as_json: bool) -> None:
    with target.board() as board:
        models = board.models()
        if not as_json:
            print_board(console.out, target.url, board.info, models)
            return
    console.print_json({"port": target.url, "board": vars(board.info), "models": [vars(model) for model in models]})


def _finish(outcome: _Outcome, as_json: bool) -> None:
    """Prints the results, also partial ones, and exits with the outcome's status."""
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
