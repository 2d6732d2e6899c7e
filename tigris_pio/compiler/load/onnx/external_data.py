"""Finds the files beside an ONNX model that hold its weights, checks that they may be read, and reads them.

PlatformIO's hook loads this file by itself, so it imports the standard library alone. It finds the locations without
the package onnx, in the protobuf of the model; the field numbers are from ONNX's onnx.proto.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

# For each message, the fields that lead to a tensor's external data.
_FIELDS: dict[str, dict[int, str]] = {
    "Model": {7: "Graph", 20: "Training", 25: "Function"},
    "Training": {1: "Graph", 2: "Graph"},
    "Graph": {1: "Node", 5: "Tensor", 15: "SparseTensor"},
    "Function": {7: "Node", 11: "Attribute"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "SparseTensor", 23: "SparseTensor"},
    "SparseTensor": {1: "Tensor", 2: "Tensor"},
    "Tensor": {13: "Entry"},
}
_KEY, _VALUE = 1, 2
_VARINT, _FIXED64, _BYTES, _GROUP, _GROUP_END, _FIXED32 = range(6)
_LOCATION = b"location"
_TFLITE = b"TFL3"
_PIECE = 1 << 20


class ExternalDataError(Exception):
    """A location that cannot be read, or must not be; the message says why and what to do."""


# ---- which files -------------------------------------------------------------------------------------------------


def locations(model: Path) -> tuple[str, ...]:
    """The files that tensors of `model` name, sorted; empty for a file that is not ONNX."""
    with model.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return ()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[4:8] == _TFLITE or data.find(_LOCATION) < 0:
                return ()
            return tuple(sorted({name.decode("utf-8", "surrogateescape") for name in _locations(data)}))


def _locations(data: mmap.mmap) -> Iterator[bytes]:
    """The locations in a model's bytes. A malformed message is read as far as it is valid; the compiler refuses it."""
    waiting = [("Model", 0, len(data))]
    while waiting:
        message, start, end = waiting.pop()
        if message == "Entry":
            entry = {number: data[at:to] for number, at, to in _fields(data, start, end)}
            if entry.get(_KEY) == _LOCATION:
                yield entry.get(_VALUE, b"")
            continue
        inner = _FIELDS[message]
        waiting += [(inner[number], at, to) for number, at, to in _fields(data, start, end) if number in inner]


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of a message's fields that hold bytes."""
    depth = 0
    while at < end:
        tag, at = _varint(data, at, end)
        kind, size = tag & 7, 0
        if kind == _VARINT:
            _, at = _varint(data, at, end)
        elif kind == _BYTES:
            size, at = _varint(data, at, end)
        elif kind in (_GROUP, _GROUP_END):
            # ONNX has no groups; their contents are skipped.
            depth += 1 if kind == _GROUP else -1
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind, end)
        if at + size > end:
            return
        if kind == _BYTES and not depth:
            yield tag >> 3, at, at + size
        at += size


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """The value of a varint, and the offset behind it; an offset beyond `end` if it is cut off."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    return 0, end + 1


# ---- whether they may be read ------------------------------------------------------------------------------------


def resolve(folder: Path, location: str) -> Path:
    """The regular file at `location` in the model's `folder`, with links resolved. Raises ExternalDataError.

    The file must lie in the folder or below it, also behind links: a foreign model must not copy other files of this
    machine into a plan. A hard link is refused, because its other name may lie anywhere.
    """
    if not location:
        raise ExternalDataError("a tensor's external data has no location; export the model again")
    shown = printable(location)
    if "\0" in location or "\\" in location or re.match(r"/|[A-Za-z]:", location) or ".." in location.split("/"):
        raise ExternalDataError(f"external data `{shown}`: must be a path in the model's folder, without `..` or `\\`")
    try:
        path, root = os.path.realpath(folder / location), os.path.realpath(folder)
        if os.path.commonpath([path, root]) != root:
            raise ExternalDataError(
                f"external data `{shown}` is a link that leaves the model's folder; copy the file there"
            )
        status = os.lstat(path)
    except FileNotFoundError:
        raise ExternalDataError(
            f"external data `{shown}` is missing in {folder}; keep the data files beside the model"
        ) from None
    except (OSError, ValueError) as error:
        raise ExternalDataError(f"external data `{shown}` cannot be read ({_reason(error)})") from None
    if not stat.S_ISREG(status.st_mode):
        raise ExternalDataError(f"external data `{shown}` is no regular file; keep the data files beside the model")
    if status.st_nlink > 1:
        raise ExternalDataError(f"external data `{shown}` has another name elsewhere (a hard link); copy the file")
    return Path(path)


def open_file(folder: Path, location: str) -> BinaryIO:
    """The file that `resolve` finds, open for reading. Raises ExternalDataError."""
    path = resolve(folder, location)
    try:
        # The file may have been replaced since: neither follow a link nor wait for a pipe's other end.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        return os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        raise ExternalDataError(f"external data `{printable(location)}` cannot be read ({_reason(error)})") from None


def read_part(file: BinaryIO, entries: Mapping[str, str]) -> bytes:
    """The bytes of a tensor by its external data: `length` bytes from `offset`, or all bytes behind `offset`."""
    shown = printable(entries.get("location", ""))
    size = os.fstat(file.fileno()).st_size
    offset = _number(entries, "offset", 0, shown)
    length = _number(entries, "length", max(size - offset, 0), shown)
    if offset + length > size:
        raise ExternalDataError(
            f"external data `{shown}` has {size} bytes, but {length} from {offset} on are asked for; "
            "copy or export the data file again"
        )
    file.seek(offset)
    return file.read(length)


def _number(entries: Mapping[str, str], key: str, default: int, shown: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    # Longer numbers exceed any file, and take time to convert.
    if not re.fullmatch(r"[0-9]{1,19}", text):
        raise ExternalDataError(f"external data `{shown}`: {key} `{printable(text)}` is no number of bytes")
    return int(text)


def printable(text: str) -> str:
    """`text` with control characters escaped."""
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# ---- digests -----------------------------------------------------------------------------------------------------


def file_digest(file: BinaryIO) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.digest()


def source_digest(model: bytes, data: Mapping[str, bytes]) -> bytes:
    """A plan's source_sha256, from the digest of the model and the digests of its data files; see SPEC.md."""
    if not data:
        return model
    digest = hashlib.sha256(model)
    for location in sorted(data, key=lambda name: name.encode("utf-8", "surrogateescape")):
        digest.update(location.encode("utf-8", "surrogateescape") + b"\0" + data[location])
    return digest.digest()


def readable_files(model: Path) -> list[Path]:
    """The data files of `model` that exist and may be read."""
    return [path for path in resolve_all(model).values() if isinstance(path, Path)]


def resolve_all(model: Path) -> dict[str, Path | str]:
    """The file of each location, or the reason why it cannot be read."""
    found: dict[str, Path | str] = {}
    for location in locations(model):
        try:
            found[location] = resolve(model.parent, location)
        except ExternalDataError as error:
            found[location] = str(error)
    return found
