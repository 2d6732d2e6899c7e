"""`tigris hil --qemu`: a project's build, booted by a chip's ROM in Espressif's QEMU and checked like on a board.
Without Espressif's QEMU a stand-in replaces it (tests/harness/espressif_qemu.py). The chip's platform is a stand-in
too; esptool is the real one."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.harness.command import tigris, tigris_process
from tigris_pio.errors import UsageError
from tigris_pio.hil.client import Board
from tigris_pio.hil.qemu import tools
from tigris_pio.hil.qemu.build import Build, read_idf
from tigris_pio.hil.qemu.chips import CHIPS, arguments, chip_of_image
from tigris_pio.hil.qemu.machine import Machine
from tigris_pio.hil.qemu.tools import merge

from .conftest import copy_example
from .project import ROOT, Project

EXAMPLES = ROOT / "examples"
DIGITS = EXAMPLES / "digits" / "model" / "digits_test.npz"


#: The arguments of the stand-in, by call.
Calls = Callable[[], list[list[str]]]


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Puts the stand-ins in PATH."""
    folder, log = tmp_path / "bin, with a comma", tmp_path / "qemu.log"
    folder.mkdir()
    for name in ("qemu-system-riscv32", "qemu-system-xtensa"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tests.harness.espressif_qemu {name} "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    monkeypatch.setenv("QEMU_LOG", str(log))
    return lambda: [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, core_dir: Path) -> Project:
    """The ESP-IDF example, built for an ESP32-C3 by the stand-in platform; its firmware runs on this computer."""
    # The stand-in has no component manager, which would add the runtime.
    folder = copy_example("digits-esp32s3-espidf", tmp_path_factory.mktemp("qemu") / "für qemu",
                          f"lib_deps = tigris-pio=symlink://{ROOT}")  # fmt: skip
    ini = folder / "platformio.ini"
    text = ini.read_text("utf-8").replace("[env:esp32s3]", "[env:c3]")
    ini.write_text(text.replace("esp32-s3-devkitc-1", "esp32-c3-devkitm-1"), "utf-8")
    project = Project(folder, core_dir, shares_objects=False)
    project.run()
    return project


def test_a_platformio_build_runs_and_is_checked(built: Project, qemu: Calls) -> None:
    done = tigris("hil", "--qemu", "--project", built.folder, "--data", DIGITS, "--samples", 12)
    assert "esp32c3 at socket://" in done.stdout
    assert "12/12 outputs equal to the host, accuracy " in done.stdout
    (call,) = qemu()
    assert call[0] == "qemu-system-riscv32" and "-icount" in call


@pytest.mark.thorough
def test_an_upload_goes_through_the_roms_download_mode(built: Project, qemu: Calls) -> None:
    words = ("--qemu", "--upload", "--project", built.folder, "--env", "c3", "--samples", 3, "--json")
    done = tigris_process("hil", "check", *words)
    assert json.loads(done.stdout)["kind"] == "Equal"
    first, second = qemu()
    assert "driver=esp32c3.gpio,property=strap_mode,value=0x02" in first
    assert not any("strap_mode" in word for word in second)
    assert "Hash of data verified" in done.stderr


def idf_build(project: Project, chip: str, folder: Path, **changes: object) -> Path:
    """The same build as ESP-IDF describes it, with images for another chip."""
    images = {"0x0": "bootloader.bin", "0x8000": "partitions.bin", "0x10000": "firmware.bin"}
    images = {"0x1000" if chip == "esp32" and at == "0x0" else at: name for at, name in images.items()}
    images["0x110000"] = "tigris/digits.tgrs"
    shutil.copytree(project.build("c3"), folder, ignore=shutil.ignore_patterns("src", "lib*", "*.o", "*.elf"))
    for name in ("bootloader.bin", "firmware.bin"):
        data = bytearray((folder / name).read_bytes())
        data[12] = CHIPS[chip].number
        (folder / name).write_bytes(data)
    settings = {"flash_mode": "dio", "flash_size": "2MB", "flash_freq": "80m"}
    document = {"flash_files": images, "flash_settings": settings, "extra_esptool_args": {"chip": chip}}
    (folder / "flasher_args.json").write_text(json.dumps({**document, **changes}), "utf-8")
    return folder


@pytest.mark.parametrize("chip", CHIPS)
def test_an_esp_idf_build_runs_and_is_checked(
    built: Project, qemu: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chip: str
) -> None:
    """Chips other than the ESP32-C3 follow this computer's clock. A folder that PlatformIO could build too needs no
    PlatformIO."""
    build = idf_build(built, chip, tmp_path / "idf" / "build")
    (build.parent / "platformio.ini").write_text("no configuration", "utf-8")
    done = tigris("hil", "--qemu", "--project", build.parent if chip == "esp32c3" else build, "--samples", 2)
    assert done.stdout.splitlines()[-1] == "2/2 outputs equal to the host"
    (call,) = qemu()
    if chip != "esp32c3":
        assert call[0] == "qemu-system-xtensa" and "-icount" not in call
        assert f"driver=timer.{chip}.timg,property=wdt_disable,value=true" in call
        return
    monkeypatch.chdir(build.parent)
    assert "then 2: minimum" in tigris("hil", "bench", "--qemu", "--runs", 3).stdout
    assert "ESP-ROM:esp32c3" in tigris("hil", "monitor", "--qemu", "--seconds", 0.5).stdout
    assert len(qemu()) == 3


def test_a_plan_is_uploaded_alone(built: Project, qemu: Calls, tmp_path: Path) -> None:
    """The firmware is there already, with zeros in the plan's place."""
    good = read_idf(idf_build(built, "esp32c3", tmp_path / "build"))
    (*others, (at, plan)) = good.images
    bad = tmp_path / "bad.tgrs"
    bad.write_bytes(bytes(plan.stat().st_size))
    before, alone = replace(good, images=(*others, (at, bad))), replace(good, images=((at, plan),))
    with Machine(before, alone, options="-display none") as machine, Board(machine.url) as board:
        assert (board.models()[0].name, board.models()[0].status) == ("digits", 0) and "ESP-ROM:esp32c3" in board.log
        flash = machine.flash
    assert len(flash) == 2 << 20
    for offset, path in good.images:
        data = path.read_bytes()
        start = 32 if offset == 0 else 0  # esptool writes flash mode, size and frequency into the bootloader
        assert flash[offset + start : offset + len(data)] == data[start:]
    with Machine(before, alone, erased=True) as machine:
        assert set(machine.flash[:at]) == {0xFF}
        assert machine.flash[at:].startswith(plan.read_bytes())
    assert [name for name in tmp_path.iterdir() if name.name.startswith("tigris-qemu")] == []


def test_the_chip_is_read_from_the_images_header() -> None:
    heads = [(magic, number) for magic in (0, 0xE9) for number in (0, 5, 9, 13)]
    known = {head: chip_of_image(bytes([head[0], *bytes(11), head[1], *bytes(11)])) for head in heads}
    assert {head[1]: chip.name for head, chip in known.items() if chip} == {0: "esp32", 5: "esp32c3", 9: "esp32s3"}
    assert not any(known[0, number] for number in (0, 5, 9, 13))


def test_missing_programs_are_named_with_the_remedy(
    built: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = idf_build(built, "esp32c3", tmp_path / "build")
    words = ("hil", "--qemu", "--project", build)
    (only := tmp_path / "only").mkdir()
    monkeypatch.setenv("PATH", str(only))
    monkeypatch.setenv("IDF_TOOLS_PATH", str(tmp_path / "tools"))
    get = "Install it: python $IDF_PATH/tools/idf_tools.py install qemu-riscv32"
    assert f"qemu-system-riscv32, Espressif's QEMU, is not installed. {get}" in tigris(*words, status=1).stderr
    other, installed = (folder / "qemu-system-riscv32" for folder in (
        only, tmp_path / "tools" / "tools" / "qemu-riscv32" / "esp_develop_9" / "qemu" / "bin"))  # fmt: skip
    for program, script, message in (
        (other, "echo 'virt    RISC-V VirtIO board'", f"{other} has no machine esp32c3: it is not Espressif's QEMU"),
        (installed, "[ $1 = -machine ] && echo 'esp32c3 yes' || echo no good", "-riscv32 ended at once: no good"),
    ):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        assert message in tigris(*words, status=1).stderr


def test_builds_that_cannot_run_are_refused(built: Project, tmp_path: Path) -> None:
    cases: tuple[tuple[dict[str, object], str], ...] = (
        ({"extra_esptool_args": {"chip": "esp32c6"}}, "machines for esp32, esp32s3, esp32c3, not for esp32c6"),
        ({"flash_files": {"0x0": "gone.bin"}}, "gone.bin: no such file; build the project first: idf.py build"),
        ({"flash_files": 3}, "is not a file of ESP-IDF"),
    )
    for number, (changes, message) in enumerate(cases):
        build = idf_build(built, "esp32c3", tmp_path / str(number), **changes)
        assert message in tigris("hil", "--qemu", "--project", build, status=2).stderr
    done = tigris("hil", "--qemu", "--port", "loop://", "--project", build, status=2)
    assert "--qemu runs the firmware of a project: give --project DIR and leave out --port" in done.stderr
    done = tigris("hil", "--upload", "--project", build, "--port", "loop://", status=2)
    assert "for ESP-IDF use idf.py flash, or --qemu --upload" in done.stderr
    assert "an ESP-IDF project names no port" in tigris("hil", "--project", build, status=2).stderr


def test_esptool_of_version_4_takes_the_same_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ESP-IDF 5's own Python has this version. The parser has the options of its --help."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("--chip", "--port"):
        parser.add_argument(option)
    for option, last in (("--before", ("no_reset_no_sync",)), ("--after", ("soft_reset",))):
        parser.add_argument(option, choices=("default_reset", "hard_reset", "no_reset", *last))
    parser.add_argument("--no-stub", action="store_true")
    verbs = parser.add_subparsers(required=True)
    for name in ("merge_bin", "write_flash"):
        verb = verbs.add_parser(name, allow_abbrev=False)
        for long in ("--flash_mode", "--flash_freq", "--flash_size"):
            verb.add_argument(long, f"-f{long[8]}")
        verb.add_argument("-o")
        verb.add_argument("files", nargs="*")
    seen = []
    monkeypatch.setattr(tools, "_esptool", lambda *words: seen.append(parser.parse_args(words)))
    (target := tmp_path / "flash.bin").touch()
    build = Build(CHIPS["esp32c3"], ((0x1000, target),), 2 << 20, False)
    merge(build, target)
    tools.write_flash(build, "loop://", 2 << 20)
    assert [(words.flash_size, words.files) for words in seen] == [("2MB", ["0x1000", str(target)])] * 2


def test_a_flash_chip_holds_the_whole_build(tmp_path: Path) -> None:
    image = tmp_path / "image.bin"
    image.write_bytes(bytes(100))
    merge(Build(CHIPS["esp32c3"], (((4 << 20) - 100, image),), 0, False), tmp_path / "flash.bin")
    assert (tmp_path / "flash.bin").read_bytes() == (b"\xff" * ((4 << 20) - 100)) + bytes(100)
    with pytest.raises(UsageError, match="Espressif's QEMU has at most 16 MB of flash"):
        merge(Build(CHIPS["esp32c3"], ((16 << 20, image),), 0, False), tmp_path / "flash.bin")


@pytest.mark.parametrize("chip", CHIPS)
def test_machines_are_started_as_documented(chip: str) -> None:
    words = arguments(CHIPS[chip], "a,b", 7, "e", octal_psram=True, download=True)
    assert sum("strap_mode" in word for word in words) == 1
    assert words[:2] == ["-M", chip] and words[-2:] == ["-serial", "tcp:127.0.0.1:7,server=on,wait=on,nodelay=on"]
    assert {"file=a,,b,if=mtd,format=raw", f"driver=nvram.{chip}.efuse,property=drive,value=efuse",
            "driver=ssi_psram,property=is_octal,value=true"} <= set(words)  # fmt: skip
