"""READMEs of rooms, DESIGN.md and docs/extending.md: every file and function that they name in backticks exists."""

import functools
import keyword
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOMS, ROOT, prose

#: The rooms that must have one.
LARGE = (
    "runtime", "runtime/src/kernels", "tests", "tigris_pio/compiler", "tigris_pio/compiler/codegen",
    "tigris_pio/compiler/load", "tigris_pio/compiler/lower", "tigris_pio/hil", "tigris_pio/platformio",
    "tigris_pio/verify",
)  # fmt: skip
MOST_LINES = 60
DESIGN, EXTENDING = ROOT / "DESIGN.md", ROOT / "docs" / "extending.md"
ENDINGS = ("py", "c", "h", "S", "md", "toml", "txt", "json", "xz", "tflite", "onnx")
#: Files that a build makes, or C's own.
MADE = {"tigris_models.h", "string.h", "math.h", "float.h"}


def files_of(token: str, page: Path) -> list[Path]:
    """The file or folder that a token names: beside the page, below the compiler or the package, or from the root."""
    bases = (page.parent, ROOT / "tigris_pio" / "compiler", ROOT / "tigris_pio", ROOT, ROOT / "runtime" / "include")
    return [base / token for base in bases if (base / token).exists()]


def tokens(page: Path) -> list[tuple[str, list[str]]]:
    """Each line of the page with what it has in backticks."""
    return [(line, re.findall(r"`([^`\n]+)`", line)) for line in prose(page).splitlines()]


@functools.cache
def text(path: Path) -> str:
    return path.read_text("utf-8")


@functools.cache
def sources_of(page: Path) -> str:
    """The sources of a page's room; of all rooms for a page that lies in none."""
    general = page.parent in (ROOT, ROOT / "docs")
    rooms = [ROOT / "tigris_pio", ROOT / "runtime", ROOT / "tests"] if general else [page.parent]
    found = [path for room in rooms for path in room.rglob("*") if path.suffix in (".py", ".c", ".h")]
    return "\n".join(map(text, sorted(found)))


def is_defined(name: str, source: str) -> bool:
    """As a function or class of Python, or as a function of C, whose name begins no line's call."""
    python = rf"(?m)^\s*(?:async )?(?:def|class) {name}\b"
    c = rf"(?m)^[A-Za-z_][\w ]*[ *]{name}\((?:[^;{{]|\n)*?\)\s*\{{"
    return bool(re.search(python, source) or re.search(c, source))


def looks_like_a_file(token: str) -> bool:
    return bool(re.fullmatch(rf"[\w.\-/]+\.(?:{'|'.join(ENDINGS)})", token)) and "NAME" not in token


def faults(page: Path) -> list[str]:
    """Files that are not there, and functions that are not defined in the files of their line, or else in the room."""
    found = []
    for line, named in tokens(page):
        here = [path for token in named for path in files_of(token, page) if path.suffix in (".py", ".c", ".h")]
        for token in named:
            if looks_like_a_file(token):
                if token not in MADE and not files_of(token, page):
                    found.append(f"{token}: no such file")
            elif call := re.fullmatch(r"(?:\w+\.)*(\w+)\(\)", token):
                where = "\n".join(map(text, here)) if here else sources_of(page)
                if not is_defined(call[1], where):
                    found.append(f"{token}: not defined in a file that its line names: {line.strip()[:60]}")
    return found


@pytest.mark.parametrize("page", [*ROOMS, DESIGN, EXTENDING], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_exist(page: Path) -> None:
    assert faults(page) == []


@pytest.mark.parametrize("room", LARGE)
def test_large_rooms_have_a_short_page(room: str) -> None:
    page = ROOT / room / "README.md"
    assert page in ROOMS
    lines = text(page).splitlines()
    assert len(lines) <= MOST_LINES
    assert any(re.match(r"## (?:Call chain|How a run|The function)", line) for line in lines)
    assert any(line.startswith("## Start") for line in lines) and "read next" in text(page).lower()


def test_classes_exist() -> None:
    """Names in backticks that are spelled as classes are; a method belongs to its class."""
    known = set(re.findall(r"(?m)^\s*class (\w+)", sources_of(DESIGN)))
    for page in [*ROOMS, DESIGN]:
        for _, named in tokens(page):
            for token in named:
                named_class = re.fullmatch(r"(_?[A-Z][a-z]\w+)(?:\.\w+(?:\(\))?)?", token)
                if named_class and not keyword.iskeyword(token):
                    assert named_class[1] in known, f"{page}: {token}"


def test_the_table_of_words_names_files_that_are_there() -> None:
    """DESIGN.md: each word once, with the file that defines it."""
    table = text(DESIGN).partition("## Words")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
            if line.startswith("| ") and not line.startswith("| word ")]  # fmt: skip
    words = [word for row in rows for word in row[0].split(", ")]
    assert len(rows) > 40 and len(words) == len(set(words))
    for word, meaning, place in rows:
        file = place.split()[0].strip("`")
        assert meaning and files_of(file, DESIGN), f"{word}: {place}"
