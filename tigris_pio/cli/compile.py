"""`tigris compile`: writes a model's `.tgrs` plan and, on request, its C header, depfile and report page."""

from collections.abc import Callable
from pathlib import Path

import click
from rich.markup import escape

from tigris_pio import signing
from tigris_pio.cli import console, pages, tables
from tigris_pio.cli.options import (
    BACKEND_OPTIONS,
    CORES,
    JSON,
    MODEL,
    SECURITY_VERSION,
    SIGN,
    STORAGE_OPTIONS,
    check_model,
    check_output,
    planning_options,
)
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.compiler.load.onnx.external_data import locations
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.errors import UsageError
from tigris_pio.files import write_atomically, write_if_changed


@click.command("compile", short_help="Compile a model to a .tgrs plan.")
@MODEL
@planning_options(True, *STORAGE_OPTIONS, *BACKEND_OPTIONS, CORES)
@click.option("-o", "--output", type=click.Path(), metavar="OUT.tgrs",
              help="The plan to write. Default: the model's name with .tgrs, in the current folder.")
@click.option("--header", type=click.Path(), metavar="OUT.h", help="Also write a C header with the model's constants.")
@click.option("--depfile", type=click.Path(), metavar="OUT.d", help="Also write a make rule that lists all inputs.")
@click.option("--name", metavar="NAME", help="The model's name in the plan. Default: the file's name.")
@SIGN
@SECURITY_VERSION
@pages.REPORT
@pages.NO_SWEEP
@click.option("-q", "--quiet", is_flag=True, help="Print warnings and errors only.")
@console.WIDE
@JSON
def compile_command(
    model: str,
    compiling: Callable[..., CompileOptions],
    output: str | None,
    header: str | None,
    depfile: str | None,
    name: str | None,
    sign_key: Path | None,
    security_version: int | None,
    report_path: str | None,
    no_sweep: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compile MODEL, an .onnx or .tflite file, to a plan, which the runtime executes in place.

    \b
    Examples:
      tigris compile kws.onnx -m 64K -o kws.tgrs
      tigris compile detector.onnx -m 256K+8M -f 4M --xip -o detector.tgrs --report detector.html

    If the model does not fit or has an unsupported operator, no file is written and the exit status is 1.
    """
    check_model(model)
    output = output or f"{Path(model).stem}.tgrs"
    check_output("-o", output, model, header, depfile, ending=".tgrs")
    for option, path in (("--header", header), ("--depfile", depfile)):
        if path is not None:
            check_output(option, path, model)
    pages.check_report(report_path, model, output, header, depfile)
    if security_version is not None and sign_key is None:
        raise UsageError("--security-version: is for signed plans; add --sign KEY.pem")
    key = None if sign_key is None else signing.read_key(sign_key)
    options = compiling(name=name)
    with console.progress(as_json or quiet) as progress:
        start = front(model, options, progress)
        result = back(start, options, progress)
        if report_path is not None:
            page = pages.compilation_page(start, options, result, no_sweep, progress)
    data, public_key = result.data, ""
    if key is not None:
        public_key = signing.c_public_key(key)
        data = signing.sign(data, key, security_version)
    text = render_model_header(result.plan, data, public_key).encode()
    write_atomically(Path(output), data)
    if header is not None:
        write_if_changed(Path(header), text)
    if depfile is not None:
        write_if_changed(Path(depfile), dependencies(Path(output), Path(model)).encode("utf-8", "surrogateescape"))
    if report_path is not None:
        pages.write_page(report_path, page, as_json or quiet)
    if as_json:
        console.print_json(result.report)
        return
    if not quiet:
        tables.print_report(result.report)
    console.print_warnings(result.report["warnings"])
    if not quiet:
        console.out.print(f"plan: {escape(output)}, {len(data)} bytes")


def dependencies(output: Path, model: Path) -> str:
    """A make rule: the output depends on the model and on the files with its external weights."""
    read = [model.absolute(), *(model.absolute().parent / name for name in locations(model))]
    return f"{_escaped(output)}: {' '.join(map(_escaped, read))}\n"


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "/").replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
