"""Renders projects that need no library: a sketch for the Arduino IDE, a Zephyr application, a CMake project.

Each has the model as plain C, its plan for `tigris hil`, and the runtime's server in one file.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from tigris_pio.compiler.codegen import Generated
from tigris_pio.compiler.codegen.header import io_macro
from tigris_pio.compiler.codegen.kernels import inner, sources
from tigris_pio.compiler.codegen.model import Io, Model, model_of
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import Home
from tigris_pio.format.reader import read_plan
from tigris_pio.text import c_string

#: Framework to its templates and their files; {} is the project's name.
FILES = {
    "arduino-ide": {"sketch.ino.j2": "{}.ino"},
    "zephyr": {"zephyr.c.j2": "src/main.c", "zephyr.cmake.j2": "CMakeLists.txt", "prj.conf.j2": "prj.conf"},
    "cmake": {"main.c.j2": "src/main.c", "cmake.cmake.j2": "CMakeLists.txt", "board.c.j2": "src/board.c",
              "board.h.j2": "src/board.h"},
}  # fmt: skip
_COMMON = {"harness.c.j2": "harness.c", "harness.h.j2": "harness.h"}
#: The server without requests that need a plan on the board.
_SERVER = ("status.c", "crc32.c", "serve_frame.c", "serve_answer.c", "serve_models.c", "serve_run.c",
           "serve_transfer.c", "serve.c")  # fmt: skip
_INCLUDE = re.compile(r'^#include "(.+)"\n', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Sketch:
    """The choices for a project without library, and the model as C. folder: its last name is the sketch's."""

    folder: Path
    framework: str
    model: Path
    compiled: Compiled
    generated: Generated


def files(sketch: Sketch) -> tuple[dict[str, str], dict[str, bytes]]:
    """The project's templates with the paths of their files, and the contents of all other files by path.

    UsageError if the project's files cannot have these names, or rows of the model are streamed.
    """
    generated = sketch.generated
    title = sketch.folder.resolve().name
    if generated.name in ("main", "board", "harness"):
        raise UsageError(f"--name {generated.name}: a file of the project has this name; give another one")
    if sketch.framework == "arduino-ide" and not re.fullmatch(r"[A-Za-z0-9_][\w.-]{0,62}", title):
        raise UsageError(f"{title}: no name of a sketch; use letters, digits, dots, dashes and underscores")
    if any(io.mover for io in read_plan(sketch.compiled.data).io):
        raise UsageError("--stream: the harness of plain C moves no rows; use a PlatformIO project, or leave it out")
    source = "" if sketch.framework == "arduino-ide" else "src/"
    templates = {f"plain/{name}": path.format(title) for name, path in FILES[sketch.framework].items()}
    templates |= {f"plain/{name}": f"{source}{path}" for name, path in _COMMON.items()}
    templates |= {"plain/README.md.j2": "README.md"}
    contents = {f"{source}{name}": data for name, data in generated.files.items()}
    return templates, contents | {f"{generated.name}.tgrs": sketch.compiled.data}


def values(sketch: Sketch) -> dict[str, object]:
    """Values for the templates."""
    plan, generated = sketch.compiled.plan, sketch.generated
    model = model_of(plan, generated.name, partition=False, split=False)
    names = [io.record.name for io in (*model.inputs, *model.outputs)]
    starts = [sum(len(name.encode()) + 1 for name in names[:place]) for place in range(len(names))]
    ios = [_io(model, io, start) for io, start in zip((*model.inputs, *model.outputs), starts, strict=True)]
    shown = [f"{io['macro']}_IN({io['arena']})" for io in ios]
    return {
        "framework": sketch.framework,
        "sketch": sketch.folder.resolve().name,
        "name": model.name,
        "prefix": model.prefix,
        "model": sketch.model.name,
        "title": c_string(plan.program.name[:47]),
        "title_text": plan.program.name,
        "server": _flattened(),
        "header": read_plan(sketch.compiled.data).header,
        "strings": [c_string(name) for name in names],
        "ios": ios,
        "inputs": len(model.inputs),
        "sides": {"input": ios[: len(model.inputs)], "output": ios[len(model.inputs) :]},
        "single": model.has_single_io,
        "states": bool(plan.program.states),
        "arenas": model.arenas,
        "parameters": ", ".join(f"void *{arena}" for arena in model.arenas),
        "arguments": ", ".join(f"session.{arena}" for arena in model.arenas),
        "arguments_main": ", ".join(model.arenas),
        "example": {"input": shown[0], "output": shown[-1]},
        "math": b"<math.h>" in generated.files[f"{model.name}.c"],
        "fast": generated.fast_bytes,
        "slow": plan.slow_bytes,
    }


def _io(model: Model, io: Io, name: int) -> dict[str, object]:
    """An input or output for the templates. name: the offset of its name."""
    arena = "slow" if model.home(io.record.tensor) is Home.SLOW else "fast"
    dtype = model.plan.program.tensors[io.record.tensor].dtype
    return {"macro": io_macro(model, io), "member": io.member, "arena": arena, "dtype": int(dtype), "string": name}


def _flattened() -> str:
    """The server's sources as one text, each file once."""
    done = set[str]()

    def text_of(name: str) -> Iterator[str]:
        if name in done:
            return
        done.add(name)
        path = next(path for path in (sources() / name, sources().parent / "include" / name) if path.exists())
        rest = inner(path.read_text("utf-8"))
        while match := _INCLUDE.search(rest):
            yield rest[: match.start()]
            yield from text_of(match[1])
            rest = rest[match.end() :]
        yield rest

    return "".join(part for name in _SERVER for part in text_of(name))
