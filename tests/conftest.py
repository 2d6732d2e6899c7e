"""Fixtures for all tests. tests/harness/hooks.py says which of them run, where, and for how long."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from hypothesis import settings

from bench.float_twin import float_twin
from tests.compiler.passes import verify_after
from tests.harness.core_dir import core_dir  # noqa: F401 - a fixture
from tests.harness.hooks import *  # noqa: F403
from tests.networks.folders import OWN
from tigris_pio.compiler import passes

# The same examples on every run: `make test` says whether the code is right, `make fuzz` looks for what nobody saw yet.
# No deadline: a busy machine is no error.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The project's own int8 networks with their recorded vectors. Of others knows tests/networks/folders.py."""
    return OWN


@pytest.fixture(scope="session")
def float_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The float32 twins of three of them, NAME_fp32.onnx."""
    folder = tmp_path_factory.mktemp("float")
    for name in ("kws", "resnet", "vww"):
        onnx.save(float_twin(OWN / f"{name}_int8.onnx"), folder / f"{name}_fp32.onnx")
    return folder


@pytest.fixture(scope="module", autouse=True)
def passes_are_verified(request: pytest.FixtureRequest) -> Iterator[None]:
    """Models that a test compiles in this process are verified after each pass; ONNX's two thousand only at the end."""
    passes.watch = None if "node_tests" in request.path.parts else verify_after
    yield
    passes.watch = None
