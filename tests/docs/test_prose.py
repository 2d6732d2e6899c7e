"""The README and the pages of docs are written in short sentences, in the words of the field."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, prose

#: operators.md and api.md are written by programs, from texts of the code.
BY_PROGRAMS = {ROOT / "docs" / "operators.md", ROOT / "docs" / "api.md"}
WRITTEN = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md")} - BY_PROGRAMS)
MOST_WORDS = 30
OPENINGS = re.compile(r"(?:What|Those of|Of|That which|The same of|So are|So is)\b(?!.*\?$)")
#: Words that have another in the field: asked for is requested, departs is differs, apart is a stride.
WORDS = re.compile(
    r"\b(?:leads on|told|hopeless|eaten|rungs?|glance|drift|spared|apart|asked for|is had|has it|departs?|"
    r"usually scaled|threes|fours|unusually|lives from run to run|made anew|begins? anew)\b"
)


def sentences(page: Path) -> Iterator[str]:
    """Sentences of paragraphs, items of lists and cells of tables; code counts as one word, links as their text."""
    text = re.sub(r"`[^`]*`", "CODE", prose(page))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?m)^#.*$", "", text)
    parts = re.split(r"\n *\n|\n *(?:[-*]|\d+\.) |\n?\||\n(?=\*\*)", text)
    for part in parts:
        joined = " ".join(part.replace("**", "").replace("*", "").split())
        yield from re.split(r"(?<=[.!?])[)\"]? (?=[A-Z(`\"])|: (?=[A-Z])", joined)


def words(sentence: str) -> int:
    return len(re.findall(r"[\w'’+./%-]*\w[\w'’+./%-]*", sentence))


@pytest.mark.parametrize("page", WRITTEN, ids=[page.name for page in WRITTEN])
def test_sentences_are_read_once(page: Path) -> None:
    found = list(sentences(page))
    assert [(words(said), said) for said in found if words(said) > MOST_WORDS] == []
    assert [said for said in found if OPENINGS.match(said)] == []
    assert [said for said in found if WORDS.search(said)] == []
