"""The compiler's own environment, made by the real venv and pip from a checkout that needs no network."""

from __future__ import annotations

import sys

import pytest

from tigris_pio.platformio import compiler, install
from tigris_pio.platformio.install import InstallError

from .project import ROOT

# A build backend of the checkout's own, so that pip fetches nothing: it packs the stand-in compiler, and empty modules
# by the names of what the real one needs.
BACKEND = """
import pathlib, zipfile
PACKAGE = pathlib.Path({package!r})
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "tigris_pio-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as wheel:
        for file in PACKAGE.glob("*.py"):
            wheel.writestr("tigris_pio/" + file.name, file.read_bytes())
        for module in ("click", "flatbuffers", "lz4", "numpy", "onnx", "rich", "tflite"):
            wheel.writestr(module + ".py", "")
        info = "tigris_pio-0.1.0.dist-info/"
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tigris-pio\\nVersion: 0.1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
FAKE = ROOT / "tests" / "platformio" / "fake_compiler" / "tigris_pio"


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "my checkout"
    (root / "tigris_pio").mkdir(parents=True)
    (root / "tigris_pio" / "a.py").write_text("1", "utf-8")
    (root / "pyproject.toml").write_text(PROJECT, "utf-8")
    (root / "backend.py").write_text(BACKEND.format(package=str(FAKE)), "utf-8")
    return root


def test_the_environment_is_made_once_for_each_state_of_the_sources(checkout, tmp_path, capfd, monkeypatch):
    """And again after an installation that failed."""
    monkeypatch.setenv("FAKE_COMPILER_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    core = tmp_path / "core folder"
    backend = checkout / "backend.py"
    works = backend.read_text("utf-8")
    backend.write_text("", "utf-8")
    failed = "pip install .* failed with exit status 1, see above. Install the compiler yourself, .* pip install "
    with pytest.raises(InstallError, match=failed):
        install.provide(core, checkout, sys.executable)
    backend.write_text(works, "utf-8")
    capfd.readouterr()
    python = install.provide(core, checkout, sys.executable)
    said = capfd.readouterr().out
    assert f"Installing the model compiler, {checkout}, in {core}" in said
    assert "Successfully installed tigris" in said
    model = tmp_path / "m.onnx"
    model.write_text('{"plan": "abc"}', "utf-8")
    found = compiler.find(None, {"PATH": ""}, "/no/python", lambda: python)
    files = ["-m", "64K", "--name", "m", "--header", str(tmp_path / "m.h"), "-o", str(tmp_path / "m.tgrs")]
    report = compiler.run(found, [str(model), *files], tmp_path / "tmp" if (tmp_path / "tmp").is_dir() else core)
    assert report["memory"] == {"fast_peak": 64, "slow_peak": 0}

    assert install.provide(core, checkout, "/no/python") == python
    assert capfd.readouterr().out == ""

    (checkout / "tigris_pio" / "a.py").write_text("22", "utf-8")
    with pytest.raises(InstallError, match="/no/python cannot be run"):
        install.provide(core, checkout, "/no/python")


def test_without_sources_there_is_nothing_to_install(tmp_path):
    with pytest.raises(InstallError, match="neither a checkout of tigris-pio nor its PlatformIO library"):
        install.source_of(tmp_path / "elsewhere")


def test_a_found_compiler_is_not_installed_again(fake_compiler):
    def never() -> str:
        raise AssertionError

    assert compiler.find(None, {"PATH": ""}, str(fake_compiler.python), never).command[0] == str(fake_compiler.python)
