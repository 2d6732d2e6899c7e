"""A page as a browser would take it: elements with attributes and text; what is badly nested is an error."""

from __future__ import annotations

import html.parser
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

VOID = frozenset(("meta", "link", "br", "hr", "img", "input", "wbr"))


@dataclass
class Element:
    """One element; `own` is its text without that of the elements within."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    own: str = ""

    @property
    def text(self) -> str:
        return self.own + "".join(child.text for child in self.children)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.walk() if element.tag == tag]

    def one(self, tag: str) -> Element:
        (found,) = self.all(tag)
        return found


class _Parser(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attributes}))
        if tag not in VOID:
            self.open.append(self.open[-1].children[-1])

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].own += data


def parse(text: str) -> Element:
    """The root of `text`."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert parser.open == [parser.root], f"never ended: {[element.tag for element in parser.open[1:]]}"
    return parser.root


def check_page(text: str) -> Element:
    """What every page promises: one file, complete without its script, in order for a screen reader."""
    root = parse(text)
    page = root.one("html")
    assert text.startswith("<!doctype html>") and page.attributes["lang"] == "en"
    assert page.one("head").one("title").text.strip()
    _check_nothing_is_fetched(text, root)
    for landmark in ("header", "nav", "main", "footer", "h1"):
        root.one(landmark)
    ids = [element.attributes["id"] for element in root.walk() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    links = [element.attributes["href"] for element in root.all("a")]
    assert links[0] == "#content" and all(link.removeprefix("#") in ids for link in links)
    levels = [int(element.tag[1]) for element in root.walk() if re.fullmatch("h[1-6]", element.tag)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for table in root.all("table"):
        check_table(table)
    for drawing in root.all("svg"):
        assert drawing.attributes["role"] == "img" and len(drawing.attributes["aria-label"]) > 10
    for figure in (figure for figure in root.all("figure") if "explore" in figure.classes):
        assert figure.one("figcaption").text.strip() and figure.all("table"), "what is drawn is there as a table too"
    for region in (element for element in root.walk() if "scroll" in element.classes):
        assert region.attributes["tabindex"] == "0" and region.attributes["aria-label"]
    return root


def cells(table: Element) -> list[dict[str, str]]:
    """The texts of each row of a table by the heads of their columns."""
    heads = [head.text for head in table.one("thead").all("th")]
    return [dict(zip(heads, [cell.text for cell in row.children], strict=True))
            for row in table.one("tbody").all("tr")]  # fmt: skip


def check_table(table: Element) -> None:
    """It has a caption, its columns are named, its rows have a head and as many cells as columns."""
    assert table.one("caption").text.strip()
    columns = table.one("thead").all("th")
    assert all(head.attributes["scope"] == "col" for head in columns)
    for row in table.one("tbody").all("tr"):
        cells = [cell for cell in row.children if cell.tag in ("td", "th")]
        assert len(cells) == len(columns)
        (head,) = row.all("th")
        assert head.attributes["scope"] == "row" and head.text.strip()


def _check_nothing_is_fetched(text: str, root: Element) -> None:
    assert {"link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}.isdisjoint(
        element.tag for element in root.walk())  # fmt: skip
    assert len(root.all("script")) == 1
    for element in root.walk():
        for name, value in element.attributes.items():
            assert not name.startswith("on") and name not in ("src", "srcset", "action"), (element.tag, name)
            assert name != "href" or value.startswith("#")
    for sheet in root.all("style"):
        assert "@import" not in sheet.text and set(re.findall(r"url\((.)", sheet.text)) <= {"#"}
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon|innerHTML", root.one("script").text)
