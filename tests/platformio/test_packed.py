"""Packages for registries: PlatformIO's library and ESP-IDF's component contain the compiler."""

import fnmatch
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from tigris_pio import compile_model

from .project import ROOT, load_by_path

sys.path.insert(0, str(ROOT / "tools"))
release = load_by_path("tigris_release", ROOT / "tools" / "release.py")

# The Python that runs PlatformIO: it has no compiler. Environments that it creates have the tests' packages, so that
# pip downloads nothing.
PYTHON = """#!/bin/sh
"{python}" "$@" || exit
if [ "$1 $2" = "-m venv" ]; then
    for folder in "$3"/lib/python*/site-packages; do
        echo 'import sys; sys.path.insert(0, "{packages}")' > "$folder/dependencies.pth"
    done
fi
"""
# Hides the compiler if it is installed in the tests' Python.
HIDING = """
import sys
class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name == "tigris_pio":
            raise ModuleNotFoundError(name)
if sys.prefix == {prefix!r}:
    sys.meta_path.insert(0, Hiding())
"""
DIGITS = ROOT / "examples" / "digits" / "model" / "digits.onnx"
INI = """[env:emu_rv32]
board = emu_rv32
lib_deps = tigris-pio={library}
extra_scripts = pre:${{platformio.libdeps_dir}}/${{this.__env__}}/tigris-pio/tigris_pio/platformio/hook.py
custom_tigris_models = {models}
custom_tigris_mem = 64K
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory, core_dir):
    """The library as `pio pkg pack` makes it."""
    folder = tmp_path_factory.mktemp("packed")
    command = [sys.executable, "-c", release.PACK, "pkg", "pack", "-o", str(folder / "tigris-pio.tar.gz"), str(ROOT)]
    environment = {**os.environ, "PLATFORMIO_CORE_DIR": str(core_dir), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "tigris-pio.tar.gz"


def sources():
    """The files that pip reads when it installs from a folder, besides pyproject.toml."""
    found = [path for part in ("runtime", "tigris_pio") for path in (ROOT / part).rglob("*") if path.is_file()]
    names = {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}
    built = {name for name in names if name.endswith((".so", ".pyc"))}
    return (names - built) | {"pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"}


def test_the_library_holds_the_sources_and_no_built_file(packed):
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("./") for name in archive.getnames()}
    assert sources() | {"examples/digits/platformio.ini", "docs/README.md"} <= names
    assert sorted(name for name in names if name.endswith((".so", ".pyc")) or name.startswith("tests")) == []


def test_the_component_holds_the_sources():
    """ESP-IDF's packer takes every file except those of `exclude`, then adds those of `include`."""
    text = (ROOT / "idf_component.yml").read_text("utf-8")
    lines = [line.strip() for line in text.partition("files:")[2].splitlines()]
    assert lines[1] == "exclude:" and "include:" not in lines
    patterns = [line.removeprefix("- ").strip('"') for line in lines[2:] if line.startswith("- ")]
    needed = sources() | {"CMakeLists.txt", "project_include.cmake", "idf_component.yml"}
    needed |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "cmake").iterdir() if path.is_file()}
    matched = {name: [p for p in patterns if fnmatch.fnmatch(name, p.replace("**/*", "*"))] for name in needed}
    assert {name: found for name, found in matched.items() if found} == {}
    assert "tests/**/*" in patterns


@pytest.mark.thorough
def test_the_packed_library_installs_the_compiler(packed, new_project, core_dir, tmp_path, monkeypatch):
    """With custom_tigris_auto_install, from its own folder among the project's dependencies."""
    python = tmp_path / "python"
    python.write_text(PYTHON.format(python=sys.executable, packages=sysconfig.get_path("purelib")), "utf-8")
    python.chmod(0o755)
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "sitecustomize.py").write_text(HIDING.format(prefix=sys.prefix), "utf-8")
    for name, value in (("NO_INDEX", "1"), ("NO_DEPS", "1"), ("NO_BUILD_ISOLATION", "0")):
        monkeypatch.setenv(f"PIP_{name}", value)
    ini = INI.format(library=f"file://{packed}", models=DIGITS)
    project = new_project({"src/main.c": "int main(void) { return 0; }\n"}, ini, name="packed")
    # Compiling models needs no C compiler.
    hidden = {"PYTHONPATH": str(tmp_path / "hiding"), "PYTHONEXEPATH": str(python), "CC": "/no/compiler"}
    folder = project.folder / ".pio" / "libdeps" / "emu_rv32" / "tigris-pio"
    plan = Path(".pio", "build", "emu_rv32", "tigris", "digits.tgrs")
    said = project.refused("-t", str(plan), **hidden)
    assert f'"{python}" -m pip install "{folder}"' in said
    project.add_option("custom_tigris_auto_install = yes")
    environments = core_dir / "tigris-pio"
    kept = set(environments.glob("*"))
    try:
        said = project.run("-t", str(plan), **hidden)
        (project.folder / plan).unlink()
        assert "Installing" not in project.run("-t", str(plan), **hidden)
    finally:  # the core folder is the tests' own
        for made in set(environments.glob("*")) - kept:
            shutil.rmtree(made)
    assert f"Installing the model compiler, {folder}, in " in said
    assert (project.folder / plan).read_bytes() == compile_model(DIGITS, fast="64K", name="digits").data
