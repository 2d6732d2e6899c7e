"""The pages and what is in them: fenced blocks, headings, links."""

import dataclasses
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What a reader reads; SPEC.md is generated and has tests of its own.
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md")),
        *(ROOT / "docs").glob("*.md"),
        ROOT / "examples" / "README.md",
        *(ROOT / "examples").glob("*/README.md"),
        ROOT / "runtime" / "README.md",
        ROOT / "networks" / "README.md",
    ]
)
#: Pages that lie in a room of the tree and lead through its code; the site has none of them but runtime/README.md.
ROOMS = sorted(path for room in ("runtime", "tests", "tigris_pio") for path in (ROOT / room).rglob("README.md"))
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
#: How a block begins that needs a package or a site that the tests do without; the reason follows.
NOT_RUN = "# not run: "


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line of text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not self.text.startswith(NOT_RUN)


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in these languages, or all, in their order."""
    text = page.read_text("utf-8")
    found = [
        Block(page, text.count("\n", 0, match.start("text")) + 1, match["language"].strip(),
              textwrap.dedent(match["text"]))
        for match in _FENCE.finditer(text)
    ]  # fmt: skip
    return [block for block in found if not languages or block.language in languages]


def every_block(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, *languages)]


def prose(page: Path) -> str:
    """The page without its blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """What links may name behind `#`: headings as GitHub and Python-Markdown spell them."""
    headings = re.findall(r"(?m)^#+ +(.*)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> list[tuple[str, str]]:
    """File and anchor of every link that leads to no other site; either may be empty."""
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page)))
    return [(target.partition("#")[0], target.partition("#")[2]) for target in found if "://" not in target]
