"""`tigris layout`: writes plans as contents of flash partitions, and the firmware's tigris_models.h."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tigris_pio import flash_layout
from tigris_pio.errors import UsageError
from tigris_pio.platformio.options import name_fault
from tigris_pio.platformio.partitions import SECTOR, align_up
from tigris_pio.sizes import parse_size
from tigris_pio.text import c_identifier


@click.command("layout", short_help="Write plans as contents of flash partitions.")
@click.option(
    "--model",
    "models",
    type=(str, click.Path(path_type=Path), str, str),
    multiple=True,
    metavar="NAME PLAN PARTITION OFFSET",
    help="Put PLAN at OFFSET bytes into PARTITION. OFFSET auto: behind the plan before it. Repeatable.",
)
@click.option(
    "--weights",
    "weights",
    type=(str, click.Path(path_type=Path), str, str),
    multiple=True,
    metavar="NAME FILE PARTITION OFFSET",
    help="Put the weights of a C model, from tigris codegen --weights partition, into PARTITION. Repeatable.",
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
    help="The firmware opens only this plan of the model, no other plan with the same inputs and outputs. Repeatable.",
)
@click.option(
    "--any-scale",
    multiple=True,
    metavar="NAME",
    help="The firmware reads scales from the plan, so it opens plans with any scales. Repeatable.",
)
@click.option(
    "--unchecked",
    multiple=True,
    metavar="NAME",
    help="The firmware does not compare the checksum of this model's plan. Repeatable.",
)
@click.option(
    "--slots",
    multiple=True,
    metavar="NAME",
    help="Give the model two slots (A/B), so that firmware can update its plan. Repeatable.",
)
@click.option(
    "--slot-size",
    "slot_sizes",
    type=(str, str),
    multiple=True,
    metavar="NAME SIZE",
    help="Size of each of the model's two slots. Default: 1.25 times the plan. Repeatable.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="Folder to write to."
)
def layout(
    models: tuple[tuple[str, Path, str, str], ...],
    weights: tuple[tuple[str, Path, str, str], ...],
    table: Path,
    exact: tuple[str, ...],
    any_scale: tuple[str, ...],
    unchecked: tuple[str, ...],
    slots: tuple[str, ...],
    slot_sizes: tuple[tuple[str, str], ...],
    output: Path,
) -> None:
    """Write PARTITION.bin for each partition, and tigris_models.h, to FOLDER.

    tigris_models.h includes tigris_model_NAME.h, which `tigris compile --header` writes. With --weights the header is
    tigris_weights.h. Files whose content stays the same are not written.

    \b
    Examples:
      tigris layout --model kws kws.tgrs model auto --table partition-table.bin -o build
      tigris layout --model kws kws.tgrs model auto --slots kws --slot-size kws 128K --table partitions.csv -o build
    """
    names = [name for name, *_ in models]
    if not models and not weights:
        raise UsageError("no plan and no weights: give --model NAME PLAN PARTITION auto, or --weights")
    _check_names([*names, *(name for name, *_ in weights)])
    wanted = [_wanted(*model) for model in models]
    sized = tuple(name for name, _ in slot_sizes)
    for option, given in (
        ("--exact", exact), ("--any-scale", any_scale), ("--unchecked", unchecked), ("--slots", slots),
        ("--slot-size", sized),
    ):  # fmt: skip
        for name in given:
            if name not in names:
                raise UsageError(f"{option} {name}: no --model has this name; there are {', '.join(names) or 'none'}")
    sizes = {name: _slot_size(name, size, slots) for name, size in slot_sizes}
    for name in slots:
        if name in exact:
            raise UsageError(f"--slots {name}: an update is refused with --exact {name}; leave out one of them")
    wanted = [
        replace(item, exact=item.name in exact, any_scale=item.name in any_scale, unchecked=item.name in unchecked,
                slots=2 if item.name in slots else 1, slot_bytes=sizes.get(item.name))
        for item in wanted
    ]  # fmt: skip
    wanted += [_wanted_weights(*own) for own in weights]
    for line in flash_layout.write_partitions(wanted, flash_layout.read_table(table), output):
        click.echo(line)


def _check_names(names: list[str]) -> None:
    """Raises UsageError if a name is no C name or file name, or two models get the same C name."""
    taken: dict[str, str] = {}
    for name in names:
        fault = name_fault(name)
        if fault:
            raise UsageError(f"--model: {fault}")
        other = taken.setdefault(c_identifier(name), name)
        if names.count(name) > 1 or other != name:
            both = f"named {name}" if other == name else f"named {other} and {name}, which give the same C constant"
            raise UsageError(f"--model: two models are {both}; rename one of them")


def _wanted(name: str, plan: Path, label: str, offset: str) -> flash_layout.PartitionItem:
    return flash_layout.PartitionItem(
        name, flash_layout.read_plan(plan), label, None if offset == "auto" else _offset(name, offset)
    )


def _wanted_weights(name: str, file: Path, label: str, offset: str) -> flash_layout.PartitionItem:
    at = None if offset == "auto" else _offset(name, offset)
    return flash_layout.PartitionItem(name, flash_layout.read_weights(file), label, at, is_plan=False)


def _slot_size(name: str, text: str, slots: tuple[str, ...]) -> int:
    if name not in slots:
        raise UsageError(f"--slot-size {name}: the model has only one slot; add --slots {name}")
    return align_up(parse_size(text, f"{name}: --slot-size"), SECTOR)


def _offset(name: str, text: str) -> int:
    if text.lower().startswith("0x"):
        try:
            return int(text, 16)
        except ValueError:
            raise UsageError(f"{name}: OFFSET {text} is not a number; give a multiple of 0x1000 like 0x20000") from None
    return parse_size(text, f"{name}: OFFSET")
