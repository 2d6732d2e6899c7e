"""Fixtures for all tests, how processes share them, and a time limit for each."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import settings

from bench.float_twin import float_twin
from tests.compiler.passes import verify_after
from tests.harness import timeout, vendors
from tests.harness.core_dir import core_dir  # noqa: F401 - a fixture
from tests.networks.folders import OWN
from tigris_pio.compiler.normalise import manager

# The same examples on every run: `make test` says whether the code is right, `make fuzz` looks for what nobody saw yet.
# No deadline: a busy machine is no error.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")


def pytest_configure() -> None:
    timeout.begin()
    # Started in the background, this process ignores Ctrl-C, and so would the programs whose end by it is tested.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Any:
    """For several processes (pytest -n 2)."""
    from tests.harness.schedule import FilesTogether

    return FilesTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := vendors.skip_reason(item):
            item.add_marker(pytest.mark.skip(reason=reason))
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.harness.schedule import longest_first

        longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with timeout.limited(item.nodeid, timeout.seconds_of(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with timeout.limited(item.nodeid, timeout.seconds_of(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with timeout.limited(item.nodeid, timeout.seconds_of(item)):
        return (yield)


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
def graphs_are_verified(request: pytest.FixtureRequest) -> Iterator[None]:
    """Models that a test compiles in this process are verified after each pass; ONNX's two thousand only at the end."""
    manager.watch = None if "node_tests" in request.path.parts else verify_after
    yield
    manager.watch = None
