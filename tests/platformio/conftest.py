"""PlatformIO projects in temporary folders whose names have spaces and an umlaut."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .project import EMULATED, ESPRESSIF_LIKE, ROOT, FakeCompiler, Project

FAKE = Path(__file__).with_name("fake_compiler")


@pytest.fixture
def fake_compiler(tmp_path: Path) -> FakeCompiler:
    """A Python whose tigris_pio is a fake, and a log of its runs."""
    python = tmp_path / "fake python"
    log = tmp_path / "compiler.log"
    python.write_text(
        f'#!/bin/sh\nexport PYTHONPATH="{FAKE}" FAKE_COMPILER_LOG="{log}"\nexec "{sys.executable}" "$@"\n', "utf-8"
    )
    python.chmod(0o755)
    return FakeCompiler(python, log)


def _project_maker(folder: Path, core_dir: Path) -> Iterator[Callable[..., Project]]:
    made: list[Project] = []

    def make(
        sources: dict[str, str],
        ini: str,
        name: str = "prüf project",
        platform: str = EMULATED,
        framework: str = "baremetal",
        shares_objects: bool = True,
    ) -> Project:
        project = Project(folder / name, core_dir, shares_objects)
        project.write(sources, ini, platform, framework)
        made.append(project)
        return project

    yield make
    for project in made:
        project.switch_off()
        shutil.rmtree(project.folder / ".pio", ignore_errors=True)


@pytest.fixture
def new_project(tmp_path: Path, core_dir: Path) -> Iterator[Callable[..., Project]]:
    """Creates projects; their boards are switched off afterwards."""
    yield from _project_maker(tmp_path, core_dir)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory, core_dir: Path) -> Iterator[Callable[..., Project]]:
    """Creates projects that several tests of a module use in turn."""
    yield from _project_maker(tmp_path_factory.mktemp("shared"), core_dir)


def copy_example(name: str, folder: Path, *options: str) -> Path:
    """Copies an example to `folder`, with absolute paths into this checkout, and the stand-in as Espressif's platform,
    with these options."""
    shutil.copytree(ROOT / "examples" / name, folder, ignore=shutil.ignore_patterns(".pio", "build"))
    ini = folder / "platformio.ini"
    text = ini.read_text("utf-8").replace("../../tigris_pio/platformio/emulated", str(EMULATED)[len("symlink://") :])
    text = text.replace("../..", str(ROOT)).replace("../digits", str(ROOT / "examples" / "digits"))
    text = text.replace("platform = espressif32", "\n".join([f"platform = {ESPRESSIF_LIKE}", *options]))
    ini.write_text(text, "utf-8")
    for manifest in folder.rglob("idf_component.yml"):
        manifest.write_text(manifest.read_text("utf-8").replace("../../..", str(ROOT)), "utf-8")
    return folder


@pytest.fixture
def copied(tmp_path: Path, core_dir: Path) -> Iterator[Callable[..., Project]]:
    """Copies examples as projects."""
    made: list[Project] = []

    def copy(name: str, *options: str) -> Project:
        made.append(Project(copy_example(name, tmp_path / "beispiele für alle" / name, *options), core_dir))
        return made[-1]

    yield copy
    for project in made:
        project.switch_off()
