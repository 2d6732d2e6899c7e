"""Which tests run in the same process: those of a file or folder, which share fixtures; the longest first.

pytest-xdist's own groups have no effect with pytest 9.2, whose node identifiers leave out the suffix that names them.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Folders whose tests share what takes long to make: builds of the runtime, PlatformIO's core folder, ONNX's own cases.
TOGETHER = ("platformio", "runtime", "compiler/codegen", "node_tests")
#: Seconds of folders and files that take more than a few. Only the order counts: it lets the processes end together.
LONG = {
    "platformio": 110,
    "runtime": 90,
    "compiler/codegen": 55,
    "esp_idf/test_cmake.py": 25,
    "node_tests": 22,
    "families/test_families.py": 15,
    "emulation/xtensa/test_whole.py": 15,
    "update/test_power_cuts.py": 10,
    "compiler/plan/test_small_programs.py": 12,
    "docs/test_projects.py": 10,
    "docs/test_extending.py": 26,
}


def file_of(nodeid: str) -> str:
    """A test's file, relative to the folder of all tests."""
    return nodeid.split("::", 1)[0].removeprefix("tests/")


def scope(nodeid: str) -> str:
    """What a test shares a process with."""
    file = file_of(nodeid)
    return next((folder for folder in TOGETHER if file.startswith(folder + "/")), file)


def longest_first(items: list[pytest.Item]) -> None:
    """Long folders and files before the others; the tests of one stay as they are."""
    items.sort(key=lambda item: -LONG.get(scope(item.nodeid), 0))


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out folders and files in the order in which they were collected."""

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
