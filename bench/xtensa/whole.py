"""Whole plans with this project's kernels for the ESP32-S3: the runtime's C compiled for this machine, and each call of
assembly run by the interpreter."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.assembly.memory import Memory
from bench.emulator import BUILD_SECONDS, RUNTIME, run_tool, runtime_sources
from bench.xtensa.kernels import program
from bench.xtensa.machine import Machine
from tigris_pio.format.records import Header

_REQUEST = struct.Struct("<64s4I2iI2i4I")
_FLAGS = ("-O1", "-std=c99", "-DTIGRIS_PIE", "-DTIGRIS_TENSOR_ALIGN=4")


@dataclass(frozen=True)
class Call:
    """A call of assembly: what stands behind it in by_pipe.c's request."""

    name: str
    blocks: int
    left: int
    right: int
    vectors: int
    low: int
    high: int
    pixels: int
    pixel: int
    next: int
    stream: bytes
    inputs: tuple[bytes, ...]
    output: int


@dataclass(frozen=True)
class Run:
    """A run's output; `instructions` of assembly, by the operator's place in the plan."""

    status: int
    output: bytes
    instructions: Mapping[int, int]


def build(folder: Path) -> Path:
    """The program that asks for each call of assembly."""
    target = folder / "by_pipe"
    own = Path(__file__).with_name("by_pipe.c")
    run_tool(["gcc", *_FLAGS, f"-I{RUNTIME / 'include'}", str(own), *map(str, runtime_sources()), "-lm", "-o",
              str(target)], timeout=BUILD_SECONDS)  # fmt: skip
    return target


def run(target: Path, plan: bytes, data: bytes) -> Run:
    """The plan on stored input `data`, in arenas of its own sizes."""
    header, interpreter = Header.unpack(plan), _Interpreter()
    counts: dict[int, int] = {}
    before = 0
    with subprocess.Popen([str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        sizes = struct.pack("<4I", len(plan), header.fast_bytes, header.slow_bytes, len(data))
        process.stdin.write(sizes + plan + data)
        process.stdin.flush()
        while (call := _next(process.stdout)).name:
            if call.name == "op":
                counts[call.pixels] = counts.get(call.pixels, 0) + interpreter.executed - before
                before = interpreter.executed
                continue
            process.stdin.write(interpreter.answer(call))
            process.stdin.flush()
        output = process.stdout.read()
    return Run(call.pixels if call.pixels < 1 << 31 else call.pixels - (1 << 32), output, counts)


def _next(stream: IO[bytes]) -> Call:
    name, blocks, left, right, vectors, low, high, pixels, pixel, following, *sizes = _REQUEST.unpack(
        _exactly(stream, _REQUEST.size)
    )
    text, (words, count, each, output) = name.rstrip(b"\0").decode(), sizes
    content = _exactly(stream, words) if text else b""
    inputs = tuple(_exactly(stream, each) for _ in range(count))
    return Call(text, blocks, left, right, vectors, low, high, pixels, pixel, following, content, inputs, output)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise EOFError(f"the program ended: {len(content)} of {size} bytes came")
    return content


class _Prepared:
    """A machine with memory for calls of one function with operands of one size."""

    def __init__(self, call: Call) -> None:
        self.memory = Memory(1 << 20)
        self.stream = self.memory.add("stream", call.stream)
        numbers = call.blocks, call.left, call.right, call.vectors, call.low, call.high
        words = struct.pack("<5IbbH", self.stream, *numbers, 0)
        self.record = self.memory.add("layer", words, align=4)
        self.inputs = [self.memory.add("input", content) for content in call.inputs]
        self.rows = self.memory.add("rows", struct.pack(f"<{len(self.inputs)}I", *self.inputs), align=4)
        self.output = self.memory.add("output", call.output, writable=True)
        self.machine = Machine(program(), self.memory)

    def run(self, call: Call) -> bytes:
        for place, content in zip(self.inputs, call.inputs, strict=True):
            self.memory.bytes[place : place + len(content)] = content
        self.machine.call(call.name, self._arguments(call))
        assert not self.memory.strays, self.memory.strays
        assert not self.memory.misaligned, self.memory.misaligned
        return self.memory.content(self.output, call.output)

    def _arguments(self, call: Call) -> Sequence[int]:
        if call.name == "tigris_pie_gather":
            return self.output, self.rows, call.vectors, len(self.inputs)
        if call.name.startswith("tigris_pie_depthwise"):
            return self.rows, self.output, self.record, call.pixels, call.pixel, call.next
        return self.inputs[0], self.output, self.record, call.pixels


class _Interpreter:
    """Runs calls; those of one layer and size on one machine, which has decoded them."""

    def __init__(self) -> None:
        self.executed = 0
        self._prepared: dict[tuple[object, ...], _Prepared] = {}

    def answer(self, call: Call) -> bytes:
        """The bytes that it writes."""
        key = (call.name, call.stream, call.left, call.right, call.low, call.high, call.pixels, call.pixel, call.next,
               call.vectors, tuple(map(len, call.inputs)))  # fmt: skip
        if key not in self._prepared:
            self._prepared[key] = _Prepared(call)
        found = self._prepared[key]
        result = found.run(call)
        self.executed += found.machine.executed
        return result
