"""`tigris inspect`: lists the contents of a model or a plan."""

from pathlib import Path
from typing import Any

import click

from tigris_pio import signing
from tigris_pio.cli import console
from tigris_pio.cli.options import LIMIT, parse_limits
from tigris_pio.errors import ToolError
from tigris_pio.files import read_named
from tigris_pio.fitted import Column, Facts, FittedTable
from tigris_pio.format.describe import describe_plan
from tigris_pio.format.enums import SignatureAlgorithm
from tigris_pio.format.reader import is_plan, read_plan
from tigris_pio.sizes import format_size
from tigris_pio.text import counted, visible_name


@click.command(short_help="List inputs, outputs and operators of a model or a plan.")
@click.argument("file", type=click.Path(), metavar="FILE")
@LIMIT
@console.WIDE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")
def inspect(file: str, limits: tuple[str, ...], as_json: bool) -> None:
    """List the inputs, outputs and operators of FILE. It is a model or a .tgrs plan; a plan also has stages and memory.

    \b
    Examples:
      tigris inspect kws.onnx
      tigris inspect kws.tgrs --json
    """
    data = read_named(Path(file), "an .onnx or .tflite model or a .tgrs plan")
    if is_plan(data) or file.endswith(".tgrs"):
        _check_with_runtime(data)
        plan, trailer = read_plan(data), signing.split(data)[1]
        document = describe_plan(plan)
        if trailer is not None:
            document["signature"] = SignatureAlgorithm(trailer.algorithm).name.lower()
            document["security_version"] = plan.header.security_version
    else:
        from tigris_pio.compiler.load.describe import describe_model  # noqa: PLC0415  (plans need no onnx)

        document = describe_model(Path(file), parse_limits(limits))
    if as_json:
        console.print_json(document)
    else:
        _print(document)


def _check_with_runtime(data: bytes) -> None:
    """Opens the plan with the C loader, which refuses the same plans as a board."""
    from tigris_pio.host import Session, library  # noqa: PLC0415  (models need no host runtime)

    try:
        library.library_path()
    except ToolError as error:
        console.print_warnings([f"the runtime's checks of the plan were left out: {error}"])
        return
    with Session(data):
        pass


def _print(document: dict[str, Any]) -> None:
    single = ((key, value) for key, value in document.items() if not isinstance(value, list))
    rows = [(key.replace("_", " "), _fact(key, value)) for key, value in single]
    console.out.print(Facts(rows))
    for key in ("inputs", "outputs", "states", "stages", "operators"):
        rows_of = document.get(key)
        if rows_of:
            console.out.print(_table(key, rows_of))


def _fact(key: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_fact(key, item)}" for name, item in value.items())
    if key in ("memory", "bytes", "weights_bytes") and value >= 1024:
        return f"{value} ({format_size(value)})"
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.8g}"
    if isinstance(value, (list, tuple)):
        return ("x" if all(isinstance(item, int) for item in value) else ", ").join(map(str, value))
    return visible_name(str(value))


def _table(title: str, rows: list[dict[str, Any]]) -> FittedTable:
    columns = tuple(
        Column(key.replace("_", " "), isinstance(rows[0][key], int), key in ("name", "first"),
               0 if key in ("name", "first", "kind", "strategy") else place)
        for place, key in enumerate(rows[0])
    )  # fmt: skip
    texts = [[_text(value) if not isinstance(value, int) else str(value) for value in row.values()] for row in rows]
    return FittedTable(counted(len(rows), title.removesuffix("s")), columns, texts)
