"""Compiled plans, cached by content.

A cache entry is a folder named by the digest of everything that decides about the plan: the bytes of the model and of
its data files, the options and the compiler. It holds plan.tgrs, model.h and report.json with their digests, appears by
one rename, and is never changed afterwards. What was found in it is believed only where the digests say the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from . import sources
from .compiler import Compiler, CompilerError, run
from .options import PORTABLE_BACKENDS, Model, Settings

PLAN, HEADER, REPORT, DIGESTS = "plan.tgrs", "model.h", "report.json", "digests.json"
KEPT_ENTRIES = 64
#: Chips whose instructions make another plan than those of the chips that the compiler is not told of.
OTHER_CHIPS = frozenset((
    "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m52", "cortex-m55", "cortex-m85", "esp32", "esp32s3",
    "esp32p4",
))  # fmt: skip
# The plan's first bytes, see SPEC.md, header_record: magic, version, header_bytes, flags, total_bytes, crc32.
_HEAD = struct.Struct("<4sHHIII")


@dataclass(frozen=True)
class Outputs:
    """Where the build wants the results."""

    plan: Path
    header: Path
    report: Path

    @property
    def digests(self) -> Path:
        return self.report.with_suffix(".digests")


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of a model."""

    plan: bytes
    header: bytes
    report: bytes

    @property
    def digests(self) -> str:
        return json.dumps([sources.of_bytes(data) for data in (self.plan, self.header, self.report)])


def compile_arguments(model: Model, settings: Settings) -> list[str]:
    """Of `tigris compile`, but for the model and the outputs."""
    arguments = ["-m", settings.mem, "--name", model.name]
    if settings.flash:
        arguments += ["-f", settings.flash]
    for dim in settings.dims:
        arguments += ["--dim", dim]
    for value in settings.set:
        arguments += ["--set", value]
    for tie in settings.state:
        arguments += ["--state", tie]
    for port in settings.stream:
        arguments += ["--stream", port]
    if settings.hop is not None:
        arguments += ["--hop", str(settings.hop)]
    for limit in settings.limits:
        arguments += ["--limit", limit]
    if settings.cores > 1:
        arguments += ["--cores", str(settings.cores)]
    if settings.xip:
        arguments.append("--xip")
    if settings.compress != "none":
        arguments += ["--compress", settings.compress]
    if settings.backend not in PORTABLE_BACKENDS:
        arguments += ["--backend", settings.backend, "--chip", settings.chip]
    elif settings.chip in OTHER_CHIPS:
        # Of a library that the project does not have the compiler must not make plans.
        arguments += [*(("--backend", "portable") if settings.backend == "portable" else ()), "--chip", settings.chip]
    return arguments


def key(model: Model, settings: Settings, compiler: Compiler) -> str:
    decisive = [sources.digest(model), compile_arguments(model, settings), compiler.fingerprint]
    return sources.of_bytes(json.dumps(decisive).encode())


def provide(
    model: Model, settings: Settings, compiler: Compiler, cache: Path, outputs: Outputs, said: str = ""
) -> bool:
    """Puts the plan, its header and its report where the build wants them; True if the compiler had to run."""
    compiled, was_kept = provided(model, settings, compiler, cache, outputs.plan.parent, said)
    _write(compiled, outputs.plan, outputs.header, outputs.report, outputs.digests)
    return not was_kept


def provided(
    model: Model, settings: Settings, compiler: Compiler, cache: Path, build: Path, said: str
) -> tuple[Compiled, bool]:
    """The plan, and whether it was kept; `said` is printed if the compiler has to run."""
    entry = cache / key(model, settings, compiler)[:32]
    found = whole(entry / PLAN, entry / HEADER, entry / REPORT, entry / DIGESTS)
    if found is not None:
        # Which entries were used last; a cache that cannot be written does without.
        with contextlib.suppress(OSError):
            os.utime(entry)
        return found, True
    if said:
        print(said)
    if (entry / DIGESTS).exists():
        print(f"The plan of model {model.name} in {cache} is damaged: it is compiled again")
    return _compile(model, settings, compiler, entry, build), False


def drop_damaged(outputs: Outputs) -> None:
    """Removes the build's copies unless they are whole: they are made again, and never flashed."""
    paths = (outputs.plan, outputs.header, outputs.report)
    if not any(path.exists() for path in paths):
        return
    if whole(*paths, outputs.digests) is None:
        print(f"{outputs.plan.name} in the build folder is damaged: it is made again")
        for path in paths:
            path.unlink(missing_ok=True)


def fault(plan: bytes) -> str | None:
    """What is wrong with a plan's size or checksum."""
    if len(plan) < _HEAD.size or plan[:4] != b"TGRS":
        return f"{len(plan)} bytes that do not start as a plan does"
    *_, total_bytes, crc32 = _HEAD.unpack_from(plan)
    if total_bytes != len(plan):
        return f"{len(plan)} bytes of {total_bytes}"
    return None if zlib.crc32(plan[_HEAD.size :]) == crc32 else "its checksum differs"


def whole(plan: Path, header: Path, report: Path, digests: Path) -> Compiled | None:
    """None when anything is missing or not as it was written."""
    try:
        compiled = Compiled(plan.read_bytes(), header.read_bytes(), report.read_bytes())
        if digests.read_bytes() != compiled.digests.encode() or not isinstance(json.loads(compiled.report), dict):
            return None
    except (OSError, ValueError):
        return None
    return compiled if fault(compiled.plan) is None else None


def _write(compiled: Compiled, plan: Path, header: Path, report: Path, digests: Path) -> None:
    """The digests last: what was cut off before is not believed."""
    for path, data in (
        (plan, compiled.plan),
        (header, compiled.header),
        (report, compiled.report),
        (digests, compiled.digests.encode()),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _compile(model: Model, settings: Settings, compiler: Compiler, entry: Path, build: Path) -> Compiled:
    before = entry.name
    work = _work_folder(entry.parent, build, model)
    try:
        arguments = [str(model.path), *compile_arguments(model, settings)]
        report = run(compiler, [*arguments, "--header", str(work / HEADER), "-o", str(work / PLAN)], work)
        compiled = Compiled(
            (work / PLAN).read_bytes(), (work / HEADER).read_bytes(), json.dumps(report).encode("utf-8")
        )
        wrong = fault(compiled.plan)
        if wrong:
            raise CompilerError(f"model {model.name}: what the compiler wrote is no whole plan ({wrong}); build again")
        # A file that changed meanwhile may be in the plan or not.
        if work.parent == entry.parent and key(model, settings, compiler)[: len(before)] == before:
            _publish(compiled, work, entry)
        return compiled
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _work_folder(cache: Path, build: Path, model: Model) -> Path:
    """In the cache, so that an entry appears by a rename; in the build folder where the cache cannot be written."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="compiling-", dir=cache))
    except OSError as error:
        print(f"Plans cannot be kept in {cache} ({error.strerror}): model {model.name} is compiled for this build only")
        build.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="compiling-", dir=build))


def _publish(compiled: Compiled, work: Path, entry: Path) -> None:
    """Makes the folder an entry. The build does not need it, so a full disk is no error."""
    try:
        _write(compiled, work / PLAN, work / HEADER, work / REPORT, work / DIGESTS)
        # A damaged one, or that of a build that was quicker.
        shutil.rmtree(entry, ignore_errors=True)
        os.replace(work, entry)
        _prune(entry.parent, entry)
    except OSError as error:
        print(f"The plan is not kept in {entry.parent} ({error.strerror})")


def _prune(cache: Path, newest: Path) -> None:
    """Keeps the cache from growing for ever: the entries used last stay."""
    entries = []
    for path in cache.iterdir():
        # Another build may remove it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if path.is_dir() and path != newest:
                entries.append((path.stat().st_mtime, path))
    entries.sort(reverse=True)
    for _, path in entries[KEPT_ENTRIES - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
