"""PlatformIO's core folder for tests: one of each process, whichever of their folders uses it."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The user's own, with the packages of real platforms.
USERS_CORE_DIR = Path(os.environ.get("PLATFORMIO_CORE_DIR") or Path.home() / ".platformio")


@pytest.fixture(scope="session")
def core_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A PlatformIO core folder that needs no registry: the one of the set-up scripts, or a fresh one.

    Each of several processes has its own: PlatformIO keeps its state there. From here on everything that this process
    starts uses it: asked with another core folder, PlatformIO finds a project changed, and empties its build folder.
    """
    with pytest.MonkeyPatch.context() as environment:
        folder = _provide(tmp_path_factory)
        environment.setenv("PLATFORMIO_CORE_DIR", str(folder))
        yield folder


def _provide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("PLATFORMIO_CORE_DIR")
    if given and (Path(given) / "packages" / "tool-scons" / ".piopm").is_file():
        if "PYTEST_XDIST_WORKER" not in os.environ:
            return Path(given)
        own = tmp_path_factory.mktemp("platformio core", numbered=False)
        shutil.copytree(Path(given) / "packages", own / "packages", symlinks=True)
        return own
    if importlib.util.find_spec("platformio") is None:
        pytest.fail("PlatformIO is not installed in this Python; use make test, or pip install -e .[test]")
    core = tmp_path_factory.mktemp("platformio core")
    script = "import sys; sys.path.insert(0, sys.argv[1]); import platformio_core as p, pathlib as l; " \
             "p.ensure(l.Path(sys.executable), l.Path(sys.argv[2]))"  # fmt: skip
    subprocess.run([sys.executable, "-c", script, str(ROOT / "tools"), str(core)], check=True)
    return core
