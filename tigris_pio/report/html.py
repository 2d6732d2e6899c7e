"""Renders a compilation as one self-contained HTML page: figures, memory map over time, stages."""

from __future__ import annotations

import zlib
from typing import Any

import jinja2

from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan import ExecutionPlan
from tigris_pio.sizes import format_size
from tigris_pio.text import visible

#: The memory map's size in SVG units.
MAP_WIDTH, MAP_HEIGHT = 960.0, 320.0
#: Hue by what a region holds; its name picks the lightness, so neighbours differ.
HUES = {"home": 210, "window": 35, "scratch": 0, "weights": 130}


def render_html(result: Compiled) -> str:
    """The page's text."""
    return _render(result, "page.html.j2")


def render_fragment(result: Compiled) -> str:
    """The same content within another page, whose style it leaves alone."""
    return _render(result, "fragment.html.j2")


def _render(result: Compiled, template: str) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tigris_pio.report", ""), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters["size"] = lambda size: "no limit" if size is None else format_size(size)
    return environment.get_template(template).render(
        report=result.report,
        passes=result.statistics,
        regions=_rectangles(result.plan),
        cuts=[stage.first_op for stage in result.plan.stages[1:]],
        width=MAP_WIDTH,
        height=MAP_HEIGHT,
        step=MAP_WIDTH / (len(result.plan.program.ops) + 2),
    )


def _rectangles(plan: ExecutionPlan) -> list[dict[str, Any]]:
    """The regions of the fast arena as rectangles: steps to the right, addresses upwards."""
    step = MAP_WIDTH / (len(plan.program.ops) + 2)
    byte = MAP_HEIGHT / max(1, plan.fast_bytes)
    return [
        {
            "x": (region.birth + 1) * step,
            "y": MAP_HEIGHT - (region.offset + region.bytes) * byte,
            "width": (region.death - region.birth + 1) * step,
            "height": region.bytes * byte,
            "title": f"{region.name}: {format_size(region.bytes)} at {region.offset}, "
            f"steps {region.birth} to {region.death}",
            "hue": HUES.get(region.name.split(" ")[0], 270),
            "light": 55 + zlib.crc32(region.name.encode()) % 25,
        }
        for region in plan.regions
        if region.bytes
    ]
