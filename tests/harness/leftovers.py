"""A pytest plugin: a process that a test has left behind fails the run, is named and is ended."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness import timeout

KEY = "processes left behind"
#: Seconds that processes have to end by themselves: an emulated board's watcher looks once a second.
PATIENCE = 3.0


def _description(process: int) -> str:
    """Its command and the test that started it, as pytest names it in the environment."""
    folder = Path("/proc") / str(process)
    try:
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""  # it has just ended
    test = next((text.partition("=")[2] for text in variables if text.startswith("PYTEST_CURRENT_TEST=")), "")
    return f"{command[:200]} (started by {test or 'no test'})" if command else ""


class Leftovers:
    """The plugin."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.found: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """After the last test; fixtures of the whole session have ended."""
        deadline = time.monotonic() + PATIENCE
        while timeout.started_by(os.environ.get(timeout.MARK, "")) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in timeout.started_by(os.environ.get(timeout.MARK, "")):
            if text := _description(process):
                self.found.append(text)
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        if hasattr(self.config, "workerinput"):
            self.config.workeroutput[KEY] = self.found  # type: ignore[attr-defined]
        elif self.found and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self.found += getattr(node, "workeroutput", {}).get(KEY, [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.found:
            terminalreporter.section("error: processes left behind")
            for text in self.found:
                terminalreporter.write_line(text)
