"""A model's files: the model itself, and its files of external weights."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from .options import Model


def _external_data() -> ModuleType:
    """The compiler's module, loaded by path: PlatformIO's Python may not have the package."""
    name = "tigris_external_data"
    if name not in sys.modules:
        path = Path(__file__).resolve().parents[1] / "compiler" / "load" / "onnx" / "external_data.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def files(model: Model) -> list[Path]:
    """The model's files that exist. The compiler reports missing and forbidden ones."""
    return [model.path, *_external_data().readable_files(model.path)]


def digest(model: Model) -> list[str]:
    """Digests of all files that the compiler will read; changes if a file changes, appears or disappears."""
    external = _external_data()
    parts = [_of_file(model.path)]
    for location, found in external.resolve_all(model.path).items():
        parts += [ascii(location), _of_file(found) if isinstance(found, Path) else str(found)]
    return parts


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return bytes(_external_data().file_digest(file)).hex()


def of_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
