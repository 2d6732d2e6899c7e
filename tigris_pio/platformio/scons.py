"""The build graph: options -> partition table and plan nodes -> flash images. Runs inside SCons.

Order matters here, see PlatformIO's builder: a `pre:` script runs before the platform reads the partition table and
before the upload command is put together; a `post:` script runs when the program node exists.
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

STATE = "TIGRIS_STATE"
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
    if env.IsCleanTarget() or env.get(STATE):
        return
    # The framework espidf runs CMake, where tigris_add_model must leave everything to this script.
    os.environ["TIGRIS_PLATFORMIO"] = "1"
    env[STATE] = {}
    try:
        # By the settings that are there now: the framework's script may yet make others.
        env[STATE] = {"table_at": frameworks.table_offset(env)} | _configure(env, hook_path)
    except ERRORS as error:
        _fail(env, error)
    # The post phase needs no line of its own in platformio.ini.
    section = "env:" + env["PIOENV"]
    scripts = env.GetProjectOption("extra_scripts", [])
    # Its parser expands a percent sign.
    scripts = [script.replace("%", "%%") for script in [*scripts, f"post:{hook_path}"]]
    env.GetProjectConfig().set(section, "extra_scripts", scripts)


def finish(env: Any) -> None:
    """The `post:` phase: plans are made before the program is linked, and `-t uploadmodel` is added.

    A plan that changed alone does not make the program link again. Its image, firmware.bin, is made again though,
    because pioarduino merges all images into firmware.factory.bin right after it.
    """
    state = env.get(STATE)
    if not state or state.get("finished"):
        return
    state["finished"] = True
    table_file = upload.table_image(env)
    try:
        if table_file:
            frameworks.check_table_offset(state["table_at"], int(table_file[0], 0))
        if state.get("has_component"):
            backend.check_component(Path(env.subst("$PROJECT_DIR")))
    except ERRORS as error:
        _fail(env, error)
    program = env.get("PIOMAINPROG")
    if program:
        env.Requires(program, state["nodes"])
        image = env.File(env.subst("$BUILD_DIR/${PROGNAME}.bin").replace("$", "$$"))
        if image.has_builder():
            env.Depends(image, [node for _, node in state["contents"]])
    output, kept = _output(env), _kept_interface(env)
    env.AddPostAction("upload", env.Action(lambda **_: interface.keep(kept, interface.of(output)), cmdstr=None))

    def refusal() -> str | None:
        return interface.refusal(interface.kept(kept), interface.of(output), "pio run -t upload")

    upload.add_target(env, state["contents"], state["nodes"], refusal)
    table.add_target(env)


def _output(env: Any) -> Path:
    """Where the build's own files lie."""
    return Path(env.subst("$BUILD_DIR")) / "tigris"


def _kept_interface(env: Any) -> Path:
    """Where the interface of what was uploaded is remembered: not in the build folder, which PlatformIO clears."""
    return _kept(env, "uploaded") / f"{env['PIOENV']}.json"


def _fail(env: Any, error: Exception) -> None:
    sys.stderr.write(f"Error: {error}\n")
    env.Exit(1)


def _configure(env: Any, hook_path: str) -> dict[str, Any]:
    project = Path(env.subst("$PROJECT_DIR"))
    settings = replace(options.parse(dict(env.GetProjectOptions()), project), chip=backend.chip(env))
    for warning in options.beyond_the_board(settings.mem, env.BoardConfig().get("upload.maximum_ram_size", 0)):
        print(f"Warning: {warning}")
    output = _output(env)
    early: dict[str, Exception | None] = {}
    if settings.mode == "plan":
        settings = backend.resolve(settings, list(env.get("PIOFRAMEWORK") or []), project)
    _compile_objects(env, settings, Path(hook_path), output, early)
    if settings.mode == "c" and settings.weights == "c":
        plain_c.add(env, settings, _compiler(env, settings, Path(hook_path)))
        return {"nodes": [], "contents": [], "finished": True}
    if settings.mode == "plan":
        backend.add(env, settings)
    if table.is_asked_for():
        _write_table(env, settings, output)
        env.Exit(0)
    if settings.mode == "c":
        return _c_beside_weights(env, settings, _compiler(env, settings, Path(hook_path)), output)
    placed_in = _partitions(env, settings)
    compiler = _compiler(env, settings, Path(hook_path))
    outputs = {model.name: _outputs(output, model.name) for model in settings.models}
    for model in settings.models:
        plans.drop_damaged(outputs[model.name])
        _plan_node(env, model, settings, compiler, outputs[model.name], early)
    contents = [
        _Content(placed_in[label], _of(settings, label, outputs), output, settings.slots) for label in settings.labels
    ]
    nodes = _layout_node(env, settings, contents, output / interface.HEADER)
    if _editor_asks(env):
        _make_header(output / interface.HEADER)
    images = [(hex(content.partition.offset), str(content.image)) for content in contents]
    env.Append(CPPPATH=[str(output)], FLASH_EXTRA_IMAGES=images)
    env.AddPostAction("checkprogsize", env.Action(_summary_action(contents, settings), cmdstr=None))
    return {"nodes": nodes, "contents": [(at, _file(env, Path(image))) for at, image in images],
            "has_component": settings.backend == "esp-nn" and settings.backend_path is None}  # fmt: skip


def _c_beside_weights(
    env: Any, settings: options.Settings, compiler: compilers.Compiler, output: Path
) -> dict[str, Any]:
    """Models that are C, whose weights have partitions of their own."""
    placed_in = _partitions(env, settings)
    plain_c.add(env, settings, compiler)
    files = plain_c.place_weights(settings, placed_in, output)
    for path, data in files.items():
        _write_if_changed(path, data)
    written = [(hex(partition.offset), output / f"{label}.bin") for label, partition in placed_in.items()]
    # Models may be without weights, and upload programs write no empty files.
    images = [(at, str(path)) for at, path in written if files[path]]
    env.Append(CPPPATH=[str(output)], FLASH_EXTRA_IMAGES=images)
    return {"nodes": [], "contents": [(at, _file(env, Path(image))) for at, image in images]}


@dataclass(frozen=True)
class _Content:
    """A partition, and the plans in it by the models' names."""

    partition: partitions.Partition
    outputs: dict[str, plans.Outputs]
    folder: Path
    slots: int = 1

    @property
    def is_plan(self) -> bool:
        return len(self.outputs) == 1 and self.slots == 1

    @property
    def image(self) -> Path:
        """What is flashed: a single plan itself, or a file of several, or with records before the plan."""
        if self.is_plan:
            return next(iter(self.outputs.values())).plan
        return self.folder / f"{self.partition.label}.bin"


def _of(settings: options.Settings, label: str, outputs: dict[str, plans.Outputs]) -> dict[str, plans.Outputs]:
    return {model.name: outputs[model.name] for model in settings.models_in(label)}


def _compiler(env: Any, settings: options.Settings, hook_path: Path) -> compilers.Compiler:
    python = str(env.subst("$PYTHONEXE"))

    def make() -> str:
        return install.provide(Path(env.subst("$PROJECT_CORE_DIR")), hook_path.resolve().parents[2], python)

    return compilers.find(settings.python, env["ENV"], python, make if settings.auto_install else None)


# ---- partition table ---------------------------------------------------------------------------------------------


def _table(env: Any, settings: options.Settings) -> tuple[partitions.Partition, ...]:
    """The table that the framework chose."""
    source = frameworks.table_file(env)
    at, _ = frameworks.table_offset(env)
    return partitions.parse_csv(partitions.read_text(source), str(source), _bootloader_offset(env, settings.chip), at)


def _write_table(env: Any, settings: options.Settings, output: Path) -> None:
    """With room by custom_tigris_flash, or by the plans that an earlier build made."""
    wanted = {}
    for label in settings.labels:
        sizes = [_made_bytes(settings, model, output) for model in settings.models_in(label)]
        wanted[label] = table.room(settings.slot_size or settings.flash_bytes, sizes, settings.slots)
    at, _ = frameworks.table_offset(env)
    table.write(env, table.with_room(_table(env, settings), _flash_bytes(env), wanted, at))


def _made_bytes(settings: options.Settings, model: options.Model, output: Path) -> int | None:
    """What an earlier build made to be flashed; None: nothing."""
    if settings.mode == "c":
        return plain_c.weights_bytes(model, output)
    plan = _outputs(output, model.name).plan
    return plan.stat().st_size if plan.is_file() else None


def _partitions(env: Any, settings: options.Settings) -> dict[str, partitions.Partition]:
    """Finds or adds the models' partitions, by label; a changed table replaces the board option build.partitions."""
    rows = _table(env, settings)
    flash = settings.flash_bytes
    limit = settings.slot_size or flash
    least = table.slots_room(settings.slots, limit or partitions.MMU_PAGE)
    most = partitions.align_up(least, partitions.MMU_PAGE) if settings.slots == 2 and limit else limit
    wanted = {
        label: (least, most * len(settings.models_in(label)) if most else None) for label in settings.labels
    }
    result, found = partitions.with_models(rows, _flash_bytes(env), wanted, frameworks.table_offset(env)[0])
    if result != rows:
        # Under its own name: for one that ends in tinyuf2.csv Arduino adds a bootloader.
        target = _output(env) / frameworks.table_file(env).name
        _write_if_changed(target, partitions.to_csv(result).encode())
        env.BoardConfig().update("build.partitions", str(target))
    return found


def _bootloader_offset(env: Any, chip: str) -> int:
    """A row for the bootloader lies where the chip looks for it."""
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
    """`early`: the models that the compiler was asked for before, with what it said against it."""

    def build() -> None:
        if (error := early.get(model.name)) is not None:
            raise error
        made = plans.provide(model, settings, compiler, _kept(env, "plans"), outputs, _compiling(env, model, settings))
        if not made and model.name not in early:
            print(f"Unchanged model {model.name}: its plan was compiled before")

    read = [_file(env, path) for path in sources.files(model)]
    targets = [_file(env, outputs.plan), _file(env, outputs.header), _file(env, outputs.report)]
    node = _command(env, targets, read, build, "")
    decisive = [plans.compile_arguments(model, settings), compiler.fingerprint]
    env.Depends(node, env.Value(json.dumps(decisive)))


def _kept(env: Any, folder: str) -> Path:
    """A folder that PlatformIO does not clear with the build folder."""
    return Path(env.subst("$PROJECT_WORKSPACE_DIR")) / "tigris" / folder


def _compiling(env: Any, model: options.Model, settings: options.Settings) -> str:
    return f"Compiling model {model.name} for {settings.mem} ({_shown(env, model)})"


def _compile_objects(
    env: Any, settings: options.Settings, hook_path: Path, output: Path, early: dict[str, Exception | None]
) -> None:
    """Compiles those of the library's sources that the firmware needs. Plans' headers say which kernels these are, so
    models are compiled when the first of the sources is looked at. The build's step says what is wrong with one."""

    def needed() -> list[str] | None:
        if _editor_asks(env):
            return None
        own = [Path(env.subst(name)) for name in ("$PROJECT_SRC_DIR", "$PROJECT_INCLUDE_DIR", "$PROJECT_TEST_DIR")]
        own += [Path(env.subst("$PROJECT_DIR"), "components"), *objects.libraries(env)]
        texts = [*objects.texts_in(own), str(env.get("CPPDEFINES", "")), str(env.GetProjectOption("build_flags", ""))]
        for model in settings.models if settings.mode == "plan" else ():
            compiler, said = _compiler(env, settings, hook_path), _compiling(env, model, settings)
            try:
                plan, was_kept = plans.provided(model, settings, compiler, _kept(env, "plans"), output, said)
            except (*ERRORS, OSError) as error:
                early[model.name] = error
                return None
            texts.append(plan.header.decode())
            if not was_kept:
                early[model.name] = None
        return texts

    folders = [output / "c", *([settings.backend_path] if settings.backend_path else [])]
    objects.add(env, settings.optimize, folders, _kept(env, "objects"), needed,
                objects.lacks(settings.chip, settings.backend))  # fmt: skip


def _layout_node(env: Any, settings: options.Settings, contents: list[_Content], header: Path) -> list[Any]:
    """tigris_models.h, and the images of partitions with several plans; the nodes that firmware waits for."""
    made = [content.image for content in contents if not content.is_plan]

    def wanted() -> dict[Path, bytes]:
        placed = {}
        for content in contents:
            read = [(name, out.plan.read_bytes()) for name, out in content.outputs.items()]
            placed[content.partition.label] = layout.place(
                read, content.partition, settings.slots, settings.slot_size
            )
        names = [name for content in contents for name in content.outputs]
        text = layout.models_header(
            placed,
            names if settings.match == "exact" else [],
            [] if settings.check else names,
            names if settings.match == "shape" else [],
        )
        images = {content.image: layout.image(placed[content.partition.label]) for content in contents}
        return {header: text.encode(), **{path: images[path] for path in made}}

    def build() -> None:
        for path, data in wanted().items():
            _write_if_changed(path, data)

    _drop_unless(wanted, (header, *made))
    read = [
        _file(env, path) for content in contents for out in content.outputs.values() for path in (out.plan, out.header)
    ]
    node = _command(env, [_file(env, path) for path in (header, *made)], read, build, "Generating $TARGET")
    decisive = (settings.match, settings.check, settings.slots, settings.slot_size)
    env.Depends(node, env.Value(repr(([content.partition for content in contents], *decisive))))
    return [node, *(_file(env, content.image) for content in contents)]


def _drop_unless(wanted: Callable[[], dict[Path, bytes]], paths: Sequence[Path]) -> None:
    """Removes what was damaged in the build folder, so that it is made again; like plans.drop_damaged."""
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


def _shown(env: Any, model: options.Model) -> str:
    shown = os.path.relpath(model.path, env.subst("$PROJECT_DIR"))
    return str(model.path) if shown.startswith("..") else shown


def _command(env: Any, targets: list[Any], sources: list[Any], step: Callable[[], None], text: str) -> Any:
    """A node whose `step` runs when a source, or what it depends on otherwise, has changed."""
    action = env.VerboseAction(_run_step, text) if text else env.Action(_run_step, cmdstr=None)
    node = env.Command(targets, sources, action)
    _STEPS[targets[0].get_abspath()] = step
    return node


# SCons digests an action together with the objects it refers to, and not all of these are the same in each run. So
# there is one action without any, and the steps are found by their first target.
_STEPS: dict[str, Callable[[], None]] = {}


def _run_step(target: Any, source: Any, env: Any) -> int:
    """Fails the build with a message instead of a traceback."""
    try:
        _STEPS[target[0].get_abspath()]()
    except ERRORS as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"Error: {error.filename or 'a file of the build'}: {error.strerror}\n")
        return 1
    return 0


def _editor_asks(env: Any) -> bool:
    from SCons.Script import COMMAND_LINE_TARGETS  # noqa: PLC0415 - there is none outside SCons

    return bool(env.IsIntegrationDump()) or "compiledb" in COMMAND_LINE_TARGETS


def _make_header(header: Path) -> None:
    """An editor that asks for the include paths before the first build shall find the header in them, with the models'
    own names and sizes. Nothing is built then: so the steps are taken here. What is wrong with a model is said, and
    stops the build only."""
    if header.is_file():
        return
    try:
        for step in _STEPS.values():
            step()
    except (*ERRORS, OSError) as error:
        sys.stderr.write(f"Warning: {header.name} is not there before the first build: {error}\n")


def _summary_action(contents: list[_Content], settings: options.Settings) -> Callable[..., None]:
    def action(target: Any, source: Any, env: Any) -> None:
        slow: dict[str, int] = {}
        for content in contents:
            rows = [
                (name, out.plan.stat().st_size, json.loads(out.report.read_text("utf-8")))
                for name, out in content.outputs.items()
            ]
            slots = layout.place(
                [(name, out.plan.read_bytes()) for name, out in content.outputs.items()],
                content.partition, settings.slots, settings.slot_size,
            )  # fmt: skip
            print("\n".join(layout.summary(rows, content.partition, {item.name: item.slot_bytes for item in slots})))
            slow |= {name: int(report.get("memory", {}).get("slow_peak", 0)) for name, _, report in rows}
        lacking = psram.warning(env, settings.chip, slow)
        if lacking:
            print(f"Warning: {lacking}")

    return action
