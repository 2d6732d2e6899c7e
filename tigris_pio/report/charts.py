"""Charts other than memory maps: a column per operator, and lines over budgets."""

import dataclasses
from collections.abc import Callable, Sequence

from markupsafe import Markup

from tigris_pio.report.svg import CHARACTER, WIDTH, drawing, element, every, label, title, y_axis

_LEFT, _RIGHT, _TOP = 66.0, 1068.0, 26.0
_COLUMNS_HEIGHT, _PANEL_HEIGHT, _PANEL_GAP = 170.0, 120.0, 44.0


@dataclasses.dataclass(frozen=True)
class Bar:
    """A column of a chart. `tone`: one of `page.TONES`."""

    value: float
    tooltip: str
    tone: str = ""


def column_chart(name: str, unit: str, bars: Sequence[Bar | None], ticks: Sequence[float],
                 limit: tuple[float, str] | None = None) -> Markup:
    """A chart with one column per bar, numbered from 0; None: no column. `limit`: height and name of a line across."""
    high = max([ticks[-1], limit[0] if limit else 0, *(bar.value for bar in bars if bar)], default=1) * 1.08 or 1.0
    bottom, step = _TOP + _COLUMNS_HEIGHT, (_RIGHT - _LEFT) / max(1, len(bars))

    def y(value: float) -> float:
        return bottom - _COLUMNS_HEIGHT * value / high

    content = [label(_LEFT - 60, 12, unit, class_="tick"),
               y_axis(_LEFT, _RIGHT, ((y(tick), f"{tick:,.12g}") for tick in ticks))]  # fmt: skip
    gap = min(6.0, step * 0.2)
    for place, bar in enumerate(bars):
        if bar is not None:
            box = element("rect", x=_LEFT + place * step + gap / 2, width=max(0.8, step - gap), y=y(bar.value),
                          height=max(0.0, bottom - y(bar.value)), class_=f"bar {bar.tone}".strip())  # fmt: skip
            content.append(element("g", title(bar.tooltip), box, class_="block"))
    if limit is not None:
        content.append(element("line", x1=_LEFT, x2=_RIGHT, y1=y(limit[0]), y2=y(limit[0]), class_="budget"))
        content.append(label(_RIGHT - 4, y(limit[0]) - 4, limit[1], text_anchor="end", class_="budget-name"))
    content.append(element("line", x1=_LEFT, x2=_RIGHT, y1=bottom, y2=bottom, class_="base"))
    content += [label(_LEFT + (place + 0.5) * step, bottom + 15, str(place), text_anchor="middle", class_="tick")
                for place in every(len(bars), step, 26.0)]
    return drawing(bottom + 24, name, *content)


@dataclasses.dataclass(frozen=True)
class Panel:
    """One figure over the budgets. points: (budget, value), by rising budget. text: formats a value."""

    title: str
    points: tuple[tuple[int, float], ...]
    ticks: tuple[float, ...]
    text: Callable[[float], str]


@dataclasses.dataclass(frozen=True)
class Mark:
    """A vertical line at a budget, with its text."""

    budget: int
    text: str
    tone: str


def step_chart(name: str, panels: Sequence[Panel], ticks: Sequence[tuple[int, str]], marks: Sequence[Mark],
               span: tuple[int, int]) -> Markup:
    """Panels above each other over one axis of budgets from span[0] to span[1]; a value holds to the next budget."""
    low, high = span
    width = _RIGHT - _LEFT - 40

    def x(budget: int) -> float:
        return _LEFT + width * (budget - low) / max(1, high - low)

    content: list[Markup] = []
    top = 34.0 + 15.0 * len(marks)
    ends = top + len(panels) * (_PANEL_HEIGHT + _PANEL_GAP) - _PANEL_GAP
    for place, mark in enumerate(marks):
        y, at = 12.0 + 15.0 * place, x(mark.budget)
        right = at + len(mark.text) * CHARACTER + 8 > WIDTH
        content += [element("path", d=f"M{at:.1f} {y - 6:.1f}V{ends:.1f}", class_=f"mark {mark.tone}".strip()),
                    label(at - 6 if right else at + 6, y + 2, mark.text, text_anchor="end" if right else "start",
                          class_=f"mark-name {mark.tone}".strip())]  # fmt: skip
    for panel in panels:
        content += _panel(panel, top, x)
        top += _PANEL_HEIGHT + _PANEL_GAP
    content += [label(x(budget), ends + 16, text, text_anchor="middle", class_="tick") for budget, text in ticks]
    content.append(label(_LEFT, ends + 36, "budget: fast memory", class_="tick"))
    return drawing(ends + 44, name, *content)


def _panel(panel: Panel, top: float, x: Callable[[int], float]) -> list[Markup]:
    bottom = top + _PANEL_HEIGHT
    high = max(panel.ticks[-1], *(value for _, value in panel.points)) * 1.05 or 1.0

    def y(value: float) -> float:
        return bottom - _PANEL_HEIGHT * value / high

    content = [label(_LEFT, top - 10, panel.title, class_="panel-name"),
               y_axis(_LEFT, _RIGHT, ((y(tick), panel.text(tick)) for tick in panel.ticks))]  # fmt: skip
    path = f"M{x(panel.points[0][0]):.1f} {y(panel.points[0][1]):.1f}"
    for budget, value in panel.points[1:]:
        path += f"H{x(budget):.1f}V{y(value):.1f}"
    content.append(element("path", d=f"{path}H{_RIGHT:.1f}", class_="series"))
    content.append(element("line", x1=_LEFT, x2=_RIGHT, y1=bottom, y2=bottom, class_="base"))
    for budget, value in panel.points:
        tooltip = title(f"budget {budget:,} bytes: {panel.text(value)} {panel.title}")
        content.append(element("g", tooltip, element("circle", cx=x(budget), cy=y(value), r=3.5, class_="dot"),
                               class_="block"))  # fmt: skip
    return content
