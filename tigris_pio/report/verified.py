"""The HTML page of `tigris verify`: a compilation's page and the comparison with the reference."""

from collections.abc import Sequence

from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.report.charts import Bar, column_chart
from tigris_pio.report.compiled import compiled_page
from tigris_pio.report.page import Cell, Column, Fact, Facts, Figure, Grid, Page, Part, Prose, Provenance, Section
from tigris_pio.report.sections import Measure
from tigris_pio.report.svg import count_ticks
from tigris_pio.text import counted
from tigris_pio.verify.compare import OWN_RELATIVE, OWN_STEPS, OWN_STEPS_INT16, Comparison, Layer

#: Columns that the operators' table gains, in the order of `_cells`.
_COLUMNS = (Column("cosine", True), Column("largest difference", True), Column("in steps", True),
            Column("own error", True), Column(""))  # fmt: skip


def verified_page(result: Compiled, comparison: Comparison, against: str, origin: Provenance) -> Page:
    """Makes the page; `against` is the reference's name."""
    place = {op.name: index for index, op in enumerate(result.plan.program.ops)}
    rows = {place[layer.name]: _cells(layer) for layer in comparison.layers}
    measures = tuple(
        Measure(column, {index: cells[number] for index, cells in rows.items()})
        for number, column in enumerate(_COLUMNS)
    )
    first = (_section(comparison, against, tuple(place)),)
    return compiled_page(result, origin, verdict=_verdict(comparison, against), first=first, measures=measures,
                         kind="verification")  # fmt: skip


def _verdict(comparison: Comparison, against: str) -> Prose:
    samples = counted(comparison.samples, "sample")
    if comparison.passed:
        return Prose(f"Passed: every layer and output agrees with {against} on {samples}.", "good")
    names = [layer.name for layer in comparison.different]
    if not names:
        return Prose("Failed: the outputs with bands differ from those without bands.", "bad")
    more = f" and {len(names) - 1} more differ" if len(names) > 1 else " differs"
    return Prose(f"Failed: {names[0]}{more} from {against} on {samples}.", "bad")


def own_text(layer: Layer) -> str:
    """A layer's own error: steps before rounding for integers, percent of the largest value for float32."""
    if layer.own_steps is not None:
        return f"{layer.own_steps:.2f} steps"
    return "" if layer.own_relative is None else f"{100 * layer.own_relative:.2g} %"


def _cells(layer: Layer) -> tuple[Cell, ...]:
    steps = "" if layer.steps is None else f"{layer.steps:.1f}"
    tone = "bad" if layer.differs else ""
    return (Cell(f"{layer.cosine:.6f}"), Cell(f"{layer.max_difference:.3g}"), Cell(steps),
            Cell(own_text(layer), tone=tone), Cell("differs" if layer.differs else "", tone=tone))  # fmt: skip


def _section(comparison: Comparison, against: str, operators: Sequence[str]) -> Section:
    bands = "identical" if comparison.bands_identical else "different"
    facts = Facts((
        Fact("reference", against),
        Fact("samples", str(comparison.samples)),
        Fact("outputs with bands", bands, "compared with a plan without bands",
             tone="" if comparison.bands_identical else "bad"),
    ))  # fmt: skip
    parts: list[Part] = [facts]
    if comparison.outputs:
        titles = (Column("output or state", code=True), *_COLUMNS[:3], _COLUMNS[4])
        rows = tuple((Cell(layer.name), *_cells(layer)[:3], _cells(layer)[4]) for layer in comparison.outputs)
        parts.append(Grid("Outputs and states", titles, rows))
    by_name = {layer.name: layer for layer in comparison.layers}
    layers = [by_name[name] for name in operators if name in by_name]
    parts += [figure for figure in (_steps_figure(layers), _relative_figure(layers)) if figure is not None]
    parts.append(Prose("Own error: the reference computes the operator from the plan's values, before rounding. "
                       "Largest difference: plan and reference continue from their own values, so errors add up. The "
                       "operators' table has the figures."))  # fmt: skip
    return Section("comparison", "Comparison", tuple(parts))


def _steps_figure(layers: Sequence[Layer]) -> Figure | None:
    values = [layer.own_steps for layer in layers]
    if all(value is None for value in values):
        return None
    limit = OWN_STEPS if max(value or 0 for value in values) <= OWN_STEPS_INT16 / 2 else OWN_STEPS_INT16
    return _figure("Own error of each operator, in steps of its output", "steps", layers, values, limit,
                   f"limit of {'int8' if limit == OWN_STEPS else 'int16'}, {limit:g} steps")  # fmt: skip


def _relative_figure(layers: Sequence[Layer]) -> Figure | None:
    values = [None if layer.own_relative is None else 100 * layer.own_relative for layer in layers]
    if all(value is None for value in values):
        return None
    limit = 100 * OWN_RELATIVE
    return _figure("Own error of each float32 operator, in percent of its largest value", "%", layers, values, limit,
                   f"limit, {limit:g} %")  # fmt: skip


def _figure(name: str, unit: str, layers: Sequence[Layer], values: Sequence[float | None], limit: float,
            limit_name: str) -> Figure:
    finite = [min(value, 4 * limit) if value is not None else None for value in values]
    bars = [
        None if value is None else Bar(value, f"{index} {layer.name}: {own_text(layer)}",
                                       "bad" if layer.differs else "")
        for index, (layer, value) in enumerate(zip(layers, finite, strict=True))
    ]  # fmt: skip
    top = max([limit, *(value for value in finite if value is not None)])
    chart = column_chart(name, unit, bars, count_ticks(top, 5), (limit, limit_name))
    return Figure(chart, f"{name}. The x axis is the operator's number.")
