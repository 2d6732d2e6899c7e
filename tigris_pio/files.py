"""Reads files that the user named, and writes files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tigris_pio.errors import FileError


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces the file `path` by `data` in one step. Raises FileError."""
    check_target(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except OSError as error:
        raise _write_error(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError):
            raise _write_error(path, error) from error
        raise


def check_target(path: Path) -> None:
    """Raises FileError if no file can be written at `path`. Call it before long work whose result goes there."""
    if path.is_dir():
        raise FileError(f"{path}: is a folder; give the path of a file in it")
    if not path.parent.is_dir():
        what = "is no folder" if path.parent.exists() else "does not exist"
        raise FileError(f"{path}: the folder {path.parent} {what}; choose one that exists")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"{path}: the folder {path.parent.absolute()} cannot be written; choose one that can")


def read_named(path: Path, what: str, error: type[FileError] = FileError) -> bytes:
    """The content of a file that the user named. Raises `error`, whose message asks for `what` instead."""
    try:
        if path.is_dir():  # reading it would be a PermissionError on Windows
            raise error(f"{path}: is a folder; give {what}")
        return path.read_bytes()
    except FileNotFoundError:
        raise error(f"{path}: no such file; give {what}") from None
    except (OSError, ValueError) as reason:
        raise error(f"{path}: cannot be read: {getattr(reason, 'strerror', reason)}; give {what}") from None


def _write_error(path: Path, error: OSError) -> FileError:
    """The FileError for a read-only file system or a full disk."""
    return FileError(f"{path}: cannot be written: {error.strerror}; choose a folder that can be written")


def write_if_changed(path: Path, data: bytes) -> None:
    """Like write_atomically, but does not touch a file that has this content already: no build step runs again."""
    if not path.is_file() or path.read_bytes() != data:
        write_atomically(path, data)
