"""PlatformIO's test runner for models: uploads the project's own firmware, then runs vectors from its test folder.

The compiler's Python (`tigris_pio.hil.suite`) checks the vectors like `tigris hil`. Each becomes a test case of
PlatformIO, in its reports, `--json-output-path` and `--junit-output-path`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from platformio.test.exception import UnitTestSuiteError
from platformio.test.result import TestCase, TestStatus
from platformio.test.runners.base import TestRunnerBase
from platformio.test.runners.readers.serial import SerialTestOutputReader

from . import compiler as compilers
from . import install, options

#: Environments that this run of `pio test` has uploaded, because all suites of an environment test the same firmware.
_UPLOADED: set[tuple[str, str]] = set()
_PATTERN_SIGNS = ("*", "?", "[", "hwid:")


class CustomTestRunner(TestRunnerBase):  # type: ignore[misc]
    """PlatformIO creates one for each suite: the folder test, or each folder test_… in it."""

    NAME = "tigris"

    @property
    def _environment(self) -> str:
        return str(self.test_suite.env_name)

    def _option(self, name: str) -> str | None:
        """An option of platformio.ini or its environment variable; None if it is empty."""
        value = self.project_config.get(f"env:{self._environment}", name, None)
        return str(value) if value else None

    def _folder(self, name: str) -> Path:
        return Path(self.project_config.get("platformio", name)).resolve()

    # Stages, as PlatformIO calls them.

    def run_project_targets(self, targets: Sequence[str]) -> Any:
        """Builds the firmware like `pio run`: the target `__test` would link the test folder into it."""
        return super().run_project_targets([target for target in targets if target != "__test"] or ["buildprog"])

    def stage_uploading(self) -> None:
        key = (str(self.project_config.path), self._environment)
        if key in _UPLOADED:
            return
        super().stage_uploading()
        _UPLOADED.add(key)

    def stage_testing(self) -> None:
        if self.options.without_testing:
            return
        click.secho("Testing...", bold=True)
        plans = sorted((self._folder("build_dir") / self._environment / "tigris").glob("*.tgrs"))
        if not plans:
            raise UnitTestSuiteError(
                f"environment {self._environment} has built no plan: set custom_tigris_models in platformio.ini, and "
                "leave --without-building out"
            )
        port = self._port()
        command = [
            *(self._python(), "-m", "tigris_pio.hil.suite"),
            *("--port", port, "--baud", str(self.get_test_speed())),
            *("--vectors", str(Path(self.test_suite.test_dir).resolve()), *map(str, plans)),
        ]
        click.echo(f"Running vectors on the board at {port}")
        self._run(command, plans[0].parent)

    # The board's port and the compiler's Python.

    def _port(self) -> str:
        """The first of --test-port, test_port, the emulated board's port, --upload-port, upload_port, monitor_port;
        otherwise the port that PlatformIO finds."""
        emulated = getattr(self.platform, "port_url", None)
        named = [
            self.options.test_port,
            self._option("test_port"),
            emulated(self._environment) if emulated else None,
            *filter(_is_serial, (self.options.upload_port, self._option("upload_port"), self._option("monitor_port"))),
        ]
        port = next((str(name) for name in named if name), None)
        if port is None or any(sign in port for sign in _PATTERN_SIGNS):
            port = str(SerialTestOutputReader(self).resolve_test_port())
        return port

    def _python(self) -> str:
        """The Python with the compiler, found like in a build."""

        def make() -> str:
            return install.install_compiler(self._folder("core_dir"), compilers.ROOT, sys.executable)

        automatic = (self._option("custom_tigris_auto_install") or "").lower() in options.TRUE
        option = self._option("custom_tigris_python")
        found = compilers.find(option, os.environ, sys.executable, make if automatic else None)
        return found.command[0]

    # Results.

    def _run(self, command: Sequence[str], folder: Path) -> None:
        """Runs the suite. `folder` is the working directory: it holds no modules, which `-m` would find first."""
        variables = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "TIGRIS_CALLER": "platformio"}
        pipe = subprocess.PIPE
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            with subprocess.Popen(
                command, cwd=folder, env=variables, stdout=pipe, stderr=errors, encoding="utf-8"
            ) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    self._add(json.loads(line))
            errors.seek(0)
            error_text = errors.read().strip()
        if process.returncode:
            raise UnitTestSuiteError(error_text or f"{command[0]} ended with status {process.returncode}")

    def _add(self, result: dict[str, Any]) -> None:
        status = TestStatus[result["status"].upper()]
        first, _, rest = str(result["message"]).partition("\n")
        log = str(result["log"])
        case = TestCase(
            name=result["name"],
            status=status,
            message=result["message"] if status in (TestStatus.FAILED, TestStatus.SKIPPED) else first,
            stdout=log,
            duration=result["seconds"],
            exception=UnitTestSuiteError(result["message"]) if status == TestStatus.ERRORED else None,
        )
        self.test_suite.add_case(case)
        click.echo(f"{case.name}: {first}\t[{click.style(status.name, fg=status.to_ansi_color())}]")
        if rest:
            click.echo(rest)
        if log and (self.options.verbose or status != TestStatus.PASSED):
            click.echo("\n".join(f"    | {line}" for line in log.splitlines()))


def _is_serial(port: str | None) -> bool:
    """True if an upload port is a serial port: a device or a URL, not an address for an upload over the network."""
    return bool(port) and ("://" in str(port) or fnmatch.fnmatch(str(port), "/dev/*") or str(port).startswith("COM"))
