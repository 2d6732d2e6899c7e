"""`tigris hil list`: lists this machine's serial ports, emulated boards, and the boards that answer on them."""

import dataclasses
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tigris_pio.cli import console
from tigris_pio.cli.options import JSON
from tigris_pio.hil.client import ModelInfo
from tigris_pio.hil.discover import BoardAddress, ProbeResult, find_addresses, probe_all
from tigris_pio.hil.rig.board_list import FILE_NAME, find_list, read_list
from tigris_pio.sizes import format_size

_COLOURS = {"answers": "green", "busy": "yellow", "silent": "bright_black"}


@click.command("list", short_help="List serial ports and the boards that answer on them.")
@click.option("--probe/--no-probe", default=True, help="Open each port and ask for a board. This restarts some boards.")
@click.option(
    "--patience",
    default=1.5,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds to wait for a board's first answer.",
)
@click.option("--all", "everywhere", is_flag=True, help="List emulated boards of other folders, too.")
@click.option("--boards", metavar="FILE.toml", help=f"List of boards. Default: {FILE_NAME} in the current folder.")
@JSON
def list_command(probe: bool, patience: float, everywhere: bool, boards: str | None, as_json: bool) -> None:
    """List the serial ports of this machine, the emulated boards of projects in this folder, and the boards of a list.
    Each board that answers is shown with its name and models; a busy port with the program that uses it.

    \b
    Examples:
      tigris hil list
      tigris hil list --no-probe          list the ports, send nothing
      tigris hil list --patience 10       wait for boards that boot when their port is opened
      tigris hil list --json

    The exit status is 0 even if no board answers.
    """
    addresses = find_addresses(None if everywhere else Path.cwd().resolve(), _listed(boards))
    results = probe_all(addresses, patience) if probe else [None] * len(addresses)
    if as_json:
        pairs = zip(addresses, results, strict=True)
        console.print_json({"ports": [_document(address, result) for address, result in pairs]})
        return
    for address, result in zip(addresses, results, strict=True):
        _show(address, result, patience)
    if not addresses:
        console.out.print("no serial port and no emulated board found")


def _listed(boards: str | None) -> list[BoardAddress]:
    path = find_list(boards, Path())
    entries = () if path is None else read_list(path)
    return [
        BoardAddress(entry.port or "", "listed", entry.env or "", baud=entry.baud, name=entry.name, tags=entry.tags)
        for entry in entries
    ]


def _document(address: BoardAddress, result: ProbeResult | None) -> dict[str, Any]:
    document = dataclasses.asdict(address)
    if result is None:
        return document
    return {
        **document,
        "state": result.outcome,
        "problem": result.problem or None,
        "board": None if result.board is None else vars(result.board),
        "models": [vars(model) for model in result.models],
    }


def _show(address: BoardAddress, result: ProbeResult | None, patience: float) -> None:
    """Prints a line for the address, and the result below it."""
    words = [address.name, *address.tags, "emulated board" if address.kind == "emulated" else address.description]
    if address.vid is not None and address.pid is not None:
        words.append(f"{address.vid:04x}:{address.pid:04x}")
    words += [f"serial number {address.serial_number}"] if address.serial_number else []
    words += [address.description] if address.kind == "emulated" else []
    url, known = address.url or "environment", ", ".join(word for word in words if word)
    console.out.print(f"[bold]{escape(url)}[/]  {escape(known)}".rstrip())
    if result is None or result.outcome == "unknown":
        return
    colour = _COLOURS.get(result.outcome, "red")
    if result.board is None:
        sentence = result.problem.removeprefix(address.url + ": ").splitlines()[0]
        if result.outcome == "silent":  # mostly a port without a board, so advice about boards would mislead
            sentence = f"no answer within {patience:g} s"
        console.out.print(f"    [{colour}]{escape(sentence)}[/]")
        return
    console.out.print(f"    [{colour}]{escape(result.board.name)}[/], protocol {result.board.protocol}")
    for model in result.models:
        console.out.print(f"    model {model.index}: {escape(_model(model))}")


def _model(model: ModelInfo) -> str:
    if not model.plan_bytes:
        return f"no valid plan: {model.status_text}"
    text = f"{model.name}, plan of {format_size(model.plan_bytes)}"
    return f"{text}, cannot run: {model.status_text}" if model.status else text
