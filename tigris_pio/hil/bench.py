"""Measures a model's runs on a board. The first run is reported separately, because caches may be cold."""

import dataclasses
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tigris_pio.format.enums import OpKind
from tigris_pio.hil.check import HostPlan, find_model
from tigris_pio.hil.client import Board, BoardInfo, MemoryUse, ModelInfo, RunInfo
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.exchange import write_inputs
from tigris_pio.hil.report import counter, model_document
from tigris_pio.hil.samples import SampleSet


@dataclasses.dataclass(frozen=True)
class OpCost:
    """One operator's cost in one run; `elapsed` and `first` are in the board's counter unit."""

    index: int
    name: str
    kind: str
    calls: float
    elapsed: float  #: mean of the runs after the first
    first: int  #: of the first run
    macs: int | None  #: multiply-accumulates; None if they are not known


@dataclasses.dataclass(frozen=True)
class BenchReport:
    """All runs of a measurement, in order; at least one."""

    port: str
    board: BoardInfo
    model: ModelInfo
    runs: tuple[RunInfo, ...]
    requested: int  #: number of requested runs
    ops: tuple[OpCost, ...]  #: empty if the firmware keeps no profile, or the measurement ended early
    macs: int  #: of one run

    @property
    def first(self) -> int:
        """Counts of the first run."""
        return self.runs[0].elapsed

    @property
    def steady(self) -> tuple[int, ...]:
        """Counts of the runs after the first; of the first if it is the only one."""
        return tuple(run.elapsed for run in self.runs[1:]) or (self.first,)

    @property
    def median(self) -> float:
        """Median of `steady`."""
        return statistics.median(self.steady)

    @property
    def mean(self) -> float:
        """Mean of `steady`."""
        return statistics.fmean(self.steady)

    @property
    def memory(self) -> MemoryUse:
        """The model's use of its arenas."""
        return MemoryUse.of(self.model, self.runs)

    @property
    def complete(self) -> bool:
        """True if all requested runs were made."""
        return len(self.runs) == self.requested


@dataclasses.dataclass(frozen=True)
class BenchOutcome:
    """The result of a measurement, also of one that ended early."""

    report: BenchReport | None  #: None if no run was made
    error: HarnessError | KeyboardInterrupt | None


def bench(
    board: Board,
    plan: HostPlan,
    samples: SampleSet,
    runs: int,
    macs: Sequence[int] | None,
    advance: Callable[[RunInfo], None],
) -> BenchOutcome:
    """Runs the samples in turn, `runs` times in all, at least twice; calls `advance` after each run.

    `macs`: multiply-accumulates of each operator, if known. WrongModelError or RunError if the board cannot run the
    plan; later errors are in the outcome.
    """
    assert runs >= 2
    model = find_model(board, plan.file)
    done: list[RunInfo] = []
    first: list[tuple[int, int]] = []
    try:
        for number in range(runs):
            index = number % len(samples.inputs)
            if index in samples.starts and plan.session.states:
                board.reset(model.index)
            write_inputs(board, plan.session, model, samples.inputs[index])
            done.append(board.run(model.index, clear_profile=number < 2))
            if number == 0:
                first = _counts(board, model)
            advance(done[-1])
        ops = _costs(plan, first, _counts(board, model), runs - 1, macs)
        return BenchOutcome(_report(board, plan, model, done, runs, ops), None)
    except (HarnessError, KeyboardInterrupt) as error:
        return BenchOutcome(_report(board, plan, model, done, runs, ()) if done else None, error)


def _report(
    board: Board, plan: HostPlan, model: ModelInfo, runs: Sequence[RunInfo], requested: int, ops: tuple[OpCost, ...]
) -> BenchReport:
    low, high = plan.file.header.macs
    return BenchReport(board.url, board.info, model, tuple(runs), requested, ops, low | high << 32)


def _counts(board: Board, model: ModelInfo) -> list[tuple[int, int]]:
    return [(count.calls, count.elapsed) for count in board.profile(model.index)]


def _costs(
    plan: HostPlan,
    first: Sequence[tuple[int, int]],
    others: Sequence[tuple[int, int]],
    runs: int,
    macs: Sequence[int] | None,
) -> tuple[OpCost, ...]:
    return tuple(
        OpCost(index, plan.file.text(op.name), OpKind(op.kind).name.lower(), calls / runs, elapsed / runs, before,
               None if macs is None else macs[index])
        for index, (op, (_, before), (calls, elapsed)) in enumerate(zip(plan.file.ops, first, others, strict=False))
    )


@dataclasses.dataclass(frozen=True)
class Change:
    """A figure of two measurements."""

    name: str
    before: float
    now: float

    @property
    def ratio(self) -> float | None:
        """`now` / `before`; None if `before` is 0."""
        return self.now / self.before if self.before else None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two measurements compared. `ops`: the operators of the same name and kind, in the order of the later one."""

    median: Change
    first: Change
    ops: tuple[Change, ...]
    threshold: float  #: largest accepted growth of the median, as a share
    same_plan: bool

    @property
    def slower(self) -> bool:
        """True if the median grew beyond the threshold."""
        return self.median.now > self.median.before * (1 + self.threshold)


def compare(report: BenchReport, earlier: Mapping[str, Any], threshold: float) -> Comparison:
    """Compares with `earlier`, the `document` of another report. ValueError says why they cannot be compared."""
    try:
        counter, model, elapsed = earlier["board"]["counter"], earlier["model"], earlier["elapsed"]
        unit = (str(counter["unit"]), int(counter["hz"]))
        median, first = float(elapsed["median"]), float(elapsed["first"])
        rows = [(str(row["name"]), str(row["kind"])) for row in earlier["ops"]]
        costs = dict(zip(_numbered(rows), [float(row["elapsed"]) for row in earlier["ops"]], strict=True))
        name, crc = str(model["name"]), int(model["plan_crc32"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("it is no document of tigris hil bench --json") from None
    here = (report.board.counter_unit, report.board.counter_hz)
    if unit != here:
        raise ValueError(f"its counter is {_unit_text(*unit)}, this board's is {_unit_text(*here)}")
    if name != report.model.name:
        raise ValueError(f"it is of model {name}, this is {report.model.name}")
    keys = _numbered([(op.name, op.kind) for op in report.ops])
    changes = [
        Change(op.name, costs[key], op.elapsed) for key, op in zip(keys, report.ops, strict=True) if key in costs
    ]
    return Comparison(
        Change("median", median, report.median),
        Change("first", first, float(report.first)),
        tuple(changes),
        threshold,
        crc == report.model.plan_crc32,
    )


def _numbered(keys: Sequence[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Makes equal keys distinct: a model may have several operators of one name and kind."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for key in keys:
        numbered.append((*key, seen[key]))
        seen[key] += 1
    return numbered


def _unit_text(unit: str, hz: int) -> str:
    return f"{unit or 'nothing'}, {hz:,} a second" if hz else unit or "nothing"


def document(report: BenchReport, comparison: Comparison | None = None) -> dict[str, Any]:
    """The report for --json: bytes and counts of one run, times in milliseconds."""
    elapsed = {"first": report.first, "least": min(report.steady), "median": report.median,
               "most": max(report.steady), "mean": report.mean}  # fmt: skip
    hz, total = report.board.counter_hz, sum(op.elapsed for op in report.ops)
    return {
        "kind": "Slower" if comparison is not None and comparison.slower else "Measured",
        "partial": not report.complete,
        "runs": len(report.runs),
        "wanted_runs": report.requested,
        "port": report.port,
        "board": {"name": report.board.name, "counter": counter(report.board)},
        "model": model_document(report.model),
        "elapsed": {**elapsed, "all": [run.elapsed for run in report.runs]},
        "milliseconds": {name: value / hz * 1e3 for name, value in elapsed.items()} if hz else None,
        "macs": report.macs,
        "counts_per_mac": report.median / report.macs if report.macs else None,
        "memory": vars(report.memory),
        "ops": [_op_document(op, total) for op in report.ops],
        "compare": None if comparison is None else _comparison_document(comparison),
    }


def _op_document(op: OpCost, total: float) -> dict[str, Any]:
    share, per_mac = op.elapsed / total if total else 0.0, op.elapsed / op.macs if op.macs else None
    return {**vars(op), "share": share, "counts_per_mac": per_mac}


def _comparison_document(comparison: Comparison) -> dict[str, Any]:
    def change(item: Change) -> dict[str, Any]:
        return {**vars(item), "ratio": item.ratio}

    return {
        **{name: getattr(comparison, name) for name in ("threshold", "slower", "same_plan")},
        "median": change(comparison.median), "first": change(comparison.first),
        "ops": [change(item) for item in comparison.ops],
    }  # fmt: skip
