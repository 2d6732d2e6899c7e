"""`tigris hil list`: lists this machine's serial ports, emulated boards, and the boards that answer on them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tigris_pio.cli import console
from tigris_pio.cli.hil.listed import list_file
from tigris_pio.cli.options import JSON
from tigris_pio.hil.client import ModelInfo
from tigris_pio.hil.discover import BoardAddress, ProbeResult, find_addresses, probe_all
from tigris_pio.hil.rig.board_list import FILE_NAME, read_list
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
    places = find_addresses(None if everywhere else Path.cwd().resolve(), _listed(boards))
    answers = probe_all(places, patience) if probe else [None] * len(places)
    if as_json:
        pairs = zip(places, answers, strict=True)
        console.print_json({"ports": [_document(place, answer) for place, answer in pairs]})
        return
    for place, answer in zip(places, answers, strict=True):
        _show(place, answer, patience)
    if not places:
        console.out.print("no serial port and no emulated board found")


def _listed(boards: str | None) -> list[BoardAddress]:
    path = list_file(boards)
    entries = () if path is None else read_list(path)
    return [
        BoardAddress(entry.port or "", "listed", entry.env or "", baud=entry.baud, name=entry.name, tags=entry.tags)
        for entry in entries
    ]


def _document(place: BoardAddress, answer: ProbeResult | None) -> dict[str, Any]:
    document = dataclasses.asdict(place)
    if answer is None:
        return document
    return {
        **document,
        "state": answer.outcome,
        "problem": answer.problem or None,
        "board": None if answer.board is None else vars(answer.board),
        "models": [vars(model) for model in answer.models],
    }


def _show(place: BoardAddress, answer: ProbeResult | None, patience: float) -> None:
    """Prints a line for the place, and the answer below it."""
    words = [place.name, *place.tags, "emulated board" if place.kind == "emulated" else place.description]
    if place.vid is not None and place.pid is not None:
        words.append(f"{place.vid:04x}:{place.pid:04x}")
    words += [f"serial number {place.serial_number}"] if place.serial_number else []
    words += [place.description] if place.kind == "emulated" else []
    url, known = place.url or "environment", ", ".join(word for word in words if word)
    console.out.print(f"[bold]{escape(url)}[/]  {escape(known)}".rstrip())
    if answer is None or answer.outcome == "unknown":
        return
    colour = _COLOURS.get(answer.outcome, "red")
    if answer.board is None:
        sentence = answer.problem.removeprefix(place.url + ": ").splitlines()[0]
        if answer.outcome == "silent":  # mostly a port without a board, so advice about boards would mislead
            sentence = f"no answer within {patience:g} s"
        console.out.print(f"    [{colour}]{escape(sentence)}[/]")
        return
    console.out.print(f"    [{colour}]{escape(answer.board.name)}[/], protocol {answer.board.protocol}")
    for model in answer.models:
        console.out.print(f"    model {model.index}: {escape(_model(model))}")


def _model(model: ModelInfo) -> str:
    if not model.plan_bytes:
        return f"no valid plan: {model.status_text}"
    text = f"{model.name}, plan of {format_size(model.plan_bytes)}"
    return f"{text}, cannot run: {model.status_text}" if model.status else text
