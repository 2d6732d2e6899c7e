"""Renders a page as HTML: one file that fetches nothing, or a piece of one for notebooks."""

from __future__ import annotations

import re

import jinja2
from markupsafe import Markup, escape

from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.report import palette
from tigris_pio.report.compiled import compiled_page
from tigris_pio.report.page import Page, Provenance
from tigris_pio.text import visible


def render_html(page: Page) -> str:
    """The text of a file of its own."""
    return _render(page, "page.html.j2")


def render_fragment(result: Compiled) -> str:
    """A compilation's page within another page, whose style it leaves alone."""
    return _render(compiled_page(result, Provenance()), "fragment.html.j2")


def _breakable(text: str) -> Markup:
    """A name that may go on in the next line behind a stroke, a point or an underscore."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[/._])(?=\w)", visible(text)))


def _render(page: Page, template: str) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tigris_pio.report", "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters["part"] = lambda value: type(value).__name__
    environment.filters["breakable"] = _breakable
    environment.globals["light"], environment.globals["dark"] = palette.variables(False), palette.variables(True)
    environment.globals["kinds"] = tuple(palette.BLOCKS)
    return environment.get_template(template).render(page=page)
