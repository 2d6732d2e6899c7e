"""`tigris layout`: writes plans as contents of flash partitions, and the firmware's tigris_models.h."""

from dataclasses import replace
from pathlib import Path

import click

from tigris_pio import flash_layout
from tigris_pio.cli.gather import Option
from tigris_pio.errors import UsageError
from tigris_pio.platformio.options import name_fault
from tigris_pio.platformio.partitions import SECTOR, align_up
from tigris_pio.sizes import parse_size
from tigris_pio.text import c_identifier


def _items(name: str, what: str, text: str) -> Option:
    return click.option(name, type=(str, click.Path(path_type=Path), str, str), multiple=True,
                        metavar=f"NAME {what} PARTITION OFFSET", help=f"{text} Repeatable.")  # fmt: skip


def _names(name: str, text: str) -> Option:
    return click.option(name, multiple=True, metavar="NAME", help=f"{text} Repeatable.")


@click.command("layout", short_help="Write plans as contents of flash partitions.")
@_items("--model", "PLAN", "Put PLAN at OFFSET bytes into PARTITION. OFFSET auto: behind the plan before it.")
@_items("--weights", "FILE", "Put the weights of a C model, from tigris codegen --weights partition, into PARTITION.")
@click.option("--table", type=click.Path(path_type=Path), required=True, metavar="TABLE",
              help="The firmware's partition table, binary or CSV.")  # fmt: skip
@_names("--exact", "The firmware opens only this plan of the model, no other plan with the same inputs and outputs.")
@_names("--any-scale", "The firmware reads scales from the plan, so it opens plans with any scales.")
@_names("--unchecked", "The firmware does not compare the checksum of this model's plan.")
@_names("--slots", "Give the model two slots (A/B), so that firmware can update its plan.")
@click.option("--slot-size", type=(str, str), multiple=True, metavar="NAME SIZE",
              help="Size of each of the model's two slots. Default: 1.25 times the plan. Repeatable.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER",
              help="Folder to write to.")  # fmt: skip
def layout(
    model: tuple[tuple[str, Path, str, str], ...],
    weights: tuple[tuple[str, Path, str, str], ...],
    table: Path,
    exact: tuple[str, ...],
    any_scale: tuple[str, ...],
    unchecked: tuple[str, ...],
    slots: tuple[str, ...],
    slot_size: tuple[tuple[str, str], ...],
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
    names = [name for name, *_ in model]
    if not model and not weights:
        raise UsageError("no plan and no weights: give --model NAME PLAN PARTITION auto, or --weights")
    _check_names([*names, *(name for name, *_ in weights)])
    wanted = [_wanted(*one) for one in model]
    for option, given in (
        ("--exact", exact), ("--any-scale", any_scale), ("--unchecked", unchecked), ("--slots", slots),
        ("--slot-size", [name for name, _ in slot_size]),
    ):  # fmt: skip
        for name in given:
            if name not in names:
                raise UsageError(f"{option} {name}: no --model has this name; there are {', '.join(names) or 'none'}")
    sizes = {name: _slot_size(name, size, slots) for name, size in slot_size}
    for name in slots:
        if name in exact:
            raise UsageError(f"--slots {name}: an update is refused with --exact {name}; leave out one of them")
    wanted = [replace(item, slots=1 + (item.name in slots), slot_bytes=sizes.get(item.name)) for item in wanted]
    wanted += [_wanted(*own, is_plan=False) for own in weights]
    rows = flash_layout.read_table(table)
    for line in flash_layout.write_partitions(wanted, rows, output, exact, unchecked, any_scale):
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


def _wanted(name: str, file: Path, label: str, offset: str, is_plan: bool = True) -> flash_layout.PartitionItem:
    data = (flash_layout.read_plan(file) if is_plan
            else flash_layout.read_input(file, "the file of weights that tigris codegen wrote"))
    at = None if offset == "auto" else _offset(name, offset)
    return flash_layout.PartitionItem(name, data, at, label=label, is_plan=is_plan)


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
