"""Pages, docstrings and C comments are written in short sentences, in the words of the field; pages stay short."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, prose

#: operators.md and api.md are written by programs, from texts of the code.
BY_PROGRAMS = {ROOT / "docs" / "operators.md", ROOT / "docs" / "api.md"}
WRITTEN = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md")} - BY_PROGRAMS)
CODE = sorted([*(ROOT / "tigris_pio").rglob("*.py"), *(ROOT / "runtime").rglob("*.[ch]")])
#: Not checked until it is rebuilt: placement on the host.
LATER = ("runtime/host/placement_",)
MOST_WORDS = 30
OPENINGS = re.compile(r"(?:What|Those of|Of|That which|The same of|So are|So is)\b(?!.*\?$)")
#: Words that have another in the field: asked for is requested, departs is differs, apart is a stride.
WORDS = re.compile(
    r"\b(?:leads on|told|hopeless|eaten|rungs?|glance|drift|spared|apart|asked for|is had|departs?|"
    r"usually scaled|threes|(?<!by )fours|unusually|lives from run to run|made anew|begins? anew)\b"
)


def page_sentences(page: Path) -> Iterator[str]:
    """Sentences of paragraphs, items of lists and cells of tables; links count as their text."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose(page))
    return sentences(re.sub(r"(?m)^#.*$", "", text))


def code_sentences(file: Path) -> Iterator[str]:
    """Sentences of a Python file's docstrings or of a C file's block comments."""
    if file.suffix == ".py":
        nodes = ast.walk(ast.parse(file.read_text("utf-8")))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
    else:
        comments = re.findall(r"/\*(.*?)\*/", file.read_text("utf-8"), re.DOTALL)
        texts = [re.sub(r"(?m)^ *\* ?", "", comment).strip() for comment in comments]
    for text in texts:
        yield from sentences(text)


def sentences(text: str) -> Iterator[str]:
    """Sentences and items of lists: `- item`, `name: item`, `name  item`, and `name: item; …`. Code is one word."""
    text = re.sub(r"`[^`]*`", "CODE", text)
    names = r"(?:\w+, )*\w+: "
    item = rf"\n(?=\*\*| *{names}| *\S+(?: \S+)* {{2,}})"
    for part in re.split(rf"\n *\n|\n *(?:[-*]|\d+\.) |\n?\||(?<=[;{{}}])\n {{4}}|{item}", text):
        joined = " ".join(part.replace("**", "").replace("*", "").split())
        yield from re.split(rf"(?<!i\.e\.)(?<!e\.g\.)(?<=[.!?])[)\"]? |: (?=[A-Z])|; (?={names})", joined)


def words(sentence: str) -> int:
    return len(re.findall(r"[\w'’+./%-]*\w[\w'’+./%-]*", sentence))


def check(found: list[str]) -> None:
    assert [(words(said), said) for said in found if words(said) > MOST_WORDS] == []
    assert [said for said in found if OPENINGS.match(said)] == []
    assert [said for said in found if WORDS.search(said)] == []


@pytest.mark.parametrize("page", WRITTEN, ids=[page.name for page in WRITTEN])
def test_sentences_are_read_once(page: Path) -> None:
    check(list(page_sentences(page)))


def test_docstrings_and_comments_are_read_once() -> None:
    checked = [path for path in CODE if not path.relative_to(ROOT).as_posix().startswith(LATER)]
    check([said for path in checked for said in code_sentences(path)])


def test_pages_stay_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 180
    assert len((ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()) <= 60
    assert len((ROOT / "DESIGN.md").read_text("utf-8").split()) <= 6000
