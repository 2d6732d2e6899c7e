"""Packages of a release, each made, installed and tried as by `make release`."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.platformio.project import ROOT, load_by_path

sys.path.insert(0, str(ROOT / "tools"))
release = load_by_path("tigris_release", ROOT / "tools" / "release.py")


@pytest.mark.thorough
def test_the_arduino_library_checks_the_digits(tmp_path: Path) -> None:
    assert release.arduino(tmp_path, tmp_path / "work") == "64/64 outputs equal to the host, accuracy 95.3 %"
    assert [path.name for path in tmp_path.glob("*.zip")] == ["tigris-pio-0.1.0-arduino.zip"]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("compote") is None, reason="needs compote: pip install idf-component-manager")
def test_the_component_compiles_the_digits(tmp_path: Path) -> None:
    assert release.esp_idf(tmp_path, tmp_path / "work").startswith("digits.tgrs, ")


def test_rules_of_arduino_lint(tmp_path: Path) -> None:
    """Each fault of a library is named."""
    (tmp_path / "src").mkdir()
    (tmp_path / "examples" / "Digits").mkdir(parents=True)
    (tmp_path / "src" / "tigris.so").touch()
    text = release.PROPERTIES.format(name="Arduino x", version="1", author="", runtime="r", summary="s", url="")
    (tmp_path / "library.properties").write_text(text, "utf-8")
    assert release.arduino_faults(tmp_path) == [
        "library.properties has no author", "library.properties has no maintainer", "library.properties has no url",
        "the name Arduino x is not allowed", "the version 1 is not MAJOR.MINOR.PATCH",
        "includes names tigris.h, which is not in src", "Digits: no sketch of this name in it",
        "tigris.so must not be in it",
    ]  # fmt: skip
