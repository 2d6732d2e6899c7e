"""Entry point: the command group, and how errors end a command."""

from __future__ import annotations

import difflib
import os
import sys
from typing import Any

import click

from tigris_pio import __version__
from tigris_pio.cli import console
from tigris_pio.cli.analyze import analyze
from tigris_pio.cli.compile import compile_command
from tigris_pio.cli.hil import hil
from tigris_pio.cli.inspect import inspect
from tigris_pio.cli.layout import layout
from tigris_pio.cli.run import run
from tigris_pio.cli.verify import verify
from tigris_pio.errors import TigrisError
from tigris_pio.spelling import caller_of_command, spoken_by
from tigris_pio.text import visible


class _Group(click.Group):
    """Lists commands in the order of work, not of the alphabet; a misspelled one is answered with the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        close = difflib.get_close_matches(args[0], self.commands, n=1)
        if args[0] not in self.commands and close and not args[0].startswith("-"):
            ctx.fail(f"No such command '{args[0]}'. Did you mean {close[0]}?")
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tigris")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile an ONNX model for a microcontroller, run it here, and check it on the board.

    \b
    Typical order:
      tigris analyze model.onnx -m 256K+8M -f 4M      does it fit, and how does it run?
      tigris compile model.onnx -m 256K+8M --xip -o model.tgrs
      tigris inspect model.tgrs                       what the plan holds
      tigris verify model.onnx -m 256K+8M             the same outputs as onnxruntime?
      tigris run model.tgrs --input x.npy             the same C runtime as on the board
      tigris hil model.tgrs --port /dev/ttyUSB0       the same bytes on the board?

    Sizes are bytes or numbers with K or M (units of 1024). Exit status: 0 done, 1 the model or plan
    cannot do what was asked, 2 wrong usage or a file that is missing or cannot be written, 130 interrupted.
    """
    context.with_resource(spoken_by(caller_of_command()))


for _command in (analyze, compile_command, inspect, run, verify, hil, layout):
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> Any:
    """Runs the command line; errors a user can act on end without a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        return sys.exit(cli.main(args=words, prog_name="tigris", standalone_mode=False))
    except click.ClickException as error:
        if "--json" in words:
            console.print_json({"error": visible(error.format_message()), "kind": "UsageError"})
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        console.err.print("interrupted")
        sys.exit(130)
    except TigrisError as error:
        _fail(error, error.exit_status, "--json" in words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("TIGRIS_DEBUG"):
            raise
        text = f"internal error: {type(error).__name__}: {error}; TIGRIS_DEBUG=1 shows where"
        _fail(TigrisError(text), 1, "--json" in words)


def _fail(error: TigrisError, status: int, as_json: bool) -> None:
    if as_json:
        console.print_json({"error": visible(str(error)), "kind": type(error).__name__})
    console.print_error(str(error))
    sys.exit(status)
