"""Renders the files of a new project from templates and a compiled model, and writes them to an empty folder."""

import dataclasses
import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import jinja2

from tigris_pio.compiler.load.onnx.external_data import locations
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import FileError, UsageError
from tigris_pio.files import write_atomically
from tigris_pio.platformio import layout, partitions
from tigris_pio.platformio.layout import c_constant
from tigris_pio.project import sketch as sketches
from tigris_pio.project.boards import FRAMEWORKS, NewBoard
from tigris_pio.project.memory import Grant

LEAST_MODEL = 256 << 10
#: Offset of the application, and its largest size by the chip's flash size (enough for Wi-Fi), in bytes.
APPLICATION, APPLICATION_BYTES = 0x10000, {4 << 20: 0x180000}
LARGE_APPLICATION = 0x200000
ROWS = {
    "espidf": (("nvs", "nvs", 0x9000, 0x6000), ("phy_init", "phy", 0xF000, 0x1000)),
    "arduino": (("nvs", "nvs", 0x9000, 0x5000), ("otadata", "ota", 0xE000, 0x2000)),
}
#: Framework to its templates and their files.
FILES = {
    "baremetal": {"baremetal/main.c.j2": "src/main.c", "baremetal/harness.c.j2": "src/harness.c"},
    "arduino": {"arduino/main.cpp.j2": "src/main.cpp", "arduino/harness.cpp.j2": "src/harness.cpp"},
    "espidf": {"espidf/main.c.j2": "src/main.c", "espidf/harness.c.j2": "src/harness.c",
               "espidf/sdkconfig.defaults.j2": "sdkconfig.defaults"},
}  # fmt: skip
COMMON_FILES = {
    "platformio.ini.j2": "platformio.ini", "harness.h.j2": "src/harness.h", "test_model.py.j2": "tests/test_model.py",
    "test_custom_runner.py.j2": "test/test_custom_runner.py",
    "pytest.ini.j2": "pytest.ini", "gitignore.j2": ".gitignore", "README.md.j2": "README.md",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class NewProject:
    """The choices for a new project."""

    board: NewBoard
    framework: str
    model: Path
    name: str
    library: Path  #: folder with the runtime and PlatformIO's hook: a checkout or an unpacked library
    grant: Grant
    options: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  #: more custom_tigris_… options
    slots: int = 1  #: slots of the model's plan; 2: firmware can update it


def find_framework(board: NewBoard, framework: str | None) -> str:
    """`framework`, or the board's first; UsageError if the board does not support it."""
    offered = FRAMEWORKS["emulated" if board.is_emulated else board.platform]
    if framework is None:
        return offered[0]
    if framework not in offered:
        raise UsageError(f"--framework {framework}: {board.name} supports {' and '.join(offered)}")
    return framework


def files(project: NewProject) -> dict[PurePosixPath, str]:
    """Contents of all text files by their paths in the project."""
    result = _rendered({**COMMON_FILES, **FILES[project.framework]}, _values(project))
    if not project.board.is_emulated:
        plan = project.grant.compiled.data
        result[PurePosixPath("partitions.csv")] = table(project.board, project.framework, len(plan), project.slots)
    return result


def _rendered(chosen: Mapping[str, str], values: Mapping[str, object]) -> dict[PurePosixPath, str]:
    """Contents of the files of templates by path; chosen: their paths by template."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tigris_pio.project", "template"), undefined=jinja2.StrictUndefined,
        autoescape=False, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return {PurePosixPath(path): environment.get_template(name).render(values) for name, path in chosen.items()}


def slot_size(board: NewBoard, plan_bytes: int) -> int:
    """Bytes per slot of two: twice the plan, or less if the flash is smaller; UsageError if the plan does not fit."""
    free = board.flash_bytes - APPLICATION - APPLICATION_BYTES.get(board.flash_bytes, LARGE_APPLICATION)
    most = (free - layout.RECORDS_BYTES) // 2 // partitions.SECTOR * partitions.SECTOR
    if plan_bytes > most:
        raise UsageError(
            f"--slots 2: {board.name} has {board.flash_bytes >> 20} MB of flash, where two slots have at most "
            f"{max(most, 0)} bytes each, and the plan needs {plan_bytes}; leave out --slots, choose a board with more "
            "flash, or give --flash-size if yours has more"
        )
    return min(most, partitions.align_up(2 * plan_bytes, partitions.MMU_PAGE))


def table(board: NewBoard, framework: str, plan_bytes: int, slots: int = 1) -> str:
    """A partition table with one application, and a model partition of twice the plan, or less if the flash is smaller.

    UsageError if the plan does not fit.
    """
    rows = [partitions.Partition(label, "data", kind, offset, size) for label, kind, offset, size in ROWS[framework]]
    label, subtype = ("app0", "ota_0") if framework == "arduino" else ("factory", "factory")
    size = APPLICATION_BYTES.get(board.flash_bytes, LARGE_APPLICATION)
    app = partitions.Partition(label, "app", subtype, APPLICATION, size)
    free = board.flash_bytes - app.end
    if plan_bytes > free:
        raise UsageError(
            f"--board {board.name}: its {board.flash_bytes >> 20} MB of flash have {max(free, 0)} bytes behind the "
            f"application, and the plan needs {plan_bytes}; use another board, or give --flash-size if yours has more"
        )
    room = min(free, max(LEAST_MODEL, partitions.align_up(2 * plan_bytes, partitions.MMU_PAGE)))
    if slots == 2:
        needed = layout.RECORDS_BYTES + 2 * slot_size(board, plan_bytes)
        room = min(free, max(LEAST_MODEL, partitions.align_up(needed, partitions.MMU_PAGE)))
    rows += [app, partitions.Partition("model", "data", partitions.MODEL_SUBTYPE, app.end, room)]
    return "# The plan in `model` has room to grow.\n" + partitions.to_csv(rows)


def _values(project: NewProject) -> Mapping[str, object]:
    """Values for the templates."""
    board, compiled = project.board, project.grant.compiled
    memory, file = compiled.report["memory"], f"models/{project.model.name}"
    library = project.library.as_posix()
    return {
        "name": project.name,
        "constant": f"TIGRIS_MODEL_{c_constant(project.name)}",
        "model": project.model.name,
        "line": file if project.name == project.model.stem else f"{project.name} = {file}",
        "board": board.name,
        "environment": board.name.replace("-", "_"),
        "framework": project.framework,
        "platform": f"symlink://{library}/tigris_pio/platformio/emulated" if board.is_emulated else board.platform,
        "emulated": board.is_emulated,
        "library": library,
        "memory": project.grant.memory,
        "options": {name: " ".join(words) for name, words in project.options.items()},
        "slot_size": slot_size(board, len(compiled.data)) if project.slots == 2 else 0,
        "fast": memory["fast_peak"],
        "slow": memory["slow_peak"],
        "plan": len(compiled.data),
        "inputs": _shapes(compiled, "inputs"),
        "outputs": _shapes(compiled, "outputs"),
    }


def _seen_from(folder: Path, library: Path) -> Path:
    """The library's path relative to the project, so that both can be moved together."""
    try:
        return Path(os.path.relpath(library, folder.resolve()))
    except ValueError:  # on another drive of Windows
        return library


def _shapes(compiled: Compiled, kind: str) -> str:
    program = compiled.plan.program
    described = []
    for io in getattr(program, kind):
        tensor = program.tensors[io.tensor]
        described.append(f"`{io.name}` {tensor.dtype.name.lower()} {'x'.join(map(str, io.stored_shape))}")
    return ", ".join(described)


def write(project: NewProject, folder: Path) -> list[Path]:
    """Writes the project with its model; returns the files. FileError if the folder is not empty."""
    _check_empty(folder)
    texts = files(dataclasses.replace(project, library=_seen_from(folder, project.library)))
    written = _written(folder, {path: text.encode("utf-8") for path, text in texts.items()})
    for name in (project.model.name, *locations(project.model)):
        target = folder / "models" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(project.model.parent / name, target)
        except OSError as error:
            raise FileError(f"{target}: cannot be written: {os.strerror(error.errno or 0)}") from error
        written.append(target)
    return written


def write_sketch(sketch: sketches.Sketch) -> list[Path]:
    """Writes a project that needs no library; returns the files. FileError if the folder is not empty."""
    _check_empty(sketch.folder)
    templates, contents = sketches.files(sketch)
    texts = _rendered(templates, sketches.values(sketch))
    return _written(sketch.folder, {path: text.encode("utf-8") for path, text in texts.items()}
                    | {PurePosixPath(path): data for path, data in contents.items()})  # fmt: skip


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"{folder}: is not empty; give a new or empty folder")


def _written(folder: Path, contents: Mapping[PurePosixPath, bytes]) -> list[Path]:
    written = []
    for path, data in contents.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)
        written.append(target)
    return written
