"""A board of a rig as tests use it: models by name, arrays as models take and give them, and its log."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.hil.check import CheckReport, HostPlan, OpTime, check, find_model, op_times, open_plan, run_on_board
from tigris_pio.hil.client import Board, BoardInfo, ModelInfo, RunInfo
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.log import added
from tigris_pio.hil.report import location_lines
from tigris_pio.hil.rig.place import Place
from tigris_pio.hil.vectors import VectorResult, Vectors, check_vectors, random_vectors, read_vectors, vectors_of
from tigris_pio.host.io import Array

#: What vectors may be given as: a file, arrays by name as a file has them, samples one by one, or None for noise.
VectorSource = str | PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
PlanSource = str | PathLike[str] | None
_LISTEN_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class BoardMemory:
    """Bytes of a model's arenas, and what its last run took of them and moved."""

    fast_given: int
    fast_peak: int
    slow_given: int
    slow_peak: int
    slow_read: int
    slow_written: int


class RigBoard:
    """A board, connected when it is first used. One test at a time; what it says goes to `log`.

    `plan` and `model` of the methods are a plan's file, or a model's name in the project that the board is flashed
    with, or nothing where there is one model. Errors of the line are HarnessErrors, as those of `tigris hil`.
    """

    def __init__(self, place: Place, connect: Callable[[RigBoard], Board], plan: Path | None) -> None:
        """`connect` is called when the line is needed and not open; `plan` is the one meant where none is named."""
        self.place = place
        self._connect, self._default = connect, plan
        self._client: Board | None = None
        self._plans: dict[Path, HostPlan] = {}
        self._runs: dict[int, tuple[ModelInfo, RunInfo]] = {}
        self._past, self._before, self._expected = "", "", 0
        self.last_check: CheckReport | None = None  #: of this test, as far as no message has told of it

    def __repr__(self) -> str:
        return f"<board {self.name}>"

    # What it is.

    @property
    def name(self) -> str:
        """The place's name: an environment, a port, or what a board list calls it."""
        return self.place.name

    @property
    def tags(self) -> frozenset[str]:
        """What a board list says of it."""
        return self.place.tags

    @property
    def client(self) -> Board:
        """The connection: requests one by one, tensors as stored."""
        if self._client is None:
            self._client = self._connect(self)
            self._before = ""
        return self._client

    @property
    def info(self) -> BoardInfo:
        """What the board says of itself."""
        return self.client.info

    def models(self) -> list[ModelInfo]:
        """All models of the board, also those that cannot run."""
        return self.client.models()

    # What it does.

    def run(self, inputs: Mapping[str, object] | Array, model: PlanSource = None) -> dict[str, Array]:
        """One inference on the board: arrays as the model takes them, by name or the only one; outputs as it gives
        them."""
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
        """Calls and counts of each operator since the last run or check began; empty when the firmware keeps none."""
        file = self.plan(model).file
        return op_times(file, self.client, find_model(self.client, file))

    def memory(self, model: PlanSource = None) -> BoardMemory:
        """Arenas, and what the last run took; UsageError when the model was not run in this session."""
        index = find_model(self.client, self.plan(model).file).index
        if index not in self._runs:
            raise UsageError(f"{self.name}: no run of this model yet whose memory could be told")
        found, run = self._runs[index]
        return BoardMemory(
            found.fast_given, run.fast_peak, found.slow_given, run.slow_peak, run.slow_read, run.slow_written
        )

    def reset(self, model: PlanSource = None) -> None:
        """What lives from run to run begins anew."""
        self.client.reset(find_model(self.client, self.plan(model).file).index)

    # Against the host.

    def check(
        self, plan: PlanSource = None, vectors: VectorSource = None, tolerance: float | None = None
    ) -> VectorResult:
        """Runs vectors on board and host. A mismatch is a result, not an error."""
        host = self.plan(plan)
        result = check_vectors(self.client, host, _vectors(vectors, host), tolerance)
        self._keep(result.report)
        return result

    def assert_matches(
        self, plan: PlanSource = None, vectors: VectorSource = None, tolerance: float | None = None
    ) -> CheckReport:
        """AssertionError with the differences unless the board's outputs are the host's, and the vectors' where these
        have some. `tolerance`: largest |difference| / max(1, |value|) of float32 outputs; 0 unless the vectors say."""
        result = self.check(plan, vectors, tolerance)
        if not result.passed:
            self.last_check = None  # all of it is in the message
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
        """Samples as stored, run on board and host."""
        report = check(self.client, plan, samples, labels, tolerance=tolerance, starts=starts)
        self._keep(report)
        return report

    def _keep(self, report: CheckReport) -> None:
        self.last_check = report
        if report.samples:
            self._runs[report.model.index] = report.model, report.samples[-1].run

    def plan_path(self, plan: PlanSource = None) -> Path:
        """The plan's file. Asks for the board first: it may have to be built."""
        if plan is not None and Path(plan).suffix == ".tgrs":
            return Path(plan)
        if plan is None and self._default is not None:
            return self._default
        self.client  # noqa: B018 - flashed now, if it is flashed at all
        if self.place.project is None:
            raise UsageError(f"{self.name}: no plan: name a .tgrs file, or a project (--tigris-plan, --tigris-project)")
        return self.place.project.plan(None if plan is None else str(plan))

    def plan(self, plan: PlanSource = None) -> HostPlan:
        """The plan, ready to run on the host."""
        path = self.plan_path(plan)
        if path not in self._plans:
            self._plans[path] = open_plan(path)
        return self._plans[path]

    # What it says.

    @property
    def log(self) -> str:
        """What the firmware has printed since the test began, without the harness's frames."""
        if self._client is not None:
            with contextlib.suppress(HarnessError):  # a line that broke has no more to say
                self._client.listen()
            return self._past + added(self._before, self._client.log)
        return self._past

    def expect(self, pattern: str, timeout: float = 5.0) -> re.Match[str]:
        """Waits until the firmware prints what the regular expression describes, behind what was expected before.

        AssertionError with what it printed instead.
        """
        self.client  # noqa: B018 - nothing is heard from a line that is not open
        end = time.monotonic() + timeout
        while True:
            heard = self.log[self._expected :]
            found = re.search(pattern, heard, re.MULTILINE)
            if found:
                self._expected += found.end()
                return found
            if time.monotonic() >= end:
                raise AssertionError(f"board {self.name} did not print {pattern!r} within {timeout:g} s, but:\n{heard}")
            time.sleep(_LISTEN_SECONDS)

    def sections(self) -> list[tuple[str, str]]:
        """For the report of a test that failed: title and text of what there is to say."""
        log, told = self.log, location_lines(self.last_check) if self.last_check is not None else []
        found = [(f"first wrong operator on board {self.name}", "\n".join(told))] if told else []
        # What begins with these words goes into JUnit files, where junit_logging asks for it.
        return [*found, (f"Captured log of board {self.name}", log)] if log.strip() else found

    # Called by the rig.

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._client is not None

    def begin_test(self) -> None:
        """The log begins anew."""
        self._past = ""
        self._before = self._client.log if self._client is not None else ""
        self._expected, self.last_check = 0, None

    def close(self) -> None:
        """Ends the connection; what was said stays in the log until the next test."""
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
            raise UsageError(f"{path}: no such file of vectors")
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
