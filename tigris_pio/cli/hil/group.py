"""The group: what each of its commands is for."""

from __future__ import annotations

import click

from tigris_pio.cli.lazy import DefaultGroup

#: The commands, each in the file of its name, and what it is called there.
COMMANDS = {"list": "list_command", "check": "check_command", "bench": "bench_command", "monitor": "monitor_command"}


class _Group(DefaultGroup):
    package = "tigris_pio.cli.hil"
    modules = COMMANDS
    default = "check"


@click.group(
    "hil", cls=_Group, subcommand_metavar="[COMMAND] …", short_help="Run a plan on a board and compare with the host."
)
def hil() -> None:
    """Work with a board over its serial line: run a plan there and here and compare every output byte.

    \b
    Examples:
      tigris hil list                                             which ports, and what answers on them?
      tigris hil                                                  in a project's folder: its plan, its port
      tigris hil kws.tgrs --port /dev/ttyUSB0                     8 random inputs
      tigris hil kws.tgrs --port /dev/ttyUSB0 --input x.npy
      tigris hil --project examples/digits --upload --data test.npz
      tigris hil --project examples/digits-esp32s3-espidf --qemu  its firmware in Espressif's QEMU
      tigris hil --port socket://127.0.0.1:5555 --info            what does it run?
      tigris hil bench kws.tgrs --port /dev/ttyUSB0               how long does it take?
      tigris hil monitor --port /dev/ttyUSB0                      what does it say?

    Without the name of a command it is check; a plan that is named like a command is written with its folder, ./check.

    One program a board: a second one ends at once with status 3 and names the first.

    \b
    Exit status:
      0    all outputs equal
      1    the model: an output differs, a run fails or takes too long, the board holds another plan
      2    wrong usage
      3    the line: no such port, busy, no board, no answer, another protocol version
      130  interrupted (Ctrl-C)
    """
