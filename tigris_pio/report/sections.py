"""The sections of a page that describe a plan: memory, other budgets, stages, operators, inputs and outputs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tigris_pio.report.blocks import Arena
from tigris_pio.report.charts import Mark, Panel, step_chart
from tigris_pio.report.memory_map import address_text, kind_cell, memory_map, span_text, step_text
from tigris_pio.report.page import Cell, Column, Fact, Figure, Grid, Part, Prose, Section, text_cells
from tigris_pio.report.picture import Operator, Picture
from tigris_pio.report.svg import count_ticks, size_text, size_ticks
from tigris_pio.report.sweep import Sweep, SweepPoint
from tigris_pio.sizes import format_size
from tigris_pio.text import counted


@dataclasses.dataclass(frozen=True)
class Measure:
    """A column that a command adds to the operators' table, with its cells by operator index."""

    column: Column
    cells: Mapping[int, Cell]


def memory_section(picture: Picture, fast: int | None, slow: int | None, limit: str = "budget") -> Section:
    """Maps of both arenas, and the blocks at the peak.

    fast, slow: bytes of the budget or the arena; None: no limit. limit: the word for them.
    """
    parts: list[Part] = [memory_map(picture, picture.fast, fast, limit), *_peak(picture, picture.fast)]
    if picture.slow.bytes:
        parts.append(memory_map(picture, picture.slow, slow, limit))
    return Section("memory", "Memory over time", tuple(parts))


def _peak(picture: Picture, arena: Arena) -> tuple[Part, ...]:
    step = arena.peak_step
    live = sorted(arena.live(step), key=lambda block: (-block.bytes, block.offset))
    gaps = arena.top(step) - arena.taken(step)
    shared = sum(block.bytes for block in live) - arena.taken(step)
    text = f"The peak is at {step_text(step, picture.operators)}: {counted(len(live), 'block')}, "
    text += f"{format_size(arena.taken(step))} in all"
    text += f", and {format_size(gaps)} unused below the highest address." if gaps else "."
    text += f" In {format_size(shared)} an output overwrites input rows that are no longer needed." if shared else ""
    columns = (Column("block", code=True), Column("bytes", True), Column("share", True), Column("kind"),
               Column("addresses", True), Column("steps", True))  # fmt: skip
    rows = tuple(
        (Cell(block.name), Cell(f"{block.bytes:,}"),
         Cell(f"{100 * block.bytes / arena.bytes:.1f} %", share=block.bytes / arena.bytes), kind_cell(block),
         Cell(address_text(block)), Cell(span_text(block, arena.steps)))
        for block in live
    )  # fmt: skip
    return Prose(text), Grid("Blocks at the peak", columns, rows)


def sweep_section(found: Sweep, chosen: int | None) -> Section:
    """Plans at other budgets; `chosen`: the budget of this plan in bytes, None: no limit."""
    if found.complete:
        text = f"The smallest budget without slow memory is {found.without_slow:,} bytes"
        if found.least < found.without_slow:
            text += f"; with slow memory {found.least:,} bytes, below which operators access slow memory directly"
        text += ". These budgets are exact to 1 %, for one order of the operators."
    else:
        text = (f"{found.without_slow:,} bytes are enough without slow memory. Smaller budgets were not all tried, "
                "because planning this model takes long.")  # fmt: skip
    text += f" From {found.whole:,} bytes on, all operators run whole."
    parts: list[Part] = [Prose(text)]
    if len(found.points) > 1:
        parts.append(_sweep_figure(found, chosen))
    return Section("budgets", "Other budgets", tuple(parts))


def _sweep_figure(found: Sweep, chosen: int | None) -> Figure:
    points = found.points
    panels = [_panel("slow memory moved per inference", points, "traffic", True)] if any(
        point.traffic for point in points) else []  # fmt: skip
    panels.append(_panel("kernel calls per inference", points, "calls", False))
    span = (points[0].budget, points[-1].budget)
    ticks = [(size, size_text(size)) for size in size_ticks(span[1], 10) if size >= span[0]]
    marks = []
    if found.complete and found.without_slow > span[0]:
        marks.append(Mark(found.without_slow, f"no slow memory needed from {format_size(found.without_slow)}", "good"))
    if chosen is not None and span[0] <= chosen <= span[1]:
        marks.append(Mark(chosen, f"this plan: {format_size(chosen)}", "note"))
    name = f"Plans at {len(points)} budgets between {format_size(span[0])} and {format_size(span[1])}"
    caption = f"{name}. Each point is a plan. Bands need more kernel calls; slow memory needs transfers."
    return Figure(step_chart(name, panels, ticks, marks, span), caption, table=_sweep_table(found, chosen))


def _panel(title: str, points: Sequence[SweepPoint], field: str, sizes: bool) -> Panel:
    values = tuple((point.budget, float(getattr(point, field))) for point in points)
    top = max(value for _, value in values)
    if sizes:
        return Panel(title, values, tuple(float(size) for size in size_ticks(int(top), 5)), lambda v: size_text(int(v)))
    return Panel(title, values, tuple(count_ticks(top, 5)), lambda v: f"{v:,.12g}")


def _sweep_table(found: Sweep, chosen: int | None) -> Grid:
    titles = ("budget", "fast used", "slow used", "moved", "stages", "in bands", "calls", "recomputed",
              "predicted instructions")  # fmt: skip
    rows = tuple(
        (Cell(f"{point.budget:,}" + (" (this plan)" if point.budget == chosen else "")),
         *text_cells(f"{point.fast:,}", f"{point.slow:,}", f"{point.traffic:,}", point.stages, point.banded,
                     f"{point.calls:,}", f"{100 * point.recomputed / max(1, found.macs):.1f} %",
                     f"{point.instructions:,}"))
        for point in found.points
    )  # fmt: skip
    return Grid("Table of budgets, sizes in bytes", tuple(Column(title, True) for title in titles), rows)


def stages_section(picture: Picture, stages: Sequence[Mapping[str, Any]] | None) -> Section:
    """The stages' table. `stages`: those of the compiler's report, with traffic and rows per band; None: unknown."""
    more = stages is not None
    columns = [Column("stage", True), Column("strategy"), Column("operators", code=True), Column("bands", True),
               Column("fast peak", True), Column("weights", True), Column("weights in")]  # fmt: skip
    columns += [Column("slow read", True), Column("slow written", True), Column("recomputed", True)] if more else []
    where = {"in_place": "flash", "copy": "fast memory, copied", "lz4": "fast memory, decompressed"}
    rows = []
    for place, stage in enumerate(picture.stages):
        first, last = picture.operators[stage.first], picture.operators[stage.end - 1]
        span = f"{first.index} {first.name}" + (f" … {last.index} {last.name}" if first is not last else "")
        extra: tuple[Cell, ...] = ()
        bands = str(stage.bands)
        if stages is not None:
            row = stages[place]
            bands += f" × {counted(row['band_rows'], 'row')}" if stage.bands > 1 else ""
            recomputed = 100 * row["recomputed_macs"] / max(1, row["macs"])
            extra = text_cells(format_size(row["slow_read"]), format_size(row["slow_written"]), f"{recomputed:.1f} %")
        rows.append((*text_cells(stage.number, stage.strategy, span, bands, format_size(stage.fast_peak),
                                 format_size(stage.weights), where[stage.weight_mode]), *extra))  # fmt: skip
    grid = Grid(counted(len(rows), "stage"), tuple(columns), tuple(rows))
    return Section("stages", "Stages", (grid,))


def operators_section(picture: Picture, backend: str, measures: Sequence[Measure] = ()) -> Section:
    """The operators' table. `backend`: name of the kernel library; `measures`: columns that the command adds."""
    ops = picture.operators
    known = any(op.weights is not None for op in ops)
    has_macs = any(op.macs is not None for op in ops)
    columns = [Column("", True), Column("operator", code=True), Column("kernel"), Column("backend"), Column("stage"),
               Column("inputs", True), Column("output", True), Column("calls", True)]  # fmt: skip
    columns += [Column("MACs", True)] if has_macs else []
    columns += [Column("weights", True), Column("estimated instructions", True)] if known else []
    columns += [measure.column for measure in measures]
    total = max(1, sum(op.macs or 0 for op in ops))
    rows = tuple((*_operator(op, backend, total, has_macs, known),
                  *(measure.cells.get(op.index, Cell("")) for measure in measures)) for op in ops)  # fmt: skip
    note = "Shapes are height × width × channels, as stored. "
    of = f"{backend} on {picture.processor}" if picture.processor else (
        "portable kernels: int8 on RV32IMC, float32 with an FPU")  # fmt: skip
    note += f"Estimated instructions: each operator run whole, without bands and executor, for {of}." if known else ""
    grid = Grid(f"{counted(len(ops), 'operator')} in execution order", tuple(columns), rows, head=1)
    return Section("operators", "Operators", (Prose(note.strip()), grid))


def _operator(op: Operator, backend: str, total: int, has_macs: bool, known: bool) -> list[Cell]:
    library, stage = backend if op.by_library else "portable", f"{op.stage}\u00a0{op.strategy}"
    cells = list(text_cells(op.index, op.name, f"{op.kind} {op.dtype}", library, stage, ", ".join(op.inputs), op.output,
                            f"{op.calls:,}"))  # fmt: skip
    if has_macs:
        cells.append(Cell(f"{op.macs or 0:,}", share=(op.macs or 0) / total))
    if known:
        cells += text_cells(f"{op.weights:,}", f"{op.instructions or 0:,.0f}")
    return cells


def io_section(picture: Picture) -> Section:
    """The table of inputs, outputs and states."""
    titles = (("", False), ("name", False), ("shape", True), ("type", False), ("stored as", False), ("bytes", True),
              ("scale", True), ("zero point", True), ("memory", False))  # fmt: skip
    columns = tuple(Column(title, numeric, title == "name") for title, numeric in titles)
    where = {"fast": "fast memory", "slow": "slow memory", "none": "not stored", "flash": "flash",
             "stream": "streamed row by row"}
    rows = tuple(
        text_cells(io.role, io.name, io.shape, io.dtype, io.stored, f"{io.bytes:,}",
                   f"{io.scale:.6g}" if io.scale else "", io.zero_point if io.scale else "", where[io.home])
        for io in picture.ios
    )  # fmt: skip
    grid = Grid("Inputs, outputs and states", columns, rows, head=1)
    return Section("io", "Inputs and outputs", (grid,))


def compiler_section(report: Mapping[str, Any], passes: Sequence[Mapping[str, Any]]) -> Section:
    """Peaks of the placement strategies, and node counts of the passes."""
    kept = report["allocation"]["strategy"]
    strategies = tuple(
        (Cell(name), Cell("kept" if name == kept else ""), Cell(f"{peak:,}"))
        for name, peak in report["allocation"]["peaks"].items()
    )
    lower = format_size(report["memory"]["lower_bound"])
    placement = Grid("Peak of each placement strategy in bytes, without run-time state",
                     (Column("strategy"), Column(""), Column("peak", True)), strategies)  # fmt: skip
    names = ("name", "nodes_in", "folded", "nodes_out")
    columns = tuple(Column(name.replace("_", " "), name != "name") for name in names)
    folded = Grid("Nodes before and after each pass", columns,
                  tuple(text_cells(*(row[name] for name in names)) for row in passes))  # fmt: skip
    proved = ", proved optimal" if report["allocation"]["proved_optimal"] else ""
    text = f"This placement needs {format_size(report['memory']['fast_peak'])}{proved}. "
    text += f"The lower bound of these stages is {lower}. Both include run-time state."
    return Section("compiler", "Placement and passes", (Prose(text), placement, folded), folded=True)


def origin_facts(picture: Picture, items: Sequence[tuple[str, str]]) -> tuple[Fact, ...]:
    """The page's footer: the model and `items`; empty texts are left out."""
    own = [("model", picture.model), ("SHA-256 of the model", picture.sha256)]
    return tuple(Fact(name, text) for name, text in [*own, *items] if text)


