"""MkDocs' hook for the site: the pages of the repository at their own paths, in the order of docs/README.md.

Links between pages work as in the repository. Links to other files lead to the repository's address; without an
address they become text.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from tigris_pio.identity import IDENTITY

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "docs/*.md", "examples/README.md", "examples/*/README.md", "runtime/README.md", "networks/README.md")
INDEX = ROOT / "docs" / "README.md"
STYLE = """
/* Tables and lines of code are wide: they scroll by themselves, and the page takes what a screen has. */
.md-grid { max-width: 76rem; }
.md-typeset table:not([class]) { display: block; width: fit-content; max-width: 100%; overflow-x: auto; }
.md-typeset table:not([class]) th { min-width: 3.5rem; }
.md-typeset table:not([class]) td { min-width: 4.5rem; }
.md-typeset table:not([class]) td:not(:first-child):not(:only-child) { min-width: 6rem; }
.md-typeset table:not([class]) td code { word-break: normal; overflow-wrap: normal; }
.md-typeset table:not([class]) td code.option { white-space: nowrap; }
.md-typeset pre > code { font-size: 0.72rem; }
"""
#: Browsers start no worker for a page on the disk; the search then runs in a frame of the page.
WORKER = """
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.waiting = [];
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach(data => this.postMessage(data));
      };
      script.src = url;
      this.inside.document.body.append(script);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
"""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def pages() -> list[Path]:
    """Every page of the site."""
    return sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})


def stage(folder: Path) -> None:
    """Copies the pages to `folder` under their paths in the repository; README.md becomes the index."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in pages():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text("utf-8"), "utf-8")
    for path in (ROOT / "docs").glob("*.png"):
        shutil.copyfile(path, folder / "docs" / path.name)
    (folder / "site.css").write_text(STYLE, "utf-8")
    (folder / "iframe-worker.js").write_text(WORKER, "utf-8")


def navigation() -> list[dict[str, Any]]:
    """The chapters of docs/README.md with the pages that their tables name, in that order."""
    chapters: list[dict[str, Any]] = [{"Start": "README.md"}, {"All pages": "docs/README.md"}]
    text = INDEX.read_text("utf-8")
    for heading, table in re.findall(r"(?m)^([A-Z].*):\n\n((?:\|.*\n)+)", text):
        entries = []
        for title, target in re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", "".join(re.findall(r"(?m)^\|(.*?)\|", table))):
            entries.append({title: (INDEX.parent / target).resolve().relative_to(ROOT).as_posix()})
        chapters.append({heading: entries})
    return chapters


def linked(text: str, page: Path) -> str:
    """The page with links to other files turned into links to the repository, or into text."""
    known = set(pages())

    def replaced(match: re.Match[str]) -> str:
        said, target = match[1], match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = (page.parent / target).resolve()
        if path in known or not path.exists():
            return match[0]  # MkDocs' own business, and its complaint
        if not IDENTITY.repository:
            return said
        return f"[{said}]({IDENTITY.repository}/blob/main/{path.relative_to(ROOT).as_posix()})"

    # Code stays as it is.
    parts = re.split(r"(?ms)(^ *```.*?^ *```$|`[^`\n]*`)", text)
    return "".join(part if index % 2 else _LINK.sub(replaced, part) for index, part in enumerate(parts))


def unbroken(text: str) -> str:
    """The page with non-breaking dashes in the tables' command options."""
    return re.sub(r"(?m)^\|.*$", lambda row: re.sub(r"`-[\w\-=]+`", r"\g<0>{ .option }", row[0]), text)


def on_config(config: Any) -> Any:
    """The pages of this build."""
    staged = Path(config["site_dir"]).parent / "pages"
    stage(staged)
    config["docs_dir"] = str(staged)
    config["nav"] = navigation()
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links of a page, before it is rendered."""
    return unbroken(linked(markdown, ROOT / page.file.src_uri))
