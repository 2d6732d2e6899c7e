"""The site: MkDocs builds it without a warning, and it asks no other site for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT
from tigris_pio.identity import Identity
from tools import docs_site as site

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    # --quiet would leave warnings out of what --strict counts.
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


def test_every_page_is_there_and_can_be_reached(built: Path) -> None:
    index = (built / "index.html").read_text("utf-8")
    for page in [*PAGES, ROOT / "SPEC.md"]:
        name = page.relative_to(ROOT).with_suffix(".html").as_posix().replace("README.html", "index.html")
        assert (built / name).is_file(), name
        if page.name != "README.md" or "docs" in page.parts:
            assert f'href="{name}"' in index, f"{name} is not in docs/README.md"


def test_it_loads_nothing_from_elsewhere(built: Path) -> None:
    for path in built.rglob("*.html"):
        text = path.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\bsrc=[\"']?([^\"'\s>]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|icon|preconnect)\"?[^>]*href=[\"']?([^\"'\s>]+)", text)
        assert loaded and not [address for address in loaded if "://" in address or address.startswith("//")], path
    for path in built.rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", path.read_text("utf-8")), path


def test_search_needs_no_server(built: Path) -> None:
    """The index is a script, and the worker has a stand-in for pages on the disk."""
    assert (built / "search" / "search_index.js").read_text("utf-8").startswith("var __index = {")
    assert 'location.protocol === "file:"' in (built / "iframe-worker.js").read_text("utf-8")


def test_links_to_files_lead_to_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[a](../runtime/include/tigris.h) [b](memory.md#x) [c](https://x.test/) `[d](e)`\n```c\n[f](g)\n```\n"
    page = ROOT / "docs" / "boards.md"
    kept = "[b](memory.md#x) [c](https://x.test/) `[d](e)`\n```c\n[f](g)\n```\n"
    assert site.linked(text, page) == f"a {kept}"
    monkeypatch.setattr(site, "IDENTITY", Identity(repository="https://git.example/tigris-pio"))
    assert site.linked(text, page) == f"[a](https://git.example/tigris-pio/blob/main/runtime/include/tigris.h) {kept}"
