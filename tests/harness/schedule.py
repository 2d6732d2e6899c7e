"""Which tests run in the same process: those of a file, so that its fixtures are made once; the longest files first.

pytest-xdist's own groups have no effect with pytest 9.2, whose node identifiers leave out the suffix that names them.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Seconds of files that take more than a few. Only the order counts: it lets the processes end together.
LONG = {
    "platformio/test_hook.py": 30,
    "platformio/test_espressif.py": 28,
    "esp_idf/test_cmake.py": 25,
    "platformio/test_boards.py": 22,
    "platformio/test_pio_test.py": 20,
    "platformio/test_qemu.py": 20,
    "update/test_power_cuts.py": 15,
    "families/test_families.py": 15,
    "node_tests/test_node_tests.py": 12,
    "compiler/plan/test_small_programs.py": 12,
    "docs/test_extending.py": 10,
}
#: Files whose tests share nothing that takes long to make: each test goes where there is room.
APART: frozenset[str] = frozenset()
#: Files that share what takes long to make: ONNX's own cases.
TOGETHER = {"node_tests/test_budgets.py": "node_tests", "node_tests/test_node_tests.py": "node_tests"}


def file_of(nodeid: str) -> str:
    """A test's file, relative to the folder of all tests."""
    return nodeid.split("::", 1)[0].removeprefix("tests/")


def scope(nodeid: str) -> str:
    """What a test shares a process with."""
    file = file_of(nodeid)
    return nodeid if file in APART else TOGETHER.get(file, file)


def longest_first(items: list[pytest.Item]) -> None:
    """Long files before the others; a file's tests stay as they are."""
    items.sort(key=lambda item: -LONG.get(file_of(item.nodeid), 0))


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out files in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by number of tests

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)

    def schedule(self) -> None:
        """A process runs a test once it knows the next one: one that takes another's place needs two scopes as well."""
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)

    def _reschedule(self, node: Any) -> None:
        """A process that has just taken another's place is given work when it has said what tests it knows."""
        if node in self.registered_collections:
            super()._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        """What a process that ended leaves goes to others, but for the test that ended it, which would end them too."""
        units: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        waiting = {name: [nodeid for nodeid, done in unit.items() if not done] for name, unit in units.items()}
        ended = next((nodeid for left in waiting.values() for nodeid in left), None)
        for name, left in waiting.items():
            rest = {nodeid: False for nodeid in left if nodeid != ended}
            if rest:
                self.workqueue[name] = rest
        if ended is not None:
            for other in self.nodes:
                self._reschedule(other)
        return ended
