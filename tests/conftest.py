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
