"""`tigris analyze`: plans a model and prints memory, flash and instructions; writes no plan."""

import sys
from collections.abc import Callable

import click

from tigris_pio.cli import console, pages, tables
from tigris_pio.cli.options import BACKEND_OPTIONS, CORES, JSON, MODEL, check_model, planning_options
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import analyze_front, front


@click.command(short_help="Show how a model would run in the memory given.")
@MODEL
@planning_options(False, *BACKEND_OPTIONS, CORES)
@console.WIDE
@JSON
@pages.REPORT
@pages.NO_SWEEP
@click.option("-v", "--verbose", is_flag=True, help="Also print the node counts of each pass, and each attempt of the "
              "search for a plan.")  # fmt: skip
def analyze(
    model: str,
    compiling: Callable[..., CompileOptions],
    as_json: bool,
    report_path: str | None,
    no_sweep: bool,
    verbose: bool,
) -> None:
    """Show how MODEL, an .onnx or .tflite file, would run in the memory given: stages, bands, peaks, traffic, flash.

    \b
    Examples:
      tigris analyze kws.onnx -m 64K
      tigris analyze detector.onnx -m 256K+8M -f 4M --report detector.html

    The page of --report shows memory over time, the tensors of the peak, other budgets, and every stage and operator.

    With --backend and -m, a table shows the cost of other splits of that memory between the arena and the library's
    scratch.

    If the model does not fit, the exit status is 1 and the message names the smallest memory that works. If nodes
    cannot be compiled, it lists all of them, each with its reason and remedy. `tigris check MODEL` is the same command.
    """
    check_model(model)
    pages.check_report(report_path, model)
    options = compiling()
    with console.progress(as_json) as progress:
        start = front(model, options, progress)
        result = analyze_front(start, options, progress)
        if report_path is not None:
            page = pages.compilation_page(start, options, result, no_sweep, progress)
    if as_json:
        document = dict(result.report)
        document["attempts"] = [tables.attempt_row(attempt) for attempt in result.attempts]
        document["passes"] = [tables.statistics_row(row) for row in result.statistics]
        console.print_json(document)
    else:
        if not result.report["fits"]:
            # Without the heading, the table on stdout would look like success.
            console.print_error(result.report["reason"])
            console.out.print("with unlimited memory:")
        tables.print_report(result.report)
        if verbose:
            tables.print_passes(result.statistics)
            tables.print_attempts(result.attempts)
        console.print_warnings(result.report["warnings"])
    if report_path is not None:
        pages.write_page(report_path, page, as_json)
    if not result.report["fits"]:
        sys.exit(1)
