"""RISC-V's sources read as text, with data: what compilers write."""

import pytest

from bench.assembly.program import AssemblyError, linked
from bench.riscv.machine import Machine
from bench.riscv.source import parse

TEXT = """
	.file	"own.c"
	.option nopic
	.text
	.globl	f
f:
	lui	a5,%hi(counter)
	lw	a0,%lo(counter)(a5)
 #APP
# 12 "own.c" 1
	addi a0, a0, 1     # inline; several
	addi a0, a0, 1
# 0 "" 2
 #NO_APP
	sw	a0,%lo(counter)(a5)
	lui	a4,%hi(.LANCHOR0)
	addi	a4,a4,%lo(.LANCHOR0)
	lbu	a3,2(a4)
	add	a0,a0,a3
	la	a4,table
	lw	a4,4(a4)
	jr	a4
	.section	.rodata.text,"a"
	.align	2
	.set	.LANCHOR0,. + 0
	.string	"ab\\tc"
	.byte	1, 0xff
	.half	-2
table:
	.word	0
	.word	g
	.section	.bss
	.align	2
	.type	counter, @object
counter:
	.zero	4
	.comm	more,8,4
"""


def test_data_and_functions_in_it() -> None:
    machine = Machine(parse(f"{TEXT}\n .text\n .globl g\ng: addi a0, a0, 1000\n ret", "own.s"))
    assert machine.call("f", []) == 2 + ord("\t") + 1000
    assert machine.call("f", []) == 4 + ord("\t") + 1000  # data stays
    (data,) = machine.program.data
    assert data.content[:10] == b"ab\tc\0\1\xff\xfe\xff\0"
    assert {"counter@own.s", "table@own.s", "more@own.s"} <= set(data.labels)


def test_names_of_files_apart() -> None:
    """Labels and data of one name; a file's own come first."""
    body = "lui a0, %hi(held)\n lw a0, %lo(held)(a0)\n j 1f\n1: ret\n.data\nheld: .word"
    files = [parse(f".globl {name}\n{name}: {body} {number}", f"{name}.s")
             for name, number in (("one", 11), ("two", 22))]  # fmt: skip
    machine = Machine(linked(files))
    assert (machine.call("one", []), machine.call("two", [])) == (11, 22)


def test_a_tables_targets() -> None:
    text = ".globl f\nf: la a1, .L2\n slli a0, a0, 2\n add a0, a0, a1\n lw a0, 0(a0)\n jr a0\n.L3: li a0, 7\n ret\n" \
           ".L4: li a0, 9\n ret\n .section .rodata\n .align 2\n.L2: .word .L3\n .word .L4"  # fmt: skip
    machine = Machine(parse(text))
    assert [machine.call("f", [i]) for i in (0, 1)] == [7, 9]


@pytest.mark.parametrize("line", [".nothing 1", ".data\n .nothing 1", ".data\n .byte nowhere"])
def test_directives_that_are_not_known(line: str) -> None:
    with pytest.raises(AssemblyError):
        parse(line)


def test_numbers_that_take_two_instructions() -> None:
    machine = Machine(parse(".globl f\nf: li a0, 0x12345\n li a0, 4096\n li a0, -2048\n ret"))
    machine.call("f", [])
    assert machine.executed == 5
