"""`tigris quantize`: a float model and samples become an int8 model, and what that cost."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from tigris_pio.cli import console
from tigris_pio.cli.options import JSON, LIMIT, check_model, check_output, compile_options
from tigris_pio.compiler.instructions.predict import instructions
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UsageError
from tigris_pio.files import write_atomically
from tigris_pio.fitted import Column, FittedTable
from tigris_pio.quantize.calibrate import METHODS
from tigris_pio.quantize.images import Normalisation
from tigris_pio.quantize.workflow import Quantised, QuantizeOptions, encode, quantise
from tigris_pio.sizes import format_size
from tigris_pio.text import counted


@click.command(short_help="Make an int8 model of a float32 one, with calibration data.")
@click.argument("model", type=click.Path(), metavar="MODEL.onnx")
@click.option("--data", metavar="X.npz", help="Samples: arrays by input name, [N, …] each; an .npy for an only input.")
@click.option("--images", metavar="FOLDER", help="Samples: pictures, resized to the input; subfolders are classes.")
@click.option("-o", "--output", type=click.Path(), metavar="OUT.onnx",
              help="The int8 model to write; without it the model's name with _int8.onnx, in this folder.")
@click.option("--labels", metavar="NAME", help="Array of --data with each sample's class. Default: labels, label or y.")
@click.option("--held-out", type=click.IntRange(1), metavar="N", help="Samples to measure with. Default: a quarter.")
@click.option("--calibration", type=click.Choice(list(METHODS)), default="minmax", show_default=True,
              help="How ranges are taken from the samples.")  # fmt: skip
@click.option("--percentile", type=float, metavar="P", help="Share of values inside the range. Default: 99.999.")
@click.option("--keep-float", multiple=True, metavar="NODE", help="Compute this layer in float32. Repeatable.")
@click.option("--int16", multiple=True, metavar="NODE", help="Give this layer int16 activations. Repeatable.")
@click.option("--like", metavar="OLD.onnx", type=click.Path(),
              help="Give inputs and outputs the scales of this int8 model, so that its firmware runs the new one.")
@click.option("--range", "ranges", multiple=True, metavar="NAME=MIN:MAX",
              help="Numbers that an input or output is to hold, such as accel=-6.5:6.5. Repeatable.")
@click.option("--auto", "tolerance", type=float, metavar="TOLERANCE",
              help="Keep as few layers finer as let the outputs' error be at most this, such as 0.02.")  # fmt: skip
@click.option("--trials", type=click.IntRange(1, 10000), default=40, show_default=True, help="Most trials of --auto.")
@click.option("--image-mean", default="0", show_default=True, metavar="M[,M,M]", help="Pixels are (p / 255 - M) / S.")
@click.option("--image-std", default="1", show_default=True, metavar="S[,S,S]", help="See --image-mean.")
@click.option("-m", "--mem", "memory", metavar="FAST[+SLOW]", help="Memory that both models are compiled for.")
@click.option("-f", "--flash", metavar="SIZE", help="Flash that their plans may take.")
@click.option("--dim", "dims", multiple=True, metavar="NAME=VALUE", help="Set a free dimension of the model.")
@click.option("--set", "fixed", multiple=True, metavar="NAME=VALUE", help="Make an input of the model a constant.")
@LIMIT
@console.WIDE
@JSON
def quantize(
    model: str,
    data: str | None,
    images: str | None,
    output: str | None,
    labels: str | None,
    held_out: int | None,
    calibration: str,
    percentile: float | None,
    keep_float: tuple[str, ...],
    int16: tuple[str, ...],
    like: str | None,
    ranges: tuple[str, ...],
    tolerance: float | None,
    trials: int,
    image_mean: str,
    image_std: str,
    memory: str | None,
    flash: str | None,
    dims: tuple[str, ...],
    fixed: tuple[str, ...],
    limits: tuple[str, ...],
    as_json: bool,
) -> None:
    """Quantise the float32 MODEL.onnx to int8 with calibration data, and print the loss of each layer.

    Weights become int8 per channel, biases int32, activations int8 with a zero point, or int16 where --int16 says so;
    inputs and outputs stay float32 in the ONNX file, and are integers on the board. Part of the samples is held out: on
    them each layer and the outputs are compared with the float model. "By itself" is what a layer loses when all before
    it is float. An error of outputs is the root of the mean square of the difference, as a share of the float outputs'.
    --auto tries int16 first, then float.

    \b
    Examples:
      tigris quantize kws.onnx --data samples.npz -o kws_int8.onnx
      tigris quantize kws.onnx --data samples.npz -o kws_int8.onnx --int16 conv
      tigris quantize kws.onnx --data samples.npz -o kws_int8.onnx --auto 0.02

    Exit status 1 when --auto finds no layers that meet the tolerance; the nearest model is written all the same.
    """
    check_model(model)
    output = output or f"{Path(model).stem}_int8.onnx"
    check_output("-o", output, model, data, ending=".onnx")
    _check(data, images, labels, calibration, percentile, tolerance)
    how = Normalisation(_numbers("--image-mean", image_mean), _numbers("--image-std", image_std, above_zero=True))
    options = QuantizeOptions(data, images, how, labels, held_out, calibration, percentile, keep_float, int16,
                              like, ranges, tolerance, trials)  # fmt: skip
    compiling = compile_options(memory, flash, dims, limits=limits, fixed=fixed)
    with _bars(as_json) as steps:
        result = quantise(model, options, compiling, steps)
    write_atomically(Path(output), encode(result))
    if as_json:
        console.print_json(_document(result, options, output))
    else:
        _print(result, options, output)
    if result.found is not None and not result.found.met:
        sys.exit(1)


def _check(data: str | None, images: str | None, labels: str | None, calibration: str, percentile: float | None,
           tolerance: float | None) -> None:
    """What options say that does not fit together."""
    if (data is None) == (images is None):
        what = "no samples" if data is None else "--data with --images"
        raise UsageError(f"{what}: give --data SAMPLES.npz or --images FOLDER, one of them")
    if labels is not None and data is None:
        raise UsageError("--labels: names an array of --data; classes of --images are its subfolders")
    if percentile is not None and (calibration != "percentile" or not 50 < percentile <= 100):
        raise UsageError(f"--percentile {percentile:g}: is a number over 50 up to 100, with --calibration percentile")
    if tolerance is not None and not 0 < tolerance < 1:
        raise UsageError(f"--auto {tolerance:g}: is a share of the outputs between 0 and 1, like 0.02")


def _numbers(name: str, text: str, above_zero: bool = False) -> tuple[float, ...]:
    try:
        values = tuple(float(item) for item in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) and (value > 0 or not above_zero) for value in values):
        raise UsageError(f"{name} {text}: is not a {'positive ' * above_zero}number, or one for each channel like "
                         "0.5,0.5,0.5")
    return values


@contextmanager
def _bars(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal's stderr that says what is being done; nothing in a pipe."""
    if quiet or not console.err.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console.err, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total or None)


def _document(result: Quantised, options: QuantizeOptions, output: str) -> dict[str, Any]:
    found = result.found
    return {
        "model": result.before.report["model"],
        "output": output,
        "calibration": options.method,
        "samples": {"calibration": len(result.samples.calibration), "held_out": len(result.samples.held_out)},
        "error": result.error,
        "accuracy": {"float": result.float_accuracy, "int8": result.int8_accuracy},
        "outputs": [vars(item) for item in result.outputs],
        "outputs_from": "plan" if result.on_runtime else "onnxruntime",
        "layers": [{**vars(layer), "hurts": layer.hurts} for layer in result.layers],
        "hurting": [layer.name for layer in result.layers if layer.hurts],
        "kept_float": [layer.name for layer in result.kept],
        "int16": [layer.name for layer in result.fine],
        "float_ops": result.float_ops,
        "before": _cost(result.before),
        "after": _cost(result.after),
        "auto": None if found is None else {
            "tolerance": options.tolerance, "met": found.met, "error": found.error, "trials": found.trials,
            "complete": found.complete,
        },
        "warnings": list(result.warnings),
    }  # fmt: skip


def _cost(compiled: Compiled) -> dict[str, Any]:
    """Memory, flash and arithmetic of a plan."""
    report, program = compiled.report, compiled.plan.program
    return {
        "ram": report["memory"]["total_ram"], "flash": report["flash"]["plan"], "macs": report["compute"]["macs"],
        "instructions": {"without_fpu": instructions(program, fpu=False), "with_fpu": instructions(program, fpu=True)},
        "fits": report["fits"], "reason": report.get("reason"),
    }  # fmt: skip


def _print(result: Quantised, options: QuantizeOptions, output: str) -> None:
    samples = result.samples
    console.print_warnings(list(result.warnings))
    columns = (Column("layer", is_name=True), Column("operator"), Column("", detail=1),
               Column("cosine", True, detail=3), Column("largest error, steps", True, detail=2),
               Column("by itself: cosine", True), Column("steps", True), Column(""))  # fmt: skip
    rows = [
        (layer.name, layer.kind, layer.dtype, f"{layer.cosine:.6f}", _steps(layer.steps), f"{layer.own_cosine:.6f}",
         _steps(layer.own_steps), Text("hurts" if layer.hurts else "", style="bold red"))
        for layer in result.layers
    ]  # fmt: skip
    held_out = counted(len(samples.held_out), "held-out sample")
    console.out.print(FittedTable(f"each layer against float, on {held_out}", columns, rows))
    _print_outputs(result)
    _print_costs(result)
    for layer in result.layers:
        if layer.hurts:
            name, finer = escape(layer.name), layer.dtype == "int16"
            option = f"--keep-float {name} keeps it in float" if finer else f"--int16 {name} gives it int16 activations"
            console.out.print(f"hurts: [bold]{name}[/] ({layer.kind}); {option}", soft_wrap=True)
    if result.kept:
        console.out.print("kept in float: " + ", ".join(escape(layer.name) for layer in result.kept), soft_wrap=True)
    if result.fine:
        console.out.print("in int16: " + ", ".join(escape(layer.name) for layer in result.fine), soft_wrap=True)
    if result.found is not None:
        _print_search(result, options)
    taken = counted(len(samples.calibration), "sample")
    console.out.print(f"ranges by {options.method} from {taken}; wrote {escape(output)}", soft_wrap=True)


def _steps(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _print_outputs(result: Quantised) -> None:
    whose = "the plan" if result.on_runtime else "onnxruntime"
    for item in result.outputs:
        same = "" if item.agreement is None else f", the same class in {100 * item.agreement:.1f} %"
        text = f"cosine {item.cosine:.6f}, error {100 * item.error:.2f} %, largest difference {item.max_difference:.3g}"
        console.out.print(f"output {escape(item.name)}: {text}{same}; by {whose}", soft_wrap=True)
    if result.float_accuracy is not None and result.int8_accuracy is not None:
        rates = f"float {100 * result.float_accuracy:.1f} %, int8 {100 * result.int8_accuracy:.1f} %"
        console.out.print(f"accuracy: {rates} of {counted(len(result.samples.held_out), 'held-out sample')}")


def _print_costs(result: Quantised) -> None:
    before, after = _cost(result.before), _cost(result.after)
    for name, key in (("RAM", "ram"), ("flash", "flash")):
        console.out.print(f"{name}: {format_size(before[key])} in float, {format_size(after[key])} in int8")
    console.out.print(f"multiply-accumulates: {before['macs']:,} in float, {after['macs']:,} in int8")
    soft, fpu = (_rounded(before["instructions"][key]) for key in ("without_fpu", "with_fpu"))
    int8 = _rounded(after["instructions"]["without_fpu"])
    console.out.print(f"instructions, estimated: {soft} in float ({fpu} with an FPU), {int8} in int8", soft_wrap=True)
    for which, cost in (("float", before), ("int8", after)):
        if not cost["fits"]:
            console.out.print(f"[yellow]the {which} model does not fit:[/] {escape(cost['reason'])}", soft_wrap=True)


def _rounded(count: int) -> str:
    """An estimate to two digits."""
    return f"{float(f'{count:.1e}'):,.0f}"


def _print_search(result: Quantised, options: QuantizeOptions) -> None:
    found = result.found
    assert found is not None
    done = "" if found.complete else " (all that --trials allows)"
    if found.met:
        where = "int16" if set(found.kept) & set(result.fine) else "float"
        layers = counted(len(found.kept), "layer")
        text = f"--auto {options.tolerance:g}: met with {layers} in {where}, error {found.error:.4f}"
        console.out.print(f"[green]{text}[/], after {counted(found.trials, 'trial')}{done}")
    else:
        text = f"--auto {options.tolerance:g}: not met; the nearest is error {found.error:.4f}"
        console.out.print(f"[bold red]{text}[/], after {counted(found.trials, 'trial')}{done}")
