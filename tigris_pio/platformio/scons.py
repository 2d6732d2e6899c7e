"""Builds the graph: options -> partition table and plan nodes -> flash images. Runs inside SCons.

hook.py calls `configure` as a `pre:` script: before the platform reads the partition table and forms the upload
command. It calls `finish` as a `post:` script, when the program node exists.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import (
    backend,
    frameworks,
    install,
    interface,
    layout,
    objects,
    options,
    partitions,
    plain_c,
    plans,
    psram,
    sources,
    table,
    upload,
)
from . import compiler as compilers

SETUP = "TIGRIS_SETUP"
# Other chips start at 0.
BOOTLOADER_OFFSETS = {"esp32": 0x1000, "esp32s2": 0x1000, "esp32c5": 0x2000, "esp32p4": 0x2000}
ERRORS = (
    options.OptionError,
    partitions.PartitionError,
    compilers.CompilerError,
    install.InstallError,
    layout.LayoutError,
)


def configure(env: Any, hook_path: str) -> None:
    """The `pre:` phase. `env` is SCons' default environment."""
    if env.IsCleanTarget() or env.get(SETUP):
        return
    # The framework espidf runs CMake, where tigris_add_model must do nothing.
    os.environ["TIGRIS_PLATFORMIO"] = "1"
    env[SETUP] = {}
    try:
        # From the present settings: the framework's script may generate others, which finish() compares.
        env[SETUP] = {"table_at": frameworks.table_offset(env)} | _configure(env, hook_path)
    except ERRORS as error:
        _fail(env, error)
    # Adds the post phase here, so that platformio.ini needs one line only.
    section = "env:" + env["PIOENV"]
    scripts = env.GetProjectOption("extra_scripts", [])
    # PlatformIO's parser expands a percent sign.
    scripts = [script.replace("%", "%%") for script in [*scripts, f"post:{hook_path}"]]
    env.GetProjectConfig().set(section, "extra_scripts", scripts)


def configure_library(env: Any, hook_path: str) -> None:
    """Sets up models compiled as C in a project whose `extra_scripts` does not name the hook. `env` is the library's.

    Plans need the hook: the platform has read the partition table by now.
    """
    from SCons.Script import DefaultEnvironment  # noqa: PLC0415 - there is none outside SCons

    project = DefaultEnvironment()
    named = [name for name, _ in env.GetProjectOptions() if name.startswith(options.PREFIX)]
    if SETUP in project or not named or env.IsCleanTarget():
        return
    project[SETUP] = {}
    try:
        settings = options.parse(dict(env.GetProjectOptions()), Path(env.subst("$PROJECT_DIR")))
        if (settings.mode, settings.weights) != ("c", "c"):
            raise options.OptionError("mode", settings.mode, f"needs the line extra_scripts = pre:{hook_path}; without "
                                      f"it, {options.PREFIX}mode = c compiles models as C")  # fmt: skip
        _configure(env, hook_path)
    except ERRORS as error:
        _fail(env, error)


def finish(env: Any) -> None:
    """The `post:` phase: makes the program wait for the plans, and adds `-t uploadmodel`.

    A changed plan does not link the program again. But it makes firmware.bin again, because pioarduino then merges all
    images into firmware.factory.bin.
    """
    setup = env.get(SETUP)
    if not setup or setup.get("finished"):
        return
    setup["finished"] = True
    table_file = upload.table_image(env)
    try:
        if table_file:
            frameworks.check_table_offset(setup["table_at"], int(table_file[0], 0))
        if setup.get("has_component"):
            backend.check_component(Path(env.subst("$PROJECT_DIR")))
    except ERRORS as error:
        _fail(env, error)
    program = env.get("PIOMAINPROG")
    if program:
        env.Requires(program, setup["nodes"])
        image = env.File(env.subst("$BUILD_DIR/${PROGNAME}.bin").replace("$", "$$"))
        if image.has_builder():
            env.Depends(image, [node for _, node in setup["images"]])
    # The second file has the interfaces of the uploaded firmware.
    output, saved = _output(env), _kept(env, "uploaded") / f"{env['PIOENV']}.json"
    env.AddPostAction("upload", env.Action(lambda **_: interface.save(saved, interface.read(output)), cmdstr=None))

    def refusal() -> str | None:
        return interface.refusal(interface.load(saved), interface.read(output), "pio run -t upload")

    upload.add_target(env, setup["images"], setup["nodes"], refusal)
    table.add_target(env)


def _output(env: Any) -> Path:
    """The folder of this script's files in the build folder."""
    return Path(env.subst("$BUILD_DIR")) / "tigris"


def _fail(env: Any, error: Exception) -> None:
    sys.stderr.write(f"Error: {error}\n")
    env.Exit(1)


def _configure(env: Any, hook_path: str) -> dict[str, Any]:
    project = Path(env.subst("$PROJECT_DIR"))
    settings = replace(options.parse(dict(env.GetProjectOptions()), project), chip=backend.chip(env))
    for warning in options.ram_warnings(settings.mem, env.BoardConfig().get("upload.maximum_ram_size", 0)):
        print(f"Warning: {warning}")
    if settings.hot and not settings.chip.startswith("esp32"):
        raise options.OptionError("hot", "yes", "is for ESP32s, whose internal memory holds code too; leave it out")
    output = _output(env)
    early: dict[str, Exception | None] = {}
    if settings.mode == "plan":
        settings = backend.resolve(settings, list(env.get("PIOFRAMEWORK") or []), project)
    _compile_objects(env, settings, Path(hook_path), output, early)
    if settings.mode == "c" and settings.weights == "c":
        plain_c.add(env, settings, _compiler(env, settings, Path(hook_path)))
        return {"nodes": [], "images": [], "finished": True}
    if settings.mode == "plan":
        backend.add(env, settings)
    if table.is_requested():
        _write_table(env, settings, output)
        env.Exit(0)
    if settings.mode == "c":
        return _c_with_weights(env, settings, _compiler(env, settings, Path(hook_path)), output)
    found = _partitions(env, settings)
    compiler = _compiler(env, settings, Path(hook_path))
    outputs = {model.name: _outputs(output, model.name) for model in settings.models}
    for model in settings.models:
        plans.drop_damaged(outputs[model.name])
        _plan_node(env, model, settings, compiler, outputs[model.name], early)
    parts = [
        _Image(found[label], {model.name: outputs[model.name] for model in settings.models_in(label)}, output,
               settings.slots)
        for label in settings.labels
    ]  # fmt: skip
    nodes = _layout_node(env, settings, parts, output / interface.HEADER)
    if _is_editor_run(env):
        _make_header(output / interface.HEADER)
    images = [(hex(part.partition.offset), str(part.image)) for part in parts]
    env.Append(CPPPATH=[str(output)], FLASH_EXTRA_IMAGES=images)
    env.AddPostAction("checkprogsize", env.Action(_summary_action(parts, settings), cmdstr=None))
    return {"nodes": nodes, "images": [(at, _file(env, Path(image))) for at, image in images],
            "has_component": settings.backend == "esp-nn" and settings.backend_path is None}  # fmt: skip


def _c_with_weights(
    env: Any, settings: options.Settings, compiler: compilers.Compiler, output: Path
) -> dict[str, Any]:
    """Sets up models compiled as C whose weights have partitions."""
    found = _partitions(env, settings)
    plain_c.add(env, settings, compiler)
    files = plain_c.place_weights(settings, found, output)
    for path, data in files.items():
        _write_if_changed(path, data)
    written = [(hex(partition.offset), output / f"{label}.bin") for label, partition in found.items()]
    # A model may have no weights, and upload programs write no empty files.
    images = [(at, str(path)) for at, path in written if files[path]]
    env.Append(CPPPATH=[str(output)], FLASH_EXTRA_IMAGES=images)
    return {"nodes": [], "images": [(at, _file(env, Path(image))) for at, image in images]}


@dataclass(frozen=True)
class _Image:
    """A partition, and the files of its plans by the models' names."""

    partition: partitions.Partition
    outputs: dict[str, plans.Outputs]
    folder: Path
    slots: int = 1

    @property
    def is_plan(self) -> bool:
        return len(self.outputs) == 1 and self.slots == 1

    @property
    def image(self) -> Path:
        """The flashed file: the only plan itself, or an image of several plans or of slot records and a plan."""
        if self.is_plan:
            return next(iter(self.outputs.values())).plan
        return self.folder / f"{self.partition.label}.bin"


def _compiler(env: Any, settings: options.Settings, hook_path: Path) -> compilers.Compiler:
    python = str(env.subst("$PYTHONEXE"))

    def install_it() -> str:
        return install.install_compiler(Path(env.subst("$PROJECT_CORE_DIR")), hook_path.resolve().parents[2], python)

    return compilers.find(settings.python, env["ENV"], python, install_it if settings.auto_install else None)


# ---- partition table ---------------------------------------------------------------------------------------------


def _table(env: Any, settings: options.Settings) -> tuple[partitions.Partition, ...]:
    """The table that the framework will choose."""
    source = frameworks.table_file(env)
    at, _ = frameworks.table_offset(env)
    return partitions.parse_csv(partitions.read_text(source), str(source), _bootloader_offset(env, settings.chip), at)


def _write_table(env: Any, settings: options.Settings, output: Path) -> None:
    """Writes the table with partitions of custom_tigris_flash, or fitting the plans of an earlier build."""
    wanted = {}
    for label in settings.labels:
        sizes = [_earlier_bytes(settings, model, output) for model in settings.models_in(label)]
        wanted[label] = table.room_bytes(settings.slot_size or settings.flash_bytes, sizes, settings.slots)
    at, _ = frameworks.table_offset(env)
    table.write(env, table.make_room(_table(env, settings), _flash_bytes(env), wanted, at))


def _earlier_bytes(settings: options.Settings, model: options.Model, output: Path) -> int | None:
    """Bytes of the plan or weights of an earlier build; None: there is none."""
    if settings.mode == "c":
        return plain_c.weights_bytes(model, output)
    plan = _outputs(output, model.name).plan
    return plan.stat().st_size if plan.is_file() else None


def _partitions(env: Any, settings: options.Settings) -> dict[str, partitions.Partition]:
    """Finds or adds the models' partitions, by label. A changed table replaces the board option build.partitions."""
    rows = _table(env, settings)
    flash = settings.flash_bytes
    limit = settings.slot_size or flash
    least = table.slots_bytes(settings.slots, limit or partitions.MMU_PAGE)
    most = partitions.align_up(least, partitions.MMU_PAGE) if settings.slots == 2 and limit else limit
    wanted = {label: (least, most * len(settings.models_in(label)) if most else None) for label in settings.labels}
    result, found = partitions.add_model_partitions(rows, _flash_bytes(env), wanted, frameworks.table_offset(env)[0])
    if result != rows:
        # The file keeps its name: for a name that ends in tinyuf2.csv Arduino adds a bootloader.
        target = _output(env) / frameworks.table_file(env).name
        _write_if_changed(target, partitions.to_csv(result).encode())
        env.BoardConfig().update("build.partitions", str(target))
    return found


def _bootloader_offset(env: Any, chip: str) -> int:
    """The offset of the chip's bootloader."""
    named = str(env.BoardConfig().get("upload.bootloader_offset", ""))
    return int(named, 0) if named else BOOTLOADER_OFFSETS.get(chip, 0)


def _flash_bytes(env: Any) -> int:
    text = str(env.BoardConfig().get("upload.flash_size", "4MB")).strip().upper()
    number, unit = text[:-2], text[-2:]
    if unit not in ("KB", "MB") or not number.isdigit():
        raise partitions.PartitionError(f"board_upload.flash_size = {text}: give the chip's size, such as 8MB")
    return int(number) << (10 if unit == "KB" else 20)


def _write_if_changed(path: Path, data: bytes) -> None:
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# ---- nodes -------------------------------------------------------------------------------------------------------


def _outputs(folder: Path, name: str) -> plans.Outputs:
    return plans.Outputs(folder / f"{name}.tgrs", folder / f"tigris_model_{name}.h", folder / f"{name}.json")


def _plan_node(
    env: Any,
    model: options.Model,
    settings: options.Settings,
    compiler: compilers.Compiler,
    outputs: plans.Outputs,
    early: Mapping[str, Exception | None],
) -> None:
    """Adds the node of a model's plan. `early`: models that _compile_objects has compiled, and their errors."""

    def build() -> None:
        if (error := early.get(model.name)) is not None:
            raise error
        text = _compiling_text(env, model, settings)
        made = plans.compile_or_copy(model, settings, compiler, _kept(env, "plans"), outputs, text)
        if not made and model.name not in early:
            print(f"Unchanged model {model.name}: its plan was compiled before")

    read = [_file(env, path) for path in (*sources.files(model), *([settings.sign] if settings.sign else ()))]
    targets = [_file(env, outputs.plan), _file(env, outputs.header), _file(env, outputs.report)]
    node = _command(env, targets, read, build, "")
    inputs = [plans.compile_arguments(model, settings), compiler.fingerprint]
    env.Depends(node, env.Value(json.dumps(inputs)))


def _kept(env: Any, folder: str) -> Path:
    """A folder outside the build folder, which PlatformIO deletes when platformio.ini changes."""
    return Path(env.subst("$PROJECT_WORKSPACE_DIR")) / "tigris" / folder


def _compiling_text(env: Any, model: options.Model, settings: options.Settings) -> str:
    return f"Compiling model {model.name} for {settings.mem} ({_shown_path(env, model)})"


def _compile_objects(
    env: Any, settings: options.Settings, hook_path: Path, output: Path, early: dict[str, Exception | None]
) -> None:
    """Compiles the library's sources that the firmware needs. The plans' headers name the needed kernels, so models
    are compiled when SCons adds the first source. Errors go to `early`: the plan's node reports them."""

    def needed() -> list[str] | None:
        if _is_editor_run(env):
            return None
        own = [Path(env.subst(name)) for name in ("$PROJECT_SRC_DIR", "$PROJECT_INCLUDE_DIR", "$PROJECT_TEST_DIR")]
        own += [Path(env.subst("$PROJECT_DIR"), "components"), *objects.libraries(env)]
        texts = [*objects.texts_in(own), str(env.get("CPPDEFINES", "")), str(env.GetProjectOption("build_flags", ""))]
        for model in settings.models if settings.mode == "plan" else ():
            compiler, text = _compiler(env, settings, hook_path), _compiling_text(env, model, settings)
            try:
                plan, from_cache = plans.find_or_compile(model, settings, compiler, _kept(env, "plans"), output, text)
            except (*ERRORS, OSError) as error:
                early[model.name] = error
                return None
            texts.append(plan.header.decode())
            if not from_cache:
                early[model.name] = None
        return texts

    folders = [output / "c", *([settings.backend_path] if settings.backend_path else [])]
    objects.add(env, settings.optimize, folders, _kept(env, "objects"), needed,
                objects.unusable_folders(settings.chip, settings.backend), hot=settings.hot)  # fmt: skip


def _layout_node(env: Any, settings: options.Settings, parts: list[_Image], header: Path) -> list[Any]:
    """Adds the node of tigris_models.h and of other images than plans; returns the nodes that firmware waits for."""
    made = [part.image for part in parts if not part.is_plan]

    def wanted() -> dict[Path, bytes]:
        placed = {}
        for part in parts:
            read = [(name, out.plan.read_bytes()) for name, out in part.outputs.items()]
            placed[part.partition.label] = layout.place(read, part.partition, settings.slots, settings.slot_size)
        names = [name for part in parts for name in part.outputs]
        text = layout.models_header(
            placed,
            names if settings.match == "exact" else [],
            [] if settings.check else names,
            names if settings.match == "shape" else [],
        )
        images = {part.image: layout.image(placed[part.partition.label]) for part in parts}
        return {header: text.encode(), **{path: images[path] for path in made}}

    def build() -> None:
        for path, data in wanted().items():
            _write_if_changed(path, data)

    _drop_changed(wanted, (header, *made))
    read = [_file(env, path) for part in parts for out in part.outputs.values() for path in (out.plan, out.header)]
    node = _command(env, [_file(env, path) for path in (header, *made)], read, build, "Generating $TARGET")
    inputs = (settings.match, settings.check, settings.slots, settings.slot_size)
    env.Depends(node, env.Value(repr(([part.partition for part in parts], *inputs))))
    return [node, *(_file(env, part.image) for part in parts)]


def _drop_changed(wanted: Callable[[], dict[Path, bytes]], paths: Sequence[Path]) -> None:
    """Removes changed files from the build folder, so that they are written again; like plans.drop_damaged."""
    try:
        right = wanted()
    except (OSError, layout.LayoutError):
        right = {}
    for path in paths:
        if path.is_file() and path.read_bytes() != right.get(path):
            path.unlink()


def _file(env: Any, path: Path) -> Any:
    # SCons would expand a dollar in a path.
    return env.File(str(path).replace("$", "$$"))


def _shown_path(env: Any, model: options.Model) -> str:
    shown = os.path.relpath(model.path, env.subst("$PROJECT_DIR"))
    return str(model.path) if shown.startswith("..") else shown


def _command(env: Any, targets: list[Any], sources: list[Any], step: Callable[[], None], text: str) -> Any:
    """A node whose `step` runs if a source or another dependency has changed."""
    action = env.VerboseAction(_run_step, text) if text else env.Action(_run_step, cmdstr=None)
    node = env.Command(targets, sources, action)
    _STEPS[targets[0].get_abspath()] = step
    return node


# SCons digests an action together with the objects that it refers to; some of these differ in each run. So there is one
# action without such objects, which finds its step by the first target.
_STEPS: dict[str, Callable[[], None]] = {}


def _run_step(target: Any, source: Any, env: Any) -> int:
    """Runs a node's step; an error fails the build with a message instead of a traceback."""
    try:
        _STEPS[target[0].get_abspath()]()
    except ERRORS as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"Error: {error.filename or 'a file of the build'}: {error.strerror}\n")
        return 1
    return 0


def _is_editor_run(env: Any) -> bool:
    from SCons.Script import COMMAND_LINE_TARGETS  # noqa: PLC0415 - there is none outside SCons

    return bool(env.IsIntegrationDump()) or "compiledb" in COMMAND_LINE_TARGETS


def _make_header(header: Path) -> None:
    """An editor that asks for the include paths before the first build shall find the header in them, with the models'
    own names and sizes. Nothing is built then, so the steps are taken here. An error in a model is printed, and
    stops the build only."""
    if header.is_file():
        return
    try:
        for step in _STEPS.values():
            step()
    except (*ERRORS, OSError) as error:
        sys.stderr.write(f"Warning: {header.name} is not there before the first build: {error}\n")


def _summary_action(parts: list[_Image], settings: options.Settings) -> Callable[..., None]:
    def action(target: Any, source: Any, env: Any) -> None:
        slow: dict[str, int] = {}
        for part in parts:
            rows = [
                (name, out.plan.stat().st_size, json.loads(out.report.read_text("utf-8")))
                for name, out in part.outputs.items()
            ]
            slots = layout.place(
                [(name, out.plan.read_bytes()) for name, out in part.outputs.items()],
                part.partition, settings.slots, settings.slot_size,
            )  # fmt: skip
            print("\n".join(layout.summary(rows, part.partition, {item.name: item.slot_bytes for item in slots})))
            slow |= {name: int(report.get("memory", {}).get("slow_peak", 0)) for name, _, report in rows}
        lacking = psram.warning(env, settings.chip, slow)
        if lacking:
            print(f"Warning: {lacking}")

    return action
