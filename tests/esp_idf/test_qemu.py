"""The ESP-IDF example, built for an ESP32-C3 by the real ESP-IDF, in Espressif's QEMU.

Beside what test_idf.py needs for chips: qemu-system-riscv32 in PATH or where idf_tools.py puts it.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.command import tigris
from tigris_pio.errors import ToolError
from tigris_pio.hil.check import check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import RunError
from tigris_pio.hil.qemu.build import Build, read_idf
from tigris_pio.hil.qemu.chips import CHIPS
from tigris_pio.hil.qemu.machine import Machine
from tigris_pio.hil.qemu.tools import find_qemu
from tigris_pio.hil.samples import random_samples

from .project import ROOT, Project
from .test_idf import COMPILERS, MODEL_OFFSET, example_project

pytestmark = [pytest.mark.vendor("IDF_PATH"), pytest.mark.timeout(600)]

CHIP = "esp32c3"
DATA = ROOT / "examples" / "digits" / "model" / "digits_test.npz"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example, built whole."""
    try:
        find_qemu(CHIPS[CHIP])
    except ToolError as error:
        pytest.skip(str(error))
    if not any(shutil.which(name) for name in COMPILERS[CHIP]):
        pytest.skip(f"no {COMPILERS[CHIP][-1]} on the path: the test for {CHIP} needs Espressif's compiler")
    made = example_project(tmp_path_factory.mktemp("qemu"), CHIP)
    made.configure()
    made.build()
    return made


@pytest.fixture
def build(project: Project) -> Build:
    return read_idf(project.build_folder)


@contextmanager
def running(build: Build, upload: Build | None = None, erased: bool = False) -> Iterator[Board]:
    with Machine(build, upload, erased) as machine, Board(machine.url) as board:
        yield board


def with_model(build: Build, image: Path) -> Build:
    """The build with another image in the model's partition."""
    files = {**dict(build.images), MODEL_OFFSET: image}
    return dataclasses.replace(build, images=tuple(sorted(files.items())))


def test_outputs_are_the_hosts(project: Project) -> None:
    done = tigris("hil", "--qemu", "--project", project.folder, "--data", DATA)
    assert "450/450 outputs equal to the host" in done.stdout
    assert f"{CHIP} at socket://" in done.stdout


def test_an_upload_goes_through_the_roms_download_mode(project: Project, build: Build) -> None:
    (path,) = project.build_folder.rglob("*.tgrs")
    plan = open_plan(path)
    with running(build, upload=build, erased=True) as board:
        assert check(board, plan, random_samples(plan.session.inputs, 4).inputs).equal


def test_a_damaged_plan_is_refused_and_a_new_one_uploaded_alone(project: Project, build: Build, tmp_path: Path) -> None:
    (path,) = project.build_folder.rglob("*.tgrs")
    plan = open_plan(path)
    good = dict(build.images)[MODEL_OFFSET].read_bytes()
    damaged = tmp_path / "damaged.bin"
    for at in (0, 8, 200, len(good) // 2, len(good) - 1):
        damaged.write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
        with running(with_model(build, damaged)) as board, pytest.raises(RunError):
            check(board, plan, random_samples(plan.session.inputs, 1).inputs)
    alone = dataclasses.replace(build, images=((MODEL_OFFSET, dict(build.images)[MODEL_OFFSET]),))
    with running(with_model(build, damaged), upload=alone) as board:
        assert check(board, plan, random_samples(plan.session.inputs, 2).inputs).equal
