"""`tigris new`: writes a PlatformIO project that runs a model on a board and answers `tigris hil`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import click
from rich.markup import escape

from tigris_pio.cli import console
from tigris_pio.cli.options import JSON, MODEL_OPTIONS, check_model, compiler_options
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import UsageError
from tigris_pio.installation import library_folder
from tigris_pio.platformio.compiler import quoted
from tigris_pio.platformio.options import name_fault, plain_name
from tigris_pio.project.boards import find_board
from tigris_pio.project.create import NewProject, find_framework, write
from tigris_pio.project.memory import grant
from tigris_pio.sizes import parse_size


@click.command("new", short_help="Make a PlatformIO project for a board and a model.")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--board", required=True, metavar="BOARD", help="PlatformIO's name of the board, or an emulated board: "
              "emu_rv32, emu_cortex_m4, emu_cortex_m7, emu_cortex_m55.")  # fmt: skip
@click.option("--framework", metavar="FRAMEWORK", help="arduino or espidf. Default: the board's first.")
@click.option("--model", required=True, metavar="MODEL", type=click.Path(), help="The .onnx or .tflite file to copy.")
@click.option("--name", metavar="NAME", help="The model's name in C. Default: derived from the file's name.")
@click.option("--flash-size", metavar="SIZE", help="Flash size, if it differs from the board's default, e.g. 16M.")
@click.option("--psram/--no-psram", default=None, help="Whether the board has PSRAM, if the default is wrong.")
@click.option("--slots", type=click.IntRange(1, 2), default=1, metavar="1|2", help="2: two slots (A/B), so that the "
              "firmware can update its model in the field. Default: 1.")  # fmt: skip
@click.option("--library", metavar="DIR", type=click.Path(), help="Checkout of tigris-pio with the runtime's sources. "
              "Default: the one that this command was installed from.")  # fmt: skip
@compiler_options(*MODEL_OPTIONS)
@JSON
def new(
    folder: str,
    board: str,
    framework: str | None,
    model: str,
    name: str | None,
    flash_size: str | None,
    psram: bool | None,
    slots: int,
    library: str | None,
    compiling: partial[CompileOptions],
    as_json: bool,
) -> None:
    """Write a PlatformIO project to DIR that runs MODEL on BOARD.

    The project builds unchanged and answers `tigris hil`. It has a partition table that holds the model, and a test.

    \b
    Examples:
      tigris new kws --board esp32-s3-devkitc-1 --framework espidf --model kws.tflite
      tigris new try --board emu_rv32 --model kws.onnx          without hardware
    Then, in DIR:
      pio run -t upload
      tigris hil
    """
    check_model(model)
    path = Path(model)
    name = plain_name(path.stem) if name is None else name
    fault = name_fault(name)
    if fault:
        raise UsageError(f"--name {name}: {fault}")
    chosen = find_board(board, parse_size(flash_size) if flash_size else None, psram)
    kind = find_framework(chosen, framework)
    source = library_folder(library)
    options = compiling(name=name)
    with console.progress(as_json) as progress:
        granted = grant(front(model, options, progress), chosen, options)
    texts = compiling.keywords
    hop = (texts["hop"],) if texts["hop"] else ()
    said = {"dims": texts["dims"], "set": texts["fixed"], "state": texts["states"], "hop": hop,
            "stream": texts["streams"], "limits": texts["limits"]}  # fmt: skip
    said = {option: words for option, words in said.items() if words}
    project = NewProject(chosen, kind, path, name, source, granted, said, slots)
    written = write(project, Path(folder))
    if as_json:
        console.print_json({"folder": folder, "board": chosen.name, "framework": kind, "model": name,
                            "memory": granted.memory, "files": [str(file) for file in written]})  # fmt: skip
        return
    memory = granted.compiled.report["memory"]
    psram_bytes = f" and {memory['slow_peak']} of PSRAM" if memory["slow_peak"] else ""
    console.out.print(
        f"{escape(folder)}: {escape(name)} for {escape(chosen.name)} ({kind}), "
        f"{memory['fast_peak']} bytes of fast memory{psram_bytes}, plan {len(granted.compiled.data)} bytes",
        highlight=False,
    )
    shown = folder if re.fullmatch(r"[\w./+-]+", folder) else quoted(folder)
    console.out.print(f"next:\n  cd {escape(shown)}\n  pio run -t upload\n  tigris hil", highlight=False)
