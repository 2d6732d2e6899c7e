"""Building the library: what goes into the source distribution, and what a machine without compiler says."""

import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import setuptools
from click.testing import CliRunner
from setuptools import Distribution
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

from tests.networks.folders import OWN
from tests.runtime.build import ROOT, core_sources
from tigris_pio import Session, compile_model
from tigris_pio.cli.main import cli
from tigris_pio.errors import ToolError
from tigris_pio.host import library
from tigris_pio.installation import REASON_FILE

DIGITS = ROOT / "examples" / "digits" / "model" / "digits.onnx"


def run_setup(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True,
                          check=False)  # fmt: skip


def reason(tmp_path: Path) -> str:
    return (tmp_path / "lib" / "tigris_pio" / "host" / REASON_FILE).read_text("utf-8")


@pytest.mark.parametrize(("compiler", "required", "warning", "why"), [
    ("no-such-compiler -O2", "", "warning: installed without the runtime for this machine: no C compiler was found",
     "no C compiler was found ('no-such-compiler' is not in PATH)"),
    ("no-such-compiler -O2", "1", "error: the runtime was not built: no C compiler was found ('no-such-compiler'", ""),
    ("BROKEN", "", "fatal error: stdint.h: nothing", "the C compiler failed: fatal error: stdint.h: nothing"),
])  # fmt: skip
def test_without_a_compiler(tmp_path: Path, compiler: str, required: str, warning: str, why: str) -> None:
    """The library is left out and the reason kept, with a broken compiler's own words; where it is required, its
    absence is an error."""
    stale = tmp_path / "lib" / "tigris_pio" / "host" / f"_runtime{sysconfig.get_config_var('EXT_SUFFIX')}"
    stale.parent.mkdir(parents=True)
    stale.touch()
    os.utime(stale, (0, 0))
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho tigris.h:3:10: >&2\necho 'fatal error: stdint.h: nothing' >&2\nexit 1\n")
    broken.chmod(0o755)
    where = ("--build-lib", str(tmp_path / "lib"), "--build-temp", str(tmp_path / "temp"))
    result = run_setup("build_ext", *where, CC=str(broken) if compiler == "BROKEN" else compiler,
                       TIGRIS_REQUIRE_RUNTIME=required)  # fmt: skip
    assert result.returncode == (1 if required else 0), result.stderr
    assert any(line.startswith(warning) for line in result.stderr.splitlines()) and "Traceback" not in result.stderr
    assert ("tigris.h:3:10:\n" in result.stderr) == (compiler == "BROKEN"), "its own words are shown"
    if required:
        assert "apt install gcc libc6-dev" in result.stderr
    else:
        assert reason(tmp_path) == why
        assert not stale.exists(), "a library of an earlier build is not of these sources"


def test_windows_own_compiler_is_looked_for_by_setuptools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is on PATH there. Its absence is setuptools' error."""
    taken: dict[str, Any] = {}
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: taken.update(arguments))
    monkeypatch.setattr(sys, "path", list(sys.path))
    runpy.run_path(str(ROOT / "setup.py"))

    def no_compiler(_: object) -> None:
        raise PlatformError("Microsoft Visual C++ 14.0 or greater is required")

    monkeypatch.setattr(build_ext, "build_extensions", no_compiler)
    command = taken["cmdclass"]["build_ext"](Distribution({"ext_modules": taken["ext_modules"]}))
    command.extensions, command.build_lib = taken["ext_modules"], str(tmp_path / "lib")
    assert "-std=c99" not in taken["ext_modules"][0].extra_compile_args
    command.build_extensions()
    assert command.extensions == []
    assert reason(tmp_path) == "the C compiler failed: Microsoft Visual C++ 14.0 or greater is required"


#: Puts a library that was built before where a compiler is asked to link one.
COPYING_COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" = -o ] && output=$2
    shift
done
case "$output" in
*.o) : > "$output" ;;
*) /bin/cp "{library}" "$output" ;;
esac
"""


@pytest.fixture(scope="module")
def bare_installation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A Python into which pip installed a checkout, with a space in its path, on a machine without a C compiler."""
    folder = tmp_path_factory.mktemp("bare")
    checkout = folder / "a checkout"
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info", "build")
    for name in ("tigris_pio", "runtime"):
        shutil.copytree(ROOT / name, checkout / name, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # What the project depends on, and pip, are those of the tests.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    environment = {"PATH": str(python.parent), "HOME": str(folder), "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # fmt: skip
    done = subprocess.run([str(python), "-m", "pip", "install", "--no-deps", str(checkout)], env=environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return python, environment


Bare = tuple[Path, dict[str, str]]


def bare_tigris(bare: Bare, folder: Path, *arguments: object, status: int = 0) -> str:
    """The output of a command of the installation."""
    command = [str(bare[0].with_name("tigris")), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=bare[1], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stderr


def test_an_installation_without_a_compiler_compiles_models(bare_installation: Bare, tmp_path: Path) -> None:
    assert bare_tigris(bare_installation, tmp_path, "compile", DIGITS, "-m", "64K", "-q", "-o", "digits.tgrs") == ""
    assert (tmp_path / "digits.tgrs").read_bytes() == compile_model(DIGITS, fast="64K").data
    assert "checks of the plan were left out" in bare_tigris(bare_installation, tmp_path, "inspect", "digits.tgrs")


@pytest.mark.thorough
def test_the_command_in_the_message_brings_the_library_once_there_is_a_compiler(
    bare_installation: Bare, tmp_path: Path
) -> None:
    compile_model(DIGITS, fast="64K").save(tmp_path / "digits.tgrs")
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    run = ("run", "digits.tgrs", "--input", "x.npy")
    (line,) = bare_tigris(bare_installation, tmp_path, *run, status=1).splitlines()
    assert "is not in PATH). Install a C compiler: apt install gcc" in line
    compiler = tmp_path / "cc"
    compiler.write_text(COPYING_COMPILER.format(library=library.library_path()))
    compiler.chmod(0o755)
    command = line.partition("then run: ")[2]
    assert "a checkout" in command
    again = subprocess.run(command, shell=True, env={**bare_installation[1], "CC": str(compiler)}, capture_output=True,
                           text=True, check=False)  # fmt: skip
    assert again.returncode == 0, again.stdout + again.stderr
    assert bare_tigris(bare_installation, tmp_path, *run) == ""


def test_everything_that_runs_plans_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tmp_path / "digits.tgrs"
    compile_model(DIGITS, fast="64K").save(plan)
    monkeypatch.setattr(library, "_PACKAGE", tmp_path / "tigris_pio" / "host")
    monkeypatch.setattr(library, "load", library.load.__wrapped__)
    with pytest.raises(ToolError) as said:
        Session(plan)
    assert "\n" not in str(said.value) and "Install a C compiler: " in str(said.value)
    for line in (f"run {plan} --input x.npy", f"verify {DIGITS} -m 64K", f"hil {plan} --port socket://127.0.0.1:1"):
        assert str(CliRunner().invoke(cli, line.split()).exception) == str(said.value)
    assert "without the search" in " ".join(compile_model(OWN / "kws_int8.onnx", fast="5K").report["warnings"])
    for line in (f"analyze {DIGITS} -m 64K", f"inspect {DIGITS}", f"inspect {plan}", "layout --help"):
        assert CliRunner().invoke(cli, line.split()).exit_code == 0


@pytest.mark.thorough
def test_the_source_distribution_holds_the_runtime(tmp_path: Path) -> None:
    result = run_setup("egg_info", "--egg-base", str(tmp_path), "sdist", "--dist-dir", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as contents:
        names = {name.partition("/")[2] for name in contents.getnames()}
    wanted = [path.relative_to(ROOT).as_posix() for path in core_sources()]
    wanted += ["runtime/host/tigris_host.c", "runtime/include/tigris.h", "runtime/src/band.h", "setup.py"]
    assert set(wanted) <= names
