"""The timing model beside the RTL of OpenHW's CV32E40P, which Verilator compiles: instructions and cycles are equal."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.cycles.model import MACHINE, Core, read_program
from bench.emulator import NETWORKS, build, run_tool
from bench.networks import fit, recorded
from tests.emulation.cycles.test_core import CYCLES, SRAM, cycles_by_text, timed
from tests.runtime.build import program

VARIABLE, TOP = "TIGRIS_CV32E40P", "cv32e40p_bench"
pytestmark = [pytest.mark.vendor(VARIABLE), pytest.mark.thorough, pytest.mark.timeout(600)]

#: The core assigns some bits of a register with `assign`, others in `always_ff`, which Verilator otherwise refuses.
FLAGS = ("--binary", "-O3", "-CFLAGS", "-O2", "-Wno-fatal", "-Wno-BLKANDNBLK")
BASE, RETURN_ADDRESS = 0x80000000, 1
SECONDS = 500


@pytest.fixture(scope="module")
def rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core with the test bench as a program."""
    folder, checkout = tmp_path_factory.mktemp("rtl"), Path(os.environ[VARIABLE])
    names = (checkout / "cv32e40p_manifest.flist").read_text().replace("${DESIGN_RTL_DIR}", str(checkout / "rtl"))
    (folder / "files").write_text("\n".join(name for name in names.splitlines() if "tb_wrapper" not in name))
    command = [program("verilator", "verilator"), *FLAGS, "--Mdir", str(folder), "-f", str(folder / "files")]
    run_tool([*command, str(Path(__file__).with_name(f"{TOP}.sv")), "--top-module", TOP], timeout=SECONDS)
    return folder / f"V{TOP}"


def run_rtl(rtl: Path, parts: dict[int, bytes], marks: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
    """Runs what lies at each address. What it printed; instructions and cycles at each pass of a mark."""
    image = bytearray(max(address + len(part) for address, part in parts.items()) - BASE)
    for address, part in parts.items():
        image[address - BASE : address - BASE + len(part)] = part
    image_file, marks_file = rtl.with_name("image"), rtl.with_name("marks")
    image_file.write_bytes(image)
    marks_file.write_text("\n".join(f"{mark:x}" for mark in marks))
    lines = run_tool([str(rtl), f"+image={image_file}", f"+marks={marks_file}"], timeout=SECONDS).splitlines(True)
    stamps = [(int(line.split()[1]), int(line.split()[2])) for line in lines if line.startswith("at ")]
    return "".join(line for line in lines if not line.startswith(("at ", "- "))), stamps  # "- FILE: Verilog $finish"


def test_cycles_of_each_kind_and_hazard(rtl: Path, tmp_path: Path) -> None:
    made, marks = timed(tmp_path)
    _, stamps = run_rtl(rtl, {BASE: made.code}, marks)
    assert cycles_by_text([cycles for _, cycles in stamps]) == CYCLES


def test_inference_of_a_network(rtl: Path, tmp_path: Path) -> None:
    """Anomaly detection, a million instructions; the numbers that the program printed are its reads of minstret."""
    made = read_program(build(MACHINE, tmp_path))
    model, content = recorded(NETWORKS, "ad")
    plan = fit(model, "256K")[0].data
    with Core(made, plan, content, SRAM) as core:
        marks = [made.symbols["tigris_run"]]
        core.until(*marks)
        before = core.now()
        marks.append(core.register(RETURN_ADDRESS))
        core.until(marks[1])
        expected = core.now().plus(before, -1)
        core.until()
        expected_text = core.printed()
    parts = {BASE: made.code, MACHINE.plan_address: plan, MACHINE.samples_address: content}
    printed, ((instructions, cycles), (later_instructions, later_cycles), *_) = run_rtl(rtl, parts, marks)
    assert printed == expected_text and "\nright 1\n" in printed
    assert later_instructions - instructions == expected.instructions
    assert later_cycles - cycles == expected.cycles
