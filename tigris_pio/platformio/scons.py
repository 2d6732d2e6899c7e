"""The build graph: options -> partition table and plan nodes -> flash images. Runs inside SCons.

Order matters here, see PlatformIO's builder: a `pre:` script runs before the platform reads the partition table and
before the upload command is put together; a `post:` script runs when the program node exists.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import compiler as compilers
from . import frameworks, install, layout, options, partitions, plans, upload

STATE = "TIGRIS_STATE"
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
    env[STATE] = {}
    try:
        env[STATE] = _configure(env, hook_path)
    except ERRORS as error:
        _fail(env, error)
    # The post phase needs no line of its own in platformio.ini.
    section = "env:" + env["PIOENV"]
    scripts = env.GetProjectOption("extra_scripts", [])
    # Its parser expands a percent sign.
    scripts = [script.replace("%", "%%") for script in [*scripts, f"post:{hook_path}"]]
    env.GetProjectConfig().set(section, "extra_scripts", scripts)


def finish(env: Any) -> None:
    """The `post:` phase: the program waits for the plans, so that whoever merges images finds them."""
    state = env.get(STATE)
    program = env.get("PIOMAINPROG")
    if state and program and not state.get("finished"):
        state["finished"] = True
        env.Depends(program, state["nodes"])
        upload.add_target(env, state["offset"], state["image"])


def _fail(env: Any, error: Exception) -> None:
    sys.stderr.write(f"Error: {error}\n")
    env.Exit(1)


def _configure(env: Any, hook_path: str) -> dict[str, Any]:
    project = Path(env.subst("$PROJECT_DIR"))
    settings = options.parse(dict(env.GetProjectOptions()), project)
    partition = _partition(env, settings)
    output = Path(env.subst("$BUILD_DIR")) / "tigris"
    compiler = _compiler(env, settings, Path(hook_path))
    outputs = {model.name: _outputs(output, model.name) for model in settings.models}
    for model in settings.models:
        _plan_node(env, model, settings, compiler, outputs[model.name])
    image = outputs[settings.models[0].name].plan if len(outputs) == 1 else output / f"{partition.label}.bin"
    nodes = _layout_node(env, settings, partition, outputs, output / "tigris_models.h", image)
    env.Append(CPPPATH=[str(output)], FLASH_EXTRA_IMAGES=[(hex(partition.offset), str(image))])
    env.AddPostAction("checkprogsize", env.Action(_summary_action(outputs, partition), cmdstr=None))
    return {"nodes": nodes, "offset": hex(partition.offset), "image": _file(env, image)}


def _compiler(env: Any, settings: options.Settings, hook_path: Path) -> compilers.Compiler:
    python = str(env.subst("$PYTHONEXE"))

    def make() -> str:
        return install.provide(Path(env.subst("$PROJECT_CORE_DIR")), hook_path.resolve().parents[2], python)

    return compilers.find(settings.python, env["ENV"], python, make if settings.auto_install else None)


# ---- partition table ---------------------------------------------------------------------------------------------


def _partition(env: Any, settings: options.Settings) -> partitions.Partition:
    """Finds or adds the model's partition; a changed table replaces the board option build.partitions."""
    source = frameworks.table_file(env)
    table = partitions.parse_csv(partitions.read_text(source), str(source))
    flash_bytes = _flash_bytes(env)
    flash = settings.flash_bytes
    result, partition = partitions.with_model(
        table,
        settings.partition,
        flash_bytes,
        least=flash or partitions.MMU_PAGE,
        most=flash * len(settings.models) if flash else None,
    )
    if result != table:
        target = Path(env.subst("$BUILD_DIR")) / "tigris" / "partitions.csv"
        _write_if_changed(target, partitions.to_csv(result))
        env.BoardConfig().update("build.partitions", str(target))
    return partition


def _flash_bytes(env: Any) -> int:
    text = str(env.BoardConfig().get("upload.flash_size", "4MB")).strip().upper()
    number, unit = text[:-2], text[-2:]
    if unit not in ("KB", "MB") or not number.isdigit():
        raise partitions.PartitionError(f"board_upload.flash_size = {text}: give the chip's size, such as 8MB")
    return int(number) << (10 if unit == "KB" else 20)


def _write_if_changed(path: Path, text: str) -> None:
    if path.is_file() and path.read_text("utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


# ---- nodes -------------------------------------------------------------------------------------------------------


def _outputs(folder: Path, name: str) -> plans.Outputs:
    return plans.Outputs(folder / f"{name}.tgrs", folder / f"tigris_model_{name}.h", folder / f"{name}.json")


def _plan_node(
    env: Any,
    model: options.Model,
    settings: options.Settings,
    compiler: compilers.Compiler,
    outputs: plans.Outputs,
) -> None:
    cache = Path(env.subst("$PROJECT_WORKSPACE_DIR")) / "tigris" / "plans"

    def build() -> None:
        if not plans.provide(model, settings, compiler, cache, outputs):
            print(f"Unchanged model {model.name}: its plan was compiled before")

    sources = [_file(env, model.path), *[_file(env, path) for path in plans.external_data(model.path)]]
    targets = [_file(env, outputs.plan), _file(env, outputs.header), _file(env, outputs.report)]
    node = _command(
        env, targets, sources, build, f"Compiling model {model.name} for {settings.mem} ({_shown(env, model)})"
    )
    decisive = [plans.compile_arguments(model, settings), compiler.fingerprint]
    env.Depends(node, env.Value(json.dumps(decisive)))


def _layout_node(
    env: Any,
    settings: options.Settings,
    partition: partitions.Partition,
    outputs: dict[str, plans.Outputs],
    header: Path,
    image: Path,
) -> list[Any]:
    """tigris_models.h, and the partition's image unless it is the only plan itself."""

    def build() -> None:
        read = [(name, out.plan.read_bytes()) for name, out in outputs.items()]
        placed = layout.place(read, partition, layout.page_of(settings.match))
        if len(outputs) > 1:
            image.write_bytes(layout.image(placed))
        _write_if_changed(header, layout.models_header(placed, partition.label, settings.match))

    sources = [_file(env, path) for out in outputs.values() for path in (out.plan, out.header)]
    targets = [_file(env, header)] + ([_file(env, image)] if len(outputs) > 1 else [])
    node = _command(env, targets, sources, build, "Generating $TARGET")
    env.Depends(node, env.Value(repr((partition, settings.match))))
    return [node, _file(env, image)]


def _file(env: Any, path: Path) -> Any:
    # SCons would expand a dollar in a path.
    return env.File(str(path).replace("$", "$$"))


def _shown(env: Any, model: options.Model) -> str:
    shown = os.path.relpath(model.path, env.subst("$PROJECT_DIR"))
    return str(model.path) if shown.startswith("..") else shown


def _command(env: Any, targets: list[Any], sources: list[Any], step: Callable[[], None], text: str) -> Any:
    """A node whose `step` runs when a source, or what it depends on otherwise, has changed."""
    node = env.Command(targets, sources, env.VerboseAction(_run_step, text))
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
        sys.stderr.write(f"Error: {error.filename}: {error.strerror}\n")
        return 1
    return 0


def _summary_action(outputs: dict[str, plans.Outputs], partition: partitions.Partition) -> Callable[..., None]:
    def action(target: Any, source: Any, env: Any) -> None:
        rows = [
            (name, out.plan.stat().st_size, json.loads(out.report.read_text("utf-8"))) for name, out in outputs.items()
        ]
        print("\n".join(layout.summary(rows, partition)))

    return action
