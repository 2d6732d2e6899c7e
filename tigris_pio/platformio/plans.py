"""Compiles plans, and caches them by content.

A cache entry is a folder named by the digest of everything that influences the plan: the model and its data files, the
options and the compiler. It holds plan.tgrs, model.h, report.json and their digests. It appears by one rename and never
changes. Files whose digest differs are not used.
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
#: Chips with a cost model of their own in the compiler: for these the plan depends on the chip.
TUNED_CHIPS = frozenset((
    "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m52", "cortex-m55", "cortex-m85", "esp32", "esp32s3",
    "esp32p4",
))  # fmt: skip
# The plan's first bytes, see SPEC.md, header_record: magic, version, header_bytes, flags, total_bytes, crc32.
_HEAD = struct.Struct("<4sHHIII")
#: Bytes that follow a signed plan, see SPEC.md, signature_record.
SIGNATURE_BYTES = 72


@dataclass(frozen=True)
class Outputs:
    """The paths of a model's results in the build folder."""

    plan: Path
    header: Path
    report: Path

    @property
    def digests(self) -> Path:
        return self.report.with_suffix(".digests")


@dataclass(frozen=True)
class Compiled:
    """The contents of the compiler's results."""

    plan: bytes
    header: bytes
    report: bytes

    @property
    def digests(self) -> str:
        return json.dumps([sources.of_bytes(data) for data in (self.plan, self.header, self.report)])


def compile_arguments(model: Model, settings: Settings) -> list[str]:
    """The arguments of `tigris compile`, except the model and the outputs."""
    arguments = ["-m", settings.mem, "--name", model.name]
    for option, values in (
        ("-f", [settings.flash] if settings.flash else []),
        ("--dim", settings.dims),
        ("--set", settings.set),
        ("--state", settings.state),
        ("--stream", settings.stream),
        ("--hop", [] if settings.hop is None else [str(settings.hop)]),
        ("--limit", settings.limits),
        ("--cores", [str(settings.cores)] if settings.cores > 1 else []),
        ("--compress", [settings.compress] if settings.compress != "none" else []),
        ("--sign", [] if settings.sign is None else [str(settings.sign)]),
        ("--security-version", [] if settings.security_version is None else [str(settings.security_version)]),
    ):
        arguments += [word for value in values for word in (option, value)]
    if settings.xip:
        arguments.append("--xip")
    if settings.backend not in PORTABLE_BACKENDS:
        arguments += ["--backend", settings.backend, "--chip", settings.chip]
    elif settings.chip in TUNED_CHIPS:
        # The compiler must not plan for a library that the project does not have.
        arguments += [*(("--backend", "portable") if settings.backend == "portable" else ()), "--chip", settings.chip]
    return arguments


def key(model: Model, settings: Settings, compiler: Compiler) -> str:
    inputs = [sources.digest(model), compile_arguments(model, settings), compiler.fingerprint]
    if settings.sign is not None:
        inputs.append(sources.of_bytes(settings.sign.read_bytes()))
    return sources.of_bytes(json.dumps(inputs).encode())


def compile_or_copy(
    model: Model, settings: Settings, compiler: Compiler, cache: Path, outputs: Outputs, message: str = ""
) -> bool:
    """Writes the plan, its header and its report to `outputs`; returns True if the compiler had to run."""
    compiled, from_cache = find_or_compile(model, settings, compiler, cache, outputs.plan.parent, message)
    _write(compiled, outputs.plan, outputs.header, outputs.report, outputs.digests)
    return not from_cache


def find_or_compile(
    model: Model, settings: Settings, compiler: Compiler, cache: Path, build: Path, message: str
) -> tuple[Compiled, bool]:
    """Returns the plan, and True if it comes from the cache. Prints `message` if the compiler has to run."""
    entry = cache / key(model, settings, compiler)[:32]
    found = read_whole(entry / PLAN, entry / HEADER, entry / REPORT, entry / DIGESTS)
    if found is not None:
        # The time of the last use, for _prune; a read-only cache has none.
        with contextlib.suppress(OSError):
            os.utime(entry)
        return found, True
    if message:
        print(message)
    if (entry / DIGESTS).exists():
        print(f"The plan of model {model.name} in {cache} is damaged, so it is compiled again")
    return _compile(model, settings, compiler, entry, build), False


def drop_damaged(outputs: Outputs) -> None:
    """Removes the build's copies if one is damaged, so that they are written again and never flashed."""
    paths = (outputs.plan, outputs.header, outputs.report)
    if not any(path.exists() for path in paths):
        return
    if read_whole(*paths, outputs.digests) is None:
        print(f"{outputs.plan.name} in the build folder is damaged, so it is written again")
        for path in paths:
            path.unlink(missing_ok=True)


def plan_fault(plan: bytes) -> str | None:
    """Why a plan's size or checksum is wrong; None if both are right."""
    if len(plan) < _HEAD.size or plan[:4] != b"TGRS":
        return f"{len(plan)} bytes that do not start like a plan"
    *_, total_bytes, crc32 = _HEAD.unpack_from(plan)
    if len(plan) - total_bytes not in (0, SIGNATURE_BYTES):
        return f"{len(plan)} bytes of {total_bytes}"
    return None if zlib.crc32(plan[_HEAD.size : total_bytes]) == crc32 else "its checksum differs"


def read_whole(plan: Path, header: Path, report: Path, digests: Path) -> Compiled | None:
    """Reads a plan and its files; None if one is missing or changed."""
    try:
        compiled = Compiled(plan.read_bytes(), header.read_bytes(), report.read_bytes())
        if digests.read_bytes() != compiled.digests.encode() or not isinstance(json.loads(compiled.report), dict):
            return None
    except (OSError, ValueError):
        return None
    return compiled if plan_fault(compiled.plan) is None else None


def _write(compiled: Compiled, plan: Path, header: Path, report: Path, digests: Path) -> None:
    """Writes the digests last, so that an interrupted write counts as damaged."""
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
        wrong = plan_fault(compiled.plan)
        if wrong:
            raise CompilerError(f"model {model.name}: the compiler wrote a damaged plan ({wrong}); build again")
        # If a file has changed meanwhile, the plan may not belong to this key.
        if work.parent == entry.parent and key(model, settings, compiler)[: len(before)] == before:
            _publish(compiled, work, entry)
        return compiled
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _work_folder(cache: Path, build: Path, model: Model) -> Path:
    """A work folder in the cache, so that an entry appears by a rename; in the build folder for a read-only cache."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="compiling-", dir=cache))
    except OSError as error:
        print(f"Plans cannot be cached in {cache} ({error.strerror}): {model.name} is compiled for this build only")
        build.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="compiling-", dir=build))


def _publish(compiled: Compiled, work: Path, entry: Path) -> None:
    """Renames the work folder to a cache entry. The build does not need it, so a full disk is no error."""
    try:
        _write(compiled, work / PLAN, work / HEADER, work / REPORT, work / DIGESTS)
        # A damaged entry, or one of a faster build.
        shutil.rmtree(entry, ignore_errors=True)
        os.replace(work, entry)
        _prune(entry.parent, entry)
    except OSError as error:
        print(f"The plan cannot be cached in {entry.parent} ({error.strerror})")


def _prune(cache: Path, newest: Path) -> None:
    """Removes the oldest entries of the cache by last use."""
    entries = []
    for path in cache.iterdir():
        # Another build may remove it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if path.is_dir() and path != newest:
                entries.append((path.stat().st_mtime, path))
    entries.sort(reverse=True)
    for _, path in entries[KEPT_ENTRIES - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
