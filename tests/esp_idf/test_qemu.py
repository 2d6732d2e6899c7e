"""The ESP-IDF example, built for an ESP32-C3 by the real ESP-IDF, in Espressif's QEMU.

Beside what test_idf.py needs for chips: qemu-system-riscv32 in PATH or where idf_tools.py puts it.
"""

import shutil
import time

import pytest

from tests.harness.command import tigris
from tigris_pio.errors import ToolError
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.line import Line
from tigris_pio.hil.qemu.build import read_idf
from tigris_pio.hil.qemu.chips import CHIPS
from tigris_pio.hil.qemu.machine import Machine
from tigris_pio.hil.qemu.tools import find_qemu

from .project import ROOT, Project
from .test_idf import COMPILERS, example_project

pytestmark = [pytest.mark.vendor("IDF_PATH"), pytest.mark.timeout(600)]

CHIP = "esp32c3"
#: What the ROM says at each start, and how long that may take in this machine's time.
START, SECONDS = "ESP-ROM:", 180.0
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


def test_outputs_are_the_hosts(project: Project) -> None:
    done = tigris("hil", "--qemu", "--project", project.folder, "--data", DATA)
    assert "450/450 outputs equal to the host" in done.stdout
    assert f"{CHIP} at socket://" in done.stdout


#: Before anything is served, ten seconds of inference, as the chip counts them.
WORK = """    const uint32_t begin = tigris_esp_microseconds(NULL);
    while (tigris_esp_microseconds(NULL) - begin < 10000000U)
        (void)tigris_run(&session);
"""


@pytest.mark.parametrize("yields", [True, False])
def test_the_watchdog_bites_a_run_that_does_not_yield(
    project: Project, tmp_path_factory: pytest.TempPathFactory, yields: bool
) -> None:
    """With the yield hook idle tasks run meanwhile; without it the watchdog restarts the chip, again and again."""
    own = example_project(tmp_path_factory.mktemp("watchdog"), CHIP)
    serve = "    tigris_serve_init(&server"
    own.edit("main/main.c", serve, WORK + serve)
    if not yields:
        own.edit("main/main.c", "    session.hooks.yield = tigris_esp_yield;\n", "")
    defaults = own.folder / "sdkconfig.defaults"
    limits = "\nCONFIG_ESP_TASK_WDT_TIMEOUT_S=2\nCONFIG_ESP_TASK_WDT_PANIC=y\n"
    defaults.write_text(defaults.read_text("utf-8") + limits, "utf-8")
    own.configure()
    own.build()
    with Machine(read_idf(own.build_folder)) as machine:
        if yields:
            with Board(machine.url, timing=Timing(connect=SECONDS)) as board:
                assert board.log.count(START) == 1
        else:
            with Line(machine.url) as line:
                heard, end = b"", time.monotonic() + SECONDS
                while heard.count(START.encode()) < 3 and time.monotonic() < end:
                    heard += line.read(0.5)
            assert heard.count(START.encode()) == 3
