"""The site: MkDocs builds it without a warning, and it asks no other site for anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

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
