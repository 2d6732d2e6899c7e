"""Entry point: the command group, and how errors end a command."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import click

from tigris_pio import __version__
from tigris_pio.cli.lazy import LazyGroup
from tigris_pio.errors import TigrisError, UnsupportedError
from tigris_pio.spelling import caller_of_command, messages_for
from tigris_pio.text import visible

#: The commands in the order of work, each in the file of its name, and what it is called there.
COMMANDS = {
    "analyze": "analyze",
    "check": "check",
    "compile": "compile_command",
    "codegen": "codegen",
    "inspect": "inspect",
    "run": "run",
    "quantize": "quantize",
    "verify": "verify",
    "hil": "hil",
    "new": "new",
    "layout": "layout",
}


class _Group(LazyGroup):
    package = "tigris_pio.cli"
    modules = COMMANDS


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tigris")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile an ONNX or TensorFlow Lite model for a microcontroller, run it here, and check it on the board.

    \b
    Typical order:
      tigris quantize float.onnx --data x.npz -o int8.onnx    int8, where the model is not
      tigris check model.onnx                         all that is refused in it, and what to do
      tigris analyze model.onnx -m 256K+8M -f 4M      does it fit, and how does it run?
      tigris compile model.onnx -m 256K+8M --xip -o model.tgrs
      tigris codegen model.onnx -m 256K -o src        or as plain C, without runtime
      tigris inspect model.tgrs                       what the plan holds
      tigris verify model.onnx -m 256K+8M             the same outputs as elsewhere?
      tigris run model.tgrs --input x.npy             the same C runtime as on the board
      tigris hil model.tgrs --port /dev/ttyUSB0       the same bytes on the board?
    Or a whole project at once:
      tigris new DIR --board esp32-s3-devkitc-1 --model model.onnx

    Sizes are bytes or numbers with K or M (units of 1024). Exit status: 0 done, 1 the model or plan
    cannot do what was asked, 2 wrong usage or a file that is missing or cannot be written, 3 no board
    or a broken line (hil), 130 interrupted.
    """
    context.with_resource(messages_for(caller_of_command()))


def main(arguments: list[str] | None = None) -> Any:
    """Runs the command line; errors a user can act on end without a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Windows' code pages lack most characters: better escaped than lost
            stream.reconfigure(errors="backslashreplace")
    try:
        return sys.exit(cli.main(args=words, prog_name="tigris", standalone_mode=False, obj=tuple(words)))
    except click.ClickException as error:
        if "--json" in words:
            from tigris_pio.cli import console  # noqa: PLC0415  (rich is for those who print)

            console.print_json({"error": visible(error.format_message()), "kind": "UsageError"})
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
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
    from tigris_pio.cli import console  # noqa: PLC0415

    if as_json:
        document: dict[str, Any] = {"error": visible(str(error)), "kind": type(error).__name__}
        if isinstance(error, UnsupportedError) and error.refused:
            document["refused"] = [dict(zip(("node", "op", "reason"), each, strict=True)) for each in error.refused]
        console.print_json(document)
    console.print_error(str(error))
    sys.exit(status)
