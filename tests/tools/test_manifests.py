"""Version and address stand in one place; manifests and pages repeat them."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tigris_pio
from tigris_pio.identity import IDENTITY
from tools import manifests

ROOT = Path(__file__).resolve().parents[2]
ADDRESSED = replace(IDENTITY, version="1.2.3", repository="https://git.example/owner/tigris-pio")
NOWHERE = replace(IDENTITY, version="1.2.3", repository="")


def made(name: str, identity: Any = IDENTITY) -> str:
    path = ROOT / name
    return manifests.targets()[path](path.read_text("utf-8"), identity)


def test_the_committed_files_are_what_the_identity_makes() -> None:
    texts = {path: path.read_text("utf-8") for path in manifests.targets()}
    stale = [path for path, make in manifests.targets().items() if make(texts[path], IDENTITY) != texts[path]]
    assert stale == [], "make generated"
    assert tigris_pio.__version__ == IDENTITY.version


@pytest.mark.parametrize("name", [path.relative_to(ROOT).as_posix() for path in manifests.targets()])
def test_an_address_comes_and_goes(name: str) -> None:
    """Whatever address and version come between, the file ends as it was; and no other line has the version."""
    before = (ROOT / name).read_text("utf-8")
    make = manifests.targets()[ROOT / name]
    addressed = make(before, ADDRESSED)
    assert make(addressed, IDENTITY) == before
    assert make(addressed, ADDRESSED) == addressed
    if not name.endswith((".md", ".h")):
        assert IDENTITY.version not in addressed.replace("1.2.3", "") or name == "pyproject.toml"
        assert ADDRESSED.repository not in make(before, NOWHERE)
        assert ADDRESSED.repository in addressed


def test_platformio_takes_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from platformio.package.manifest.parser import ManifestParserFactory
    from platformio.package.manifest.schema import ManifestSchema

    # It is downloaded otherwise.
    monkeypatch.setattr(ManifestSchema, "load_spdx_licenses",
                        staticmethod(lambda: {"licenses": [{"licenseId": "Apache-2.0"}]}))  # fmt: skip
    for name in ("library.json", "tigris_pio/platformio/emulated/platform.json"):
        for identity in (ADDRESSED, NOWHERE):
            parsed = ManifestParserFactory.new(made(name, identity), Path(name).name).as_dict()
            loaded = ManifestSchema().load_manifest(parsed)
            assert loaded["version"] == "1.2.3"
            assert loaded.get("homepage", "") == identity.repository
    library = json.loads(made("library.json", ADDRESSED))
    assert library["repository"] == {"type": "git", "url": f"{ADDRESSED.repository}.git"}


#: Keys at the top of a component's manifest, after the documentation of ESP-IDF's component manager.
COMPONENT_KEYS = {
    *("version", "description", "url", "repository", "documentation", "issues", "discussion", "license", "maintainers"),
    *("tags", "targets", "dependencies", "files", "examples"),
}


def test_the_component_has_keys_that_esp_idf_knows() -> None:
    text = made("idf_component.yml", ADDRESSED)
    keys = re.findall(r"(?m)^(\w+):", text)
    assert len(keys) == len(set(keys)) and set(keys) <= COMPONENT_KEYS
    assert f"repository: {ADDRESSED.repository}.git" in text and 'version: "1.2.3"' in text
    assert "examples" not in keys, "the registry finds folders below examples/ by itself"


def test_a_file_that_differs_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert manifests.main(["--check"]) == 0
    monkeypatch.setattr(manifests, "IDENTITY", ADDRESSED)
    assert manifests.main(["--check"]) == 1
    assert "library.json: differs" in capsys.readouterr().out
