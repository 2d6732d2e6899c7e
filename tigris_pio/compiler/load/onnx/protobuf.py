"""Reads an ONNX protobuf with its external data, and converts its types and operators to those of the compiler."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]

from tigris_pio.compiler.load.onnx import external_data
from tigris_pio.compiler.load.onnx.classical import expand_classical, is_classical
from tigris_pio.compiler.load.onnx.external_data import ExternalDataError
from tigris_pio.compiler.load.onnx.halves import read_as_float32
from tigris_pio.errors import ModelError, ModelFileError
from tigris_pio.files import read_named

_MOST_BYTES = 2**31 - 1
_CONVERTER = "convert it with tf.lite.TFLiteConverter.from_keras_model"
_OTHER_FORMATS = (
    (slice(0, 4), b"\x89HDF", f"an HDF5 file of Keras; {_CONVERTER}"),
    (slice(0, 4), b"PK\x03\x04", f"a zip archive of Keras or PyTorch; {_CONVERTER}, or export it by torch.onnx.export"),
    (slice(0, 23), b"version https://git-lfs", "a Git LFS pointer; fetch the model itself with `git lfs pull`"),
)


@dataclasses.dataclass(frozen=True)
class Source:
    """A parsed model and its origin; `origin`: its file or name for messages; `warnings`: changes made by reading."""

    model: onnx.ModelProto
    name: str
    origin: str
    sha256: bytes
    warnings: tuple[str, ...] = ()


def read(source: Path | str | onnx.ModelProto) -> Source:
    """Reads a file, or copies a model in memory. Raises ModelError."""
    if isinstance(source, onnx.ModelProto):
        name = source.graph.name or "model"
        _refuse_external(source, name)
        digest = hashlib.sha256(source.SerializeToString(deterministic=True)).digest() if _fits(source) else b"\0" * 32
        model = onnx.ModelProto()
        model.CopyFrom(_checked(source, name))
        return _simplified(Source(model, name, name, digest))
    path = Path(source)
    data = _read_bytes(path)
    model = _checked(_parse(data, path), str(path))
    digests = _load_external(model, path)
    digest = external_data.source_digest(hashlib.sha256(data).digest(), digests)
    return _simplified(Source(model, path.stem, str(path), digest))


def _simplified(source: Source) -> Source:
    """The model in the types and operators that the other steps know."""
    classical = is_classical(source.model)
    warning = read_as_float32(source.model, classical)
    model = expand_classical(source.model, source.origin) if classical else source.model
    return dataclasses.replace(source, model=model, warnings=() if warning is None else (warning,))


def _fits(model: onnx.ModelProto) -> bool:
    return bool(model.ByteSize() <= _MOST_BYTES)


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ModelError(
                f"{path}: larger than the 2 GiB a protobuf can hold; save it with external data "
                "(onnx.save(..., save_as_external_data=True))"
            )
        return read_named(path, "the path of an .onnx or .tflite model", ModelFileError)
    except (OSError, ValueError):
        return read_named(path, "the path of an .onnx or .tflite model", ModelFileError)


def _parse(data: bytes, path: Path) -> onnx.ModelProto:
    for where, mark, what in _OTHER_FORMATS:
        if data[where] == mark:
            raise ModelError(f"{path}: is {what}")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise ModelError(
            f"{path}: is no ONNX model, or a truncated one ({len(data)} bytes); export or copy it again"
        ) from None
    return model


def _checked(model: onnx.ModelProto, origin: str) -> onnx.ModelProto:
    if not model.ir_version or not model.graph.output:
        raise ModelError(f"{origin}: is no ONNX model (it has no graph with outputs)")
    return model


def _load_external(model: onnx.ModelProto, path: Path) -> dict[str, bytes]:
    """Copies the data files' bytes into the model; returns the digest of each file by location.

    The package onnx is not used for it, because its checks differ from version to version.
    """
    waiting: dict[str, list[onnx.TensorProto]] = {}
    for tensor in _external(model):
        waiting.setdefault(_entries(tensor).get("location", ""), []).append(tensor)
    digests: dict[str, bytes] = {}
    for location, tensors in waiting.items():
        tensor = tensors[0]
        try:
            with external_data.open_file(path.parent, location) as file:
                digests[location] = external_data.file_digest(file)
                for tensor in tensors:
                    tensor.raw_data = external_data.read_part(file, _entries(tensor))
                    tensor.ClearField("data_location")
                    tensor.ClearField("external_data")
        except ExternalDataError as error:
            raise ModelError(f"{path}: tensor {tensor.name}: {error}") from None
        except OSError as error:
            raise ModelError(f"{path}: external data `{location}` cannot be read ({error.strerror})") from None
    return digests


def _refuse_external(model: onnx.ModelProto, origin: str) -> None:
    for tensor in _external(model):
        raise ModelError(
            f"{origin}: the data of initializer {tensor.name} is in a file beside the model, whose folder is unknown; "
            "give the model's path, or load it with its data (onnx.load)"
        )


def _external(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors of the model whose data are in other files."""
    waiting: list[Message] = [model]
    while waiting:
        message = waiting.pop()
        if isinstance(message, onnx.TensorProto):
            if message.data_location == onnx.TensorProto.EXTERNAL:
                yield message
            continue
        for field, value in message.ListFields():
            if field.message_type is not None:
                waiting += [value] if isinstance(value, Message) else value


def _entries(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}
