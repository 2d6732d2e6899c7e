"""`tigris codegen`: writes a model as plain C."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
from rich.markup import escape

from tigris_pio.cli import console
from tigris_pio.cli.compile import dependencies
from tigris_pio.cli.options import CHIP, JSON, MODEL, STORAGE_OPTIONS, check_model, planning_options
from tigris_pio.compiler.codegen import LAYOUTS, WEIGHTS
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.files import write_if_changed


@click.command("codegen", short_help="Write a model as plain C that needs no runtime.")
@MODEL
@planning_options(True, *STORAGE_OPTIONS, CHIP)
@click.option("-o", "--output", required=True, type=click.Path(), metavar="DIR", help="Folder to write to.")
@click.option("--name", metavar="NAME", help="Prefix of file names and C names. Default: the model file's name.")
@click.option("--weights", type=click.Choice(WEIGHTS), default="c", show_default=True,
              help="c: weights are C constants. partition: weights are a binary file for a flash partition.")
@click.option("--layout", type=click.Choice(LAYOUTS), default="one", show_default=True,
              help="one: kernels in NAME.c. split: kernels in files that several models can share.")
@click.option("--depfile", type=click.Path(), metavar="OUT.d", help="Also write a make rule that lists all inputs.")
@click.option("-q", "--quiet", is_flag=True, help="Print warnings and errors only.")
@console.WIDE
@JSON
def codegen(
    model: str,
    compiling: Callable[..., CompileOptions],
    output: str,
    name: str | None,
    weights: str,
    layout: str,
    depfile: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write MODEL, an .onnx or .tflite file, as C: NAME.c and NAME.h compile without other files, and their outputs
    equal the plan's byte for byte.

    \b
    Examples:
      tigris codegen kws.onnx -m 64K -o src --name kws
      tigris codegen detector.onnx -m 256K+8M -o src --weights partition

    If the model does not fit or has an unsupported operator, no file is written and the exit status is 1.
    """
    check_model(model)
    options = compiling(name=name)
    options = replace(options, backend="portable") if options.chip else options
    with console.progress(as_json or quiet) as progress:
        result = back(front(model, options, progress), options, progress)
        generated = result.codegen(output, name, weights, layout, options.chip)
    if depfile is not None:
        rule = dependencies(Path(output) / f"{generated.name}.c", Path(model))
        write_if_changed(Path(depfile), rule.encode("utf-8", "surrogateescape"))
    paths = {file: str(Path(output) / file) for file in generated.files}
    warnings = [*result.report["warnings"], *generated.notes]
    if as_json:
        own = {"name": generated.name, "files": list(paths.values()), "fast_bytes": generated.fast_bytes,
               "slow_bytes": generated.slow_bytes}  # fmt: skip
        console.print_json(result.report | {"warnings": warnings, "c": own})
        return
    console.print_warnings(warnings)
    if not quiet:
        for file, path in paths.items():
            console.out.print(f"{escape(path)}, {len(generated.files[file])} bytes")
        console.out.print(f"fast memory: {generated.fast_bytes} bytes, slow memory: {generated.slow_bytes} bytes")
