"""`tigris quantize`: makes an int8 model of a float32 model and samples, and prints each layer's error."""

import dataclasses
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.text import Text

from tigris_pio.cli import console
from tigris_pio.cli.options import JSON, LIMIT, check_model, check_output, compiler_options
from tigris_pio.compiler.cost.model import instructions
from tigris_pio.compiler.options import CompileOptions
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
@click.option("--data", metavar="X.npz", help="Calibration data: an array [N, …] per input, or an .npy for one input.")
@click.option("--images", metavar="FOLDER", help="Calibration images, resized to the input; subfolders are classes.")
@click.option("-o", "--output", type=click.Path(), metavar="OUT.onnx",
              help="The int8 model to write. Default: the model's name with _int8.onnx, in the current folder.")
@click.option("--labels", metavar="NAME", help="Array of --data with each sample's class. Default: labels, label or y.")
@click.option("--held-out", type=click.IntRange(1), metavar="N", help="Samples to measure with. Default: a quarter.")
@click.option("--calibration", "method", type=click.Choice(list(METHODS)), default="minmax", show_default=True,
              help="Method that derives ranges from the calibration data. percentile uses --percentile.")  # fmt: skip
@click.option("--percentile", type=float, metavar="P", help="Percent of values inside the range. Default: 99.999.")
@click.option("--keep-float", multiple=True, metavar="NODE", help="Compute this layer in float32. Repeatable.")
@click.option("--int16", multiple=True, metavar="NODE", help="Give this layer int16 activations. Repeatable.")
@click.option("--weights", type=click.Choice(["int8", "int4", "auto"]), default="int8", show_default=True,
              help="int4 takes half the flash of int8. auto: int4 in layers whose own cosine stays above 0.99.")
@click.option("--like", metavar="OLD.onnx", type=click.Path(),
              help="Give inputs and outputs the scales of this int8 model, so that its firmware runs the new one.")
@click.option("--range", "ranges", multiple=True, metavar="NAME=MIN:MAX",
              help="Range of an input or output, such as accel=-6.5:6.5. Repeatable.")
@click.option("--auto", "tolerance", type=float, metavar="TOLERANCE",
              help="Keep the fewest layers in int16 or float32 that meet this output error, such as 0.02.")
@click.option("--trials", type=click.IntRange(1, 10000), default=40, show_default=True, metavar="N",
              help="Largest number of models that --auto tries.")  # fmt: skip
@click.option("--image-mean", default="0", show_default=True, metavar="M[,M,M]", help="Input = (pixel / 255 - M) / S.")
@click.option("--image-std", default="1", show_default=True, metavar="S[,S,S]", help="The S of --image-mean.")
@compiler_options(
    click.option("-m", "--mem", "memory", metavar="FAST[+SLOW]", help="Memory for which both models are compiled."),
    click.option("-f", "--flash", metavar="SIZE", help="Largest size of their plans in flash."),
    click.option("--dim", "dims", multiple=True, metavar="NAME=VALUE", help="Set a free dimension of the model."),
    click.option("--set", "fixed", multiple=True, metavar="NAME=VALUE", help="Make an input of the model a constant."),
    LIMIT,
)
@console.WIDE
@JSON
def quantize(
    model: str,
    output: str | None,
    image_mean: str,
    image_std: str,
    compiling: Callable[..., CompileOptions],
    as_json: bool,
    **given: Any,
) -> None:
    """Quantise the float32 MODEL.onnx to int8 with calibration data, and print the loss of each layer.

    Weights become int8 per channel, or int4 with --weights, biases int32, and activations int8 with a zero point, or
    int16 with --int16. Inputs and outputs stay float32 in the ONNX file; on the board they are integers.

    Errors are measured on samples that calibration does not see. A layer's own error is its error if it gets the float
    model's values. The error of an output is the RMS of the difference divided by the RMS of the float output.

    --auto tries int16 first, then float32.

    \b
    Examples:
      tigris quantize kws.onnx --data samples.npz -o kws_int8.onnx
      tigris quantize kws.onnx --data samples.npz -o kws_int8.onnx --int16 conv
      tigris quantize kws.onnx --data samples.npz -o kws_int8.onnx --auto 0.02

    If --auto does not meet the tolerance, the exit status is 1 and the model with the smallest error is written.
    """
    check_model(model)
    output = output or f"{Path(model).stem}_int8.onnx"
    check_output("-o", output, model, given["data"], ending=".onnx")
    options = QuantizeOptions(**given)
    _check(options)
    how = Normalisation(_numbers("--image-mean", image_mean), _numbers("--image-std", image_std, above_zero=True))
    options = dataclasses.replace(options, normalisation=how)
    compiled_for = compiling()
    with console.bar(as_json) as steps:
        result = quantise(model, options, compiled_for, steps)
    write_atomically(Path(output), encode(result))
    if as_json:
        console.print_json(_document(result, options, output))
    else:
        _print(result, options, output)
    if result.found is not None and not result.found.met:
        sys.exit(1)


def _check(given: QuantizeOptions) -> None:
    """Raises UsageError if options contradict each other or a number is out of range."""
    if (given.data is None) == (given.images is None):
        what = "no calibration data" if given.data is None else "--data and --images exclude each other"
        raise UsageError(f"{what}: give either --data SAMPLES.npz or --images FOLDER")
    if given.labels is not None and given.data is None:
        raise UsageError("--labels: names an array of --data; the classes of --images are its subfolders")
    share, error = given.percentile, given.tolerance
    if share is not None and (given.method != "percentile" or not 50 < share <= 100):
        raise UsageError(f"--percentile {share:g}: give 50 to 100, and --calibration percentile")
    if error is not None and not 0 < error < 1:
        raise UsageError(f"--auto {error:g}: give a relative error between 0 and 1, like 0.02")


def _numbers(name: str, text: str, above_zero: bool = False) -> tuple[float, ...]:
    try:
        values = tuple(float(item) for item in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) and (value > 0 or not above_zero) for value in values):
        raise UsageError(f"{name} {text}: give one{' positive' * above_zero} number, or one per channel: 0.5,0.5,0.5")
    return values


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
        "layers": [{**vars(layer), "sensitive": layer.is_sensitive} for layer in result.layers],
        "sensitive": [layer.name for layer in result.layers if layer.is_sensitive],
        "kept_float": [layer.name for layer in result.kept],
        "int16": [layer.name for layer in result.fine],
        "int4_weights": [layer.name for layer in result.narrow],
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
    """RAM and flash in bytes, MACs and instructions of a plan, for JSON."""
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
               Column("own error: cosine", True), Column("steps", True), Column(""))  # fmt: skip
    rows = [
        (layer.name, layer.kind, layer.dtype, f"{layer.cosine:.6f}", _steps(layer.steps), f"{layer.own_cosine:.6f}",
         _steps(layer.own_steps), Text("sensitive" if layer.is_sensitive else "", style="bold red"))
        for layer in result.layers
    ]  # fmt: skip
    held_out = counted(len(samples.held_out), "held-out sample")
    console.out.print(FittedTable(f"each layer compared with the float model, on {held_out}", columns, rows))
    _print_outputs(result)
    _print_costs(result)
    for layer in result.layers:
        if layer.is_sensitive:
            name, finer = escape(layer.name), layer.dtype == "int16"
            option = f"--keep-float {name} keeps it in float" if finer else f"--int16 {name} gives it int16 activations"
            console.out.print(f"sensitive: [bold]{name}[/] ({layer.kind}); {option}", soft_wrap=True)
    if result.kept:
        console.out.print("kept in float: " + ", ".join(escape(layer.name) for layer in result.kept), soft_wrap=True)
    if result.fine:
        console.out.print("in int16: " + ", ".join(escape(layer.name) for layer in result.fine), soft_wrap=True)
    if result.narrow:
        console.out.print("weights in int4: " + ", ".join(escape(layer.name) for layer in result.narrow),
                          soft_wrap=True)
    if result.found is not None:
        _print_search(result, options)
    used = counted(len(samples.calibration), "sample")
    console.out.print(f"calibrated by {options.method} with {used}; wrote {escape(output)}", soft_wrap=True)


def _steps(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _print_outputs(result: Quantised) -> None:
    source = "the plan" if result.on_runtime else "onnxruntime"
    for item in result.outputs:
        same = "" if item.agreement is None else f", the same class in {100 * item.agreement:.1f} %"
        text = f"cosine {item.cosine:.6f}, error {100 * item.error:.2f} %, largest difference {item.max_difference:.3g}"
        console.out.print(f"output {escape(item.name)}: {text}{same}; computed by {source}", soft_wrap=True)
    if result.float_accuracy is not None and result.int8_accuracy is not None:
        rates = f"float {100 * result.float_accuracy:.1f} %, int8 {100 * result.int8_accuracy:.1f} %"
        console.out.print(f"accuracy: {rates}, on {counted(len(result.samples.held_out), 'held-out sample')}")


def _print_costs(result: Quantised) -> None:
    before, after = _cost(result.before), _cost(result.after)
    for name, key in (("RAM", "ram"), ("flash", "flash")):
        console.out.print(f"{name}: {format_size(before[key])} in float, {format_size(after[key])} in int8")
    console.out.print(f"multiply-accumulates: {before['macs']:,} in float, {after['macs']:,} in int8")
    soft, fpu = (_rounded(before["instructions"][key]) for key in ("without_fpu", "with_fpu"))
    int8 = _rounded(after["instructions"]["without_fpu"])
    console.out.print(f"estimated instructions: {soft} in float ({fpu} with an FPU), {int8} in int8", soft_wrap=True)
    for which, cost in (("float", before), ("int8", after)):
        if not cost["fits"]:
            console.out.print(f"[yellow]the {which} model does not fit:[/] {escape(cost['reason'])}", soft_wrap=True)


def _rounded(count: int) -> str:
    """An estimate with two significant digits."""
    return f"{float(f'{count:.1e}'):,.0f}"


def _print_search(result: Quantised, options: QuantizeOptions) -> None:
    found = result.found
    assert found is not None
    done = "" if found.complete else " (the limit of --trials)"
    if found.met:
        where = "int16" if set(found.kept) & set(result.fine) else "float"
        layers = counted(len(found.kept), "layer")
        text = f"--auto {options.tolerance:g}: met with {layers} in {where}, error {found.error:.4f}"
        console.out.print(f"[green]{text}[/], after {counted(found.trials, 'trial')}{done}")
    else:
        text = f"--auto {options.tolerance:g}: not met; the smallest error is {found.error:.4f}"
        console.out.print(f"[bold red]{text}[/], after {counted(found.trials, 'trial')}{done}")
