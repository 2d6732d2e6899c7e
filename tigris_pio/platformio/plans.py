"""Compiled plans, cached by content.

A cache entry is a folder named by the digest of everything that decides about the plan: the model's bytes, the options
and the compiler. It holds plan.tgrs, model.h and report.json, appears by one rename, and is never changed afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .compiler import Compiler, run
from .options import PORTABLE_BACKENDS, Model, Settings

PLAN, HEADER, REPORT = "plan.tgrs", "model.h", "report.json"
KEPT_ENTRIES = 64


@dataclass(frozen=True)
class Outputs:
    """Where the build wants the results."""

    plan: Path
    header: Path
    report: Path


def external_data(model: Path) -> list[Path]:
    """Files beside the model in which exporters keep large weights."""
    names = (model.name + ".data", model.name + "_data", model.stem + ".data")
    return [path for path in (model.with_name(name) for name in names) if path.is_file()]


def compile_arguments(model: Model, settings: Settings) -> list[str]:
    """Of `tigris compile`, but for the model and the outputs."""
    arguments = ["-m", settings.mem, "--name", model.name]
    if settings.flash:
        arguments += ["-f", settings.flash]
    for dim in settings.dims:
        arguments += ["--dim", dim]
    if settings.xip:
        arguments.append("--xip")
    if settings.compress != "none":
        arguments += ["--compress", settings.compress]
    if settings.backend not in PORTABLE_BACKENDS:
        arguments += ["--backend", settings.backend, "--chip", settings.chip]
    return arguments


def key(model: Model, settings: Settings, compiler: Compiler) -> str:
    digest = hashlib.sha256()
    for path in [model.path, *external_data(model.path)]:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    digest.update(json.dumps([compile_arguments(model, settings), compiler.fingerprint]).encode())
    return digest.hexdigest()


def provide(model: Model, settings: Settings, compiler: Compiler, cache: Path, outputs: Outputs) -> bool:
    """Puts the plan, its header and its report where the build wants them; True if the compiler had to run."""
    entry = cache / key(model, settings, compiler)[:32]
    compiled = not (entry / REPORT).is_file()
    if compiled:
        _compile(model, settings, compiler, entry)
        _prune(cache, entry)
    else:
        os.utime(entry)
    for source, target in ((PLAN, outputs.plan), (HEADER, outputs.header), (REPORT, outputs.report)):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(entry / source, target)
    return compiled


def _compile(model: Model, settings: Settings, compiler: Compiler, entry: Path) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="compiling-", dir=entry.parent))
    try:
        arguments = [str(model.path), *compile_arguments(model, settings)]
        report = run(compiler, [*arguments, "--header", str(work / HEADER), "-o", str(work / PLAN)], work)
        (work / REPORT).write_text(json.dumps(report), "utf-8")
        if entry.exists():
            shutil.rmtree(entry)
        os.replace(work, entry)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _prune(cache: Path, newest: Path) -> None:
    """Keeps the cache from growing for ever: the entries used last stay."""
    entries = [path for path in cache.iterdir() if path.is_dir() and path != newest]
    entries.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[KEPT_ENTRIES - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
