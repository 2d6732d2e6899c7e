"""`tigris verify`: compiles a model, runs the plan on this machine and compares every layer with a reference."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.text import Text

from tigris_pio.cli import console, pages
from tigris_pio.cli.options import BACKEND_OPTIONS, JSON, MODEL, STORAGE_OPTIONS, check_model, planning_options
from tigris_pio.compiler.load.model import is_tflite
from tigris_pio.compiler.options import UNLIMITED, CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Progress, back, front
from tigris_pio.errors import UsageError
from tigris_pio.fitted import Column, FittedTable
from tigris_pio.host import Session
from tigris_pio.report.verified import own_text, verified_page
from tigris_pio.text import counted
from tigris_pio.verify.compare import Comparison, Layer, compare, random_inputs, read_samples
from tigris_pio.verify.hop import HopComparison, compare_hop
from tigris_pio.verify.reference import open_reference


@click.command(short_help="Compare a compiled model with its reference, layer by layer.")
@MODEL
@planning_options(False, *STORAGE_OPTIONS, *BACKEND_OPTIONS)
@click.option("--samples", type=click.IntRange(1, 10000), metavar="N", help="Number of inputs. Default: 8.")
@click.option("--data", type=click.Path(), metavar="X.npz", help="Arrays by input name instead of random inputs.")
@click.option("--seed", default=0, show_default=True, metavar="N", help="Seed of the random inputs.")
@pages.REPORT
@console.WIDE
@JSON
def verify(
    model: str,
    compiling: Callable[..., CompileOptions],
    samples: int | None,
    data: str | None,
    seed: int,
    report_path: str | None,
    as_json: bool,
) -> None:
    """Compile MODEL, run the plan on this machine and compare each layer with a reference: onnxruntime for ONNX,
    TensorFlow Lite Micro (the package tflite-micro) for .tflite.

    "Own error" is a layer's error if onnxruntime computes it from the plan's own inputs, before rounding: about 0.5
    steps for int8. int8 layers of a .tflite must be bit-exact: 0.0 steps. The table marks each layer that differs.

    The command also runs the model without bands and requires identical output bytes. For a model with states the
    samples are one sequence; onnxruntime gets the plan's states before each step.

    With --backend the plan is compiled for that library, but runs on the portable kernels, which give identical
    results.

    With --hop the layers are compared on a whole window. Then the plan gets a random signal hop by hop, and its outputs
    must equal those of whole windows byte for byte.

    Exit status 1 if a layer or an output differs.

    \b
    Examples:
      tigris verify kws.onnx -m 16K --samples 32
      tigris verify kws.onnx -m 16K --report kws.html
    """
    check_model(model)
    pages.check_report(report_path, model, data)
    options = compiling()
    with console.progress(as_json) as progress:
        start = front(model, options, progress)
        compiled = sliding = back(start, options, progress)
        hop = options.hop
        if hop is not None:
            options = dataclasses.replace(options, hop=None, budget=UNLIMITED)
            start = front(model, options, progress)
            compiled = back(start, options, progress)
        whole = back(start, dataclasses.replace(options, budget=UNLIMITED, compress="none"), progress)
        given = _samples(compiled.data, data, samples, seed)
        comparison, against = _compared(Path(model), compiled, whole, options, given, progress)
        slid = None
        if hop is not None:
            progress("comparing overlapping windows with whole ones")
            slid = compare_hop(sliding, whole, len(given), seed)
    if report_path is not None:
        pages.write_page(report_path, verified_page(compiled, comparison, against, pages.provenance()), as_json)
    if as_json:
        console.print_json(_document(compiled.report["model"], comparison, against, slid))
    else:
        _print(comparison, against, slid)
    if not _passed(comparison, slid):
        sys.exit(1)


def _compared(model: Path, compiled: Compiled, whole: Compiled, options: CompileOptions,
              samples: list[dict[str, Any]], progress: Progress) -> tuple[Comparison, str]:
    """The comparison with the model's reference, and the reference's name."""
    if is_tflite(model):
        from tigris_pio.verify.tflite import compare_tflite  # noqa: PLC0415 (loads an interpreter)

        progress("comparing with TensorFlow Lite Micro")
        return compare_tflite(compiled, whole, model, options, samples)
    reference = open_reference(model, options.dims, options.fixed, options.states)
    progress("comparing with onnxruntime")
    return compare(compiled, whole, reference, samples), "onnxruntime"


def _passed(comparison: Comparison, slid: HopComparison | None) -> bool:
    return comparison.passed and (slid is None or slid.passed)


def _samples(plan: bytes, data: str | None, count: int | None, seed: int) -> list[dict[str, Any]]:
    with Session(plan) as session:
        if data is None:
            return [random_inputs(session, seed + i) for i in range(count or 8)]
        try:
            return read_samples(Path(data), session, count)
        except (OSError, ValueError, KeyError) as error:
            names = ", ".join(io.name for io in session.inputs)
            raise UsageError(f"--data {data}: {error}; it must be an .npz with arrays named {names}") from error


def _document(model: str, comparison: Comparison, against: str, slid: HopComparison | None) -> dict[str, Any]:
    first = comparison.first_different
    document = {
        "model": model,
        "reference": against,
        "passed": _passed(comparison, slid),
        "samples": comparison.samples,
        "bands_identical": comparison.bands_identical,
        "first_different": first.name if first else None,
        "different": [layer.name for layer in comparison.different],
        "outputs": [vars(layer) for layer in comparison.outputs],
        "layers": [vars(layer) for layer in comparison.layers],
    }
    return document if slid is None else {**document, "hop": dataclasses.asdict(slid)}


def _print(comparison: Comparison, against: str, slid: HopComparison | None) -> None:
    columns = (Column("layer", is_name=True), Column("operator"), Column("strategy", detail=3),
               Column("cosine", True, detail=1), Column("max difference", True, detail=2), Column("in steps", True),
               Column("own error", True), Column(""))  # fmt: skip
    rows = [_row(layer) for layer in (*comparison.layers, *comparison.outputs)]
    console.out.print(FittedTable(f"{counted(comparison.samples, 'sample')} against {against}", columns, rows))
    same = "identical" if comparison.bands_identical else "[bold red]different[/]"
    console.out.print(f"outputs with bands and without: {same}")
    for layer in comparison.different:
        by = f"own error {own_text(layer)}" if own_text(layer) else f"by {layer.max_difference:.3g}"
        console.out.print(f"differs: [bold]{escape(layer.name)}[/] ({layer.kind}), {by}", soft_wrap=True)
    if slid is not None:
        which = f"{len(slid.different)} different, the first run {slid.different[0]}" if slid.different else "identical"
        runs = f"{counted(slid.runs, 'run')} on overlapping windows against whole ones, from run {slid.first} on"
        console.out.print(f"{runs}: {which}", soft_wrap=True)
    console.out.print("verify: [green]passed[/]" if _passed(comparison, slid) else "verify: [bold red]failed[/]")


def _row(layer: Layer) -> tuple[str | Text, ...]:
    steps = "" if layer.steps is None else f"{layer.steps:.1f}"
    mark = Text("differs" if layer.differs else "", style="bold red")
    numbers = (f"{layer.cosine:.6f}", f"{layer.max_difference:.3g}", steps, own_text(layer))
    return (layer.name, layer.kind, layer.strategy, *numbers, mark)
