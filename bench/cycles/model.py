"""The timing model of core.c, built for this computer, and runs of the bench firmware in it."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.emulator import MACHINES, BenchError, run_tool

MACHINE = MACHINES["rv32imc"]
_BASE, _CODE_BYTES = 0x80000000, 1 << 20
_RETURN_ADDRESS, _OPERATOR = 1, 11  #: registers ra and a1
_ENDED = -1


class Timing(ctypes.Structure):
    """struct core_timing, with CV32E40P's cycles."""

    _fields_ = [(name, ctypes.c_uint32) for name in (
        "high_product", "division", "branch", "jump", "flush", "load_use", "misaligned")]  # fmt: skip


CV32E40P = (5, 3, 3, 2, 4, 1, 1)


class Cache(NamedTuple):
    """Bytes, ways, bytes of a line, and cycles of a miss; of no bytes: no cache, and flash is as fast as memory."""

    bytes: int
    ways: int
    line: int
    miss: int


class _Cache(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("bytes", "ways", "line", "miss")]


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("instructions", "cycles", "data_misses", "code_misses")]


class Counts(NamedTuple):
    """Counts of a part of a program; misses are lines fetched from flash."""

    instructions: int = 0
    cycles: int = 0
    data_misses: int = 0
    code_misses: int = 0

    def plus(self, other: Counts, sign: int = 1) -> Counts:
        """The sum, or with sign -1 the difference."""
        return Counts(*(a + sign * b for a, b in zip(self, other, strict=True)))


@dataclasses.dataclass(frozen=True)
class Run:
    """The first inference of a program, with cold caches, and the operators of its second.

    `weight_lines`: the plan's lines that the first one read, so the fewest data misses. `printed`: the
    program's text."""

    counts: Counts
    operators: dict[int, Counts]
    weight_lines: int
    printed: str


@dataclasses.dataclass(frozen=True)
class Program:
    """Bench firmware as the bytes at _BASE, and where its functions begin."""

    code: bytes
    symbols: dict[str, int]


def read_program(elf: Path) -> Program:
    """The bytes and symbols of an ELF file."""
    binary = elf.with_suffix(".bin")
    run_tool([f"{MACHINE.toolchain}-objcopy", "-O", "binary", str(elf), str(binary)])
    rows = (line.split() for line in run_tool([f"{MACHINE.toolchain}-nm", str(elf)]).splitlines())
    return Program(binary.read_bytes(), {row[2]: int(row[0], 16) for row in rows if len(row) == 3})


@functools.cache
def _library() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="tigris-core-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    out = folder / "core.so"
    flags = ["-std=c99", "-O2", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(Path(__file__).with_name("core.c")), "-o", str(out)], check=True)
    library = ctypes.CDLL(str(out))
    word, handle = ctypes.c_uint32, ctypes.c_void_p
    for name, result, arguments in (
        ("new", handle, [ctypes.POINTER(Timing), ctypes.POINTER(_Cache), word, word, word]), ("free", None, [handle]),
        ("load", ctypes.c_int, [handle, word, ctypes.c_char_p, word]), ("register", word, [handle, word]),
        ("run", ctypes.c_int, [handle, ctypes.POINTER(word), word]), ("program_counter", word, [handle]),
        ("now", _Counts, [handle]), ("read", _Counts, [handle, word]), ("forget_lines", None, [handle]),
        ("distinct_lines", word, [handle]), ("printed", handle, [handle, ctypes.POINTER(word)]),
    ):  # fmt: skip
        function = getattr(library, f"core_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class Core:
    """A core with a program, a plan and samples in its memory."""

    def __init__(self, program: Program, plan: bytes, content: bytes, cache: Cache) -> None:
        self._library = _library()
        start = MACHINE.plan_address
        arguments = (Timing(*CV32E40P), _Cache(*cache), _CODE_BYTES, start, start + len(plan))
        self._core = self._library.core_new(*arguments)
        if self._core is None:
            raise BenchError("not enough memory for the timing model")
        for address, data in (_BASE, program.code), (start, plan), (MACHINE.samples_address, content):
            if not self._library.core_load(self._core, address, data, len(data)):
                raise BenchError(f"{len(data):,} bytes do not fit at {address:#x}")

    def __enter__(self) -> Core:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.core_free(self._core)

    def until(self, *addresses: int) -> int:
        """Runs to one of the addresses. Its index, or -1 when the program ended."""
        reached = int(
            self._library.core_run(self._core, (ctypes.c_uint32 * len(addresses))(*addresses), len(addresses))
        )
        if reached < _ENDED:
            raise BenchError(f"the timing model stopped at {self._library.core_program_counter(self._core):#x}")
        return reached

    def register(self, number: int) -> int:
        """The value of a register."""
        return int(self._library.core_register(self._core, number))

    def now(self) -> Counts:
        """Counts since reset."""
        return _plain(self._library.core_now(self._core))

    def between_reads(self) -> Counts:
        """Counts between the program's last two reads of its instruction counter."""
        newer, older = (_plain(self._library.core_read(self._core, back)) for back in (0, 1))
        return newer.plus(older, -1)

    def printed(self) -> str:
        """The text that the program printed."""
        count = ctypes.c_uint32()
        text = self._library.core_printed(self._core, ctypes.byref(count))
        return ctypes.string_at(text, count.value).decode()

    def forget_lines(self) -> None:
        """Begins to count `distinct_lines`."""
        self._library.core_forget_lines(self._core)

    def distinct_lines(self) -> int:
        """Lines of the plan that were read."""
        return int(self._library.core_distinct_lines(self._core))


def _plain(counts: _Counts) -> Counts:
    return Counts(counts.instructions, counts.cycles, counts.data_misses, counts.code_misses)


def run(program: Program, plan: bytes, content: bytes, cache: Cache) -> Run:
    """Runs the bench firmware: one inference, then one by operators."""
    with Core(program, plan, content, cache) as core:
        if core.until(program.symbols["tigris_run"]) < 0:
            raise BenchError(f"the program did not run the plan: {core.printed()}")
        start = core.now()
        core.forget_lines()
        core.until(core.register(_RETURN_ADDRESS))
        counts, lines = core.now().plus(start, -1), core.distinct_lines()
        found: dict[int, Counts] = {}
        while core.until(program.symbols["add_op"]) == 0:
            op = core.register(_OPERATOR)
            found[op] = found.get(op, Counts()).plus(core.between_reads())
        return Run(counts, found, lines, core.printed())
