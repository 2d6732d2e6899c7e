"""A board as tests use it: models by name, arrays in the model's own shapes and types, and the firmware's log."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.hil.check import CheckReport, HostPlan, OpTime, check, find_model, op_times, open_plan
from tigris_pio.hil.client import Board, BoardInfo, MemoryUse, ModelInfo, RunInfo
from tigris_pio.hil.exchange import run_on_board
from tigris_pio.hil.report import location_lines
from tigris_pio.hil.rig.place import Place
from tigris_pio.hil.vectors import VectorResult, Vectors, check_vectors, random_vectors, read_vectors, vectors_of
from tigris_pio.host.io import Array

#: Vectors as a file, as arrays by name like a file's, as a list of samples, or None for noise.
VectorSource = str | PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
PlanSource = str | PathLike[str] | None
_LISTEN_SECONDS = 0.05


class RigBoard:
    """A board, connected at its first use and used by one test at a time.

    The arguments `plan` and `model` are a plan's file or a model's name in the board's project; None if there is one
    model. Errors of the line are HarnessErrors, as in `tigris hil`.
    """

    def __init__(self, place: Place, connect: Callable[[RigBoard], Board], plan: Path | None) -> None:
        """`connect` opens the line when it is needed; `plan` is the default plan."""
        self.place = place
        self._connect, self._default = connect, plan
        self._client: Board | None = None
        self._plans: dict[Path, HostPlan] = {}
        self._runs: dict[int, tuple[ModelInfo, RunInfo]] = {}
        self._past, self._before, self._expected = "", "", 0
        self.last_check: CheckReport | None = None  #: of this test, unless a message has reported it

    def __repr__(self) -> str:
        return f"<board {self.name}>"

    # The board.

    @property
    def name(self) -> str:
        """The place's name: an environment, a port, or the name in a list of boards."""
        return self.place.name

    @property
    def tags(self) -> frozenset[str]:
        """The tags of a list of boards, or the project's."""
        return self.place.tags

    @property
    def client(self) -> Board:
        """The connection, for single requests; its tensors are as stored."""
        if self._client is None:
            self._client = self._connect(self)
            self._before = ""
        return self._client

    @property
    def info(self) -> BoardInfo:
        """The board's description of itself."""
        return self.client.info

    def models(self) -> list[ModelInfo]:
        """All models of the board, including those that cannot run."""
        return self.client.models()

    # Runs.

    def run(self, inputs: Mapping[str, object] | Array, model: PlanSource = None) -> dict[str, Array]:
        """Runs one inference. Inputs by name, or the only one, and outputs have the model's shapes and types."""
        plan = self.plan(model)
        given = inputs if isinstance(inputs, Mapping) else {plan.session.inputs[0].name: inputs}
        names = [io.name for io in plan.session.inputs]
        if sorted(given) != sorted(names):
            raise UsageError(f"inputs {', '.join(given)}: the model takes {', '.join(names)}")
        stored = {io.name: io.to_stored(io.check_model_array(given[io.name])) for io in plan.session.inputs}
        found = find_model(self.client, plan.file)
        run, outputs = run_on_board(self.client, plan.session, found, stored, clear_profile=True)
        self._runs[found.index] = found, run
        return {io.name: io.to_model(outputs[io.name]) for io in plan.session.outputs}

    def profile(self, model: PlanSource = None) -> tuple[OpTime, ...]:
        """Calls and counts of each operator in the last run or check; empty if the firmware keeps no profile."""
        file = self.plan(model).file
        return op_times(file, self.client, find_model(self.client, file))

    def memory(self, model: PlanSource = None) -> MemoryUse:
        """The arenas, and the last run's use of them; UsageError if this connection has not run the model."""
        index = find_model(self.client, self.plan(model).file).index
        if index not in self._runs:
            raise UsageError(f"{self.name}: no memory to report: run the model first")
        found, run = self._runs[index]
        return MemoryUse.of(found, [run])

    def reset(self, model: PlanSource = None) -> None:
        """Gives all states their first values."""
        self.client.reset(find_model(self.client, self.plan(model).file).index)

    # Comparison with the host.

    def check(
        self, plan: PlanSource = None, vectors: VectorSource = None, tolerance: float | None = None
    ) -> VectorResult:
        """Runs vectors on board and host. A mismatch is a result, not an error."""
        host = self.plan(plan)
        result = check_vectors(self.client, host, _vectors(vectors, host), tolerance)
        self._remember(result.report)
        return result

    def assert_matches(
        self, plan: PlanSource = None, vectors: VectorSource = None, tolerance: float | None = None
    ) -> CheckReport:
        """Raises AssertionError unless the board's outputs are the host's, and the vectors' if these have some.

        `tolerance`: largest |difference| / max(1, |value|) of float32 outputs; default: the vectors', or 0.
        """
        result = self.check(plan, vectors, tolerance)
        if not result.passed:
            self.last_check = None  # the message reports all of it
            raise AssertionError(f"board {self.name}: " + "\n".join(result.lines()))
        return result.report

    def check_stored(
        self,
        plan: HostPlan,
        samples: Sequence[Mapping[str, Array]],
        labels: Sequence[int] | None = None,
        tolerance: float = 0.0,
        starts: Sequence[int] = (0,),
    ) -> CheckReport:
        """Runs samples, as stored, on board and host."""
        report = check(self.client, plan, samples, labels, tolerance=tolerance, starts=starts)
        self._remember(report)
        return report

    def _remember(self, report: CheckReport) -> None:
        self.last_check = report
        if report.samples:
            self._runs[report.model.index] = report.model, report.samples[-1].run

    def plan_path(self, plan: PlanSource = None) -> Path:
        """The plan's file. It connects the board first, because its project may have to be built."""
        if plan is not None and Path(plan).suffix == ".tgrs":
            return Path(plan)
        if plan is None and self._default is not None:
            return self._default
        self.client  # noqa: B018 - builds and flashes
        if self.place.project is None:
            raise UsageError(f"{self.name}: no plan: give a .tgrs file or a project (--tigris-plan, --tigris-project)")
        return self.place.project.plan(None if plan is None else str(plan))

    def plan(self, plan: PlanSource = None) -> HostPlan:
        """The plan, ready to run on the host."""
        path = self.plan_path(plan)
        if path not in self._plans:
            self._plans[path] = open_plan(path)
        return self._plans[path]

    # The firmware's text.

    @property
    def log(self) -> str:
        """The firmware's text since the test began, without the harness's frames."""
        return self._past + (self._client.printed_since(self._before) if self._client is not None else "")

    def expect(self, pattern: str, timeout: float = 5.0) -> re.Match[str]:
        """Waits until the firmware prints text that matches `pattern`, after the match of the last call.

        AssertionError with the text that it printed instead.
        """
        self.client  # noqa: B018 - opens the line
        end = time.monotonic() + timeout
        while True:
            text = self.log[self._expected :]
            found = re.search(pattern, text, re.MULTILINE)
            if found:
                self._expected += found.end()
                return found
            if time.monotonic() >= end:
                raise AssertionError(f"board {self.name} did not print {pattern!r} within {timeout:g} s, but:\n{text}")
            time.sleep(_LISTEN_SECONDS)

    def sections(self) -> list[tuple[str, str]]:
        """Titles and texts for the report of a failed test."""
        log, lines = self.log, location_lines(self.last_check) if self.last_check is not None else []
        found = [(f"first wrong operator on board {self.name}", "\n".join(lines))] if lines else []
        # With junit_logging, pytest writes sections of this title to its JUnit file.
        return [*found, (f"Captured log of board {self.name}", log)] if log.strip() else found

    # Called by the rig.

    @property
    def is_open(self) -> bool:
        """True if the board is connected."""
        return self._client is not None

    def begin_test(self) -> None:
        """Clears the log."""
        self._past = ""
        self._before = self._client.log if self._client is not None else ""
        self._expected, self.last_check = 0, None

    def close(self) -> None:
        """Ends the connection; the log stays until the next test."""
        if self._client is not None:
            self._past = self.log
            self._client.close()
            self._client = None
            self._runs.clear()


def _vectors(given: VectorSource, host: HostPlan) -> Vectors:
    if given is None:
        return random_vectors(host)
    if isinstance(given, (str, PathLike)):
        path = Path(given)
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        return read_vectors(path, host)
    if isinstance(given, Mapping):
        return vectors_of(given, "the vectors", host)
    inputs = host.session.inputs
    for number, sample in enumerate(given):
        if sorted(sample) != sorted(io.name for io in inputs):
            known = ", ".join(io.name for io in inputs)
            raise UsageError(f"sample {number}: has {', '.join(sample)}; the model takes {known}")
    joined = {io.name: np.stack([io.check_model_array(sample[io.name]) for sample in given]) for io in inputs}
    return vectors_of(joined, "the samples", host)
