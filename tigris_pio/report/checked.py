"""The page of `tigris hil check`: the runs on a board, their times, and the plan."""

from tigris_pio.hil.check import CheckReport, HostPlan, OpTime, Sample
from tigris_pio.hil.report import verdict
from tigris_pio.report.charts import Bar, column_chart
from tigris_pio.report.page import (
    Cell,
    Column,
    Fact,
    Facts,
    Figure,
    Grid,
    Page,
    Part,
    Prose,
    Provenance,
    Section,
    text_cells,
)
from tigris_pio.report.picture import Picture, picture
from tigris_pio.report.sections import (
    Measure,
    io_section,
    memory_section,
    operators_section,
    origin_facts,
    stages_section,
)
from tigris_pio.report.svg import count_ticks
from tigris_pio.sizes import format_size
from tigris_pio.text import counted

#: Largest number of rows in the table of runs; runs that differ come first.
SAMPLES_SHOWN = 200


def checked_page(plan: HostPlan, report: CheckReport, origin: Provenance, trouble: str = "") -> Page:
    """Makes the page; `trouble` is the message of the error that ended the check early."""
    shown = picture(plan.file)
    sections = [*_first_wrong(report), _board_section(plan, report, shown), _samples_section(report)]
    if any(op.elapsed for op in report.ops):
        sections.append(Section("time", "Time by operator", (_time_figure(report),)))
    sections += [
        memory_section(shown, report.model.fast_given, report.model.slow_given, "arena"),
        stages_section(shown, None),
        operators_section(shown, "library", _measures(report, shown)),
        io_section(shown),
    ]
    sentence = verdict(report)
    tone = "good" if report.equal else "bad"
    return Page(
        title=shown.model,
        kind="check on a board",
        verdict=Prose(f"{_sentence(sentence)}." + (f" {trouble}" if trouble else ""), tone),
        facts=_facts(report, shown),
        sections=tuple(sections),
        warnings=(),
        origin=origin_facts(shown, [
            ("plan", f"{report.model.plan_bytes:,} bytes, CRC-32 {report.model.plan_crc32:08x}"),
            ("board", f"{report.board.name} at {report.port}"), ("command", origin.command),
            ("tigris-pio", origin.version), ("made", origin.date),
        ]),
    )  # fmt: skip


def _facts(report: CheckReport, shown: Picture) -> tuple[Fact, ...]:
    facts = [Fact("runs equal to the host", f"{report.equal_samples} of {report.requested}",
                  f"{report.output_bytes:,} bytes compared", tone="" if report.equal else "bad")]  # fmt: skip
    elapsed = [sample.run.elapsed for sample in report.samples]
    if elapsed and report.board.counter_unit:
        mean = sum(elapsed) / len(elapsed)
        facts.append(Fact("per inference", _duration(report, mean) or f"{mean:,.0f}",
                          f"{mean:,.0f} {report.board.counter_unit}"))  # fmt: skip
        if shown.macs:
            facts.append(Fact("per multiply-accumulate", f"{mean / shown.macs:.2f}",
                              f"{report.board.counter_unit}; {shown.macs:,} in all"))  # fmt: skip
    if report.samples:
        peak = max(sample.run.fast_peak for sample in report.samples)
        given = report.model.fast_given
        facts.append(Fact("fast memory", format_size(peak), f"measured, of an arena of {format_size(given)}",
                          share=peak / max(1, given)))  # fmt: skip
    facts.append(Fact("flash", format_size(shown.plan_bytes), f"{format_size(shown.weights_bytes)} of weights"))
    if report.accuracy is not None:
        facts.append(Fact("accuracy", f"{100 * report.accuracy:.1f} %", "of the labelled runs"))
    return tuple(facts)


def _duration(report: CheckReport, counts: float) -> str:
    hertz = report.board.counter_hz
    return f"{counts / hertz * 1e3:,.3f} ms" if hertz else ""


def _board_section(plan: HostPlan, report: CheckReport, shown: Picture) -> Section:
    parts: list[Part] = [Facts((
        Fact("board", report.board.name, f"protocol {report.board.protocol}"),
        Fact("port", report.port),
        Fact("duration", f"{report.seconds:.1f} s", "serial line included"),
        Fact("requests repeated", str(report.repeats), tone="note" if report.repeats else ""),
    ))]  # fmt: skip
    if report.samples:
        runs = [sample.run for sample in report.samples]
        host = plan.session.memory
        rows = (
            ("fast memory, peak", shown.fast.bytes, host.fast_peak, max(run.fast_peak for run in runs)),
            ("slow memory, peak", shown.slow.bytes, host.slow_peak, max(run.slow_peak for run in runs)),
            ("slow memory, read", None, host.slow_read, runs[-1].slow_read),
            ("slow memory, written", None, host.slow_written, runs[-1].slow_written),
        )
        columns = (Column(""), Column("planned", True), Column("host", True), Column("board", True))
        cells = tuple((Cell(name), *text_cells(*("" if value is None else f"{value:,}" for value in values)))
                      for name, *values in rows)  # fmt: skip
        parts.append(Grid("Memory in bytes: planned, and measured on host and board", columns, cells))
    return Section("board", "On the board", tuple(parts))


def _sentence(text: str) -> str:
    """Capitalises the first letter only."""
    return text.strip()[:1].upper() + text.strip()[1:]


def _first_wrong(report: CheckReport) -> tuple[Section, ...]:
    """The first wrong operator, or the reason why it was not found."""
    if report.first_wrong is not None:
        head, *lines = report.first_wrong.sentences()
        text = head.removeprefix("first wrong operator: ")
        parts = (Prose(f"Operator {text}.", "bad"), *(Prose(_sentence(line) + ".") for line in lines))
        return (Section("wrong", "First wrong operator", parts),)
    if report.not_located:
        return (Section("wrong", "First wrong operator", (Prose(f"Not found: {report.not_located}"),)),)
    return ()


def _samples_section(report: CheckReport) -> Section:
    ordered = sorted(report.samples, key=lambda sample: (sample.equal, sample.index))
    unit = report.board.counter_unit
    labelled = any(sample.label is not None for sample in report.samples)
    columns = [Column("run", True), Column("outputs", code=True), Column("index of the maximum", True)]
    columns += [Column("label", True)] if labelled else []
    columns += [Column(unit, True)] if unit else []
    rows = tuple(_sample(sample, labelled, bool(unit)) for sample in ordered[:SAMPLES_SHOWN])
    parts: list[Part] = []
    if len(ordered) > SAMPLES_SHOWN:
        parts.append(Prose(f"The table shows {SAMPLES_SHOWN} of {len(ordered)} runs; runs that differ come first."))
    elapsed = [sample.run.elapsed for sample in report.samples]
    if unit and elapsed:
        parts.append(Prose(f"Minimum {min(elapsed):,} {unit}, maximum {max(elapsed):,}."))
    parts.append(Grid(counted(len(rows), "run"), tuple(columns), rows))
    return Section("runs", "Runs", tuple(parts))


def _sample(sample: Sample, labelled: bool, counted: bool) -> tuple[Cell, ...]:
    differs = "; ".join(mismatch.sentence() for mismatch in sample.mismatches)
    cells = [Cell(str(sample.index)), Cell(differs or "equal", tone="bad" if differs else "good"),
             Cell(str(sample.best))]  # fmt: skip
    if labelled:
        met = sample.label is None or sample.label == sample.best
        cells.append(Cell("" if sample.label is None else str(sample.label), tone="" if met else "note"))
    return (*cells, *([Cell(f"{sample.run.elapsed:,}")] if counted else []))


def _time_figure(report: CheckReport) -> Figure:
    unit = report.board.counter_unit or "counts"
    runs = max(1, len(report.samples))
    scale, shown = (report.board.counter_hz / 1e6, "µs") if report.board.counter_hz else (1.0, unit)
    bars = [Bar(op.elapsed / runs / scale, f"{index} {op.name}: {op.elapsed / runs:,.0f} {unit}")
            for index, op in enumerate(report.ops)]  # fmt: skip
    name = "Time of each operator per run"
    chart = column_chart(name, shown, bars, count_ticks(max(bar.value for bar in bars), 5))
    return Figure(chart, f"{name}. The x axis is the operator's number. The operators' table has the figures.")


def _measures(report: CheckReport, shown: Picture) -> tuple[Measure, ...]:
    """Columns of the operators' table: the board's counts, if its firmware has a profile, and the first wrong mark."""
    wrong = report.first_wrong
    marks = () if wrong is None else (Measure(Column(""), {wrong.op: Cell("first wrong", tone="bad")}),)
    if not any(op.elapsed for op in report.ops):
        return marks
    runs, unit = max(1, len(report.samples)), report.board.counter_unit or "counts"
    total = sum(op.elapsed for op in report.ops)
    macs = {op.index: op.macs or 0 for op in shown.operators}
    known = any(macs.values())

    def column(title: str, text: dict[int, Cell]) -> Measure:
        return Measure(Column(title, True), text)

    ops: dict[int, OpTime] = dict(enumerate(report.ops))
    mean = {index: op.elapsed / runs for index, op in ops.items()}
    found = [
        column("calls, board", {index: Cell(f"{op.calls / runs:g}") for index, op in ops.items()}),
        column(f"{unit}, board", {index: Cell(f"{value:,.0f}") for index, value in mean.items()}),
    ]
    if report.board.counter_hz:
        micros = 1e6 / report.board.counter_hz
        found.append(column("µs", {index: Cell(f"{value * micros:,.1f}") for index, value in mean.items()}))
    found.append(column("share", {index: Cell(f"{100 * op.elapsed / total:.1f} %", share=op.elapsed / total)
                                       for index, op in ops.items()}))  # fmt: skip
    if known:
        found.append(column(f"{unit} per MAC", {index: Cell(f"{value / macs[index]:.2f}" if macs[index] else "")
                                                for index, value in mean.items()}))  # fmt: skip
    return (*found, *marks)
