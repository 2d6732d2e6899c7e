"""The set-up scripts, as far as tests can run them without changing this computer."""

import os
from types import SimpleNamespace

import pytest

from .project import ROOT, load_by_path

core = load_by_path("tigris_tools_core", ROOT / "tools" / "platformio_core.py")
packages = load_by_path("tigris_tools_packages", ROOT / "tools" / "system_packages.py")


@pytest.fixture
def bare_path(tmp_path, monkeypatch):
    """PATH without compilers and emulators, but with an apt-get that must not be called without root."""
    folder, log = tmp_path / "bin", tmp_path / "apt.log"
    folder.mkdir()
    for name in ("apt-get", "apt-cache"):
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{log}"\n', "utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder, log


def test_platformio_numbers_scons_in_its_own_way():
    asked = {"~4.41101.0": "4.11.1", "~4.40801.0": "4.8.1", "4.40502.0": "4.5.2"}
    assert {requirement: core.scons_version(requirement) for requirement in asked} == asked
    with pytest.raises(core.CoreFailure, match="tool-scons ~5"):
        core.scons_version("~5")


def test_without_root_the_command_is_printed(bare_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(packages.MissingPackages) as error:
        packages.check(packages.missing("demo"))
    (line,) = [line.strip() for line in str(error.value).splitlines() if "apt-get" in line]
    assert line.startswith("sudo apt-get update && sudo apt-get install -y --no-install-recommends gcc libc6-dev ")
    assert "qemu-system-misc" in line and "gcc-riscv64-unknown-elf" in line and "arm" not in line
    assert not bare_path[1].exists() or "apt-get" not in bare_path[1].read_text("utf-8")


def test_as_root_the_packages_are_installed(bare_path, monkeypatch, capsys):
    """The size is printed first, then a line at each tenth; apt's own output goes to a file."""
    folder, log = bare_path
    (folder / "apt-get").write_text(
        f'#!/bin/sh\necho "apt-get $*" >> "{log}"\ncase "$*" in *--assume-no*) echo "2 newly installed\n'
        'Need to get 238 MB/1,435 MB of archives.\nAfter this, 2,942 MB of additional disk space"; exit 1;; esac\n'
        'printf "Reading lists ...\\nUnpacking gcc (12) ...\\nSetting up gcc (12) ...\n"\n', "utf-8")  # fmt: skip
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(packages.MissingPackages, match="Installed, but still not found: a C compiler"):
        packages.install(packages.missing("demo"), folder / "words.log")
    calls = [line for line in log.read_text("utf-8").splitlines() if line.startswith("apt-get")]
    assert [call.split()[3] for call in calls] == ["update", "--assume-no", "install"]
    assert "gcc-riscv64-unknown-elf" in calls[2]
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "Installing 2 packages with apt, 238 MB to download, 2,942 MB on disk, about 74 s beside the "
        "download; its words are in words.log", "apt:  25 %  Unpacking gcc", "apt:  50 %  Setting up gcc",
    ]  # fmt: skip
    assert "Reading lists" in (folder / "words.log").read_text("utf-8")


def test_without_apt_missing_programs_are_named(bare_path, monkeypatch, capsys):
    (bare_path[0] / "apt-get").unlink()
    with pytest.raises(packages.MissingPackages, match="there is no apt-get"):
        packages.check(packages.missing("test"))
    assert "arm-none-eabi-gcc" in capsys.readouterr().out


def test_an_environment_for_tests_has_the_runtime_or_fails(tmp_path, monkeypatch):
    """Other installations do without it; see tests/host/test_install.py."""
    python_environment = load_by_path("python_environment", ROOT / "tools" / "python_environment.py")
    started = []
    monkeypatch.setattr(python_environment.subprocess, "run",
                        lambda command, **rest: started.append(rest) or SimpleNamespace(returncode=0))  # fmt: skip
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", ".venv/bin/python"):
        (tmp_path / name).touch()
    python_environment.ensure(tmp_path, tmp_path / ".venv", "test")
    assert started[-1]["env"]["TIGRIS_REQUIRE_RUNTIME"] == "1"
