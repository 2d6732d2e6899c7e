"""CMake projects that use the component, in their own folders, and the tools that build them."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
COMPONENT = ("CMakeLists.txt", "project_include.cmake", "idf_component.yml", "LICENSE", "cmake", "runtime")


@functools.cache
def tool(name: str) -> str:
    """The path of cmake or ninja; both are on PyPI under these names. For cmake it is the program itself, because the
    script of the Python package takes longer than a configuration."""
    package = importlib.util.find_spec(name)
    folders = [Path(package.origin).with_name("data") / "bin"] if package and package.origin else []
    for folder in (*folders, Path(sys.executable).parent):
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed; use make test, or pip install {name}", pytrace=False)
    return found


def link_component(folder: Path) -> Path:
    """Links the component under its users' name, for any name of the checkout."""
    component = folder / "tigris-pio"
    (component / "examples").mkdir(parents=True)
    for name in COMPONENT:
        (component / name).symlink_to(ROOT / name)
    return component


def python_with(package: Path, folder: Path) -> Path:
    """A Python with the compiler of this package."""
    python = folder / "a python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{package.parent}" exec "{sys.executable}" "$@"\n', "utf-8")
    python.chmod(0o755)
    return python


def copy_compiler(folder: Path) -> Path:
    """A Python with its own copy of the compiler, bytecode included, which a test may change."""
    package = folder / "compiler" / "tigris_pio"
    shutil.copytree(ROOT / "tigris_pio", package, ignore=shutil.ignore_patterns("emulated", "*.so"))
    return python_with(package, folder)


@dataclass
class Project:
    """A CMake project. `variables` are CMake's; `environment` is added to the tests' own."""

    folder: Path
    variables: dict[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: int = 1200

    @property
    def build_folder(self) -> Path:
        return self.folder / "build"

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=self.timeout, check=False)  # fmt: skip

    def try_configure(self) -> subprocess.CompletedProcess[str]:
        variables = [f"-D{name}={value}" for name, value in self.variables.items()]
        ninja = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
        return self.run(tool("cmake"), "-G", "Ninja", "-B", "build", "-S", ".", ninja, *variables)

    def configure(self) -> str:
        done = self.try_configure()
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    def try_build(self, *targets: str) -> subprocess.CompletedProcess[str]:
        return self.run(tool("ninja"), "-C", "build", *targets)

    def build(self, *targets: str) -> str:
        done = self.try_build(*targets)
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    def planned(self, *targets: str) -> str:
        """The steps of the next build, after CMake has read its files again."""
        self.build("build.ninja")
        # Ninja does not update its own file if that has another name.
        shutil.copyfile(self.build_folder / "build.ninja", self.build_folder / "planned.ninja")
        return self.build("-n", "-f", "planned.ninja", *targets)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces text in a file that must have it."""
        path = self.folder / name
        text = path.read_text("utf-8")
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new), "utf-8")


def words(text: str) -> str:
    """`text` in one line: CMake breaks the lines of its messages."""
    return " ".join(text.split())
