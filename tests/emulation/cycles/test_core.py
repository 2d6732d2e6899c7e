"""The timing model of bench.cycles: results and instruction counts are QEMU's, cycles are CV32E40P's, and a cache
fetches the lines that it must. test_rtl.py measures the same cycles in the core's RTL."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.cycles.model import MACHINE, Cache, Core, Program, read_program, run
from bench.emulator import NETWORKS, BenchError, build, measure, parse, run_tool
from bench.networks import fit, recorded, smallest
from tests.emulation.riscv.test_base import emulated, function, operands, whole_lines
from tests.runtime.boards import few_sources

SRAM, C3 = Cache(0, 1, 32, 0), Cache(16384, 8, 32, 160)
FLAGS = ("-march=rv32imc_zicsr", "-mabi=ilp32", "-nostdlib", "-static", "-Wl,-Ttext=0x80000000", "-Wl,--no-relax")
START = " .globl _start\n_start: li sp, 0x80100000\n la s0, work\n"
END = "\nstop: li t0, 0x100000\n sw zero, 0(t0)\nend:\n"
WORK = " .data\n .balign 16\nwork: .zero 96\n"
RESULT = 7  #: register t2

#: Instructions as whole_lines() has them: the result in t2, of t0, t1 and the memory at a2.
COMPRESSED = [
    *(f"mv a4, t0\n mv a5, t1\n c.{name} a4, a5\n mv t2, a4" for name in ("and", "or", "xor", "sub", "add", "mv")),
    *(f"mv a4, t0\n c.{name} a4, {number}\n mv t2, a4" for name, number in
      (("srai", 5), ("srli", 31), ("andi", -32), ("slli", 9), ("addi", -7), ("li", 31), ("lui", 0xFFFE1))),
    *(f"mv a4, t0\n li t2, 1\n c.{name} a4, 1f\n li t2, 0\n1:" for name in ("beqz", "bnez")),
    "mv a4, t0\n c.sw a4, 4(a2)\n c.lw a5, 4(a2)\n mv t2, a5",
    "c.addi16sp sp, -496\n c.swsp t0, 252(sp)\n c.addi4spn a5, sp, 252\n lw a4, 0(a5)\n c.lwsp t2, 252(sp)\n"
    " add t2, t2, a4\n c.addi16sp sp, 496",
    "li t2, 1\n c.j 1f\n li t2, 0\n1: c.nop",
    "mv a4, ra\n c.jal 1f\n1: auipc t2, 0\n sub t2, t2, ra\n mv ra, a4",
    "mv a4, ra\n la a5, 1f\n c.jalr a5\n1: sub t2, ra, a5\n mv ra, a4",
    "la a5, 1f\n li t2, 1\n c.jr a5\n li t2, 0\n1:",
]  # fmt: skip
JUMPS = [
    "la t3, 1f\n1: auipc t2, 0\n sub t2, t2, t3",
    "jal t3, 1f\n1: auipc t2, 0\n sub t2, t2, t3",
    "la t4, 1f - 4\n jalr t3, 4(t4)\n li t2, 1\n1: sub t2, t3, t4",
]

_ALL = "div divu rem remu"
_DIVISIONS = ((_ALL, 0, 35), (_ALL, 1, 34), (_ALL, 1 << 30, 4), (_ALL, 1 << 31, 3), ("divu remu", -1, 3),
              ("div rem", -1, 34), ("div rem", -3, 32))  # fmt: skip
_TARGET = "la t0, 9f\n sw t0, 0(s0)"
#: Cycles of instructions, by what runs before them and themselves. s0 is an aligned address. Of the instructions, only
#: those of two bytes are compressed: `.2byte 1` is c.nop, which misaligns what follows.
CYCLES = {
    ("", "add t2, t0, t1\n sub t2, t2, t1\n lui t2, 1\n auipc t2, 1\n mul t2, t2, t2\n mul t2, t2, t2"): 6,
    **{("", f"{name} t2, t0, t1\n add t2, t2, t2"): 6 for name in ("mulh", "mulhu", "mulhsu")},
    **{(f"li t1, {divisor}", f"{name} t2, t0, t1"): cycles
       for names, divisor, cycles in _DIVISIONS for name in names.split()},
    ("", "lw t0, 0(s0)\n add t2, t1, t1"): 2,
    ("", "lw t0, 0(s0)\n add t2, t0, t1"): 3,
    ("", "lw t0, 0(s0)\n sw t0, 4(s0)"): 3,
    ("", "lw t0, 0(s0)\n li t0, 5"): 3,
    ("", "lw t0, 0(s0)\n nop\n add t2, t0, t1"): 3,
    ("", "lw zero, 0(s0)\n add t2, zero, t1"): 2,
    ("sw s0, 0(s0)", "lw t0, 0(s0)\n lw t1, 0(t0)\n lw t0, 0(t1)"): 5,
    ("", "lh t0, 1(s0)\n lb t0, 3(s0)\n sh t1, 1(s0)\n sb t1, 3(s0)"): 4,
    ("", "lw t0, 1(s0)\n lh t0, 3(s0)\n sw t1, 2(s0)\n sh t1, 3(s0)"): 8,
    ("", "lhu t0, 3(s0)\n add t1, t0, t0"): 4,
    ("", "j 1f\n nop\n1:"): 2,
    ("", "j 1f\n .2byte 1\n1:"): 3,
    ("", "j 1f\n .2byte 1\n1: .2byte 1"): 3,
    ("", "mulh t2, t0, t1\n j 1f\n nop\n1:"): 6,
    ("", "lw t0, 1(s0)\n j 1f\n .2byte 1\n1:"): 4,
    ("", "beq zero, zero, 1f\n nop\n1:"): 3,
    ("", "beq zero, zero, 1f\n .2byte 1\n1:"): 4,
    ("", "mulh t2, t0, t1\n beq zero, zero, 1f\n nop\n1:"): 8,
    ("", "bne zero, zero, 1f\n nop\n1:"): 2,
    ("", "li t0, 3\n1: addi t0, t0, -1\n bnez t0, 1b"): 11,
    ("la t0, 9f", "jr t0\n nop\n9:"): 2,
    ("", "la t0, 9f\n jr t0\n nop\n9:"): 5,
    ("", "la t0, 9f\n nop\n jr t0\n nop\n9:"): 5,
    (_TARGET, "lw t0, 0(s0)\n jr t0\n nop\n9:"): 5,
    (_TARGET, "lw t0, 0(s0)\n nop\n jr t0\n nop\n9:"): 5,
    (_TARGET, "lw t0, 0(s0)\n mulh t2, t1, t1\n jr t0\n nop\n9:"): 7,
    ("la t0, 9f\n sw t0, 1(s0)", "lw t0, 1(s0)\n jr t0\n nop\n9:"): 6,
    ("", "csrr t0, mhartid\n add t1, t0, t0"): 2,
    ("", "csrr t0, minstret\n add t1, t0, t0"): 5,
    ("", "fence"): 4,
    ("", ".2byte 1\n fence"): 6,
}  # fmt: skip


def assemble(text: str, folder: Path) -> Program:
    """A program from where the core starts to the test device."""
    (folder / "program.s").write_text(START + text + END + WORK)
    elf = folder / "program.elf"
    run_tool([f"{MACHINE.toolchain}-gcc", *FLAGS, str(folder / "program.s"), "-o", str(elf)])
    return read_program(elf)


def timed(folder: Path) -> tuple[Program, list[int]]:
    """All of CYCLES, and the addresses of a nop before and after each."""
    parts = (f" .option rvc\n .balign 4\n .option norvc\n {before}\n nop\n nop\nbegin_{i}: nop\n {text}\nend_{i}: nop\n"
             for i, (before, text) in enumerate(CYCLES))  # fmt: skip
    program = assemble("".join(parts), folder)
    return program, [program.symbols[f"{mark}_{i}"] for i in range(len(CYCLES)) for mark in ("begin", "end")]


def cycles_by_text(stamps: Sequence[int]) -> dict[tuple[str, str], int]:
    """CYCLES as measured, from the cycle at each mark; the first nop takes one."""
    spent = (end - begin - 1 for begin, end in zip(stamps[::2], stamps[1::2], strict=True))
    return dict(zip(CYCLES, spent, strict=True))


def test_each_instruction_gives_what_qemu_computes(tmp_path: Path) -> None:
    single = [line for line in whole_lines() if "amo" not in line and "lr.w" not in line]
    lines = [f"{line}\nresult_{i}:" for i, line in enumerate([*single, *COMPRESSED, *JUMPS])]
    pairs = operands()
    words = ", ".join(map(str, struct.unpack(f"<{len(pairs) // 4}I", pairs)))
    start = " la a0, pairs\n la a1, results\n mv a2, s0\n la a3, pairs_end\n call f\n"
    data = f" .data\npairs: .word {words}\npairs_end: .word 0\nresults: .zero {len(pairs) // 8 * 4 * len(lines)}\n"
    program = assemble(f"{start} j stop\n{function(lines)}{data} .text\n", tmp_path)
    expected = np.frombuffer(emulated(lines, pairs, tmp_path), "<u4").reshape(-1, len(lines))
    with Core(program, b"", b"", SRAM) as core:
        for operand, row in zip(struct.iter_unpack("<2I", pairs), expected, strict=True):
            for i, wanted in enumerate(row):
                assert core.until(program.symbols[f"result_{i}"]) == 0
                assert core.register(RESULT) == wanted, (lines[i], operand)
        assert core.until() == -1


def test_cycles_of_each_kind_and_hazard(tmp_path: Path) -> None:
    program, marks = timed(tmp_path)
    with Core(program, b"", b"", SRAM) as core:
        stamps = [core.now().cycles for mark in marks if core.until(mark) == 0]
    assert cycles_by_text(stamps) == CYCLES


@pytest.mark.parametrize("text", [".word 0", "lw t0, 0(zero)", "sw t0, 0(zero)", "jr zero", "amoadd.w t0, t0, (s0)"])
def test_what_it_cannot_run_is_an_error(text: str, tmp_path: Path) -> None:
    program = assemble(f".option arch, +a\n{text}\n nop", tmp_path)
    with Core(program, b"", b"", SRAM) as core, pytest.raises(BenchError, match="the timing model stopped at 0x"):
        core.until()


@pytest.mark.parametrize(("kilobytes", "misses"), [(8, 256), (32, 2 * 1024)])
def test_a_loop_over_more_than_the_cache_misses_each_line_again(kilobytes: int, misses: int, tmp_path: Path) -> None:
    lines = kilobytes * 1024 // 32
    loop = " lw t2, 0(t0)\n addi t0, t0, 32\n addi t1, t1, -1\n bnez t1, 2b\n addi s1, s1, -1\n bnez s1, 1b"
    program = assemble(f"li s1, 2\n1: li t0, {MACHINE.plan_address}\n li t1, {lines}\n2: {loop}", tmp_path)
    found = []
    for cache in SRAM, C3:
        with Core(program, bytes(kilobytes * 1024), b"", cache) as core:
            assert core.until() == -1
            found.append(core.now())
            assert core.distinct_lines() == lines
    fast, cached = found
    assert (fast.data_misses, fast.code_misses, cached.data_misses) == (0, 0, misses)
    assert cached.cycles - fast.cycles == C3.miss * (cached.data_misses + cached.code_misses)
    assert cached.code_misses == -(-(program.symbols["end"] - 0x80000000) // 32)


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(MACHINE, tmp_path_factory.mktemp("firmware"), runtime=few_sources())


def test_the_firmware_prints_what_it_prints_under_qemu(firmware: Path) -> None:
    """All counts of instructions are equal: of a network, its operators, and the check of its plan."""
    model, content = recorded(NETWORKS, "micro_speech")
    compiled, _ = fit(model, "16K")
    expected = measure(MACHINE, firmware, compiled.data, content)
    with Core(read_program(firmware), compiled.data, content, SRAM) as core:
        assert core.until() == -1
        found = parse(MACHINE, core.printed())
    assert found == expected and found.right


def test_predicted_cycles_and_lines(firmware: Path) -> None:
    """A network runs whole, and in bands whose weights and code exceed the cache."""
    program = read_program(firmware)
    model, content = recorded(NETWORKS, "kws")
    for budget in "256K", str(smallest(model)):
        compiled, _ = fit(model, budget)
        found = run(program, compiled.data, content, C3)
        assert "right 1" in found.printed
        assert compiled.report["predicted_cycles"] == {"rv32imc": pytest.approx(found.counts.cycles, rel=0.1)}
        assert found.counts.data_misses > 0.9 * found.weight_lines > 0.8 * len(compiled.data) / 32
        assert sum(one.cycles for one in found.operators.values()) == pytest.approx(found.counts.cycles, rel=0.1)
    assert found.counts.data_misses + found.counts.code_misses > 10 * found.weight_lines


@pytest.mark.thorough
def test_code_in_sram_misses_no_lines(firmware: Path, tmp_path: Path) -> None:
    hot = build(MACHINE, tmp_path, extra=("-DTIGRIS_HOT_IN_IRAM",), runtime=few_sources())
    model, content = recorded(NETWORKS, "kws")
    compiled, _ = fit(model, str(smallest(model)))
    usual, own = (run(read_program(elf), compiled.data, content, C3).counts for elf in (firmware, hot))
    assert own.code_misses < 0.1 * usual.code_misses
