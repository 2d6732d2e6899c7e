"""The page of a compilation, for `tigris analyze` and `compile`; `verified` adds a comparison to it."""

from typing import Any

from tigris_pio.compiler.cost.flash import FLASHES
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.reader import read_plan
from tigris_pio.report.page import Fact, Page, Prose, Provenance, Section
from tigris_pio.report.picture import Picture, picture
from tigris_pio.report.sections import (
    Measure,
    compiler_section,
    io_section,
    memory_section,
    operators_section,
    origin_facts,
    stages_section,
    sweep_section,
)
from tigris_pio.report.sweep import Sweep
from tigris_pio.sizes import format_estimate, format_size
from tigris_pio.text import counted


def compiled_page(
    result: Compiled,
    origin: Provenance,
    sweep: Sweep | None = None,
    verdict: Prose | None = None,
    first: tuple[Section, ...] = (),
    measures: tuple[Measure, ...] = (),
    kind: str = "memory plan",
) -> Page:
    """Makes the page of a compilation.

    verdict: replaces the sentence about memory. first: sections before the others. measures: more columns of the
    operators' table.
    """
    report, plan = result.report, result.plan
    shown = picture(read_plan(result.data), plan.program, plan.processor if plan.backend else "")
    # The figures of a model that does not fit are for unlimited memory.
    budget = report["budget"] if report["fits"] else {"fast": None, "slow": None, "flash": None}
    sections = [*first, memory_section(shown, budget["fast"], budget["slow"])]
    if sweep is not None:
        sections.append(sweep_section(sweep, budget["fast"]))
    passes = [vars(row) for row in result.statistics]
    sections += [
        stages_section(shown, report["stages"]),
        operators_section(shown, report["backend"]["name"], measures),
        io_section(shown),
        compiler_section(report, passes),
    ]
    return Page(
        title=report["model"],
        kind=kind,
        verdict=verdict or _verdict(report),
        facts=_facts(report, shown, budget),
        sections=tuple(sections),
        warnings=tuple(report["warnings"]),
        origin=origin_facts(shown, [
            ("budget", _budget(report["budget"])), ("command", origin.command), ("tigris-pio", origin.version),
            ("made", origin.date),
        ]),
    )  # fmt: skip


def _verdict(report: dict[str, Any]) -> Prose:
    if not report["fits"]:
        return Prose(f"{report['reason']}. The figures below are for unlimited memory.", "bad")
    budget = report["budget"]["fast"]
    peak = format_size(report["memory"]["fast_peak"])
    return Prose(f"Fits: {peak} of {format_size(budget)} fast memory." if budget else f"Needs {peak} of fast memory.",
                 "good" if budget else "")  # fmt: skip


def _budget(budget: dict[str, Any]) -> str:
    """The values of -m and -f in words."""
    if budget["fast"] is None and budget["flash"] is None:
        return "no limit"
    fast = "no limit of" if budget["fast"] is None else format_size(budget["fast"])
    slow = f", {format_size(budget['slow'])} slow memory" if budget["slow"] else ""
    flash = f", {format_size(budget['flash'])} flash" if budget["flash"] is not None else ""
    return f"{fast} fast memory{slow}{flash}"


def _facts(report: dict[str, Any], shown: Picture, budget: dict[str, Any]) -> tuple[Fact, ...]:
    memory, traffic, compute = report["memory"], report["traffic"], report["compute"]
    moved = traffic["slow_read"] + traffic["slow_written"]
    io = "input and output included" if memory["io_in_fast"] else "input and output not included"
    estimate = sum(op.instructions or 0 for op in shown.operators)
    facts = [
        _of("fast memory", memory["fast_peak"], budget["fast"], io),
        _of("slow memory", memory["slow_peak"], budget["slow"] or None,
            f"{format_size(moved)} moved per inference" if moved else "none needed"),
        _of("flash", report["flash"]["plan"], budget["flash"], f"{format_size(report['flash']['weights'])} of weights"),
        Fact("layer by layer", format_size(memory["unscheduled_peak"]), "of activations without stages and bands"),
        Fact("multiply-accumulates", f"{compute['macs']:,}", _recomputed(compute)),
        Fact("instructions", format_estimate(estimate),
             f"estimated, without bands; {counted(report['ops'], 'operator')}, {report['dtype']}"),
    ]  # fmt: skip
    for name, count in report["predicted_cycles"].items():
        cache = format_size(FLASHES[name].cache)
        facts.append(Fact("cycles", format_estimate(count), f"predicted on {name}, {cache} of cache before the flash"))
    if memory["backend_scratch"]:
        facts.append(Fact("library scratch", format_size(memory["backend_scratch"]),
                          f"of fast memory for {report['backend']['name']}"))  # fmt: skip
    if memory["states"]:
        facts.append(Fact("states", format_size(memory["states"]), "of fast memory keep their values between runs"))
    if "hop" in report:
        hop = report["hop"]
        facts.append(Fact("hop", f"{hop['rows']} of {hop['window']} rows",
                          f"a whole window needs {hop['whole_macs']:,} multiply-accumulates"))  # fmt: skip
    return tuple(facts)


def _recomputed(compute: dict[str, Any]) -> str:
    count = compute["recomputed_macs"]
    return f"{count:,} of them recomputed" if count else "none recomputed"


def _of(label: str, size: int, budget: int | None, note: str) -> Fact:
    if budget is None:
        return Fact(label, format_size(size), note)
    return Fact(label, format_size(size), f"of {format_size(budget)}; {note}", share=size / max(1, budget))
