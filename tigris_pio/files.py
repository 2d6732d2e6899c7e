"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tigris_pio.errors import ToolError


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces `path` with `data` in one step; ToolError when the folder cannot be written."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except OSError as error:
        raise ToolError(f"{path}: cannot be written: {error.strerror}; choose a folder that exists") from error
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
            raise ToolError(f"{path}: cannot be written: {error.strerror}") from error
        raise


def write_if_changed(path: Path, data: bytes) -> None:
    """The same, but leaves a file alone that has this content: whatever is built from it stays up to date."""
    if not path.is_file() or path.read_bytes() != data:
        write_atomically(path, data)
