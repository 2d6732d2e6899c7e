"""pytest's hooks: which tests run, how processes share them, a time limit for each and a budget for all."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import leftovers, spent, tiers, timeout, vendors


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=tiers.TIERS, default="fast",
                     help="which tests: a few of each kind, all, or those with random examples, many more of them")


def pytest_configure(config: pytest.Config) -> None:
    tiers.choose(config.getoption("--tier"))
    timeout.begin()
    config.pluginmanager.register(spent.Spent(config, limits=tiers.chosen() == "fast"))
    config.pluginmanager.register(leftovers.Leftovers(config))
    # Started in the background, this process ignores Ctrl-C, and so would the programs whose end by it is tested.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Any:
    """For several processes (pytest -n 2)."""
    from tests.harness.schedule import FilesTogether

    return FilesTogether(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = [item for item in items if not tiers.runs(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if tiers.runs(item)]
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
