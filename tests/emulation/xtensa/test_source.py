"""Assembly read as text: what of GNU's syntax the sources here use."""

from pathlib import Path

import pytest

from bench.assembly.program import AssemblyError
from bench.assembly.source import parse, read, value
from bench.xtensa.machine import Machine

HEAD = ".global f\nf: entry a1, 32\n"


def result(body: str, *arguments: int, defined: tuple[str, ...] = ()) -> int:
    return Machine(parse(f"{HEAD}{body}\nretw", defined=defined)).call("f", arguments)


def test_comments_and_statements() -> None:
    body = ("# whole line\n movi a2, 1 // rest\n /* several\n lines */ addi a2, a2, 2 # rest\n"
            " addi a2, a2, 4; addi a2, a2, 8")  # fmt: skip
    assert result(body) == 15


def test_labels_of_numbers_are_the_nearest() -> None:
    assert result("movi a2, 0\n1: addi a2, a2, 1\n beqi a2, 3, 1f\n j 1b\n1: addi a2, a2, 16") == 19


def test_conditions() -> None:
    body = ("#ifdef A\n movi a2, 1\n#else\n movi a2, 2\n#endif\n"
            ".set b, 1\n.ifdef b\n addi a2, a2, 10\n.endif\n.ifndef b\n nothing\n.endif")  # fmt: skip
    assert (result(body), result(body, defined=("A",))) == (12, 11)


def test_constants() -> None:
    assert result(".literal big, 1<<30\n l32r a2, big\n .equ size, (3+4)*2-1\n addi a2, a2, size") == (1 << 30) + 13
    assert value("-4 + 2*(n - 1)", {"n": 5}) == 4
    with pytest.raises(AssemblyError):
        value("unknown", {})


def test_macros() -> None:
    """Named, with what is left out, within one another, with numeric labels, as names of instructions and repeated."""
    body = """
    .macro plus register, by=5
    addi \\register, \\register, \\by
    .endm
    .macro twice what, register
    \\what \\register
    .rept 2
    \\what \\register, 1
    .endr
    .endm
    .macro odd register
    bbsi \\register, 0, 9f
    plus \\register, 1
9:
    .endm
    movi a2, 0
    plus a2
    twice plus, a2
    odd a2
    odd a2
    .macro joined half
    rur.qacc_\\half\\()_0 a3
    .endm
    joined l
    add a2, a2, a3
    """
    assert result(body) == 13


def test_files_keep_their_own_names(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text(".macro one\n movi a2, 1\n.endm\n")
    for name, by in (("a", 1), ("b", 2)):
        text = (f'#include "part.h"\n.global {name}\n.set by, {by}\n{name}: entry a1, 32\n one\n j .end\n nop\n'
                ".end:\n addi a2, a2, by\n retw\n")  # fmt: skip
        (tmp_path / f"{name}.S").write_text(text)
    machine = Machine(read([tmp_path / "a.S", tmp_path / "b.S"]))
    assert (machine.call("a", []), machine.call("b", [])) == (2, 3)
    with pytest.raises(AssemblyError, match="two files"):
        read([tmp_path / "a.S", tmp_path / "a.S"])


@pytest.mark.parametrize("text", [".word 5", "f: j 1f", ".macro a", ".macro a b\n.endm\n a"])
def test_what_is_not_known_is_said(text: str) -> None:
    with pytest.raises(AssemblyError):
        parse(text)
