"""`tigris hil bench`: measures a model's run time on a board, and compares it with an earlier measurement."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tigris_pio.cli import console
from tigris_pio.cli.hil.inputs import InputOptions, input_options, progress
from tigris_pio.cli.hil.options import MODEL, PLAN, TargetOptions, plan_path, target_options
from tigris_pio.cli.options import JSON
from tigris_pio.errors import UsageError
from tigris_pio.files import read_named
from tigris_pio.fitted import Column, Facts, FittedTable
from tigris_pio.hil.bench import BenchReport, Change, Comparison, bench, compare, document
from tigris_pio.hil.check import open_plan
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.report import counts_text, print_board
from tigris_pio.report.macs import operator_macs
from tigris_pio.sizes import format_size
from tigris_pio.text import counted, visible_name

#: Number of operators with changed time that a comparison lists.
_CHANGES_SHOWN = 5


@click.command("bench", short_help="Measure run time on the board; compare with an earlier run.")
@PLAN
@target_options
@MODEL
@input_options()
@click.option("--runs", default=20, show_default=True, type=click.IntRange(min=2), metavar="N", help="Number of runs.")
@click.option("--compare", "earlier", metavar="FILE.json", help="Compare with the output of an earlier bench --json.")
@click.option(
    "--threshold",
    default="5%",
    show_default=True,
    metavar="SHARE",
    help="With --compare: largest growth of the median that passes.",
)
@console.WIDE
@JSON
def bench_command(
    plan: str | None,
    where: TargetOptions,
    model: str | None,
    given: InputOptions,
    runs: int,
    earlier: str | None,
    threshold: str,
    as_json: bool,
) -> None:
    """Run PLAN.tgrs on a board and print run times: the first run; minimum, median, maximum and mean of the others;
    and each operator's share.

    \b
    Examples:
      tigris hil bench kws.tgrs --port /dev/ttyUSB0
      tigris hil bench kws.tgrs --port /dev/ttyUSB0 --runs 100 --json > before.json
      tigris hil bench kws.tgrs --port /dev/ttyUSB0 --compare before.json --threshold 2%

    Inputs are random unless --input or --data is given; several samples run in turn. The board measures the times, so
    the serial line does not count. Outputs are not compared; use tigris hil check for that.

    The exit status is that of check, and 1 if --compare finds the median slower by more than the threshold.
    """
    share = _share(threshold)
    before = None if earlier is None else _read_earlier(earlier)
    target = where.open(complete=plan is not None)
    host = open_plan(plan_path(plan, target.project, model))
    chosen = given.choose(host, 1)
    with target.board() as board:
        if not as_json:
            print_board(console.out, target.url, board.info, board.models())
        with progress(runs, as_json) as advance:
            outcome = bench(board, host, chosen, runs, operator_macs(host.file), advance)
    report, error = outcome.report, outcome.error
    comparison = _compared(report, earlier, before, share) if report is not None and error is None else None
    if report is not None:
        _show(report, comparison, as_json, error)
    if error is not None:
        if report is not None and as_json and isinstance(error, HarnessError):  # the one document is printed
            console.print_error(str(error))
            sys.exit(error.exit_status)
        raise error
    if comparison is not None and comparison.slower:
        sys.exit(1)


def _share(text: str) -> float:
    """Parses `5%` or `0.05`."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(\s*%)?", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not match or (value >= 1 and not match[2]):
        raise UsageError(f"--threshold {text}: give a share like 5% or 0.05")
    return value


def _read_earlier(path: str) -> dict[str, Any]:
    try:
        found = json.loads(read_named(Path(path), "the output of tigris hil bench --json"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"--compare {path}: is no such document; give the output of tigris hil bench --json")
    return found


def _compared(
    report: BenchReport, path: str | None, earlier: dict[str, Any] | None, share: float
) -> Comparison | None:
    if earlier is None:
        return None
    try:
        return compare(report, earlier, share)
    except ValueError as error:
        raise UsageError(f"--compare {path}: {error}") from None


def _show(
    report: BenchReport, comparison: Comparison | None, as_json: bool, error: HarnessError | KeyboardInterrupt | None
) -> None:
    if as_json:
        kind = type(error).__name__ if isinstance(error, HarnessError) else "Interrupted"
        more = {} if error is None else {"error": str(error) or "interrupted", "kind": kind}
        console.print_json({**document(report, comparison), **more})
        return
    console.out.print(_figures(report))
    if any(op.elapsed for op in report.ops):
        console.out.print(_operators(report))
    if not report.complete:
        missing = f"{report.requested - len(report.runs)} of {counted(report.requested, 'run')}"
        console.out.print(f"[bold red]{missing} missing[/]")
    if comparison is not None:
        _show_comparison(report, comparison)


def _figures(report: BenchReport) -> Facts:
    used = report.memory
    rows = [("first run", counts_text(report.board, report.first))]
    if not report.board.counter_unit:
        rows = [("time", "unknown: the firmware has no counter; set tigris_serve_board.counter")]
    elif len(report.runs) > 1:
        named = (("minimum", min(report.steady)), ("median", report.median), ("maximum", max(report.steady)))
        rows += [(name, counts_text(report.board, value)) for name, value in (*named, ("mean", report.mean))]
        rows[1] = (f"then {len(report.steady)}: minimum", rows[1][1])
    if report.macs and report.median:
        rows.append(("work", f"{report.macs:,} MACs, {report.median / report.macs:.2f} {_unit(report)} per MAC"))
    rows.append(("fast memory", f"{used.fast_peak:,} of {used.fast_given:,} bytes used"))
    if used.slow_given:
        moved = f"{format_size(used.slow_read)} read and {format_size(used.slow_written)} written per run"
        rows.append(("slow memory", f"{used.slow_peak:,} of {used.slow_given:,} bytes used, {moved}"))
    return Facts(rows)


def _unit(report: BenchReport) -> str:
    return report.board.counter_unit or "counts"


def _operators(report: BenchReport) -> FittedTable:
    total = sum(op.elapsed for op in report.ops)
    has_macs = any(op.macs for op in report.ops)
    columns = (Column("", True), Column("operator", is_name=True), Column("kind"), Column("calls", True, detail=1),
               Column(_unit(report), True), Column("share", True),
               *([Column("per MAC", True, detail=2)] * has_macs))  # fmt: skip
    rows = []
    for op in report.ops:
        per_mac = [f"{op.elapsed / op.macs:.2f}" if op.macs else ""] * has_macs
        rows.append([str(op.index), visible_name(op.name), op.kind, f"{op.calls:g}", f"{op.elapsed:,.0f}",
                     f"{op.elapsed / total:.1%}", *per_mac])  # fmt: skip
    if report.mean >= total:
        rows.append(["", "overhead", "", "", f"{report.mean - total:,.0f}", "", *([""] * has_macs)])
    return FittedTable("mean per run", columns, rows)


def _show_comparison(report: BenchReport, comparison: Comparison) -> None:
    rows = [(item.name, _change(item)) for item in (comparison.first, comparison.median)]
    rows += [(f"  {item.name}", _change(item)) for item in _most_changed(comparison.ops)]
    console.out.print(Facts(rows))
    if comparison.same_plan:
        console.out.print("same plan as before")
    limit = f"{100 * comparison.threshold:g} %"
    if comparison.slower:
        console.out.print(f"[bold red]slower than before by more than {limit}[/]")
    else:
        console.out.print(f"[green]not slower than before by more than {limit}[/]")


def _most_changed(changes: Sequence[Change]) -> list[Change]:
    """The operators whose time changed most, largest change first."""
    changed = [item for item in changes if item.now != item.before]
    return sorted(changed, key=lambda item: -abs(item.now - item.before))[:_CHANGES_SHOWN]


def _change(item: Change) -> str:
    text = f"{item.before:,.0f} → {item.now:,.0f}"
    return text if item.ratio is None else f"{text} ({100 * (item.ratio - 1):+.1f} %)"
