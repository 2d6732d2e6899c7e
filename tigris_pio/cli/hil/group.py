"""The group `tigris hil`, whose default command is `check`."""

import click

from tigris_pio.cli.lazy import DefaultGroup

#: Command, which is also its module's name, to the function in that module.
COMMANDS = {"list": "list_command", "check": "check_command", "bench": "bench_command", "monitor": "monitor_command"}


class _Group(DefaultGroup):
    package = "tigris_pio.cli.hil"
    modules = COMMANDS
    default = "check"


@click.group(
    "hil", cls=_Group, subcommand_metavar="[COMMAND] …", short_help="Run a plan on a board and compare with the host."
)
def hil() -> None:
    """Run a plan on a board over its serial line and on this machine, and compare every output byte.

    \b
    Examples:
      tigris hil list                                             list ports and the boards on them
      tigris hil                                                  use the plan and port of this project
      tigris hil kws.tgrs --port /dev/ttyUSB0                     compare 8 random inputs
      tigris hil kws.tgrs --port /dev/ttyUSB0 --input x.npy
      tigris hil --project examples/digits --upload --data test.npz
      tigris hil --project examples/digits-esp32s3-espidf --qemu  run its firmware in Espressif's QEMU
      tigris hil --port socket://127.0.0.1:5555 --info            print the board's models
      tigris hil bench kws.tgrs --port /dev/ttyUSB0               measure run times
      tigris hil monitor --port /dev/ttyUSB0                      print the board's messages

    The default command is check. If a plan's file has a command's name, write it with its folder: ./check.

    Only one program can use a board. A second one ends with status 3 and names the first.

    \b
    Exit status:
      0    all outputs equal
      1    the model: an output differs, a run fails or takes too long, the board has another plan
      2    wrong usage
      3    the line: no such port, busy, no board, no answer, another protocol version
      130  interrupted (Ctrl-C)
    """
