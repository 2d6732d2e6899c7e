"""A check's report: tables for the terminal, a document for --json."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from tigris_pio.fitted import Column, Facts, FittedTable
from tigris_pio.hil.check import CheckReport, Sample
from tigris_pio.hil.client import BoardInfo, MemoryUse, ModelInfo
from tigris_pio.sizes import format_size
from tigris_pio.text import counted

_MISMATCHES_SHOWN = 10


def document(report: CheckReport) -> dict[str, Any]:
    """The report for --json: sizes in bytes, times in counts unless named otherwise, operators per inference."""
    elapsed, runs = [sample.run.elapsed for sample in report.samples] or [0], len(report.samples)
    return {
        "kind": "Equal" if report.equal else "Mismatch" if report.mismatched else "Incomplete",
        "partial": not report.complete,
        "wanted_samples": report.requested,
        "equal": report.equal,
        "samples": len(report.samples),
        "equal_samples": report.equal_samples,
        "compared_bytes": report.output_bytes,
        "accuracy": report.accuracy,
        "port": report.port,
        "board": {"name": report.board.name, "protocol": report.board.protocol, "counter": counter(report.board)},
        "model": model_document(report.model),
        "memory": _memory(report),
        "elapsed": {"first": elapsed[0], "least": min(elapsed), "most": max(elapsed),
                    "mean": sum(elapsed) / len(elapsed)},
        "ops": [
            {"name": op.name, "kind": op.kind, "calls": op.calls / runs, "elapsed": op.elapsed / runs}
            for op in report.ops
        ],
        "mismatches": [
            {"sample": sample.index, **vars(mismatch)} for sample in report.samples for mismatch in sample.mismatches
        ],
        "first_wrong": report.first_wrong.document() if report.first_wrong else None,
        "not_located": report.not_located,
        "predictions": [sample.best for sample in report.samples],
        "repeated_requests": report.repeats,
        "seconds": round(report.seconds, 3),
    }


def counter(board: BoardInfo) -> dict[str, Any]:
    """A board's counter for --json."""
    return {"unit": board.counter_unit, "hz": board.counter_hz}


def model_document(model: ModelInfo) -> dict[str, Any]:
    """A model for --json."""
    return {name: getattr(model, name) for name in ("name", "source_sha256", "plan_bytes", "plan_crc32")}


def _memory(report: CheckReport) -> dict[str, Any]:
    """Bytes, in the order of their names."""
    more = {"fast_needed": report.model.fast_needed, "io_in_fast": report.io_in_fast}
    return {} if report.memory is None else dict(sorted({**vars(report.memory), **more}.items()))


def print_board(console: Console, port: str, board: BoardInfo, models: list[ModelInfo]) -> None:
    """Prints a board's name and its models."""
    rows: list[tuple[str, str | Text]] = [("board", f"{board.name} at {port}, protocol {board.protocol}")]
    for model in models:
        if model.plan_bytes:
            source = model.source_sha256[:12]
            text = f"{model.name}: plan of {format_size(model.plan_bytes)}, SHA-256 of its source {source}…"
        else:
            text = f"no valid plan: {model.status_text}"
        rows.append((f"model {model.index}", text))
        if model.plan_bytes and model.status:
            rows.append(("", Text.assemble(("cannot run:", "red"), f" {model.status_text}")))
    console.print(Facts(rows))


def print_report(console: Console, report: CheckReport) -> None:
    """Prints memory, time per operator and mismatches."""
    memory, model, runs = report.memory, report.model, len(report.samples)
    assert memory is not None
    elapsed = [sample.run.elapsed for sample in report.samples]
    kept = "included" if report.io_in_fast else "not included"
    arena = f"{memory.fast_peak:,} of {memory.fast_given:,} bytes used (input and output {kept})"
    rows = [("fast memory", arena), ("slow memory", _slow_text(memory))]
    if (lacking := model.fast_needed - model.fast_given) > 0:
        said = f"{lacking:,} bytes less than plan and kernel library need, so some operators run slower. Remedy: give"
        rows.insert(1, ("", f"{said} the fast arena {model.fast_needed:,} bytes"))
    if report.board.counter_unit:
        mean = counts_text(report.board, sum(elapsed) / runs)
        rows.append(("per inference", f"{mean} (least {min(elapsed):,}, most {max(elapsed):,})"))
    if report.repeats:
        rows.append(("serial line", f"{counted(report.repeats, 'request')} repeated"))
    console.print(Facts(rows))
    if report.ops and any(op.elapsed for op in report.ops):
        console.print(_op_table(report))
    for line in mismatch_lines(report.samples):
        console.print(f"[red]{escape(line)}[/]")
    for line in location_lines(report):
        console.print(f"[red]{escape(line)}[/]")


def _slow_text(memory: MemoryUse) -> str:
    if not memory.slow_given:
        return "none"
    peak = f"{memory.slow_peak:,} of {memory.slow_given:,} bytes used"
    return f"{peak}, {memory.slow_read:,} read and {memory.slow_written:,} written per inference"


def counts_text(board: BoardInfo, value: float) -> str:
    """Counts of the board's counter, and the time if it measures time."""
    text = f"{value:,.0f} {board.counter_unit or 'counts'}"
    return f"{text} = {value / board.counter_hz * 1e3:,.3f} ms" if board.counter_hz else text


def _op_table(report: CheckReport) -> FittedTable:
    runs, total = len(report.samples), sum(op.elapsed for op in report.ops) or 1
    hertz = report.board.counter_hz
    columns = [Column("", True), Column("operator", is_name=True), Column("kind"), Column("calls", True, detail=2),
               Column(report.board.counter_unit or "counts", True), *([Column("us", True, detail=1)] if hertz else []),
               Column("share", True)]  # fmt: skip
    rows = []
    for number, op in enumerate(report.ops):
        mean = op.elapsed / runs
        micros = [f"{mean / hertz * 1e6:,.1f}"] if hertz else []
        share = f"{op.elapsed / total:.1%}"
        rows.append((str(number), op.name, op.kind, f"{op.calls / runs:g}", f"{mean:,.0f}", *micros, share))
    return FittedTable("time per operator", tuple(columns), rows)


def mismatch_lines(samples: tuple[Sample, ...]) -> Iterator[str]:
    """The mismatches of at most ten samples."""
    wrong = [sample for sample in samples if sample.mismatches]
    for sample in wrong[:_MISMATCHES_SHOWN]:
        for mismatch in sample.mismatches:
            yield f"sample {sample.index}: {mismatch.sentence()}"
    if len(wrong) > _MISMATCHES_SHOWN:
        yield f"… and {counted(len(wrong) - _MISMATCHES_SHOWN, 'more sample')}"


def location_lines(report: CheckReport) -> list[str]:
    """The first wrong operator, or why it is not known; empty if it was not searched."""
    if report.first_wrong:
        return report.first_wrong.sentences()
    return [f"first wrong operator not found: {report.not_located}"] if report.not_located else []


def verdict(report: CheckReport) -> str:
    """One line: the number of runs with the host's outputs, and the accuracy."""
    text = f"{report.equal_samples}/{len(report.samples)} outputs equal to the host"
    if not report.complete:
        text += f", {report.requested - len(report.samples)} of {counted(report.requested, 'run')} not made"
    if report.accuracy is not None:
        text += f", accuracy {report.accuracy:.1%}".replace("%", " %")
    return text
