"""Runs a plan on a board and on the host with the same inputs and compares every output byte.

`check` takes an open `Board`, a plan of `open_plan` and samples as stored, and returns a `CheckReport`.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tigris_pio.errors import PlanError
from tigris_pio.format.enums import Home, OpKind
from tigris_pio.format.reader import PlanFile, read_plan
from tigris_pio.hil.client import Board, BoardInfo, MemoryUse, ModelInfo, RunInfo
from tigris_pio.hil.compare import Mismatch, compare
from tigris_pio.hil.errors import HarnessError, RunError, WrongModelError
from tigris_pio.hil.exchange import run_on_board
from tigris_pio.hil.locate.first_wrong import FirstWrong
from tigris_pio.hil.locate.search import locate as find_first_wrong
from tigris_pio.host import Session
from tigris_pio.host.io import Array
from tigris_pio.host.session import plan_bytes


@dataclasses.dataclass(frozen=True)
class Sample:
    """One run on the board."""

    index: int
    mismatches: tuple[Mismatch, ...]
    best: int  #: index of the largest element of the first output: the predicted class
    label: int | None  #: the right class
    run: RunInfo

    @property
    def equal(self) -> bool:
        """True if all outputs are the host's."""
        return not self.mismatches


@dataclasses.dataclass(frozen=True)
class OpTime:
    """One operator on the board, summed over all runs; `elapsed` is in the board's counter unit."""

    name: str
    kind: str
    calls: int
    elapsed: int


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """The result of a check."""

    port: str
    board: BoardInfo
    model: ModelInfo
    samples: tuple[Sample, ...]
    output_bytes: int  #: number of compared bytes
    io_in_fast: bool  #: the plan keeps all inputs and outputs in the fast arena
    ops: tuple[OpTime, ...]  #: empty if the firmware keeps no profile
    seconds: float
    repeats: int  #: requests that were sent again, because the line lost bytes
    requested: int  #: number of requested runs; with fewer samples the check ended early
    first_wrong: FirstWrong | None = None  #: of the first sample with a mismatch
    not_located: str = ""  #: reason for a mismatch without first_wrong

    @property
    def complete(self) -> bool:
        """True if all requested runs were made."""
        return len(self.samples) == self.requested

    @property
    def memory(self) -> MemoryUse | None:
        """The model's use of its arenas; None without runs."""
        return MemoryUse.of(self.model, [sample.run for sample in self.samples]) if self.samples else None

    @property
    def mismatched(self) -> bool:
        """True if a run's outputs are not the host's."""
        return self.equal_samples < len(self.samples)

    @property
    def equal_samples(self) -> int:
        """Number of runs whose outputs are all the host's."""
        return sum(sample.equal for sample in self.samples)

    @property
    def equal(self) -> bool:
        """True if all requested runs were made and their outputs are the host's."""
        return self.equal_samples == self.requested

    @property
    def accuracy(self) -> float | None:
        """Share of labelled runs with the right class; None without labels."""
        labelled = [sample for sample in self.samples if sample.label is not None]
        return sum(sample.best == sample.label for sample in labelled) / len(labelled) if labelled else None


class CheckInterruptedError(KeyboardInterrupt):
    """Ctrl-C during a check; `report` holds the runs before it."""

    def __init__(self, report: CheckReport) -> None:
        super().__init__("interrupted")
        self.report = report


@dataclasses.dataclass(frozen=True)
class HostPlan:
    """A plan's records, and its session on the host."""

    file: PlanFile
    session: Session


def open_plan(path: Path) -> HostPlan:
    """Opens the plan in a file; PlanError names the file and the fault."""
    data = plan_bytes(path)
    try:
        return HostPlan(read_plan(data), Session(data))
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error


#: Statuses of tigris.h that need firmware and plan to be built together: arenas too small, kernels not linked, another
#: model or build, other inputs or outputs.
_OTHER_INTERFACE = -44
_REBUILD_STATUSES = (-2, -3, -30, -32, -43, _OTHER_INTERFACE)


def find_model(board: Board, plan: PlanFile) -> ModelInfo:
    """Finds `plan` among the board's models; WrongModelError or RunError says why it cannot run there."""
    models = board.models()
    wanted = bytes(plan.header.source_sha256).hex()
    for model in models:
        if (model.plan_crc32, model.plan_bytes) == (plan.header.crc32, plan.header.total_bytes):
            if model.status:
                why = _failure_text(model, _place(board, model))
                raise RunError(f"{board.url}: model {model.name} cannot run on the board: {why}")
            return model
    broken = [model for model in models if model.status and not model.plan_bytes]
    if broken:
        reasons = "; ".join(f"model {model.index}: {model.status_text}{_place(board, model)}" for model in broken)
        remedy = "Compile the plan for this board and upload it again."
        if any(model.status in _REBUILD_STATUSES for model in broken):
            remedy = "Build and upload firmware and plan together: pio run -t upload, or idf.py flash."
        if any(model.status == _OTHER_INTERFACE for model in broken):
            remedy += " Or quantize the network with the firmware's scales: tigris quantize --like."
        raise RunError(f"{board.url}: the board found no plan that it can open ({reasons}). {remedy}")
    if any(model.source_sha256 == wanted for model in models):
        there = ", ".join(f"{model.plan_crc32:08x}" for model in models)
        raise WrongModelError(
            f"{board.url}: the board holds another compilation of {plan.name} (plan checksum "
            f"{there}, here {plan.header.crc32:08x}). Upload this plan, or give the uploaded one."
        )
    held = ", ".join(f"{model.name} (SHA-256 {model.source_sha256[:12]}…)" for model in models) or "no model"
    raise WrongModelError(
        f"{board.url}: the board holds {held}, the host expects {plan.name} (SHA-256 {wanted[:12]}…). "
        "Upload that model, or give the plan that the board holds."
    )


def _place(board: Board, model: ModelInfo) -> str:
    """Where the board refused a model, in brackets; empty if it is unknown."""
    place = board.fault(model.index).sentence()
    return f" ({place})" if place else ""


def _failure_text(model: ModelInfo, place: str) -> str:
    text = f"status {model.status}{place}: {model.status_text.rstrip('.')}"
    for kind in ("fast", "slow"):
        needed, given = getattr(model, f"{kind}_needed"), getattr(model, f"{kind}_given")
        if needed > given:
            text += f"; its {kind} arena has {given} bytes, the plan needs {needed}"
    return text + ". Compile for less memory (-m, custom_tigris_mem) or enlarge the arena."


def check(
    board: Board,
    plan: HostPlan,
    samples: Sequence[Mapping[str, Array]],
    labels: Sequence[int] | None = None,
    progress: Callable[[Sample], None] | None = None,
    tolerance: float = 0.0,
    starts: Sequence[int] = (0,),
    locate: bool = True,
) -> CheckReport:
    """Runs each sample (input name to array as stored) on board and host.

    `labels`: the right class of each sample. `progress(sample)` is called after each sample.
    `tolerance`: largest |board - host| / max(1, |host|) of float32 outputs that counts as equal; integers must always
    be equal. `starts`: samples before which all states are reset on both sides.
    `locate`: find the first wrong operator of the first sample with a mismatch, by running that sample again.
    A mismatch is a result, not an error. HarnessError if the connection fails; its `report`, and that of
    CheckInterruptedError, holds the results before it.
    """
    started = time.monotonic()
    model = find_model(board, plan.file)
    board.check_plan(model.index)
    results: list[Sample] = []

    def report(ops: tuple[OpTime, ...] = (), found: FirstWrong | str = "") -> CheckReport:
        return CheckReport(
            port=board.url,
            board=board.info,
            model=model,
            samples=tuple(results),
            output_bytes=len(results) * sum(io.stored_bytes for io in plan.session.outputs),
            io_in_fast=all(io.mover or plan.file.tensors[io.tensor].home == Home.FAST for io in plan.file.io),
            ops=ops,
            seconds=time.monotonic() - started,
            repeats=board.repeats,
            requested=len(samples),
            first_wrong=found if isinstance(found, FirstWrong) else None,
            not_located=found if isinstance(found, str) else "",
        )

    try:
        for index, inputs in enumerate(samples):
            if index in starts and plan.session.states:
                board.reset(model.index)
                plan.session.reset()
            results.append(_check_sample(board, plan, model, index, inputs, labels, tolerance))
            if progress is not None:
                progress(results[-1])
        times = op_times(plan.file, board, model)
        wrong = next((sample for sample in results if sample.mismatches), None)
        if wrong is None or not locate:
            return report(times)
        return report(times, _locate(board, plan, model, samples, starts, wrong, tolerance))
    except HarnessError as error:
        error.report = report()
        raise
    except KeyboardInterrupt:
        raise CheckInterruptedError(report()) from None


def _check_sample(
    board: Board,
    plan: HostPlan,
    model: ModelInfo,
    index: int,
    inputs: Mapping[str, Array],
    labels: Sequence[int] | None,
    tolerance: float,
) -> Sample:
    expected = plan.session.run_raw(inputs)
    run, outputs = run_on_board(board, plan.session, model, inputs, clear_profile=index == 0)
    mismatches = [compare(name, outputs[name], expected[name], tolerance) for name in outputs]
    found = tuple(mismatch for mismatch in mismatches if mismatch is not None)
    best = int(outputs[plan.session.outputs[0].name].argmax())
    return Sample(index, found, best, None if labels is None else labels[index], run)


def op_times(plan: PlanFile, board: Board, model: ModelInfo) -> tuple[OpTime, ...]:
    """The board's profile, by operator; empty if its firmware keeps none."""
    counts = board.profile(model.index)
    return tuple(
        OpTime(plan.text(op.name), OpKind(op.kind).name.lower(), count.calls, count.elapsed)
        for op, count in zip(plan.ops, counts, strict=False)
    )


def _locate(
    board: Board,
    plan: HostPlan,
    model: ModelInfo,
    samples: Sequence[Mapping[str, Array]],
    starts: Sequence[int],
    wrong: Sample,
    tolerance: float,
) -> FirstWrong | str:
    first = wrong.index
    if plan.session.states:
        known = [start for start in starts if start <= wrong.index]
        if not known:
            return "the model's states were not reset before this sequence, so it cannot be run again"
        first = max(known)
    steps = samples[first : wrong.index + 1]
    (mismatch, *_) = wrong.mismatches
    return find_first_wrong(board, model, plan.file, plan.session, steps, wrong.index, mismatch, tolerance)
