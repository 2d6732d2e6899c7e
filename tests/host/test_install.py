"""Building the library: what goes into the source distribution, and what a machine without compiler says."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.runtime.build import ROOT, core_sources
from tigris_pio.host import library


def run_setup(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_without_a_compiler_one_line_says_what_to_install(tmp_path: Path) -> None:
    where = ("--build-lib", str(tmp_path / "lib"), "--build-temp", str(tmp_path / "temp"))
    result = run_setup(tmp_path, "build_ext", *where, CC="no-such-compiler -O2")
    assert result.returncode == 1
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert lines[-1].startswith("error: tigris-pio builds its runtime with a C compiler and found none")
    assert "'no-such-compiler' is not in PATH" in lines[-1]
    assert "apt install gcc libc6-dev" in lines[-1]
    assert "Traceback" not in result.stderr


def test_the_source_distribution_holds_the_runtime(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    metadata.mkdir()
    result = run_setup(tmp_path, "egg_info", "--egg-base", str(metadata), "sdist", "--dist-dir", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as contents:
        names = {name.partition("/")[2] for name in contents.getnames()}
    wanted = [path.relative_to(ROOT).as_posix() for path in core_sources()]
    wanted += ["runtime/host/tigris_host.c", "runtime/include/tigris.h", "runtime/src/band.h", "setup.py"]
    assert set(wanted) <= names


@pytest.mark.parametrize("name", ["tigris_plan_open", "tigris_run", "tigris_requantise"])
def test_only_host_functions_are_exported(name: str) -> None:
    assert not hasattr(library.load(), name)
