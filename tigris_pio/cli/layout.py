"""`tigris layout`: plans to the contents of flash partitions, with the firmware's tigris_models.h."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tigris_pio import flash_layout
from tigris_pio.errors import UsageError
from tigris_pio.platformio.options import name_fault
from tigris_pio.sizes import parse_size
from tigris_pio.text import c_identifier


@click.command("layout", short_help="Lay plans out in flash partitions.")
@click.option(
    "--model",
    "models",
    type=(str, click.Path(path_type=Path), str, str),
    multiple=True,
    required=True,
    metavar="NAME PLAN PARTITION OFFSET",
    help="A plan for a partition, at OFFSET within it, or 'auto': behind the plan before it. Repeatable.",
)
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    required=True,
    metavar="TABLE",
    help="The firmware's partition table, binary or CSV.",
)
@click.option(
    "--exact",
    multiple=True,
    metavar="NAME",
    help="The firmware opens this very plan of the model only, not every one that fits it. Repeatable.",
)
@click.option(
    "--unchecked",
    multiple=True,
    metavar="NAME",
    help="The firmware opens this model's plan without comparing its checksum. Repeatable.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="Where the files go."
)
def layout(
    models: tuple[tuple[str, Path, str, str], ...],
    table: Path,
    exact: tuple[str, ...],
    unchecked: tuple[str, ...],
    output: Path,
) -> None:
    """Write <partition>.bin for each partition and tigris_models.h to FOLDER.

    The header includes tigris_model_<NAME>.h, which `tigris compile --header` writes. Files that would not change
    are left alone.

    \b
    Example:
      tigris layout --model kws kws.tgrs model auto --table partition-table.bin -o build
    """
    names = [name for name, *_ in models]
    _check_names(names)
    wanted = [_wanted(*model) for model in models]
    for option, given in (("--exact", exact), ("--unchecked", unchecked)):
        for name in given:
            if name not in names:
                raise UsageError(f"{option}: no model is named {name}, only {', '.join(names)}")
    wanted = [replace(item, exact=item.name in exact, unchecked=item.name in unchecked) for item in wanted]
    for line in flash_layout.write(wanted, flash_layout.read_table(table), output):
        click.echo(line)


def _check_names(names: list[str]) -> None:
    """Names become parts of C names and of file names."""
    taken: dict[str, str] = {}
    for name in names:
        fault = name_fault(name)
        if fault:
            raise UsageError(f"--model: {fault}")
        other = taken.setdefault(c_identifier(name), name)
        if names.count(name) > 1 or other != name:
            both = f"named {name}" if other == name else f"named {other} and {name}, which is the same constant in C"
            raise UsageError(f"--model: two models are {both}; names must differ")


def _wanted(name: str, plan: Path, label: str, offset: str) -> flash_layout.Wanted:
    return flash_layout.Wanted(
        name, flash_layout.read_plan(plan), label, None if offset == "auto" else _offset(name, offset)
    )


def _offset(name: str, text: str) -> int:
    if text.lower().startswith("0x"):
        try:
            return int(text, 16)
        except ValueError:
            raise UsageError(f"{name}: OFFSET {text} is no number; give a multiple of 0x1000, like 0x20000") from None
    return parse_size(text, f"{name}: OFFSET")
