"""Whole plans with interpreted kernels: the runtime's C compiled for this machine (pipe.h), and each call of a kernel
run by the interpreter, in memory that has each operand where it lay modulo 16."""

import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.assembly.engine import Engine
from bench.assembly.memory import Memory
from bench.emulator import BUILD_SECONDS, RUNTIME, run_tool, runtime_sources
from tigris_pio.format.records import Header

_REQUEST, _ARGUMENT = struct.Struct("<64sI"), struct.Struct("<3I")
_NUMBER, _READ, _WRITTEN, _POINTERS = range(4)


@dataclass(frozen=True)
class Argument:
    """`place`: where its bytes lie modulo 16, or the number of pointers; `content`: the bytes that are read."""

    kind: int
    value: int
    place: int
    content: bytes


@dataclass(frozen=True)
class Call:
    """A call of a kernel."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Run:
    """A run's output; `instructions` of kernels, by the operator's place in the plan; `calls`: how many there were, by
    function."""

    status: int
    output: bytes
    instructions: Mapping[int, int]
    calls: Mapping[str, int]


@dataclass(frozen=True)
class Target:
    """A processor. machine: one with this memory; check: AssertionError if it strayed. scratch: bytes of fast memory
    above the plan's own."""

    by_pipe: Path
    machine: Callable[[Memory], Engine]
    check: Callable[[Memory, str], None]
    scratch: int = 0
    prepare: Callable[[Engine, Call, list[int]], None] = lambda machine, call, arguments: None


def build(by_pipe: Path, folder: Path, *flags: str) -> Path:
    """The program that asks for each call of a kernel."""
    target = folder / "by_pipe"
    run_tool(["gcc", "-O1", "-w", "-std=gnu99", "-DTIGRIS_TENSOR_ALIGN=4", f"-I{RUNTIME / 'include'}", *flags,
              str(by_pipe), *map(str, runtime_sources()), "-lm", "-o", str(target)], timeout=BUILD_SECONDS)  # fmt: skip
    return target


def run(target: Target, plan: bytes, data: bytes) -> Run:
    """The plan on its stored inputs `data`, in arenas of its own sizes."""
    header, interpreter = Header.unpack(plan), _Interpreter(target)
    counts, calls, before = Counter[int](), Counter[str](), 0
    with subprocess.Popen([str(target.by_pipe)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        sizes = struct.pack("<4I", len(plan), header.fast_bytes + target.scratch, header.slow_bytes, len(data))
        process.stdin.write(sizes + plan + data)
        process.stdin.flush()
        while (call := _next(process.stdout)).name:
            if call.name == "op":
                counts[call.arguments[0].value] += interpreter.executed - before
                before = interpreter.executed
                continue
            calls[call.name] += 1
            process.stdin.write(interpreter.answer(call))
            process.stdin.flush()
    status, output = call.arguments
    return Run(status.value if status.value < 1 << 31 else status.value - (1 << 32), output.content, counts, calls)


def _next(stream: IO[bytes]) -> Call:
    name, count = _REQUEST.unpack(_exactly(stream, _REQUEST.size))
    return Call(name.rstrip(b"\0").decode(), tuple(_argument(stream) for _ in range(count)))


def _argument(stream: IO[bytes]) -> Argument:
    kind, value, place = _ARGUMENT.unpack(_exactly(stream, _ARGUMENT.size))
    return Argument(kind, value, place, _exactly(stream, value) if kind in (_READ, _POINTERS) else b"")


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise EOFError(f"the program ended: {len(content)} of {size} bytes came")
    return content


class _Prepared:
    """A machine with memory for calls of one function with operands of the same sizes and places."""

    def __init__(self, target: Target, call: Call) -> None:
        self.memory = Memory((1 << 18) + 2 * sum(one.value for one in call.arguments if one.kind != _NUMBER))
        self.machine = target.machine(self.memory)
        self._check = target.check
        self._places = [self.memory.add(f"operand {number}", _size(one), one.kind == _WRITTEN,
                                        offset=one.place if one.kind in (_READ, _WRITTEN) else 0)
                        for number, one in enumerate(call.arguments)]  # fmt: skip
        target.prepare(self.machine, call, self._given(call))

    def run(self, call: Call) -> bytes:
        """The function's result and the bytes that it writes."""
        result = self.machine.call(call.name, self._given(call))
        self._check(self.memory, call.name)
        return struct.pack("<I", result) + b"".join(
            self.memory.content(place, one.value)
            for place, one in zip(self._places, call.arguments, strict=True) if one.kind == _WRITTEN)  # fmt: skip

    def _given(self, call: Call) -> list[int]:
        """The function's arguments, whose bytes are in memory then."""
        operands = zip(self._places, call.arguments, strict=True)
        return [self._filled(place, one, operands) for place, one in operands]

    def _filled(self, place: int, one: Argument, behind: Iterator[tuple[int, Argument]]) -> int:
        if one.kind == _NUMBER:
            return one.value
        targets = [self._filled(*next(behind), behind) for _ in range(one.place if one.kind == _POINTERS else 0)]
        content = struct.pack(f"<{len(targets)}I", *targets) + one.content
        self.memory.bytes[place : place + len(content)] = content
        return place


def _size(one: Argument) -> int:
    return 0 if one.kind == _NUMBER else one.value + (4 * one.place if one.kind == _POINTERS else 0)


class _Interpreter:
    """Runs calls; those of one layout on one machine, which has decoded them."""

    def __init__(self, target: Target) -> None:
        self.executed = 0
        self._target = target
        self._prepared: dict[tuple[object, ...], _Prepared] = {}

    def answer(self, call: Call) -> bytes:
        key = (call.name, *((one.kind, _size(one), one.place) for one in call.arguments))
        if key not in self._prepared:
            self._prepared[key] = _Prepared(self._target, call)
        found = self._prepared[key]
        result = found.run(call)
        self.executed += found.machine.executed
        return result
