"""Xtensa's own instructions in the interpreter: arithmetic, memory, branches, loops, windows."""

import functools
import itertools
import random
from collections.abc import Callable

import pytest

from bench.assembly.engine import UNSET, RunError
from bench.assembly.memory import Memory, Stray
from bench.assembly.program import AssemblyError
from bench.assembly.source import parse
from bench.xtensa.machine import Machine

WORD = 0xFFFFFFFF
VALUES = (0, 1, 2, 31, 32, 127, 128, 0x7FFF, 0x8000, 0x12345678, 0x7FFFFFFF, 0x80000000, 0xFFFF8000, 0xFFFFFFFF)


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def function(body: str, name: str = "f") -> str:
    return f".global {name}\n{name}:\n entry a1, 64\n{body}\n retw\n"


def result(body: str, *arguments: int) -> int:
    return machine(body).call("f", arguments)


@functools.cache
def machine(body: str) -> Machine:
    return Machine(parse(function(body)))


TWO: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "add.n": lambda x, y: x + y, "sub": lambda x, y: x - y,
    "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
    "addx2": lambda x, y: 2 * x + y, "addx4": lambda x, y: 4 * x + y, "addx8": lambda x, y: 8 * x + y,
    "subx2": lambda x, y: 2 * x - y, "subx4": lambda x, y: 4 * x - y, "subx8": lambda x, y: 8 * x - y,
    "mull": lambda x, y: x * y, "mulsh": lambda x, y: signed(x) * signed(y) >> 32,
    "mul16u": lambda x, y: (x & 0xFFFF) * (y & 0xFFFF), "saltu": lambda x, y: int(x < y),
    "max": lambda x, y: max(signed(x), signed(y)), "min": lambda x, y: min(signed(x), signed(y)),
    "maxu": max, "minu": min,
}  # fmt: skip


@pytest.mark.parametrize("name", TWO)
def test_of_two_registers(name: str) -> None:
    for x, y in itertools.product(VALUES, VALUES):
        assert result(f"{name} a2, a2, a3", x, y) == TWO[name](x, y) & WORD, (x, y)


ONE: dict[str, Callable[[int], int]] = {
    "mov a2, a2": lambda x: x, "neg a2, a2": lambda x: -x, "abs a2, a2": lambda x: abs(signed(x)),
    "addi a2, a2, -128": lambda x: x - 128, "addmi a2, a2, 0x7f00": lambda x: x + 0x7F00,
    "slli a2, a2, 7": lambda x: x << 7, "srli a2, a2, 15": lambda x: x >> 15,
    "srai a2, a2, 31": lambda x: signed(x) >> 31, "sext a2, a2, 7": lambda x: (x & 255) - (256 if x & 128 else 0),
    "extui a2, a2, 4, 9": lambda x: x >> 4 & 511,
    "ssai 9\n sll a2, a2": lambda x: x << 23, "ssai 9\n srl a2, a2": lambda x: x >> 9,
    "ssai 9\n sra a2, a2": lambda x: signed(x) >> 9, "ssl a3\n sll a2, a2": lambda x: x << 5,
    "ssr a3\n sra a2, a2": lambda x: signed(x) >> 5, "wsr.sar a3\n srl a2, a2": lambda x: x >> 5,
    "ssai 12\n src a2, a2, a4": lambda x: x << 20 | 7 >> 12,
    "movi a2, -77": lambda x: -77, "moveqz a2, a4, a2": lambda x: x or 7, "movnez a2, a4, a2": lambda x: 7 if x else x,
}  # fmt: skip


@pytest.mark.parametrize("body", ONE)
def test_of_one_register(body: str) -> None:
    for x in VALUES:
        assert result(body, x, 5, 7) == ONE[body](x) & WORD, x


BRANCHES: dict[str, Callable[[int, int], bool]] = {
    "beq a2, a3": lambda x, y: x == y, "bne a2, a3": lambda x, y: x != y,
    "blt a2, a3": lambda x, y: signed(x) < signed(y), "bge a2, a3": lambda x, y: signed(x) >= signed(y),
    "bltu a2, a3": lambda x, y: x < y, "bgeu a2, a3": lambda x, y: x >= y,
    "beqi a2, -1": lambda x, y: x == WORD, "bnei a2, 32": lambda x, y: x != 32,
    "blti a2, 1": lambda x, y: signed(x) < 1,
    "bgei a2, 128": lambda x, y: signed(x) >= 128, "beqz a2": lambda x, y: x == 0, "bnez.n a2": lambda x, y: x != 0,
    "bltz a2": lambda x, y: signed(x) < 0, "bgez a2": lambda x, y: signed(x) >= 0,
    "bbci a2, 3": lambda x, y: not x & 8, "bbsi a2, 31": lambda x, y: x >= 1 << 31,
}  # fmt: skip


@pytest.mark.parametrize("branch", BRANCHES)
def test_branches(branch: str) -> None:
    body = f"{branch}, 1f\n movi a2, 0\n j 2f\n1: movi a2, 1\n2:"
    for x, y in itertools.product(VALUES, VALUES):
        assert result(body, x, y) == int(BRANCHES[branch](x, y)), (x, y)


@pytest.mark.parametrize("name", ["loopgtz", "loopnez", "loop"])
def test_loops_cost_nothing(name: str) -> None:
    """Of n turns of two instructions; a loop that may be left out is."""
    program = parse(function(f"movi a4, 0\n {name} a2, 1f\n addi a4, a4, 3\n nop\n1:\n mov a2, a4"))
    for n in (1, 2, 9, *([0] if name != "loop" else []), *([-4] if name == "loopgtz" else [])):
        machine = Machine(program)
        assert machine.call("f", [n]) == 3 * max(n, 0)
        assert machine.executed == 5 + 2 * max(n, 0)
    assert machine.histogram()["addi"] == max(n, 0)


def test_a_branch_out_of_a_loop_and_one_to_its_end() -> None:
    """To the end is not a turn: the chip goes back where the instruction before the end has run."""
    assert result("movi a4, 0\n loop a2, 1f\n addi a4, a4, 1\n beqi a4, 3, 2f\n1:\n2: mov a2, a4", 9) == 3
    assert result("movi a4, 0\n loop a2, 1f\n addi a4, a4, 1\n bnez a4, 1f\n nop\n1: mov a2, a4", 9) == 1


def test_memory() -> None:
    memory = Memory()
    block = memory.add("block", bytes(range(200, 232)), writable=True)
    body = ("l8ui a4, a2, 1\n l16ui a5, a2, 2\n l16si a6, a2, 4\n l32i a7, a2, 8\n s8i a4, a2, 16\n s16i a5, a2, 18\n"
            " s32i a7, a2, 20\n add a2, a4, a5\n xor a2, a2, a6\n add a2, a2, a7")  # fmt: skip
    raw = bytes(range(200, 232))
    reading = Machine(parse(function(body)), memory)
    expected = (raw[1] + int.from_bytes(raw[2:4], "little")) ^ (int.from_bytes(raw[4:6], "little", signed=True) & WORD)
    assert reading.call("f", [block]) == expected + int.from_bytes(raw[8:12], "little") & WORD
    assert memory.content(block + 16, 8) == bytes((raw[1], raw[17], *raw[2:4], *raw[8:12]))
    assert not memory.strays and not memory.misaligned


def test_what_is_touched_outside_is_noted() -> None:
    memory = Memory()
    block = memory.add("block", bytes(20))
    text = function("ee.vld.128.ip q0, a2, 16\n ee.vld.128.ip q1, a2, 16\n ee.vld.128.ip q2, a2, 0\n"
                    " s8i a3, a4, 3\n l32i a5, a4, 1")  # fmt: skip
    Machine(parse(text), memory).call("f", [block, 7, block])
    assert set(memory.strays) == {Stray("block", False, 27), Stray("block", True, 0)}
    assert set(memory.misaligned) == {(4, 1)}
    with pytest.raises(MemoryError):
        result("l32i a2, a2, 0", 16)


def test_calls_have_windows_of_their_own() -> None:
    """Arguments from a10 on, the result in a10; a2 … a7 are kept, the rest is not, and stack arguments lie behind
    six."""
    bodies = {"f": "movi a7, 5\n mov a10, a2\n mov a11, a3\n call8 g\n add a2, a10, a7",
              "g": "mov a8, a2\n movi a7, 99\n sub a2, a8, a3", "unset": "mov a2, a9",
              "h": "l32i a2, a1, 64\n l32i a3, a1, 68\n sub a2, a2, a3"}  # fmt: skip
    machine = Machine(parse("".join(function(body, name) for name, body in bodies.items())))
    assert machine.call("f", [30, 4]) == 31
    assert machine.call("h", [0, 0, 0, 0, 0, 0, 50, 8]) == 42
    assert machine.call("unset", []) == UNSET


def test_functions_from_outside() -> None:
    machine = Machine(parse(function("mov a10, a2\n call8 twice\n mov a2, a10")),
                      externals={"twice": lambda state: state.a.__setitem__(10, 2 * state.a[10])})  # fmt: skip
    assert machine.call("f", [21]) == 42


@pytest.mark.parametrize("body", ["blti a2, 9, 1f\n1:", "extui a2, a2, 0, 17", "slli a2, a2, 32", "add a2, a2, a16",
                                  "l8ui a2, a2, 256", "nothing a2", "j 1f", "sext a2, a2, 6"])  # fmt: skip
def test_what_cannot_be_encoded_is_refused(body: str) -> None:
    with pytest.raises((RunError, AssemblyError)):
        result(body, random.randint(0, 5))


def test_endless_runs_end() -> None:
    with pytest.raises(RunError, match="still running"):
        Machine(parse(function("1: j 1b"))).call("f", [], most=1000)
