"""The messages in the troubleshooting chapters are those that the code prints."""

import ast
import functools
import re

import pytest

from tests.docs.pages import ROOT

# Printed by CMake, ESP-IDF and compilers.
FOREIGN = (
    "HTTPClientError:",
    "Failed to resolve component 'tigris-pio'",
    'Unknown CMake command "tigris_add_model"',
    "ninja: error: unknown target 'model-flash'",
    "fatal error: tigris_models.h: No such file or directory",
    "Partitions tables occupies … which does not fit in configured flash size 2MB",
)


@functools.cache
def python_texts(path):
    """The strings of a module; what is put into them is an ellipsis."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return texts + ["".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                    for node in nodes if isinstance(node, ast.JoinedStr)]  # fmt: skip


def cmake_texts(path):
    """The arguments of message(): adjacent strings are one."""
    for call in re.findall(r"message\(FATAL_ERROR (.*?)\)\n", path.read_text("utf-8"), re.DOTALL):
        text = re.sub(r'"\s+"', "", call.strip()).strip('"')
        yield re.sub(r"\$\{\w+\}", "…", text.replace('\\"', '"'))


@pytest.fixture(scope="module")
def printed():
    """All texts, one a line."""
    modules = [*(ROOT / "tigris_pio").rglob("*.py"), ROOT / "cmake" / "probe.py", ROOT / "setup.py"]
    texts = [text for path in modules for text in python_texts(path)]
    texts += [text for path in (ROOT / "cmake").glob("*.cmake") for text in cmake_texts(path)]
    texts += re.findall(r'"([^"]+)"', (ROOT / "runtime" / "src" / "status.c").read_text("utf-8"))
    return "\n".join(re.sub(r"\s+", " ", text) for text in texts)


def fragments(message):
    """What stands between the parts of a message that differ; an option's name and a colon are put before it."""
    for part in message.split("…"):
        yield from (piece.strip(" .:;,()`") for piece in re.split(r": | = ", part))


def documented(name, message):
    chapter = (ROOT / "docs" / name).read_text("utf-8")
    if "## Troubleshooting" in chapter:
        chapter = chapter.split("## Troubleshooting", 1)[1].split("\n## ", 1)[0]
    lines = [match[0] for match in re.finditer(message, chapter)]
    codes = [found for line in lines for found in re.findall(r"`([^`]+)`", line)]
    return [re.sub(r"\s+", " ", found) for found in codes]


MESSAGES = [
    *documented("platformio.md", r"(?ms)\*\*(.*?)\*\*"),
    *documented("esp-idf.md", r"(?m)^\| (.*?) \|"),
    *documented("faq.md", r"(?m)^\*\*(.*?)\*\*:|^\| -[\d, to-]+ \| (.*?) \|"),
]


def test_every_documented_message_is_printed(printed):
    """Text that is no message stands without backquotes."""
    assert len(MESSAGES) > 60
    pieces = {message: [piece for piece in fragments(message) if piece]
              for message in MESSAGES if message not in FOREIGN}  # fmt: skip
    assert all(pieces.values())
    assert {message: missing for message, found in pieces.items()
            if (missing := [piece for piece in found if piece not in printed])} == {}  # fmt: skip


def test_every_status_of_the_runtime_is_explained():
    """By its number, with its own words."""
    page = (ROOT / "docs" / "faq.md").read_text("utf-8").split("## Firmware", 1)[1]
    header = (ROOT / "runtime" / "include" / "tigris.h").read_text("utf-8")
    numbers = {name: int(number) for name, number in re.findall(r"\b(TIGRIS_ERR_\w+) = (-\d+)", header)}
    source = (ROOT / "runtime" / "src" / "status.c").read_text("utf-8")
    texts = dict(re.findall(r'\{(TIGRIS_ERR_\w+), "([^"]+)"\}', source))
    explained = {}
    for codes, said in re.findall(r"(?m)^\| (-\d.*?) \| (.*?) \|", page):
        first, *rest = [int(code) for code in re.findall(r"-\d+", codes)]
        span = range(first, rest[0] - 1, -1) if "to" in codes else (first, *rest)
        explained |= dict.fromkeys(span, said)
    assert {name for name, number in numbers.items() if number not in explained} == set()
    for name, number in numbers.items():
        assert f"`{texts[name]}`" in explained[number] or -29 <= number <= -20, name
