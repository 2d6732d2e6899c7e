"""Fixtures for all tests, how processes share them, and a time limit for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.harness import timeout

# The same examples on every run: `make test` says whether the code is right, `make fuzz` looks for what nobody saw yet.
# No deadline: a busy machine is no error.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")

_DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "models"


def pytest_configure() -> None:
    timeout.begin()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Any:
    """For several processes (pytest -n 2)."""
    from tests.harness.schedule import FilesTogether

    return FilesTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
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
