"""Entry point of `tigris`: the command group, and how an error becomes a message and an exit status."""

import io
import os
import shlex
import sys
import tempfile
import traceback
from typing import Any

import click

from tigris_pio import __version__
from tigris_pio.cli.lazy import LazyGroup
from tigris_pio.errors import InternalError, TigrisError, UnsupportedError, internal_error
from tigris_pio.spelling import caller_of_command, messages_for
from tigris_pio.text import visible

#: Command, which is also its module's name, to the function in that module; in the order of the help.
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
    "keygen": "keygen",
    "sign": "sign",
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
      tigris quantize float.onnx --data x.npz -o int8.onnx    make a float32 model int8
      tigris check model.onnx                         list unsupported operators
      tigris analyze model.onnx -m 256K+8M -f 4M      show memory, flash and instructions
      tigris compile model.onnx -m 256K+8M --xip -o model.tgrs
      tigris codegen model.onnx -m 256K -o src        write plain C instead of a plan
      tigris inspect model.tgrs                       list stages, memory and operators
      tigris verify model.onnx -m 256K+8M             compare with onnxruntime or TFLite Micro
      tigris run model.tgrs --input x.npy             run the plan on this machine
      tigris hil model.tgrs --port /dev/ttyUSB0       run it on the board, compare all bytes
    Or create a PlatformIO project:
      tigris new DIR --board esp32-s3-devkitc-1 --model model.onnx

    Sizes are bytes, or numbers with K or M (units of 1024).

    \b
    Exit status:
      0    done
      1    the model does not fit, has an unsupported operator, or an output differs
      2    wrong usage, or a file that is missing or cannot be written
      3    hil: no board, or a broken or busy line
      4    an internal error: please report it
      130  interrupted (Ctrl-C)
    """
    context.with_resource(messages_for(caller_of_command()))


def main(arguments: list[str] | None = None) -> Any:
    """Runs the command line and exits; an error prints one message and no traceback, unless TIGRIS_DEBUG is set."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Windows' code pages lack most characters
            stream.reconfigure(errors="backslashreplace")
    try:
        return sys.exit(cli.main(args=words, prog_name="tigris", standalone_mode=False, obj=tuple(words)))
    except click.ClickException as error:
        if "--json" in words:
            from tigris_pio.cli import console  # noqa: PLC0415  (loads rich)

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
        known = error if isinstance(error, InternalError) else internal_error(f"tigris {' '.join(words[:1])}", error)
        _fail(InternalError(f"{known} {_saved_traceback(error, words)}"), InternalError.exit_status, "--json" in words)


def _saved_traceback(error: Exception, words: list[str]) -> str:
    """Writes the traceback of an internal error to a temporary file; says where it is."""
    versions = f"tigris-pio {__version__}, Python {sys.version}"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="tigris-", suffix=".txt", delete=False, encoding="utf-8",
                                         errors="backslashreplace") as file:  # fmt: skip
            file.write("\n".join([versions, shlex.join(["tigris", *words]), *traceback.format_exception(error)]))
    except OSError:
        return "that TIGRIS_DEBUG=1 shows"
    return f"in {file.name}"


def _fail(error: Exception, status: int, as_json: bool) -> None:
    from tigris_pio.cli import console  # noqa: PLC0415

    if as_json:
        document: dict[str, Any] = {"error": visible(str(error)), "kind": type(error).__name__}
        if isinstance(error, UnsupportedError) and error.refused:
            document["refused"] = [dict(zip(("node", "op", "reason"), each, strict=True)) for each in error.refused]
        console.print_json(document)
    console.print_error(str(error))
    sys.exit(status)
