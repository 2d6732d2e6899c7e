"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tigris_pio.errors import FileError


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces `path` with `data` in one step; FileError when that cannot be."""
    check_target(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except OSError as error:
        raise _refused(path, error) from error
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
            raise _refused(path, error) from error
        raise


def check_target(path: Path) -> None:
    """FileError when no file can be written at `path`: to be asked before long work whose result goes there."""
    if path.is_dir():
        raise FileError(f"{path}: is a folder; give the path of a file in it")
    if not path.parent.is_dir():
        what = "is no folder" if path.parent.exists() else "does not exist"
        raise FileError(f"{path}: the folder {path.parent} {what}; choose one that exists")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"{path}: the folder {path.parent.absolute()} cannot be written; choose one that can")


def read_named(path: Path, what: str, error: type[FileError] = FileError) -> bytes:
    """The content of a file that the user named; `error` says what to give instead, `what`."""
    try:
        if path.is_dir():  # which Windows calls a lack of permission
            raise error(f"{path}: is a folder; give {what}")
        return path.read_bytes()
    except FileNotFoundError:
        raise error(f"{path}: no such file; give {what}") from None
    except (OSError, ValueError) as reason:
        raise error(f"{path}: cannot be read: {getattr(reason, 'strerror', reason)}; give {what}") from None


def _refused(path: Path, error: OSError) -> FileError:
    """Read-only file systems, full disks."""
    return FileError(f"{path}: cannot be written: {error.strerror}; choose a folder that can be written")


def write_if_changed(path: Path, data: bytes) -> None:
    """The same, but leaves a file alone that has this content: whatever is built from it stays up to date."""
    if not path.is_file() or path.read_bytes() != data:
        write_atomically(path, data)
