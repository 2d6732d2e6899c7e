"""Puts compilers that ask ccache first into a folder for PATH, so that each source is compiled once.

Tests build the runtime for boards many times, each in its own project; all processes and later runs share the cache.
Without ccache everything works, but slower.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from shlex import quote

FOLDER = Path(".tigris", "compilers")
CACHE = Path(".tigris", "ccache")
COMPILERS = (
    *("cc", "gcc", "g++", "c++", "clang"),
    *(
        f"{target}-{name}"
        for target in ("riscv64-unknown-elf", "arm-none-eabi", "aarch64-linux-gnu", "xtensa-lx106-elf")
        for name in ("gcc", "g++")
    ),
)
#: Objects do not depend on the folder they are made in, nor on when a header was written.
SETTINGS = "hash_dir = false\nsloppiness = include_file_ctime,include_file_mtime\nmax_size = 1G\n"


def ensure(root: Path) -> None:
    """Writes the folder anew and puts it first in this process's PATH; does nothing without ccache."""
    folder, cache = root / FOLDER, root / CACHE
    path = [part for part in os.environ.get("PATH", "").split(os.pathsep) if part != str(folder)]
    ccache = shutil.which("ccache")
    if ccache is None or os.name == "nt":
        shutil.rmtree(folder, ignore_errors=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    cache.mkdir(exist_ok=True)
    _write(cache / "ccache.conf", SETTINGS)
    for name in COMPILERS:
        found = shutil.which(name, path=os.pathsep.join(path))
        if found is None:
            (folder / name).unlink(missing_ok=True)
            continue
        _write(folder / name, f'#!/bin/sh\nCCACHE_DIR={quote(str(cache))} exec {quote(ccache)} {quote(found)} "$@"\n')
        (folder / name).chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    os.environ["PATH"] = os.pathsep.join([str(folder), *path])


def _write(path: Path, text: str) -> None:
    """Writes the file only if its text changes: other processes may be running it."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
