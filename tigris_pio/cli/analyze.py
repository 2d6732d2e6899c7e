"""`tigris analyze`: stages 1 to 6, nothing written but the report."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from tigris_pio.cli import console, tables
from tigris_pio.cli.options import (
    JSON,
    MODEL,
    backend_options,
    budget_options,
    check_model,
    check_output,
    compile_options,
)
from tigris_pio.compiler.pipeline import analyze as analyze_model
from tigris_pio.files import write_atomically
from tigris_pio.report.html import render_html


@click.command(short_help="Show how a model would run in the memory given.")
@MODEL
@budget_options(memory_required=False)
@backend_options
@JSON
@click.option("--report", "report_path", type=click.Path(), metavar="FILE.html", help="Also write a page with figures.")
@click.option("-v", "--verbose", is_flag=True, help="Also show what each of the thirteen passes did.")
def analyze(
    model: str,
    memory: str | None,
    flash: str | None,
    dims: tuple[str, ...],
    fixed: tuple[str, ...],
    states: tuple[str, ...],
    limits: tuple[str, ...],
    backend: str,
    chip: str,
    as_json: bool,
    report_path: str | None,
    verbose: bool,
) -> None:
    """Show how MODEL, an .onnx or .tflite file, would run in the memory given: stages, bands, peaks, traffic, flash.

    \b
    Examples:
      tigris analyze kws.onnx -m 64K
      tigris analyze detector.onnx -m 256K+8M -f 4M --report detector.html

    Exit status 1, and the smallest memory that works, when the model does not fit.
    """
    check_model(model)
    if report_path is not None:
        check_output("--report", report_path, model)
    options = compile_options(memory, flash, dims, backend=backend, chip=chip, limits=limits, fixed=fixed,
                              states=states)  # fmt: skip
    with console.progress(as_json) as progress:
        result = analyze_model(model, options, progress)
    if report_path is not None:
        write_atomically(Path(report_path), render_html(result).encode())
    if as_json:
        document = dict(result.report)
        document["passes"] = [tables.statistics_row(row) for row in result.statistics]
        console.print_json(document)
    else:
        if not result.report["fits"]:
            # What follows on stdout would otherwise look like success.
            console.print_error(result.report["reason"])
            console.out.print("with no limit:")
        tables.print_report(result.report)
        if verbose:
            tables.print_passes(result.statistics)
        console.print_warnings(result.report["warnings"])
        if report_path is not None:
            console.out.print(f"report: {escape(report_path)}")
    if not result.report["fits"]:
        sys.exit(1)
