"""Flash of the runtime at -Os: its core, and the whole program of one network."""

from pathlib import Path

from bench.emulator import FIRMWARE, Machine, compiler, run_tool, runtime_sources
from tigris_pio.compiler.emit.model_header import render_model_header
from tigris_pio.compiler.pipeline import Compiled

#: Loader, executor and memory: sources that every firmware has.
CORE = ("plan", "extents", "records", "session", "dispatch", "band", "memory", "move", "executor", "lz4")
#: What a program needs that does not say what its system is.
NO_SYSTEM = {"arm-none-eabi": ("--specs=nosys.specs",)}


def text_bytes(machine: Machine, *files: Path) -> int:
    """Code and constants of objects or programs, added up."""
    lines = run_tool([f"{machine.toolchain}-size", *map(str, files)]).splitlines()[1:]
    return sum(int(line.split()[0]) for line in lines)


def small_objects(machine: Machine, folder: Path) -> list[Path]:
    """The whole runtime compiled for size into `folder`."""
    objects = []
    for group in sorted({source.parent for source in runtime_sources()}):  # those of several have files of one name
        sources = [source for source in runtime_sources() if source.parent == group]
        own = folder / machine.name / group.name
        own.mkdir(parents=True)
        run_tool([*compiler(machine), "-Os", "-c", *map(str, sources)], own)
        objects += [own / f"{source.stem}.o" for source in sources]
    return objects


def core_text(machine: Machine, objects: list[Path]) -> int:
    """Bytes of loader, executor and memory, before the linker makes their calls shorter."""
    core = [path for path in objects if path.stem in CORE]
    assert len(core) == len(CORE)
    return text_bytes(machine, *core)


def link_model(machine: Machine, objects: list[Path], compiled: Compiled, folder: Path) -> Path:
    """The smallest program with this model, which must be named "model": C library and start-up code included, but
    not the plan."""
    (folder / "model.h").write_text(render_model_header(compiled.plan, compiled.data), encoding="utf-8")
    target = folder / f"{machine.name}-model.elf"
    plan = f"--defsym=plan_start=0x80000000,--defsym=plan_end={0x80000000 + len(compiled.data):#x}"
    run_tool([
        *compiler(machine), "-Os", *NO_SYSTEM.get(machine.toolchain, ()), f"-I{folder}", str(FIRMWARE / "model.c"),
        *map(str, objects), f"-Wl,--gc-sections,{plan}", "-o", str(target),
    ])  # fmt: skip
    return target
