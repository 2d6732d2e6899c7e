"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run: `make test` says whether the code is right, `make fuzz` looks for what nobody saw yet.
# No deadline: a busy machine is no error.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")

_DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "models"

#: Folders and files whose tests share something: PlatformIO's core folder, or a runtime compiled under sanitisers.
TOGETHER = {"platformio": "platformio", "hil": "platformio", "test_readme.py": "platformio", "runtime": "runtime"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For several processes (pytest -n 2 --dist loadgroup): those tests stay in one of them, as do any file's."""
    for item in items:
        first = item.path.relative_to(Path(__file__).parent).parts[0]
        item.add_marker(pytest.mark.xdist_group(TOGETHER.get(first, str(item.path))))


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The directory with the real int8 and float32 networks and their recorded vectors."""
    given = os.environ.get("TIGRIS_MODELS")
    path = Path(given) if given else _DEFAULT
    if not (path / "kws_int8.onnx").is_file():
        origin = "TIGRIS_MODELS" if given else "the default, ../shared/models beside the checkout"
        pytest.fail(
            f"no test models in {path} ({origin}); set TIGRIS_MODELS to the directory that holds kws_int8.onnx",
            pytrace=False,
        )
    return path
