"""RISC-V's own instructions: what the manual's words make of operands, and the same text under QEMU."""

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.assembly.engine import UNSET, RunError
from bench.assembly.memory import Memory
from bench.assembly.program import AssemblyError
from bench.riscv import base
from bench.riscv.machine import Machine
from bench.riscv.source import parse

GCC, QEMU = "riscv64-unknown-elf-gcc", "qemu-riscv32"
FLAGS = ("-march=rv32imafc_zicsr", "-mabi=ilp32f", "-nostdlib", "-static", "-Wl,-Ttext=0x10000")
OF_TWO = ("add", "sub", "and", "or", "xor", "slt", "sltu", "sll", "srl", "sra", "mul", "mulh", "mulhu", "mulhsu",
          "div", "divu", "rem", "remu", "sgt", "sgtu")  # fmt: skip
OF_ONE = ("mv", "not", "neg", "seqz", "snez", "sltz", "sgtz")
WITH_NUMBERS = {"addi": -2048, "andi": 2047, "ori": -5, "xori": 77, "slti": -3, "sltiu": -3, "slli": 31, "srli": 1,
                "srai": 7, "add": 9, "and": 255, "or": 1, "xor": -1, "sll": 3, "srl": 3, "sra": 3, "slt": 0,
                "sltu": 5}  # fmt: skip
BRANCHES = ("beq", "bne", "blt", "bge", "bltu", "bgeu", "bgt", "ble", "bgtu", "bleu")
BRANCHES_ZERO = ("beqz", "bnez", "bltz", "bgez", "bgtz", "blez")


def whole_lines() -> list[str]:
    """Each instruction of whole numbers on t0 and t1, its result in t2."""
    lines = [f"{name} t2, t0, t1" for name in OF_TWO] + [f"{name} t2, t0" for name in OF_ONE]
    lines += [f"{name} t2, t0, {number}" for name, number in WITH_NUMBERS.items()]
    lines += [f"li t2, 1\n {name} t0, t1, 1f\n li t2, 0\n1:" for name in BRANCHES]
    lines += [f"li t2, 1\n {name} t0, 1f\n li t2, 0\n1:" for name in BRANCHES_ZERO]
    lines += [f"sw t0, 4(a2)\n {name} t2, 6(a2)" for name in ("lb", "lbu", "lh", "lhu")]
    lines += ["sw t0, 0(a2)\n sb t1, 1(a2)\n sh t1, 2(a2)\n lw t2, 0(a2)", "li t2, -1\n add zero, t0, t1\n mv t2, zero",
              "lui t2, 0xfffff\n nop"]
    return lines  # fmt: skip


def function(lines: Sequence[str]) -> str:
    """Takes pairs at a0 until a3, stores a result for each line and pair at a1; a2: two words of memory."""
    body = "\n".join(f" lw t0, 0(a0)\n lw t1, 4(a0)\n {line}\n sw t2, 0(a1)\n addi a1, a1, 4" for line in lines)
    return f" .text\n .globl f\nf:\n{body}\n addi a0, a0, 8\n bne a0, a3, 9f\n ret\n9: tail f\n"


def interpreted(lines: Sequence[str], pairs: bytes) -> bytes:
    memory = Memory(1 << 18)
    size = len(pairs) // 8 * 4 * len(lines)
    source, target = memory.add("pairs", pairs), memory.add("results", size, writable=True)
    work = memory.add("work", 16, writable=True)
    Machine(parse(function(lines)), memory).call("f", (source, target, work, source + len(pairs)))
    assert not memory.strays
    return memory.content(target, size)


def emulated(lines: Sequence[str], pairs: bytes, folder: Path) -> bytes:
    """The same function in a program that writes its results."""
    size = len(pairs) // 8 * 4 * len(lines)
    words = ", ".join(str(word) for word in struct.unpack(f"<{len(pairs) // 4}I", pairs))
    start = ("\n .globl _start\n_start: la a0, pairs\n la a1, results\n la a2, work\n la a3, behind\n call f\n li a0, 1"
             f"\n la a1, results\n li a2, {size}\n li a7, 64\n ecall\n li a0, 0\n li a7, 93\n ecall\n"
             f" .data\n .balign 16\npairs: .word {words}\nbehind: .word 0\nwork: .zero 16\n"
             f"results: .zero {size}\n")  # fmt: skip
    (folder / "f.s").write_text(function(lines) + start)
    subprocess.run([GCC, *FLAGS, str(folder / "f.s"), "-o", str(folder / "f")], check=True, capture_output=True)
    return subprocess.run([QEMU, str(folder / "f")], check=True, capture_output=True).stdout


def operands() -> bytes:
    """Pairs of words, some of them at the ends of the range."""
    choose, special = np.random.default_rng(4), (0, 1, 0xFFFFFFFF, 1 << 31, (1 << 31) - 1, 0xFFFF8000, 31)
    values = np.concatenate((np.array(special, np.uint32), choose.integers(0, 1 << 32, 60).astype(np.uint32)))
    return choose.choice(values, 400).astype("<u4").tobytes()


@pytest.mark.skipif(not shutil.which(GCC) or not shutil.which(QEMU), reason=f"no {GCC} or no {QEMU}")
def test_qemu_runs_the_same_text_to_the_same_results(tmp_path: Path) -> None:
    lines, pairs = whole_lines(), operands()
    expected, got = emulated(lines, pairs, tmp_path), interpreted(lines, pairs)
    words = np.frombuffer(pairs, "<u4").reshape(-1, 2)
    for i, wanted in enumerate(np.frombuffer(expected, "<u4")):
        found = int.from_bytes(got[4 * i : 4 * i + 4], "little")
        assert found == wanted, (lines[i % len(lines)], words[i // len(lines)].tolist(), found, int(wanted))


def result(body: str, *arguments: int) -> int:
    return Machine(parse(f".globl f\nf:\n{body}\n ret")).call("f", arguments)


def test_calls_and_the_stack() -> None:
    text = (".globl f\nf: addi sp, sp, -16\n sw ra, 12(sp)\n lw t0, 16(sp)\n call twice\n add a0, a0, t0\n"
            " lw ra, 12(sp)\n addi sp, sp, 16\n ret\ntwice: add a0, a0, a0\n jr ra")  # fmt: skip
    machine = Machine(parse(text))
    assert machine.call("f", [5, *[0] * 7, 100]) == 110
    assert machine.executed == 10
    assert machine.histogram()["add"] == 2
    assert Machine(parse(".globl f\nf: mv a0, a1\n ret")).call("f", [1]) == UNSET


def test_a_library_is_called_and_counted() -> None:
    memory = Memory()
    source, target = memory.add("source", bytes(range(8))), memory.add("target", 16, writable=True)
    text = (".globl f\nf: mv s0, ra\n li a2, 8\n call memcpy\n mv ra, s0\n addi a0, a0, 8\n li a1, 7\n li a2, 8\n"
            " tail memset")  # fmt: skip
    machine = Machine(parse(text), memory)
    machine.call("f", [target, source])
    assert memory.content(target, 16) == bytes(range(8)) + b"\7" * 8
    assert machine.executed > 9


@pytest.mark.parametrize("line", ["addi a0, a0, 2048", "slli a0, a0, 32", "lw a0, 4096(a0)", "lui a0, 0x100000",
                                  "csrsi 0x300, 1", "esp.nothing q0", "nothing a0",
                                  "ebreak", "add a0, a0", "mv a9, a0", "lw a0, a1", "beqz a0, nowhere"])  # fmt: skip
def test_what_is_not_known_or_does_not_fit_is_named(line: str) -> None:
    machine = Machine(parse(f".globl f\nf:\n {line}\n1: ret", "own.S"))
    with pytest.raises(RunError, match=r"own\.S:3: "):
        machine.call("f", [1])


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(AssemblyError, match="there is no g"):
        Machine(parse("f: ret")).call("g", [])


def test_all_are_tested() -> None:
    text = " ".join([*whole_lines(), Path(__file__).read_text()])
    words = set(text.replace("\n", " ").replace('"', " ").replace("(", " ").split())
    assert not base.BUILDERS.keys() - words - {"la", "lla", "j", "jal", "csrci"}
