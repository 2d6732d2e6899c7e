"""Renders a page as HTML: one file that works offline, or a fragment for notebooks."""

import re

import jinja2
from markupsafe import Markup, escape

from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.report import palette
from tigris_pio.report.compiled import compiled_page
from tigris_pio.report.page import Page, Provenance
from tigris_pio.text import visible


def render_html(page: Page) -> str:
    """The text of a whole HTML file."""
    return _render(page, "page.html.j2")


def render_fragment(result: Compiled) -> str:
    """A compilation's page as a fragment for another page; its style rules touch nothing else there."""
    return _render(compiled_page(result, Provenance()), "fragment.html.j2")


def _breakable(text: str) -> Markup:
    """Allows a line break in a name behind each slash, point and underscore."""
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
