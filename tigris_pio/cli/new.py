"""`tigris new`: writes a PlatformIO project that runs a model on a board and answers `tigris hil`."""

import dataclasses
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
from rich.markup import escape

from tigris_pio.cli import console
from tigris_pio.cli.options import JSON, check_model, planning_options
from tigris_pio.compiler.codegen import Generated
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.errors import UsageError
from tigris_pio.installation import library_folder
from tigris_pio.platformio.compiler import quoted
from tigris_pio.platformio.options import name_fault, plain_name
from tigris_pio.project.boards import find_board
from tigris_pio.project.create import NewProject, find_framework, write, write_sketch
from tigris_pio.project.memory import grant
from tigris_pio.project.sketch import FILES as SKETCHES
from tigris_pio.project.sketch import Sketch
from tigris_pio.sizes import parse_size


@click.command("new", short_help="Make a PlatformIO project for a board and a model.")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--board", metavar="BOARD", help="PlatformIO's name of the board, or an emulated board: emu_rv32, "
              "emu_cortex_m4, emu_cortex_m7, emu_cortex_m55.")  # fmt: skip
@click.option("--framework", metavar="FRAMEWORK", help="With PlatformIO arduino or espidf; default: the board's first. "
              "Without it and without --board: arduino-ide, zephyr or cmake.")  # fmt: skip
@click.option("--model", required=True, metavar="MODEL", type=click.Path(), help="The .onnx or .tflite file to copy.")
@click.option("--name", metavar="NAME", help="The model's name in C. Default: derived from the file's name.")
@click.option("--flash-size", metavar="SIZE", help="Flash size, if it differs from the board's default, e.g. 16M.")
@click.option("--psram/--no-psram", default=None, help="Whether the board has PSRAM, if the default is wrong.")
@click.option("--slots", type=click.IntRange(1, 2), default=1, metavar="1|2", help="2: two slots (A/B), so that the "
              "firmware can update its model in the field. Default: 1.")  # fmt: skip
@click.option("--library", metavar="DIR", type=click.Path(), help="Checkout of tigris-pio with the runtime's sources. "
              "Default: the one that this command was installed from.")  # fmt: skip
@planning_options(False)
@JSON
def new(
    folder: str,
    board: str | None,
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
    """Write a project to DIR that runs MODEL on a board.

    The project builds unchanged and answers `tigris hil`. A PlatformIO project, with --board, has a partition table
    that holds the model, and a test. The others are plain C and need no library: a sketch for the Arduino IDE, a Zephyr
    application, a CMake project.

    \b
    Examples:
      tigris new kws --board esp32-s3-devkitc-1 --framework espidf --model kws.tflite
      tigris new try --board emu_rv32 --model kws.onnx          without hardware
      tigris new sketch --framework arduino-ide --model kws.tflite

    \b
    Then, in DIR of a PlatformIO project:
      pio run -t upload
      tigris hil
    """
    check_model(model)
    path = Path(model)
    name = plain_name(path.stem) if name is None else name
    fault = name_fault(name)
    if fault:
        raise UsageError(f"--name {name}: {fault}")
    options, texts = compiling(name=name), compiling.keywords
    if framework in SKETCHES:
        given = {"--board": board, "--slots": slots == 2, "--flash-size": flash_size, "--library": library,
                 "--psram": psram is not None}  # fmt: skip
        if refused := [option for option, value in given.items() if value]:
            raise UsageError(f"{refused[0]}: is for projects of PlatformIO; leave it out with --framework {framework}")
        with console.progress(as_json) as progress:
            compiled = back(front(model, options, progress), dataclasses.replace(options, backend="portable"), progress)
        generated = compiled.codegen()
        files = write_sketch(Sketch(Path(folder), framework, path, compiled, generated))
        _show_sketch(folder, framework, compiled.report["model"], generated, files, as_json)
        return
    if board is None:
        known = ", ".join(SKETCHES)
        raise UsageError(f"--board: say which, or give --framework {known} for a project without PlatformIO")
    chosen = find_board(board, parse_size(flash_size) if flash_size else None, psram)
    kind = find_framework(chosen, framework)
    source = library_folder(library)
    with console.progress(as_json) as progress:
        granted = grant(front(model, options, progress), chosen, options, texts["memory"])
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


def _show_sketch(
    folder: str, framework: str, name: str, generated: Generated, files: Sequence[Path], as_json: bool
) -> None:
    if as_json:
        console.print_json({"folder": folder, "framework": framework, "model": name,
                            "fast_bytes": generated.fast_bytes, "slow_bytes": generated.slow_bytes,
                            "files": [str(file) for file in files]})  # fmt: skip
        return
    console.print_warnings(list(generated.notes))
    slow = f" and {generated.slow_bytes} of slow memory" if generated.slow_bytes else ""
    memory = f"{generated.fast_bytes} bytes of fast memory{slow}"
    console.out.print(f"{escape(folder)}: {escape(name)} for {framework}, {memory}; README.md tells how to build it",
                      highlight=False)  # fmt: skip
